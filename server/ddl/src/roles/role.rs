//! CREATE, ALTER and DROP of users and roles.

use braid_auth::{is_secret, salt, scram_secret};
use braid_catalog::{Database, Id, ROOT, Role, is_predefined};
use braid_sql::ast::{AlterUser, CreateUser, DropUser, Ident, Reset, UserOption};
use braid_sql::fold;
use braid_types::{Error, FormatSettings, Result, SqlState, SqlType, text};

use crate::context::DdlContext;
use crate::names::settings::{shown_name, stored_value};
use crate::roles::holdings::holdings;
use crate::roles::membership::{Membership, check_admin, join, leave};
use crate::roles::user::{denied, user_role};

/// 42501 unless the user may change this role (or make one).
pub(crate) fn check_may_change(cx: &DdlContext<'_>, target: Option<&Role>) -> Result<()> {
    let user = user_role(cx)?;
    if user.superuser {
        return Ok(());
    }
    match target {
        Some(target) if target.superuser => {
            Err(denied("must be superuser to alter superuser roles or change superuser attribute"))
        }
        Some(_) if !user.create_role => Err(denied("permission denied")),
        None if !user.create_role => Err(denied("permission denied to create role")),
        _ => Ok(()),
    }
}

fn check_role_name(cx: &DdlContext<'_>, name: &str) -> Result<()> {
    if name.starts_with("pg_") {
        let message = format!("role name \"{name}\" is reserved");
        return Err(Error::new(SqlState::ReservedName, message)
            .detail("Role names starting with \"pg_\" are reserved."));
    }
    if matches!(name, "public" | "none") {
        let message = format!("role name \"{name}\" is reserved");
        return Err(Error::new(SqlState::ReservedName, message));
    }
    if cx.catalog().names().role(name).is_some() {
        let message = format!("role \"{name}\" already exists");
        return Err(Error::new(SqlState::DuplicateObject, message));
    }
    Ok(())
}

fn secret(cx: &mut DdlContext<'_>, password: Option<&str>) -> Result<Option<String>> {
    Ok(match password {
        None => None,
        Some("") => {
            let message = "empty string is not a valid password, clearing password";
            cx.notice(SqlState::SuccessfulCompletion, message.to_owned());
            None
        }
        Some(password) if is_secret(password) => Some(password.to_owned()),
        Some(password) => {
            let salt = salt().ok_or_else(|| Error::internal("no random values for a salt"))?;
            Some(scram_secret(password, &salt))
        }
    })
}

/// Members named by the options: roles it joins, roles that join it, those that may grant it.
#[derive(Default)]
struct Members {
    in_roles: Vec<Id>,
    members: Vec<Id>,
    admins: Vec<Id>,
}

fn apply(cx: &mut DdlContext<'_>, role: &mut Role, options: &[UserOption]) -> Result<Members> {
    let is_superuser = user_role(cx)?.superuser;
    let mut members = Members::default();
    let ids = |cx: &DdlContext<'_>, names: &[Ident]| {
        names.iter().map(|name| cx.role(name)).collect::<Result<Vec<Id>>>()
    };
    for option in options {
        match option {
            UserOption::Password(password) => role.password = secret(cx, password.as_deref())?,
            UserOption::Login(on) => role.login = *on,
            UserOption::Superuser(on) => {
                if *on && !is_superuser {
                    return Err(denied("must be superuser to create superusers"));
                }
                role.superuser = *on;
            }
            UserOption::CreateDb(on) => role.create_db = *on,
            UserOption::CreateRole(on) => role.create_role = *on,
            UserOption::ConnectionLimit(limit) if *limit < -1 => {
                let message = format!("invalid connection limit: {limit}");
                return Err(Error::new(SqlState::InvalidParameterValue, message));
            }
            UserOption::ConnectionLimit(limit) => {
                role.connection_limit = Some(*limit).filter(|limit| *limit >= 0);
            }
            UserOption::ValidUntil(time) => {
                role.valid_until = Some(point_of_time(cx, time)?).filter(|at| at != "infinity");
            }
            UserOption::InRole(names) => members.in_roles.extend(ids(cx, names)?),
            UserOption::Role(names) => members.members.extend(ids(cx, names)?),
            UserOption::Admin(names) => members.admins.extend(ids(cx, names)?),
            UserOption::Inherit(on) => role.no_inherit = !on,
            UserOption::BypassRls(on) => {
                if *on != role.bypass_policies && !is_superuser {
                    let is_new = cx.catalog().role(role.id).is_none();
                    return Err(denied(match is_new {
                        true => "must be superuser to create bypassrls users",
                        false => "must be superuser to change bypassrls attribute",
                    }));
                }
                role.bypass_policies = *on;
            }
            UserOption::Replication(on) => {
                if *on && !is_superuser {
                    return Err(denied("must be superuser to create replication users"));
                }
                role.replication = *on;
            }
        }
    }
    Ok(members)
}

