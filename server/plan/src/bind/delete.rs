//! DELETE.

use braid_catalog::{Object, is_temporary};
use braid_sql::ast::{Delete as AstDelete, Returning};
use braid_types::Result;

use super::Binder;
use super::cascade::Change;
use super::lock::lock_rows;
use super::statement::BoundStatement;
use super::update::target_first;
use crate::expr::{Expr, Slot};
use crate::node::{Delete, Node};
use crate::planned::StatementKind;
use crate::range_delete::range_delete;

impl Binder<'_> {
    pub(super) fn bind_delete(&mut self, delete: &AstDelete) -> Result<BoundStatement> {
        let table = self.target_table(&delete.table, "delete from")?;
        self.check(Object::Table(&table), "DELETE")?;
        let alias = delete.alias.as_ref().map(braid_sql::fold);
        let (node, mut scope) = self.target_scan(&table, alias.as_deref());
        let target_slots: Vec<Slot> = node.slots();
        let (input, from_scope) = self.guarding(&table, &target_slots, |this| {
            this.target_input(node, &scope, &delete.using)
        })?;
        scope.merge(from_scope)?;
        let input = self.guarding(&table, &target_slots, |this| {
            this.filtered(input, delete.selection.as_ref(), &scope)
        })?;
        let input = lock_rows(input)?;
        let input = target_first(input, &delete.using, &scope);
        let (columns, returning): (_, Vec<(Slot, Expr)>) =
            self.guarding(&table, &target_slots, |this| this.returning(&delete.returning, &scope))?;
        let range = range_delete(self.context().catalog, &table);
        if range.is_some() {
            let below = self.context().catalog.interleaved_below(&table);
            self.tables.extend(below.iter().map(|(table, _)| table.id));
        }
        let is_write = !is_temporary(table.id);
        let root = Node::Delete(Box::new(Delete {
            index_exprs: self.index_exprs(&table, &target_slots)?,
            cascades: self.cascades(&table, Change::delete())?,
            table,
            input,
            returning,
            returning_nothing: matches!(delete.returning, Returning::Nothing),
            range,
        }));
        Ok(BoundStatement {
            kind: StatementKind::Delete,
            root,
            columns,
            is_write,
            returning_nothing: matches!(delete.returning, Returning::Nothing),
        })
    }
}
