//! `pg_database`.

use braid_catalog::{Id, Object, ROOT, TEMPLATE_DATABASE};
use braid_types::{Result, Row};

use crate::cell::{acl_items, flag, int, text};
use crate::context::{RowsOf, VirtualContext};
use crate::row_builder::RowBuilder;

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "pg_database" => pg_database,
        _ => return None,
    })
}

/// PostgreSQL's templates, which are shown even if there is no database of that name.
pub(crate) const TEMPLATES: [(Id, &str); 2] = [(4, "template0"), (TEMPLATE_DATABASE, "template1")];

/// The name of a template with that number.
pub(crate) fn template_name(oid: Id) -> Option<&'static str> {
    TEMPLATES.iter().find(|(known, _)| *known == oid).map(|(_, name)| *name)
}

/// The first number of a transaction, and of a group of them: none is ever used up.
const FIRST_TRANSACTIONS: [i32; 2] = [3, 1];

fn pg_database(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "pg_database",
        &[
            "oid",
            "datname",
            "datdba",
            "encoding",
            "datlocprovider",
            "datistemplate",
            "datallowconn",
            "datconnlimit",
            "datfrozenxid",
            "datminmxid",
            "dattablespace",
            "datcollate",
            "datctype",
            "datacl",
        ],
    );
    for database in cx.catalog.databases().iter() {
        builder.push([
            int(database.id),
            text(&database.name),
            int(database.owner),
            int(6),
            text("c"),
            flag(database.id == TEMPLATE_DATABASE || database.is_template),
            flag(!database.refuses_connections),
            int(database.connection_limit.unwrap_or(-1)),
            int(FIRST_TRANSACTIONS[0]),
            int(FIRST_TRANSACTIONS[1]),
            int(1663),
            text("C"),
            text("C.UTF-8"),
            acl_items(cx.catalog.privileges().acl(Object::Database(database))),
        ]);
    }
    // Tools expect PostgreSQL's templates. Nobody can connect to those without a descriptor: an
    // old store has none for `template1`.
    for (oid, name) in TEMPLATES.into_iter().filter(|(oid, _)| cx.catalog.database(*oid).is_none())
    {
        builder.push([
            int(oid),
            text(name),
            int(ROOT),
            int(6),
            text("c"),
            flag(true),
            flag(false),
            int(-1),
            int(FIRST_TRANSACTIONS[0]),
            int(FIRST_TRANSACTIONS[1]),
            int(1663),
            text("C"),
            text("C.UTF-8"),
            acl_items(None),
        ]);
    }
    builder.rows()
}
