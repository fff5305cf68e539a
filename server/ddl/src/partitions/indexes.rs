//! Indexes and keys of partitioned tables: each partition has one of its own.

use std::sync::Arc;

use braid_catalog::{ColumnId, Id, Index, IndexNumber, Table};
use braid_sql::ast::UniqueRules;
use braid_types::Result;

use crate::context::DdlContext;
use crate::rows::rewrite::fill_index;
use crate::statement::table::primary_key::add_primary_key;
use crate::table::constraints::add_key;
use crate::table::exprs::{index_key_expr, index_predicate, restate_expr};
use crate::table::key_spec::{KeySpec, SpecKey};

/// A key like one of another table, over the columns of the same names.
pub(crate) fn spec_like(
    cx: &DdlContext<'_>,
    table: &Table,
    source: &Table,
    index: &Index,
) -> Result<KeySpec> {
    let index = &*index.as_written();
    let name_of = |id: ColumnId| Ok(source.columns[source.place_of(id)?].name.clone());
    Ok(KeySpec {
        name: None,
        primary: source.is_primary_key(index),
        unique: index.declares_unique(),
        rules: UniqueRules {
            nulls_not_distinct: index.nulls_not_distinct,
            deferrable: index.deferrable,
            initially_deferred: index.initially_deferred,
        },
        constraint: index.constraint.is_some(),
        place: 0,
        is_hash: index.is_hash,
        inverted: index.inverted.clone(),
        options: index.options.clone(),
        keys: keys_like(cx, table, source, index)?,
        storing: index.included().iter().map(|id| name_of(*id)).collect::<Result<_>>()?,
        predicate: match &index.predicate {
            Some(predicate) => {
                let expr = braid_sql::parse_expr(restate_expr(cx, source, predicate).sql())?;
                index_predicate(cx, &Arc::new(table.clone()), &expr)?
            }
            None => None,
        },
        exclusion: index.exclusion.clone(),
    })
}

fn keys_like(
    cx: &DdlContext<'_>,
    table: &Table,
    source: &Table,
    index: &Index,
) -> Result<Vec<SpecKey>> {
    let mut keys = Vec::with_capacity(index.keys.len());
    for key in &index.keys {
        let column = &source.columns[source.place_of(key.column)?];
        let expr = match &column.generated {
            Some(expr) if column.is_key_expr => {
                let expr = restate_expr(cx, source, expr);
                Some(index_key_expr(cx, &Arc::new(table.clone()), expr.sql())?)
            }
            _ => None,
        };
        keys.push(SpecKey {
            column: column.label().to_owned(),
            expr,
            descending: key.descending,
            nulls_opposed: key.nulls_opposed,
            operator_class: key.operator_class,
            collation: key.collation.clone(),
        });
    }
    Ok(keys)
}

/// The indexes of a table that users see.
pub(crate) fn shown_indexes(table: &Table) -> impl Iterator<Item = &Index> {
    table.all_indexes().filter(|index| !table.is_hidden_key(index))
}

/// Gives a new partition without rows the keys and indexes of its parent.
pub(crate) fn copy_indexes(
    cx: &mut DdlContext<'_>,
    table: &mut Table,
    parent: &Table,
    primary: bool,
) -> Result<()> {
    for index in shown_indexes(parent) {
        if (index.number == parent.primary.number) != primary {
            continue;
        }
        let spec = spec_like(cx, table, parent, index)?;
        let number = add_key(cx, table, &spec)?;
        mark(table, number, Some(index.id));
    }
    Ok(())
}

/// Notes of which index of the parent an index is a part.
pub(crate) fn mark(table: &mut Table, number: IndexNumber, part_of: Option<Id>) {
    for index in std::iter::once(&mut table.primary).chain(&mut table.indexes) {
        if index.number == number {
            index.part_of = part_of;
        }
    }
}

