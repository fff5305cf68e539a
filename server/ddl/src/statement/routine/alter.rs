//! ALTER FUNCTION, COMMENT ON FUNCTION, and the like for procedures and aggregates.

use braid_catalog::{Object, Owned, Routine};
use braid_sql::ast::{AlterRoutine, RenameKind, RoutineName};
use braid_sql::fold;
use braid_types::{Error, Result, SqlState};

use super::find::{find_own, is_aggregate};
use super::options::{Options, apply, check_leakproof, collect};
use crate::context::DdlContext;
use crate::names::owner::check_new_owner;

/// `ALTER FUNCTION … options`
pub(crate) fn alter(cx: &mut DdlContext<'_>, statement: &AlterRoutine) -> Result<String> {
    let found = find_own(cx, &statement.routine)?;
    if found.aggregate.is_some() {
        return Err(is_aggregate(&statement.routine));
    }
    let options: Options<'_> = collect(cx, &statement.options)?;
    let mut changed = Routine::clone(&found);
    apply(&mut changed, &options)?;
    check_leakproof(cx, &options)?;
    cx.draft()?.put(changed);
    Ok(format!("ALTER {}", statement.routine.kind.tag()))
}

/// `RENAME TO`, `SET SCHEMA`, `OWNER TO`
pub(crate) fn rename(
    cx: &mut DdlContext<'_>,
    name: &RoutineName,
    kind: &RenameKind,
) -> Result<String> {
    let found = find_own(cx, name)?;
    let mut changed = Routine::clone(&found);
    match kind {
        RenameKind::To(new) => changed.name = fold(new),
        RenameKind::SetSchema(schema) => {
            let schema = cx.schema(&fold(schema))?;
            let catalog = cx.catalog();
            catalog.privileges().check(cx.user(), Object::Schema(&schema), "CREATE")?;
            changed.schema = schema.id;
        }
        RenameKind::OwnerTo(role) => {
            let owner = cx.role(role)?;
            check_new_owner(cx, owner)?;
            changed.set_owner(owner);
        }
        RenameKind::Column { .. } | RenameKind::Constraint { .. } => {
            let message = "a routine has neither columns nor constraints";
            return Err(Error::new(SqlState::SyntaxError, message));
        }
    }
    let catalog = cx.catalog();
    let taken = catalog.names().routines().find(changed.schema, &changed.name, found.types());
    if taken.is_some_and(|taken| taken.id != found.id) {
        let types: Vec<&str> = found.types().map(|ty| ty.plain_name()).collect();
        let message = format!(
            "function {}({}) already exists in schema \"{}\"",
            changed.name,
            types.join(", "),
            catalog.schema_name(changed.schema)
        );
        return Err(Error::new(SqlState::DuplicateFunction, message));
    }
    cx.draft()?.put(changed);
    Ok(format!("ALTER {}", name.kind.tag()))
}

/// `COMMENT ON FUNCTION`
pub(crate) fn comment(
    cx: &mut DdlContext<'_>,
    name: &RoutineName,
    comment: Option<String>,
) -> Result<()> {
    let found = find_own(cx, name)?;
    cx.draft()?.put(Routine { comment, ..Routine::clone(&found) });
    Ok(())
}
