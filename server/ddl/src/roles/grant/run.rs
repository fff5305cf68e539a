//! The statements: each object is changed for itself.

use braid_catalog::{Acl, ColumnId, Grant, Rights};
use braid_sql::ast::GrantPrivileges;
use braid_types::Result;

use super::change::{Change, Subject};
use super::target::{Target, targets};
use super::words::{check_grantor, column_privileges, columns, grantees, privileges};
use crate::context::DdlContext;

/// `GRANT`
pub(crate) fn grant(cx: &mut DdlContext<'_>, statement: &GrantPrivileges) -> Result<()> {
    each(cx, statement, false)
}

/// `REVOKE`
pub(crate) fn revoke(cx: &mut DdlContext<'_>, statement: &GrantPrivileges) -> Result<()> {
    each(cx, statement, true)
}

/// The privileges that a statement names for one object.
struct Wanted {
    /// Those on the whole object.
    whole: Rights,
    /// Whether the statement says ALL.
    is_all: bool,
    columns: Vec<(ColumnId, Rights)>,
}

fn each(cx: &mut DdlContext<'_>, statement: &GrantPrivileges, revokes: bool) -> Result<()> {
    check_grantor(cx, statement.granted_by.as_ref())?;
    let roles = grantees(cx, &statement.grantees, statement.grant_option && !revokes)?;
    let change = Change::of(statement, revokes, roles);
    for target in targets(cx, &statement.objects)? {
        let object = target.object();
        let wanted = Wanted {
            whole: privileges(cx, statement, object)?,
            is_all: statement.privileges.is_empty(),
            columns: column_privileges(statement, object)?,
        };
        change_target(cx, &target, &wanted, &change)?;
    }
    Ok(())
}

/// Revokes all that the user may revoke on an object and its columns from some roles, and what
/// depends on it.
pub(crate) fn revoke_from(cx: &mut DdlContext<'_>, target: &Target, change: &Change) -> Result<()> {
    let whole = Rights::of(target.object().all_privileges().iter().copied());
    change_target(cx, target, &Wanted { whole, is_all: true, columns: Vec::new() }, change)
}

fn change_target(
    cx: &mut DdlContext<'_>,
    target: &Target,
    wanted: &Wanted,
    change: &Change,
) -> Result<()> {
    let object = target.object();
    let before = Acl::of(object);
    let mut grants = object.grants().to_vec();
    if !wanted.whole.is_empty() {
        let subject = Subject { object, column: None };
        grants = change_acl(cx, subject, (wanted.whole, wanted.is_all), change)?;
    }
    let mut of_columns: Vec<(ColumnId, Vec<Grant>)> = Vec::new();
    for (column, name) in columns(object) {
        let named = wanted.columns.iter().filter(|(of, _)| *of == column);
        let mut rights = named.fold(Rights::NONE, |all, (_, rights)| all.with(*rights));
        if change.revokes {
            // What is revoked on the relation is revoked on its columns.
            rights = rights.with(wanted.whole.within(Rights::of_columns()));
        }
        if rights.is_empty() {
            continue;
        }
        let subject = Subject { object, column: Some((column, name)) };
        let mut acl = Acl::of_column(object, column);
        // Who may grant on the relation may grant on its columns.
        let catalog = cx.catalog();
        let all = acl.clone().beside(&before);
        let (grantor, options) = all.grantor(catalog.privileges(), cx.user(), rights);
        let asked = (rights, rights == Rights::of_columns());
        let rights = subject.permitted(cx, (grantor, options), asked, change.revokes)?;
        change.apply(cx, &mut acl, grantor, rights)?;
        of_columns.push((column, acl.stored()));
    }
    target.put(cx, grants, &of_columns)
}

/// The grants of a whole object after a change.
pub(crate) fn change_acl(
    cx: &mut DdlContext<'_>,
    subject: Subject<'_>,
    (wanted, is_all): (Rights, bool),
    change: &Change,
) -> Result<Vec<Grant>> {
    let mut acl = Acl::of(subject.object);
    let catalog = cx.catalog();
    let (grantor, options) = acl.grantor(catalog.privileges(), cx.user(), wanted);
    let rights = subject.permitted(cx, (grantor, options), (wanted, is_all), change.revokes)?;
    change.apply(cx, &mut acl, grantor, rights)?;
    Ok(acl.stored())
}
