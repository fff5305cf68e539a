//! From changed rows to questions.

use std::collections::HashSet;
use std::sync::Arc;

use braid_catalog::partitions::lineage;
use braid_catalog::{Catalog, Id, Table};
use braid_exec::ExecutionState;
use braid_plan::Cascades;
use braid_rows::TableRows;
use braid_types::{Datum, Error, Result, Row, SqlState};

use crate::deferrable_keys::is_checked_at_end;
use crate::foreign_keys::event::Event;
use crate::foreign_keys::link::{Link, TableLinks, pick, same_image};
use crate::foreign_keys::queue::Queue;
use crate::queues::Queues;

/// The questions of one operator that changes rows of one table.
pub(crate) struct ForeignKeys {
    run: Arc<ExecutionState>,
    queue: Arc<Queue>,
    links: TableLinks,
    table: Arc<Table>,
    /// Its layout, made when a row's key is asked for.
    rows: Option<TableRows>,
    /// For each outgoing key, whether a row may change again before the question is answered.
    keeps_rows: Option<Vec<bool>>,
    /// The keys asked about, where the same question is asked once.
    seen: Vec<HashSet<Row>>,
    events: Vec<Event>,
}

impl ForeignKeys {
    /// For an operator on this table, whose plan knows what cascades may write.
    pub(crate) fn new(
        run: &Arc<ExecutionState>,
        queues: &Queues,
        table: &Arc<Table>,
        cascades: &Cascades,
    ) -> Result<Self> {
        let queue = &queues.keys;
        let links = TableLinks::acting(run, table)?;
        if !(links.outgoing.is_empty() && links.incoming.is_empty()) {
            queue.register(cascades);
        }
        if cascades.tables.iter().any(|cascade| cascade.may_fire()) {
            queues.triggers.register();
        }
        let cascaded = cascades.tables.iter().map(|cascade| &cascade.table);
        if std::iter::once(table).chain(cascaded).any(|t| is_checked_at_end(&run.cx, t)) {
            queue.check_keys();
        }
        Ok(Self {
            run: run.clone(),
            queue: queue.clone(),
            seen: links.outgoing.iter().map(|_| HashSet::new()).collect(),
            links,
            table: table.clone(),
            rows: None,
            keeps_rows: None,
            events: Vec::new(),
        })
    }

    /// A row leaves its partition for another one of `root`, the table that the statement names.
    pub(crate) fn moved(&mut self, old: &[Datum], new: &[Datum], root: Id) -> Result<()> {
        let (catalog, links) = (&self.run.cx.catalog, &self.links);
        moved_events((catalog, root), &self.table, links, (old, new), &mut self.events)
    }

    /// A row came (no `old`), went (no `new`) or changed.
    pub(crate) fn changed(&mut self, old: Option<&[Datum]>, new: Option<&[Datum]>) -> Result<()> {
        if let Some(old) = old {
            parent_events(&self.links.incoming, old, new, &mut self.events);
        }
        let Some(new) = new.filter(|_| !self.links.outgoing.is_empty()) else {
            return Ok(());
        };
        let run = &self.run;
        let keeps = self.keeps_rows.get_or_insert_with(|| {
            let may_change = self.queue.may_write(self.table.id);
            let links = self.links.outgoing.iter();
            links
                .map(|link| may_change || run.cx.constraints.is_deferred(link.child.id, &link.key))
                .collect()
        });
        for (i, link) in self.links.outgoing.iter().enumerate() {
            let values = pick(new, &link.child_places);
            if link.points_nowhere(&values) {
                continue;
            }
            let same = old.is_some_and(|old| pick(old, &link.child_places) == values);
            // A row that keeps its parent asks nothing. The parent may move in this statement, too,
            // and a cascade follow it.
            if same && !run.cx.constraints.is_deferred(link.child.id, &link.key) {
                continue;
            }
            if keeps[i] {
                let rows = match self.rows.take() {
                    Some(rows) => self.rows.insert(rows),
                    None => self.rows.insert(TableRows::new(&self.table)?),
                };
                let row = rows.primary_key(new);
                // A row that is still to be looked at when the transaction ends may have moved.
                if same && old.is_some_and(|old| rows.primary_key(old) == row) {
                    continue;
                }
                let link = link.clone();
                self.events.push(Event::Child { link, values, row: Some(row) });
            } else if !self.seen[i].contains(&values) {
                self.seen[i].insert(values.clone());
                self.events.push(Event::Child { link: link.clone(), values, row: None });
            }
        }
        Ok(())
    }