pub(crate) fn create(cx: &mut DdlContext<'_>, create: &CreateUser) -> Result<()> {
    check_may_change(cx, None)?;
    let name = fold(&create.name);
    if create.if_not_exists && cx.catalog().names().role(&name).is_some() {
        let message = format!("role \"{name}\" already exists, skipping");
        cx.notice(SqlState::DuplicateObject, message);
        return Ok(());
    }
    check_role_name(cx, &name)?;
    let id = cx.draft()?.allocate_id(0);
    let mut role = Role::new(id, &name);
    role.login = create.is_user;
    let members = apply(cx, &mut role, &create.options)?;
    cx.draft()?.put(role);
    let grantor = cx.user();
    for role in members.in_roles {
        check_admin(cx, role, grantor)?;
        join(cx, role, id, Membership { admin: false, grantor })?;
    }
    let admins = members.admins.iter().map(|member| (*member, true));
    for (member, admin) in members.members.iter().map(|member| (*member, false)).chain(admins) {
        join(cx, id, member, Membership { admin, grantor })?;
    }
    Ok(())
}

pub(crate) fn alter(cx: &mut DdlContext<'_>, alter: &AlterUser) -> Result<()> {
    if alter.everyone {
        return alter_everyone(cx, alter);
    }
    let name = cx.role_name(&alter.name);
    let Some(found) = cx.catalog().names().role(&name).cloned() else {
        let message = format!("role \"{name}\" does not exist");
        if !alter.if_exists {
            return Err(Error::new(SqlState::UndefinedObject, message));
        }
        cx.notice(SqlState::SuccessfulCompletion, format!("{message}, skipping"));
        return Ok(());
    };
    if is_predefined(found.id) {
        let message = format!("role name \"{name}\" is reserved");
        return Err(
            Error::new(SqlState::ReservedName, message).detail("Cannot alter reserved roles.")
        );
    }
    // Everybody may change the own password and settings.
    let only_own = found.id == cx.user()
        && alter.rename_to.is_none()
        && alter.options.iter().all(|option| matches!(option, UserOption::Password(_)));
    if !only_own {
        check_may_change(cx, Some(&found))?;
    }
    let mut role = Role::clone(&found);
    if let Some(new) = &alter.rename_to {
        let new = fold(new);
        if found.name == cx.exec.env.session_user() {
            let message = "session user cannot be renamed";
            return Err(Error::new(SqlState::FeatureNotSupported, message));
        }
        check_role_name(cx, &new)?;
        role.name = new;
    }
    apply(cx, &mut role, &alter.options)?;
    if role.id == ROOT && !(role.superuser && role.login) {
        return Err(denied("the first superuser must stay a superuser that may log in"));
    }
    change_settings(&mut role.settings, alter);
    cx.draft()?.put(role);
    Ok(())
}

