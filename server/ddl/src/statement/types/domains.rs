//! CREATE DOMAIN, and the forms of ALTER DOMAIN and COMMENT that touch no row.

use std::sync::Arc;

use braid_catalog::{
    Column, DefaultKind, Domain, DomainCheck, Owned, StoredExpr, is_temporary, names,
};
use braid_plan::bind_domain_condition;
use braid_sql::ast::{CreateDomain, DomainConstraintKind, Expr, Ident, ObjectName, RenameKind};
use braid_sql::fold;
use braid_types::{Error, Result, SqlState, SqlType};

use crate::context::DdlContext;
use crate::names::owner::check_new_owner;
use crate::names::types::column_type;
use crate::names::user_types::{column_domain, domain_name, new_schema, own_domain};
use crate::roles::default_privileges::new_grants;
use crate::statement::types::enums::make_name_free;
use crate::table::columns::collation_of;
use crate::table::exprs::{bind_default_expr, check_expr};

fn syntax(message: impl Into<String>) -> Error {
    Error::new(SqlState::SyntaxError, message)
}

pub(crate) fn create(cx: &mut DdlContext<'_>, create: &CreateDomain) -> Result<()> {
    let (schema, name) = cx.target(&create.name)?;
    if is_temporary(schema.id) {
        return Err(Error::unsupported("a type in a temporary schema"));
    }
    make_name_free(cx, schema.id, &name)?;
    let mut domain = over(cx, create)?;
    domain.id = cx.draft()?.allocate_id(0);
    if !domain.base.is_array() {
        domain.array = cx.draft()?.allocate_id(0);
    }
    domain.database = schema.database;
    domain.schema = schema.id;
    domain.name = name;
    domain.owner = cx.user();
    domain.grants = new_grants(cx, domain.owner, Some(schema.id), DefaultKind::Types);
    let (mut nullable, mut default) = (None, None);
    for constraint in &create.constraints {
        let is_null = match &constraint.kind {
            DomainConstraintKind::NotNull => false,
            DomainConstraintKind::Null => true,
            DomainConstraintKind::Default(expr) => {
                if default.replace(expr).is_some() {
                    return Err(syntax("multiple default expressions"));
                }
                continue;
            }
            DomainConstraintKind::Check(_) => continue,
        };
        if nullable.replace(is_null).is_some_and(|before| before != is_null) {
            return Err(syntax("conflicting NULL/NOT NULL constraints"));
        }
    }
    domain.not_null = nullable == Some(false);
    if let Some(expr) = default {
        domain.default = stored_default(cx, &domain, expr)?;
    }
    for constraint in &create.constraints {
        if let DomainConstraintKind::Check(expr) = &constraint.kind {
            add_check(cx, &mut domain, constraint.name.as_ref(), expr, true)?;
        }
    }
    cx.draft()?.put(domain);
    Ok(())
}

/// A domain over the type that is written, without a name.
fn over(cx: &DdlContext<'_>, create: &CreateDomain) -> Result<Domain> {
    let base = column_type(cx, &create.data_type)?;
    let parent = column_domain(cx, &create.data_type)?;
    let is_pseudo = match base.element().unwrap_or(&base) {
        SqlType::Record(row) => row.name().is_none(),
        element => matches!(element, SqlType::Unknown | SqlType::Void | SqlType::Any(_)),
    };
    if is_pseudo {
        let shown = base.display_name();
        let message = format!("\"{shown}\" is not a valid base type for a domain");
        return Err(Error::new(SqlState::DatatypeMismatch, message));
    }
    let inherited = parent.as_ref().and_then(|parent| parent.collation.clone());
    let collation = match &create.collation {
        Some(_) => collation_of(cx, create.collation.as_ref(), &base)?,
        None => inherited,
    };
    let modifier = match &parent {
        Some(parent) => parent.modifier,
        None => braid_plan::time_modifier_of(&create.data_type),
    };
    Ok(Domain {
        id: 0,
        array: 0,
        element: None,
        database: 0,
        schema: 0,
        name: String::new(),
        owner: 0,
        base,
        modifier,
        more_dimensions: braid_plan::more_dimensions_of(&create.data_type),
        parent: parent.as_ref().map(|parent| parent.id),
        collation,
        not_null: false,
        // As in PostgreSQL, a later change of that default does not come here.
        default: parent.and_then(|parent| parent.default.clone()),
        checks: Vec::new(),
        grants: Vec::new(),
        comment: None,
    })
}

