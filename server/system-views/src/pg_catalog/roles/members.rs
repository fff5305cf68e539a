//! Who is a member of which role: `pg_auth_members`, `pg_group`.

use braid_types::{Result, Row, SqlType};

use crate::cell::{flag, int, ints, text};
use crate::context::{RowsOf, VirtualContext};
use crate::row_builder::RowBuilder;

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "pg_group" => pg_group,
        "pg_auth_members" => pg_auth_members,
        _ => return None,
    })
}

fn pg_group(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new("pg_group", &["groname", "grosysid", "grolist"]);
    for role in cx.catalog.roles().iter().filter(|role| !role.login) {
        let members =
            cx.catalog.roles().iter().filter(|member| member.member_of.contains(&role.id));
        let members = ints(SqlType::Oid, members.map(|member| i64::from(member.id)));
        builder.push([text(&role.name), int(role.id), members]);
    }
    builder.rows()
}

fn pg_auth_members(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["roleid", "member", "grantor", "admin_option"];
    let mut builder = RowBuilder::new("pg_auth_members", &columns);
    for role in cx.catalog.roles().iter() {
        for parent in &role.member_of {
            let admin = role.admin_of.contains(parent);
            let grantor = role.grantor_of(*parent);
            builder.push([int(*parent), int(role.id), int(grantor), flag(admin)]);
        }
    }
    builder.rows()
}
