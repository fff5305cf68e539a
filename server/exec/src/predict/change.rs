//! What INSERT, UPDATE and DELETE read and write besides their input.

use std::sync::Arc;

use braid_catalog::partitions::ReferenceRoutes;
use braid_catalog::{ForeignKey, Table};
use braid_kv::Span;
use braid_plan::{
    Delete, Expr, IndexPart, Insert, JoinMethod, Node, OnConflict, Scan, Slot, Update,
};
use braid_rows::{ForeignKeyValues, IndexRows, TableRows, replaced_places, row_span};
use braid_types::Datum;

use crate::predict::access::{AccessSpans, access_spans};
use crate::predict::collector::SpanCollector;
use crate::predict::keys::{entry_span, key_span, parent_span, places, with_generated};
use crate::predict::values::Known;

/// Which rows of the target an UPDATE or DELETE takes.
struct Target {
    /// Their keys' spans in the primary index.
    spans: Vec<Span>,
    /// Each row as far as its columns are known; `None` if not even their number is.
    rows: Option<Vec<Vec<Known>>>,
}

/// A foreign key of a table that is written, made once for all of its rows.
struct Reference<'t> {
    key: &'t ForeignKey,
    /// Places of its columns in the rows.
    places: Vec<usize>,
    values: ForeignKeyValues,
    parent: Arc<Table>,
    /// The leaves of a partitioned parent.
    routes: Option<ReferenceRoutes>,
}

impl Reference<'_> {
    /// Where the parent of a row may be.
    fn parent_spans(&self, row: &[Known]) -> Vec<Span> {
        let value =
            |(i, place): (usize, &usize)| self.values.value_of_child(i, row[*place].as_ref()?).ok();
        let values: Vec<Known> = self.places.iter().enumerate().map(value).collect();
        let points_nowhere = !self.key.match_full
            && values.iter().any(|value| value.as_ref().is_some_and(Datum::is_null));
        if points_nowhere {
            return Vec::new();
        }
        let leaves = match (&self.routes, values.iter().cloned().collect::<Option<Vec<Datum>>>()) {
            (None, _) => Vec::new(),
            (Some(routes), Some(values)) => routes.find(&values).into_iter().collect(),
            (Some(routes), None) => routes.leaves(),
        };
        match leaves.is_empty() {
            // Values that no partition takes are looked for in the parent itself.
            true => parent_span(&self.parent, self.key, &values).into_iter().collect(),
            false => {
                leaves.iter().filter_map(|(leaf, key)| parent_span(leaf, key, &values)).collect()
            }
        }
    }
}

impl<'a> SpanCollector<'a> {
    /// INSERT and UPSERT.
    pub(crate) fn insert(&mut self, insert: &'a Insert) {
        let table = &insert.table;
        let rows = self.values.rows(&insert.input).unwrap_or_else(|| vec![Vec::new()]);
        let references = self.references(table, None);
        for row in &rows {
            let mut new: Vec<Known> =
                insert.values.iter().map(|e| self.values.value(e, row, None)).collect();
            self.generate(&mut new, &insert.generated);
            for (part, e) in &insert.index_exprs {
                if let IndexPart::Key(place) = part {
                    new[*place] = self.values.value(e, &new, None);
                }
            }
            for index in table.all_indexes() {
                let span = entry_span(table, index, &new);
                if index.unique || index.number == 1 {
                    self.reads.push(span.clone());
                } else if index.exclusion.is_some() {
                    self.reads.push(table.index_span(index));
                } else if index.deferrable {
                    self.reads.push(key_span(table, index, &new));
                }
                self.writes.push(span);
            }
            self.parents(&references, &new);
        }
        let changed: Vec<usize> = match &insert.on_conflict {
            OnConflict::Error | OnConflict::Nothing(_) => return,
            OnConflict::Update { assignments, .. } => {
                assignments.iter().map(|(place, _)| *place).collect()
            }
            OnConflict::Upsert(places) => replaced_places(table, places),
        };
        // The rows in the way are not known, except that UPSERT finds them by the primary key.
        let by_primary_key = match &insert.on_conflict {
            OnConflict::Update { indexes, .. } => indexes.iter().all(|number| *number == 1),
            _ => true,
        };
        if !by_primary_key {
            let whole = table.index_span(&table.primary);
            self.reads.push(whole.clone());
            self.writes.push(whole);
        }
        let nothing = vec![None; table.columns.len()];
        let changed = with_generated(table, changed);
        let updates = !matches!(insert.on_conflict, OnConflict::Upsert(_));
        self.defaults(&insert.cascades);
        self.replaced(table, &changed, !insert.index_exprs.is_empty());
        if updates {
            self.parents_of(table, &nothing, Some(&changed));
        }
        self.children(table, None, Some(&changed));
    }

    /// UPDATE.
    pub(crate) fn update(&mut self, update: &'a Update) {
        let table = &update.table;
        let target = self.target(&update.input, table);
        self.defaults(&update.cascades);
        let places: Vec<usize> = update.assignments.iter().map(|(place, _)| *place).collect();
        let changed = with_generated(table, places);
        self.writes.extend(target.spans.iter().cloned());
        self.replaced(table, &changed, !update.index_exprs.is_empty());
        let mut new = vec![None; table.columns.len()];
        for (place, e) in &update.assignments {
            new[*place] = self.values.value(e, &[], None);
        }
        self.parents_of(table, &new, Some(&changed));
        self.children(table, target.rows.as_deref(), Some(&changed));
    }