    /// Hands the questions over, to be answered at the end of the statement.
    pub(crate) fn hand_over(&mut self) {
        if !self.events.is_empty() {
            self.queue.push(&mut self.events);
        }
    }
}

/// What a row that leaves its partition for another one of a root asks about its children.
///
/// For keys that point at the root or above it, the row changes: it is still theirs. For one that
/// points at the partition it is gone. 0A000 for a key that points in between, as in PostgreSQL.
pub(crate) fn moved_events(
    (catalog, root): (&Catalog, Id),
    table: &Arc<Table>,
    links: &TableLinks,
    (old, new): (&[Datum], &[Datum]),
    into: &mut Vec<Event>,
) -> Result<()> {
    let above = lineage(catalog, table);
    let below_root = above.iter().take_while(|upper| upper.id != root);
    let between: Vec<Id> = below_root.map(|upper| upper.id).collect();
    if let Some(link) = links.incoming.iter().find(|link| between.contains(&link.named)) {
        return Err(points_between(catalog, link.named, root));
    }
    let (own, upper): (Vec<_>, Vec<_>) =
        links.incoming.iter().cloned().partition(|link| link.named == table.id);
    parent_events(&own, old, None, into);
    parent_events(&upper, old, Some(new), into);
    Ok(())
}

/// 0A000: a key points at a table between a partition and the table that the statement names.
fn points_between(catalog: &Catalog, named: Id, root: Id) -> Error {
    let name = |id| catalog.table(id).map_or_else(String::new, |table| table.name.clone());
    let (named, root) = (name(named), name(root));
    let message = "cannot move tuple across partitions when a non-root ancestor of the source \
                   partition is directly referenced in a foreign key";
    let detail = format!(
        "A foreign key points to ancestor \"{named}\" but not the root ancestor \"{root}\"."
    );
    Error::new(SqlState::FeatureNotSupported, message)
        .detail(detail)
        .hint(format!("Consider defining the foreign key on table \"{root}\"."))
}

/// What a row that went or changed asks about its children.
pub(crate) fn parent_events(
    incoming: &[Arc<Link>],
    old: &[Datum],
    new: Option<&[Datum]>,
    into: &mut Vec<Event>,
) {
    for link in incoming {
        let gone = pick(old, &link.parent_places);
        let stays = |new: &[Datum]| {
            let mut places = link.parent_places.iter();
            places.all(|place| same_image(&link.parent, *place, &old[*place], &new[*place]))
        };
        if gone.iter().any(Datum::is_null) || new.is_some_and(stays) {
            continue;
        }
        let new = new.map(|new| pick(new, &link.parent_places));
        into.push(Event::Parent { link: link.clone(), old: gone, new });
    }
}

/// What a row that a cascade has changed asks about its parents.
pub(crate) fn child_events(
    links: &TableLinks,
    rows: &TableRows,
    old: &[Datum],
    new: &[Datum],
    into: &mut Vec<Event>,
) {
    let row = rows.primary_key(new);
    let moved = rows.primary_key(old) != row;
    let asks = |link: &&Arc<Link>| {
        let values = pick(new, &link.child_places);
        let same = pick(old, &link.child_places) == values;
        (moved || !same) && !link.points_nowhere(&values)
    };
    for link in links.outgoing.iter().filter(asks) {
        let values = pick(new, &link.child_places);
        into.push(Event::Child { link: link.clone(), values, row: Some(row.clone()) });
    }
}
