//! Views that need a primary key: those that group by it and read other columns of its table.

use std::collections::BTreeSet;

use braid_catalog::{Id, Queries, Table, View};
use braid_plan::{NotGrouped, Refresh, plan_definition, plan_refresh};
use braid_sql::ast::{DropBehavior, Statement};
use braid_sql::quote_ident;
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::names::describe::describe;
use crate::statement::drop::dependents::Doomed;
use crate::statement::drop::relations::drop_all;

/// Views that cannot be read any more after the primary key of a table is gone: 2BP01, or with
/// CASCADE drops them.
pub(crate) fn settle_grouped_views(
    cx: &mut DdlContext<'_>,
    table: &Table,
    key: &str,
    behavior: DropBehavior,
) -> Result<()> {
    let catalog = cx.catalog();
    let broken: Vec<(Id, String)> = Queries::of(&catalog)
        .iter()
        .filter(|view| view.database == table.database && view.depends_on.contains(&table.id))
        .filter(|view| is_broken(cx, view))
        .map(|view| (view.id, describe(cx, &catalog, view.id)))
        .collect();
    if broken.is_empty() {
        return Ok(());
    }
    if behavior == DropBehavior::Restrict {
        let on = format!("constraint {key} on table {}", table.name);
        let lines: Vec<String> =
            broken.iter().map(|(_, view)| format!("{view} depends on {on}")).collect();
        let message = format!("cannot drop {on} because other objects depend on it");
        return Err(Error::new(SqlState::DependentObjectsStillExist, message)
            .detail(lines.join("\n"))
            .hint("Use DROP ... CASCADE to drop the dependent objects too."));
    }
    for (_, view) in &broken {
        cx.notice(SqlState::SuccessfulCompletion, format!("drop cascades to {view}"));
    }
    let relations: BTreeSet<Id> = broken.into_iter().map(|(id, _)| id).collect();
    let doomed = Doomed { relations: relations.clone(), ..Doomed::default() };
    drop_all(cx, doomed, &relations, DropBehavior::Cascade)
}

/// Whether a view reads a column that it does not group by. The query of a materialized view is
/// planned as REFRESH does it, since its name means the rows that it keeps.
fn is_broken(cx: &DdlContext<'_>, view: &View) -> bool {
    let catalog = cx.catalog();
    let schema = catalog.schema_name(view.schema);
    let text = format!("SELECT * FROM {}.{}", quote_ident(&schema), quote_ident(&view.name));
    let Ok(query) = braid_sql::parse_query(&text) else { return false };
    let statement = Statement::Query(query);
    let planned = cx.plan_own(|context| match catalog.table(view.id) {
        Some(_) => plan_refresh(&statement, context, Refresh::Compute(view.id), view.owner),
        None => plan_definition(&statement, context),
    });
    planned.is_err_and(|error| error.cause::<NotGrouped>().is_some())
}
