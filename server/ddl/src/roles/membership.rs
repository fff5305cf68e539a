//! Memberships in roles: GRANT and REVOKE of roles, and who granted them.
//!
//! A membership has one grantor, as in PostgreSQL 15. It does not decide who may revoke: everybody
//! with the admin option may.

use braid_catalog::{Catalog, DATABASE_OWNER, Id, Role};
use braid_sql::ast::RoleGrant;
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::roles::user::{denied, grantee, user_role};

/// What a role becomes in another one, and by whom.
#[derive(Clone, Copy)]
pub(super) struct Membership {
    /// It may grant the membership on.
    pub(super) admin: bool,
    pub(super) grantor: Id,
}

/// Makes a role a member of another one, if it is not yet what is asked for.
pub(super) fn join(cx: &mut DdlContext<'_>, role: Id, member: Id, new: Membership) -> Result<()> {
    let catalog = cx.catalog();
    if role == DATABASE_OWNER || member == DATABASE_OWNER {
        let name = catalog.role_name(DATABASE_OWNER);
        return Err(Error::new(
            SqlState::FeatureNotSupported,
            match role == DATABASE_OWNER {
                true => format!("role \"{name}\" cannot have explicit members"),
                false => format!("role \"{name}\" cannot be a member of any role"),
            },
        ));
    }
    let names = (catalog.role_name(role), catalog.role_name(member));
    if is_inside(&catalog, role, member) {
        let message = format!("role \"{}\" is a member of role \"{}\"", names.0, names.1);
        return Err(Error::new(SqlState::InvalidGrantOperation, message));
    }
    let Some(found) = catalog.role(member) else { return Ok(()) };
    let is_member = found.member_of.contains(&role);
    if is_member && (!new.admin || found.admin_of.contains(&role)) {
        let message = format!("role \"{}\" is already a member of role \"{}\"", names.1, names.0);
        cx.notice(SqlState::SuccessfulCompletion, message);
        return Ok(());
    }
    let mut found = Role::clone(found);
    if !is_member {
        found.member_of.push(role);
    }
    if new.admin {
        found.admin_of.push(role);
    }
    found.grantors.retain(|(known, _)| *known != role);
    found.grantors.push((role, new.grantor));
    cx.draft()?.put(found);
    Ok(())
}

/// Whether a role is another one or a member of it, whatever it inherits.
fn is_inside(catalog: &Catalog, role: Id, of: Id) -> bool {
    role == of
        || catalog
            .role(role)
            .is_some_and(|role| role.member_of.iter().any(|parent| is_inside(catalog, *parent, of)))
}

/// Ends a membership.
pub(super) fn leave(cx: &mut DdlContext<'_>, role: Id, member: Id) -> Result<()> {
    let Some(found) = cx.catalog().role(member).cloned() else { return Ok(()) };
    let mut found = Role::clone(&found);
    found.admin_of.retain(|other| *other != role);
    found.member_of.retain(|other| *other != role);
    found.grantors.retain(|(other, _)| *other != role);
    cx.draft()?.put(found);
    Ok(())
}

/// Ends a membership, or only the right to grant it on. A warning if there is none.
fn revoke_membership(
    cx: &mut DdlContext<'_>,
    role: Id,
    member: Id,
    only_admin: bool,
) -> Result<()> {
    let catalog = cx.catalog();
    let found = catalog.role(member).filter(|found| found.member_of.contains(&role));
    let Some(found) = found else {
        let (member, role) = (catalog.role_name(member), catalog.role_name(role));
        let message = format!("role \"{member}\" is not a member of role \"{role}\"");
        cx.notice(SqlState::Warning, message);
        return Ok(());
    };
    if !only_admin {
        return leave(cx, role, member);
    }
    let mut found = Role::clone(found);
    found.admin_of.retain(|other| *other != role);
    cx.draft()?.put(found);
    Ok(())
}

/// 42501 unless the user may change the members of a role: with CREATEROLE, or if the grantor has
/// the admin option. Only superusers change the members of superusers.
pub(super) fn check_admin(cx: &DdlContext<'_>, role: Id, grantor: Id) -> Result<()> {
    let user = user_role(cx)?;
    let catalog = cx.catalog();
    let known = catalog.privileges();
    if user.superuser {
        return Ok(());
    }
    if known.is_superuser(role) {
        return Err(denied("must be superuser to alter superusers"));
    }
    if user.create_role || known.is_admin(grantor, role) {
        return Ok(());
    }
    let message = format!("must have admin option on role \"{}\"", catalog.role_name(role));
    Err(denied(&message))
}

/// `GRANT role TO role`
pub(crate) fn grant(cx: &mut DdlContext<'_>, statement: &RoleGrant) -> Result<()> {
    let user = cx.user();
    let written = statement.granted_by.as_ref();
    let grantor = written.map_or(Ok(user), |written| cx.role(written))?;
    let members = members(cx, statement)?;
    for role in &statement.roles {
        let role = cx.role(role)?;
        check_admin(cx, role, grantor)?;
        if grantor != user && !cx.catalog().privileges().is_superuser(user) {
            return Err(denied("must be superuser to set grantor"));
        }
        for member in &members {
            join(cx, role, *member, Membership { admin: statement.admin_option, grantor })?;
        }
    }
    Ok(())
}

/// `REVOKE role FROM role`. It does not matter who granted it.
pub(crate) fn revoke(cx: &mut DdlContext<'_>, statement: &RoleGrant) -> Result<()> {
    if let Some(written) = &statement.granted_by {
        cx.role(written)?;
    }
    let members = members(cx, statement)?;
    for role in &statement.roles {
        let role = cx.role(role)?;
        check_admin(cx, role, cx.user())?;
        for member in &members {
            revoke_membership(cx, role, *member, statement.admin_option)?;
        }
    }
    Ok(())
}

fn members(cx: &DdlContext<'_>, statement: &RoleGrant) -> Result<Vec<Id>> {
    let mut members = Vec::with_capacity(statement.grantees.len());
    for written in &statement.grantees {
        let Some(member) = grantee(cx, written)? else {
            let message = "role \"public\" does not exist";
            return Err(Error::new(SqlState::UndefinedObject, message));
        };
        members.push(member);
    }
    Ok(members)
}
