//! `UPDATE pg_class`: a statement of its own where the name means the catalog, which has no rows to
//! change; a plain UPDATE where it means a table of a user.

use std::sync::Arc;

use braid_catalog::Relation;
use braid_sql::ast::{ParsedStatement, Statement};
use braid_sql::{fold, sizes_of};
use braid_types::Result;

use crate::session::Session;
use crate::statement::context::statement_environment;
use crate::statement::plans::cache::ParsedText;
use crate::statement::plans::planning::catalog_ahead;
use crate::statement::prepared::Prepared;
use crate::transaction::open::ensure_open;

/// The same, read as one that sets sizes if it is an UPDATE of the catalog's `pg_class`.
pub(crate) async fn with_sizes(session: &mut Session, mut prepared: Prepared) -> Result<Prepared> {
    let Some(Statement::Update(update)) = prepared.statement() else { return Ok(prepared) };
    let Some(sizes) = sizes_of(update) else { return Ok(prepared) };
    session.block.check()?;
    let name: Vec<String> =
        update.table.0.iter().filter_map(|part| part.as_ident().map(fold)).collect();
    let seq = ensure_open(session).txn.next_statement();
    let catalog = catalog_ahead(session, seq).await?;
    let env = statement_environment(session, &catalog);
    let meant = catalog.names().resolve(&env.lookup.path, &name)?;
    if !matches!(meant, Some(Relation::Virtual(_))) {
        return Ok(prepared);
    }
    let index = prepared.index.unwrap_or_default();
    if let Some(known) = prepared.parsed.statements.get(index) {
        let parsed = ParsedStatement {
            statement: Statement::SetSizes(Box::new(sizes)),
            text: known.text.clone(),
            parameters: known.parameters,
        };
        prepared.parsed = Arc::new(ParsedText::of_statement(&prepared.parsed.text, parsed));
        prepared.index = Some(0);
    }
    Ok(prepared)
}