/// The default of a domain, in its stored form.
pub(crate) fn stored_default(
    cx: &DdlContext<'_>,
    domain: &Domain,
    expr: &Expr,
) -> Result<Option<StoredExpr>> {
    let base = cx.catalog().domains().base(domain);
    let column = Column { modifier: domain.modifier, ..Column::plain(1, &domain.name, base) };
    bind_default_expr(cx, expr, &column)
}

/// Adds a CHECK to the descriptor; 42710 for a name that the domain has already.
pub(crate) fn add_check(
    cx: &mut DdlContext<'_>,
    domain: &mut Domain,
    name: Option<&Ident>,
    expr: &Expr,
    validated: bool,
) -> Result<()> {
    let is_taken = |name: &str| domain.checks.iter().any(|check| check.name == name);
    let name = match name.map(fold) {
        Some(name) if is_taken(&name) => {
            let domain = &domain.name;
            let message = format!("constraint \"{name}\" for domain \"{domain}\" already exists");
            return Err(Error::new(SqlState::DuplicateObject, message));
        }
        Some(name) => name,
        None => names::choose_name(&domain.name, None, "check", is_taken),
    };
    let row = Arc::new(domain.row("value", cx.catalog().domains().base(domain)));
    let (expr, _) = check_expr(cx, &row, expr)?;
    let id = cx.draft()?.allocate_id(0);
    let check = DomainCheck { id, name, expr, validated, comment: None };
    if cx.plan(|context| bind_domain_condition(context, domain, &check))?.waits() {
        return Err(Error::unsupported("a domain with a condition that has to wait"));
    }
    domain.checks.push(check);
    Ok(())
}

/// The place of a domain's constraint; 42704 in the words of ALTER and RENAME.
pub(crate) fn check_place(domain: &Domain, name: &str, of: &str) -> Result<usize> {
    let found = domain.checks.iter().position(|check| check.name == name);
    found.ok_or_else(|| {
        let message = format!("constraint \"{name}\" {of} does not exist");
        Error::new(SqlState::UndefinedObject, message)
    })
}

/// `ALTER DOMAIN … RENAME TO`, `RENAME CONSTRAINT`, `SET SCHEMA`, `OWNER TO`.
pub(crate) fn rename(cx: &mut DdlContext<'_>, name: &ObjectName, kind: &RenameKind) -> Result<()> {
    let found = own_domain(cx, name)?;
    let mut changed = Domain::clone(&found);
    match kind {
        RenameKind::To(new) => {
            let new = fold(new);
            make_name_free(cx, found.schema, &new)?;
            changed.name = new;
        }
        RenameKind::Constraint { from, to } => {
            let shown = domain_name(cx, &found);
            let place = check_place(&found, &fold(from), &format!("for domain {shown}"))?;
            let to = fold(to);
            if found.checks.iter().any(|check| check.name == to) {
                let message = format!("constraint \"{to}\" for domain {shown} already exists");
                return Err(Error::new(SqlState::DuplicateObject, message));
            }
            changed.checks[place].name = to;
        }
        RenameKind::SetSchema(schema) => {
            let Some(schema) = new_schema(cx, schema, (found.schema, &found.name))? else {
                return Ok(());
            };
            changed.schema = schema;
        }
        RenameKind::OwnerTo(role) => {
            let owner = cx.role(role)?;
            check_new_owner(cx, owner)?;
            changed.set_owner(owner);
        }
        RenameKind::Column { .. } => return Err(Error::unsupported("this form of ALTER DOMAIN")),
    }
    cx.draft()?.put(changed);
    Ok(())
}

/// `COMMENT ON DOMAIN`.
pub(crate) fn comment(
    cx: &mut DdlContext<'_>,
    name: &ObjectName,
    comment: Option<String>,
) -> Result<()> {
    let found = own_domain(cx, name)?;
    cx.draft()?.put(Domain { comment, ..Domain::clone(&found) });
    Ok(())
}

/// `COMMENT ON CONSTRAINT … ON DOMAIN`.
pub(crate) fn comment_check(
    cx: &mut DdlContext<'_>,
    (check, name): (&Ident, &ObjectName),
    comment: Option<String>,
) -> Result<()> {
    let found = own_domain(cx, name)?;
    let shown = domain_name(cx, &found);
    let place = check_place(&found, &fold(check), &format!("for domain {shown}"))?;
    let mut changed = Domain::clone(&found);
    changed.checks[place].comment = comment;
    cx.draft()?.put(changed);
    Ok(())
}
