//! Settings of roles and databases: `pg_db_role_setting`.

use std::collections::BTreeSet;

use braid_catalog::{Id, Role};
use braid_types::{Datum, Result, Row};

use crate::cell::{int, texts};
use crate::context::{RowsOf, VirtualContext};
use crate::row_builder::RowBuilder;

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "pg_db_role_setting" => pg_db_role_setting,
        _ => return None,
    })
}

/// The settings of a role in all databases; NULL if there are none.
pub(super) fn settings(role: &Role) -> Datum {
    let settings: Vec<String> =
        role.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    texts(Some(settings).filter(|settings| !settings.is_empty()))
}

fn pg_db_role_setting(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder =
        RowBuilder::new("pg_db_role_setting", &["setdatabase", "setrole", "setconfig"]);
    for role in cx.catalog.roles().iter().filter(|role| !role.settings.is_empty()) {
        builder.push([int(0), int(role.id), settings(role)]);
    }
    for role in cx.catalog.roles().iter().filter(|role| !role.everyone.is_empty()) {
        let lines = role.everyone.iter().map(|(name, value)| format!("{name}={value}"));
        builder.push([int(0), int(0), texts(Some(lines.collect()))]);
    }
    for database in cx.catalog.databases().iter() {
        let roles: BTreeSet<Id> = database.settings.iter().map(|setting| setting.role).collect();
        for role in roles {
            let own = database.settings.iter().filter(|setting| setting.role == role);
            let lines = own.map(|setting| format!("{}={}", setting.name, setting.value)).collect();
            builder.push([int(database.id), int(role), texts(Some(lines))]);
        }
    }
    builder.rows()
}