/// Changes the settings of later sessions as SET or RESET says.
fn change_settings(settings: &mut Vec<(String, String)>, alter: &AlterUser) {
    if let Some(set) = &alter.set {
        settings.retain(|(name, _)| !name.eq_ignore_ascii_case(&set.name));
        if let Some(value) = stored_value(set) {
            settings.push((shown_name(&set.name), value));
        }
    }
    match &alter.reset {
        Some(Reset::All) => settings.clear(),
        Some(Reset::Name(name)) => {
            settings.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        }
        None => {}
    }
}

/// `ALTER ROLE ALL`
fn alter_everyone(cx: &mut DdlContext<'_>, alter: &AlterUser) -> Result<()> {
    if !user_role(cx)?.superuser {
        return Err(denied("must be superuser to alter settings globally"));
    }
    let Some(root) = cx.catalog().role(ROOT).cloned() else {
        return Err(Error::internal("there is no first superuser"));
    };
    let mut root = Role::clone(&root);
    change_settings(&mut root.everyone, alter);
    cx.draft()?.put(root);
    Ok(())
}

pub(crate) fn drop(cx: &mut DdlContext<'_>, statement: &DropUser) -> Result<()> {
    for ident in &statement.names {
        let is_word = |word: &str| ident.quote_style.is_none() && ident.value == word;
        if ["public", "current_user", "current_role", "session_user"].into_iter().any(is_word) {
            let message = "cannot use special role specifier in DROP ROLE";
            return Err(Error::new(SqlState::InvalidParameterValue, message));
        }
        let name = cx.role_name(ident);
        let Some(role) = cx.catalog().names().role(&name).cloned() else {
            let message = format!("role \"{name}\" does not exist");
            if !statement.if_exists {
                return Err(Error::new(SqlState::UndefinedObject, message));
            }
            cx.notice(SqlState::SuccessfulCompletion, format!("{message}, skipping"));
            continue;
        };
        if is_predefined(role.id) {
            let message =
                format!("cannot drop role {name} because it is required by the database system");
            return Err(Error::new(SqlState::DependentObjectsStillExist, message));
        }
        if check_may_change(cx, Some(&role)).is_err() {
            return Err(denied("permission denied to drop role"));
        }
        if role.id == cx.user() || role.name == cx.exec.env.session_user() {
            let which = if role.id == cx.user() { "current" } else { "session" };
            let message = format!("{which} user cannot be dropped");
            return Err(Error::new(SqlState::ObjectInUse, message));
        }
        let catalog = cx.catalog();
        let lines = holdings(cx, role.id);
        if role.id == ROOT || !lines.is_empty() {
            let message =
                format!("role \"{name}\" cannot be dropped because some objects depend on it");
            return Err(
                Error::new(SqlState::DependentObjectsStillExist, message).detail(lines.join("\n"))
            );
        }
        for member in catalog.roles().iter().filter(|member| member.member_of.contains(&role.id)) {
            leave(cx, role.id, member.id)?;
        }
        forget_settings(cx, role.id)?;
        cx.draft()?.remove(role.id);
    }
    Ok(())
}

/// Removes what databases keep for the sessions of a role that goes.
fn forget_settings(cx: &mut DdlContext<'_>, role: Id) -> Result<()> {
    let catalog = cx.catalog();
    for database in catalog.databases().iter() {
        if database.settings.iter().any(|setting| setting.role == role) {
            let mut changed = Database::clone(database);
            changed.settings.retain(|setting| setting.role != role);
            cx.draft()?.put(changed);
        }
    }
    Ok(())
}

/// A point of time in the form in which descriptors keep it: ISO, in UTC.
fn point_of_time(cx: &DdlContext<'_>, text: &str) -> Result<String> {
    let env = &cx.exec.env;
    let now = env.transaction_micros();
    let at = text::parse(&SqlType::Timestamptz, text, env.settings(), now)?;
    Ok(text::to_string(&SqlType::Timestamptz, &at, &FormatSettings::default()))
}