/// Gives every partition of a table an index like one of the table's, and those below them.
pub(crate) async fn spread_index(
    cx: &mut DdlContext<'_>,
    parent: Id,
    number: IndexNumber,
) -> Result<()> {
    let Some(parent) = cx.catalog().table(parent).cloned() else { return Ok(()) };
    let Some(index) = parent.index(number).cloned() else { return Ok(()) };
    let partitions: Vec<Id> =
        parent.partitioning.iter().flat_map(|keys| keys.partitions.clone()).collect();
    for id in partitions {
        let Some(table) = cx.catalog().table(id).cloned() else { continue };
        let number = join_index(cx, &table, &parent, &index).await?;
        Box::pin(spread_index(cx, id, number)).await?;
    }
    Ok(())
}

/// Makes an index of a partition a part of its parent's: one that is there, or a new one.
pub(crate) async fn join_index(
    cx: &mut DdlContext<'_>,
    table: &Arc<Table>,
    parent: &Table,
    index: &Index,
) -> Result<IndexNumber> {
    // A partitioned table that is attached brings partitions, whose indexes are parts of its own.
    if let Some(own) = shown_indexes(table).find(|own| own.part_of == Some(index.id)) {
        return Ok(own.number);
    }
    let spec = spec_like(cx, table, parent, index)?;
    let is_free = |own: &&Index| own.part_of.is_none() && is_like(table, own, &spec);
    if let Some(number) = shown_indexes(table).find(is_free).map(|own| own.number) {
        let mut changed = Table::clone(table);
        mark(&mut changed, number, Some(index.id));
        cx.draft()?.put(changed);
        return Ok(number);
    }
    if spec.primary {
        add_primary_key(cx, table.clone(), spec).await?;
        let Some(changed) = cx.catalog().table(table.id).cloned() else { return Ok(1) };
        let mut changed = Table::clone(&changed);
        let number = changed.primary_key().map_or(1, |key| key.number);
        mark(&mut changed, number, Some(index.id));
        cx.draft()?.put(changed);
        return Ok(number);
    }
    let mut changed = Table::clone(table);
    let number = add_key(cx, &mut changed, &spec)?;
    mark(&mut changed, number, Some(index.id));
    let shape = Arc::new(changed.clone());
    if let Some(index) = shape.index(number).filter(|_| shape.partitioning.is_none()) {
        fill_index(cx, &shape, index).await?;
    }
    cx.draft()?.put(changed);
    Ok(number)
}

/// Whether an index is what a spec describes.
pub(crate) fn is_like(table: &Table, index: &Index, spec: &KeySpec) -> bool {
    let is_primary = table.is_primary_key(index);
    let names = |id: &ColumnId| table.column(*id).map(|column| column.label().to_owned());
    let same_keys = index.keys.len() == spec.keys.len()
        && index.keys.iter().zip(&spec.keys).all(|(own, wanted)| {
            let column = table.column(own.column);
            let expr = column.filter(|column| column.is_key_expr);
            let expr = expr.and_then(|column| column.generated.as_ref());
            let same_expr = match (expr, &wanted.expr) {
                (None, None) => names(&own.column).as_deref() == Some(wanted.column.as_str()),
                (Some(own), Some((wanted, _))) => own == wanted,
                _ => false,
            };
            same_expr
                && own.descending == wanted.descending
                && own.nulls_opposed == wanted.nulls_opposed
                && own.operator_class == wanted.operator_class
                && own.collation == wanted.collation
        });
    let storing: Vec<String> = index.included().iter().filter_map(names).collect();
    same_keys
        && is_primary == spec.primary
        && index.is_hash == spec.is_hash
        && index.inverted == spec.inverted
        && index.declares_unique() == spec.unique
        && index.deferrable == spec.rules.deferrable
        && index.nulls_not_distinct == spec.rules.nulls_not_distinct
        && index.exclusion == spec.exclusion
        && (index.constraint.is_some() || !spec.constraint)
        && storing == spec.storing
        && index.predicate == spec.predicate
}
