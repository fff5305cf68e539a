//! DROP of every kind of relation, by the kind.

use braid_sql::ast::{Drop, DropKind};
use braid_types::Result;

use crate::context::DdlContext;
use crate::statement::drop::relations::drop_named_relations;
use crate::statement::drop::schema::schemas;
use crate::statement::extension;
use crate::statement::index::drop_index::indexes;
use crate::statement::object::database;

pub(crate) async fn run(cx: &mut DdlContext<'_>, statement: &Drop) -> Result<String> {
    let tag = match statement.kind {
        DropKind::Table => drop_named_relations(cx, statement, "table")?,
        DropKind::View => drop_named_relations(cx, statement, "view")?,
        DropKind::MaterializedView => drop_named_relations(cx, statement, "materialized view")?,
        DropKind::Sequence => drop_named_relations(cx, statement, "sequence")?,
        DropKind::Index => {
            indexes(cx, statement)?;
            "DROP INDEX".to_owned()
        }
        DropKind::Schema => {
            schemas(cx, statement).await?;
            "DROP SCHEMA".to_owned()
        }
        DropKind::Database => {
            database::drop(cx, statement).await?;
            "DROP DATABASE".to_owned()
        }
        DropKind::Extension => {
            extension::drop(cx, statement)?;
            "DROP EXTENSION".to_owned()
        }
    };
    Ok(tag)
}