    /// DELETE.
    pub(crate) fn delete(&mut self, delete: &'a Delete) {
        let table = &delete.table;
        let target = self.target(&delete.input, table);
        if let Some(Ok((_, range))) = delete.ranges(self.values.cx.range_delete) {
            for span in &target.spans {
                let wide = Span::prefix(span.start.clone());
                let is_row = *span == row_span(span.start.clone());
                let wide = if is_row { wide } else { span.clone() };
                self.reads.push(wide.clone());
                self.writes.push(wide);
            }
            let outside = range.outside.iter().flat_map(|(table, numbers)| {
                numbers.iter().filter_map(|number| Some(table.index_span(table.index(*number)?)))
            });
            self.writes.extend(outside);
            return;
        }
        self.defaults(&delete.cascades);
        self.writes.extend(target.spans);
        let rows = target.rows.unwrap_or_else(|| vec![vec![None; table.columns.len()]]);
        for index in &table.indexes {
            for row in &rows {
                self.writes.push(entry_span(table, index, row));
            }
        }
        self.children(table, Some(&rows), None);
    }

    /// Generated columns, where what they need is known.
    fn generate(&self, row: &mut [Known], generated: &[(usize, Expr)]) {
        for (place, e) in generated {
            row[*place] = self.values.value(e, row, None);
        }
    }

    /// Entries of rows that change in these columns: old ones are not known, new ones depend on
    /// the rest of the row.
    pub(crate) fn replaced(&mut self, table: &Arc<Table>, changed: &[usize], has_predicates: bool) {
        let layouts = TableRows::new(table).and_then(|rows| Ok((rows, IndexRows::all(table)?)));
        let Some((rows, layouts)) = self.intact(layouts) else { return };
        let moved = rows.primary_places().iter().any(|place| changed.contains(place));
        if moved {
            self.reads.push(rows.primary_span());
            self.writes.push(rows.primary_span());
        }
        for (index, layout) in table.indexes.iter().zip(layouts) {
            let partial = has_predicates && index.predicate.is_some();
            if moved || partial || layout.touches(changed) {
                if index.declares_unique() || index.exclusion.is_some() {
                    self.reads.push(layout.span());
                }
                self.writes.push(layout.span());
            }
        }
    }

    /// Parents of a row written: of all foreign keys, or of those with a changed column.
    pub(crate) fn parents_of(&mut self, table: &Table, row: &[Known], changed: Option<&[usize]>) {
        let references = self.references(table, changed);
        self.parents(&references, row);
    }

    fn parents(&mut self, references: &[Reference<'_>], row: &[Known]) {
        self.reads.extend(references.iter().flat_map(|reference| reference.parent_spans(row)));
    }

    /// All foreign keys of a table, or those with a changed column.
    fn references<'t>(&self, table: &'t Table, changed: Option<&[usize]>) -> Vec<Reference<'t>> {
        let catalog = &self.values.cx.catalog;
        let reference = |key: &'t ForeignKey| {
            let places = places(table, &key.columns);
            if changed.is_some_and(|changed| !places.iter().any(|p| changed.contains(p))) {
                return None;
            }
            let parent = catalog.table(key.parent)?.clone();
            // What is broken is reported when the statement runs.
            let routes = ReferenceRoutes::of(catalog, &parent, key).ok()?;
            let values = ForeignKeyValues::new(table, &parent, key);
            Some(Reference { key, places, values, parent, routes })
        };
        table.foreign_keys.iter().filter_map(reference).collect()
    }

    /// The rows that an UPDATE or DELETE takes from its input.
    fn target(&mut self, input: &'a Node, table: &Arc<Table>) -> Target {
        let whole = Target { spans: vec![table.index_span(&table.primary)], rows: None };
        let Some(first) = input.slots().first().copied() else { return whole };
        let Some((scan, found)) = self.target_access(input, table, first) else { return whole };
        if scan.access.index != 1 {
            return whole;
        }
        let mut target = Target { spans: Vec::new(), rows: Some(Vec::new()) };
        let Some(rows) = self.intact(TableRows::new(table)) else { return whole };
        let key_places = rows.primary_places();
        for access in found {
            target.spans.extend(access.spans);
            match (access.points, &mut target.rows) {
                (Some(points), Some(rows)) => {
                    for point in points {
                        let mut row = vec![None; table.columns.len()];
                        for (place, value) in key_places.iter().zip(point) {
                            row[*place] = Some(value);
                        }
                        rows.push(row);
                    }
                }
                _ => target.rows = None,
            }
        }
        target
    }

    /// The scan that gives the target's rows: the one with the slot of its first column.
    fn target_access(
        &self,
        node: &'a Node,
        table: &Table,
        first: Slot,
    ) -> Option<(&'a Scan, Vec<AccessSpans>)> {
        match node {
            Node::Scan(scan) => {
                let gives = scan.columns.iter().any(|(slot, _)| *slot == first);
                (gives && scan.table.id == table.id)
                    .then(|| (&**scan, vec![access_spans(self.values, scan, None)]))
            }
            Node::Join(join) if matches!(join.method, JoinMethod::Lookup) => {
                let right = match &join.right {
                    Node::Scan(scan) if scan.columns.iter().any(|(slot, _)| *slot == first) => {
                        (scan.table.id == table.id)
                            .then(|| (&**scan, self.lookup_spans(join, scan)))
                    }
                    _ => None,
                };
                right.or_else(|| self.target_access(&join.left, table, first))
            }
            // Their rows are made of others, or come from several scans.
            Node::Aggregate(_)
            | Node::SetOp(_)
            | Node::Append(_)
            | Node::With(_)
            | Node::CteScan(_) => None,
            other => {
                let mut found = None;
                other.for_each_child(&mut |child| {
                    if found.is_none() {
                        found = self.target_access(child, table, first);
                    }
                });
                found
            }
        }
    }
}
