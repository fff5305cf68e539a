//! `information_schema`: roles and memberships.

use braid_catalog::DATABASE_OWNER;
use braid_types::{Result, Row};

use crate::cell::{text, yes_no};
use crate::context::{RowsOf, VirtualContext};
use crate::row_builder::RowBuilder;

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "enabled_roles" => enabled_roles,
        "applicable_roles" => |cx| memberships(cx, "information_schema.applicable_roles"),
        "administrable_role_authorizations" => {
            |cx| memberships(cx, "information_schema.administrable_role_authorizations")
        }
        _ => return None,
    })
}

fn enabled_roles(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new("information_schema.enabled_roles", &["role_name"]);
    let Some(user) = cx.catalog.names().role(cx.env.current_user()) else { return builder.rows() };
    for role in
        cx.catalog.roles().iter().filter(|role| cx.catalog.privileges().acts_as(user.id, role.id))
    {
        builder.push([text(&role.name)]);
    }
    builder.rows()
}

/// The memberships of the roles that the user has the privileges of.
fn memberships(cx: &VirtualContext<'_>, name: &str) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(name, &["grantee", "role_name", "is_grantable"]);
    let only_admin = name.contains("administrable");
    let Some(user) = cx.catalog.names().role(cx.env.current_user()) else { return builder.rows() };
    let owner = cx.catalog.database(cx.path.database).map(|database| database.owner);
    let known = cx.catalog.privileges();
    for role in cx.catalog.roles().iter().filter(|role| known.acts_as(user.id, role.id)) {
        // The owner of the database is a member of one role more.
        let owned = (owner == Some(role.id)).then_some(DATABASE_OWNER);
        for parent in role.member_of.iter().chain(&owned) {
            let admin = role.admin_of.contains(parent);
            if admin || !only_admin {
                let parent = text(cx.catalog.role_name(*parent));
                builder.push([text(&role.name), parent, yes_no(admin)]);
            }
        }
    }
    builder.rows()
}
