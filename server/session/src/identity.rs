//! Whose privileges count when a session begins: roles and settings that its user may not take.

use std::collections::BTreeMap;

use braid_catalog::{Catalog, Role};
use braid_types::{Error, Result, SqlState};

use crate::settings::{Access, denied, find};

/// Checks what the start-up options say against the user's rights, and takes over the role that
/// is the user's default. 42501 for a role or setting that the user may not have, 22023 for a
/// role that does not exist; a default that is no longer allowed is ignored.
pub(crate) fn check_start(
    options: &mut BTreeMap<String, String>,
    user: &Role,
    catalog: &Catalog,
) -> Result<()> {
    for name in options.keys() {
        may_start_with(name, user)?;
    }
    let default = user.settings.iter().rev().find(|(name, _)| name.eq_ignore_ascii_case("role"));
    let wanted = match (options.get("role"), default) {
        (Some(wanted), _) => allowed(wanted, user, catalog)?,
        (None, Some((_, wanted))) => allowed(wanted, user, catalog).unwrap_or_default(),
        (None, None) => None,
    };
    if let Some(role) = wanted {
        let superuser = if role.superuser { "on" } else { "off" };
        options.insert("role".to_owned(), role.name.clone());
        options.insert("is_superuser".to_owned(), superuser.to_owned());
    }
    Ok(())
}

/// 42501 if only superusers may set the variable and the user is none.
fn may_start_with(name: &str, user: &Role) -> Result<()> {
    match find(&name.to_ascii_lowercase()) {
        Some(setting) if setting.access == Access::Superuser && !user.superuser => {
            Err(denied(setting.name))
        }
        _ => Ok(()),
    }
}

fn allowed<'c>(wanted: &str, user: &Role, catalog: &'c Catalog) -> Result<Option<&'c Role>> {
    if wanted == "none" {
        return Ok(None);
    }
    let role = catalog.names().role(wanted).ok_or_else(|| {
        let message = format!("role \"{wanted}\" does not exist");
        Error::new(SqlState::InvalidParameterValue, message)
    })?;
    if !catalog.privileges().is_member(user.id, role.id) {
        let message = format!("permission denied to set role \"{wanted}\"");
        return Err(Error::new(SqlState::InsufficientPrivilege, message));
    }
    Ok(Some(role))
}
