//! A foreign key with its two tables, and the keys under which parents and children are found.

use std::sync::Arc;

use braid_catalog::partitions::{Reference, ReferenceRoutes, references_to};
use braid_catalog::{
    Catalog, ColumnId, ForeignKey, ForeignKeyAction, Id, Index, IndexKey, Table, TriggerEvent,
};
use braid_codec::key;
use braid_exec::ExecutionState;
use braid_kv::{Key, Span};
use braid_rows::{ForeignKeyValues, push_column, row_span};
use braid_types::{Datum, Error, Result, Row};

/// A foreign key and its tables.
#[derive(Clone)]
pub(crate) struct Link {
    /// The foreign key.
    pub key: ForeignKey,
    /// The table that has it.
    pub child: Arc<Table>,
    /// The table that it points at.
    pub parent: Arc<Table>,
    /// Places of its columns in the child's rows.
    pub child_places: Vec<usize>,
    /// Places of the columns pointed at in the parent's rows.
    pub parent_places: Vec<usize>,
    /// How the values of both are compared.
    pub values: ForeignKeyValues,
    /// The leaves of a partitioned parent.
    pub routes: Option<Result<Arc<ReferenceRoutes>>>,
    /// The table that the foreign key names: the parent, or a table of which it is a partition.
    pub named: Id,
}

/// The foreign keys of a table, each list by age.
#[derive(Default)]
pub(crate) struct TableLinks {
    /// Those that it has.
    pub outgoing: Vec<Arc<Link>>,
    /// Those that point at it.
    pub incoming: Vec<Arc<Link>>,
}

/// Places of columns in a table's rows.
pub(crate) fn places(table: &Table, columns: &[ColumnId]) -> Vec<usize> {
    let place = |id: &ColumnId| table.position_of(*id);
    columns.iter().filter_map(place).collect()
}

/// The values at these places of a row.
pub(crate) fn pick(row: &[Datum], places: &[usize]) -> Row {
    places.iter().map(|place| row[*place].clone()).collect()
}

impl Link {
    /// A foreign key of `child`; `None` if its parent is not there.
    pub(crate) fn new(
        catalog: &Catalog,
        child: &Arc<Table>,
        key: &ForeignKey,
    ) -> Option<Arc<Self>> {
        let parent = match key.parent == child.id {
            true => child,
            false => catalog.table(key.parent)?,
        };
        let routes = ReferenceRoutes::of(catalog, parent, key).transpose();
        let link = Self::between(child, parent, key.clone());
        Some(Arc::new(Self { routes: routes.map(|routes| routes.map(Arc::new)), ..link }))
    }

    fn between(child: &Arc<Table>, parent: &Arc<Table>, key: ForeignKey) -> Self {
        Self {
            child_places: places(child, &key.columns),
            parent_places: places(parent, &key.parent_columns),
            values: ForeignKeyValues::new(child, parent, &key),
            key,
            child: child.clone(),
            parent: parent.clone(),
            routes: None,
            named: parent.id,
        }
    }

    /// The places that an action sets in the child's rows.
    pub(crate) fn set_places(&self, deleting: bool) -> Vec<usize> {
        match deleting && !self.key.delete_columns.is_empty() {
            true => places(&self.child, &self.key.delete_columns),
            false => self.child_places.clone(),
        }
    }

    /// The index by which children are found.
    pub(crate) fn child_index(&self) -> Option<&Index> {
        self.values.index(&self.child, &self.key)
    }

    /// The key under which the parent row that has these values would be found. Nothing is ever
    /// stored under the keys of a partitioned table: they stand for values that no partition takes.
    pub(crate) fn parent_key(&self, values: &[Datum]) -> Result<Key> {
        let routes = self.routes.as_ref().map(|routes| routes.as_ref().map_err(Error::clone));
        let leaf = routes.transpose()?.and_then(|routes| routes.find(values));
        let (parent, key) = leaf.unwrap_or((&self.parent, &self.key));
        let Some(index) = parent.index(key.parent_index) else {
            return Err(Error::internal("a foreign key without its parent's index"));
        };
        let mut out = parent.key_prefix(index);
        for (place, part) in index.keys.iter().enumerate() {
            let at = key.parent_columns.iter().position(|id| *id == part.column);
            at.and_then(|at| values.get(at))
                .and_then(|value| push_column(&mut out, parent, index, place, value))
                .ok_or_else(|| Error::internal("a foreign key that does not cover its index"))?;
        }
        if index.number == 1 {
            key::encode_family(&mut out, 0);
        }
        Ok(out)
    }

    /// The tables that may have a parent, each with the foreign key as if it referred to it.
    pub(crate) fn places_of_parents(&self) -> Vec<(&Arc<Table>, &ForeignKey)> {
        let routes = self.routes.as_ref().and_then(|routes| routes.as_ref().ok());
        let leaves = routes.map(|routes| routes.leaves()).unwrap_or_default();
        std::iter::once((&self.parent, &self.key)).chain(leaves).collect()
    }

    /// Where children of a parent with these values are in an index that begins with the foreign
    /// key; `None` if no child can have them.
    pub(crate) fn child_span(&self, index: &Index, values: &[Datum]) -> Option<Span> {
        let values = self.values.for_child(values)?;
        let mut out = self.child.key_prefix(index);
        for (place, part) in index.keys[..self.key.columns.len()].iter().enumerate() {
            let at = self.key.columns.iter().position(|id| *id == part.column);
            if let Some(value) = at.and_then(|at| values.get(at)) {
                push_column(&mut out, &self.child, index, place, value);
            }
        }
        if self.key.columns.len() == index.keys.len() && index.has_below() {
            // Whole rows, without what is interleaved below them.
            return Some(row_span(out));
        }
        Some(Span::prefix(out))
    }

    /// Whether children lie as their parents do: whatever range of the parent's primary index goes,
    /// the same range of the child's is what cascades from it. So the child's primary key begins
    /// with the parent's, nobody else's keys lie in either range, and no child can be without its
    /// parent.
    pub(crate) fn is_placed_alike(&self) -> bool {
        let (child, parent) = (&self.child.primary, &self.parent.primary);
        let key = &self.key;
        let ty = |table: &Table, id| table.column(id).map(|column| column.ty.clone());
        let same = |(below, above): (&IndexKey, &IndexKey)| {
            let mut pairs = key.columns.iter().zip(&key.parent_columns);
            below.descending == above.descending
                && pairs.any(|pair| pair == (&below.column, &above.column))
                && ty(&self.child, below.column) == ty(&self.parent, above.column)
        };
        key.on_delete == ForeignKeyAction::Cascade
            && self.named == self.parent.id
            && !key.deferrable
            && key.validated
            && !key.unfinished
            && key.parent_index == parent.number
            && key.columns.len() == parent.keys.len()
            && child.keys.len() >= parent.keys.len()
            && child.keys.iter().zip(&parent.keys).all(same)
            && !child.is_mixed()
            && !parent.is_mixed()
            && self.child.id != self.parent.id
            && self.child.moving.is_none()
            && !self.child.triggers.iter().any(|trigger| trigger.is_for(TriggerEvent::Delete))
    }

    /// The range of children that lie as this range of parents does.
    pub(crate) fn span_alike(&self, parents: &Span) -> Option<Span> {
        let above = self.parent.key_prefix(&self.parent.primary);
        let below = self.child.key_prefix(&self.child.primary);
        let moved = |bound: &[u8]| Some([&below[..], bound.strip_prefix(&above[..])?].concat());
        Some(Span::new(moved(&parents.start)?, moved(&parents.end)?))
    }

    /// Whether the child's rows are interleaved in those of the parent.
    fn is_of_interleaving(&self) -> bool {
        self.child.primary.parent() == Some(self.parent.id)
    }

    /// Whether values of the child point nowhere by their NULLs.
    pub(crate) fn points_nowhere(&self, values: &[Datum]) -> bool {
        let nulls = values.iter().filter(|value| value.is_null()).count();
        // With MATCH FULL some NULLs among other values are a violation, found later.
        if self.key.match_full { nulls == values.len() } else { nulls > 0 }
    }
}

impl TableLinks {
    /// The foreign keys of a table that act now: `DISABLE TRIGGER ALL` and
    /// `session_replication_role` switch them off, but not those along which rows are interleaved.
    pub(crate) fn acting(run: &ExecutionState, table: &Arc<Table>) -> Result<Self> {
        let mut links = Self::of(&run.cx.catalog, table)?;
        if links.outgoing.is_empty() && links.incoming.is_empty() {
            return Ok(links);
        }
        let role = run.cx.env.setting("session_replication_role").unwrap_or_default();
        if !table.key_triggers.fires(&role) {
            links.outgoing.retain(|link| link.is_of_interleaving());
            links.incoming.retain(|link| link.is_of_interleaving());
        }
        Ok(links)
    }

    /// The foreign keys of a table.
    pub(crate) fn of(catalog: &Catalog, table: &Arc<Table>) -> Result<Self> {
        let own = table.foreign_keys.iter();
        let mut outgoing: Vec<Arc<Link>> =
            own.filter_map(|key| Link::new(catalog, table, key)).collect();
        let incoming = |reference: Reference| {
            let link = Link::between(&reference.child, table, reference.key);
            Arc::new(Link { named: reference.named, ..link })
        };
        let incoming = references_to(catalog, table)?.into_iter().map(incoming).collect();
        outgoing.sort_by_key(|link| link.key.id);
        Ok(Self { outgoing, incoming })
    }
}

/// Whether two values of a column look the same, not only compare as equal (`1.0`, `1.00`).
pub(crate) fn same_image(table: &Table, place: usize, a: &Datum, b: &Datum) -> bool {
    let ty = &table.columns[place].ty;
    if a != b || a.is_null() || key::is_exact(ty) {
        return a == b;
    }
    let settings = braid_types::FormatSettings::default();
    let text = |value| braid_types::text::to_string(ty, value, &settings);
    text(a) == text(b)
}
