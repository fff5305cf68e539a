//! WITH: entries are computed once, as far as somebody reads them.
//!
//! An entry's rows are kept by its [`CteState`] and read by any number of scans; who comes to
//! their end asks for more. A recursive entry makes one batch after another in the same way, so
//! that a LIMIT ends an endless recursion. Entries that change data run to their end first, or
//! behind a statement that changes the same table: of several changes of one row the first counts,
//! and that is the statement's own, unless it reads the entry, as in PostgreSQL.
//!
//! What must hold: the run does not own the states (they hold operators, which hold the run);
//! a WITH that starts again (in a subquery) starts with new states and
//! forgets what subqueries have kept.

use std::sync::{Arc, Weak};

use braid_catalog::Id;
use braid_plan::{Cte, CteScan, Node, With};
use braid_types::{Result, Row};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use crate::operator::cte_rows::{CteReader, CteRows};
use crate::operator::eval::Evaluator;
use crate::operator::key_form::{KeyForm, KeySet};
use crate::operator::reservation::{MemoryReservation, broken};
use crate::operator::{BoxedOperator, ExecutionState, Operator, OuterRow, build};
use crate::spill::{RowStore, StoreCursor};

/// An entry of a WITH that is under way.
pub(crate) struct CteState {
    /// What it has given so far.
    rows: Mutex<RowStore>,
    /// What the recursive term reads.
    working: Mutex<Arc<Mutex<RowStore>>>,
    source: tokio::sync::Mutex<Source>,
}

struct Source {
    run: Arc<ExecutionState>,
    /// Memory of what [`Recursion::seen`] holds.
    held: MemoryReservation,
    /// The command tag counts what the statement itself changes, not what this entry does.
    changes_data: bool,
    /// The plan under way: the entry's, or the recursive term; `None` at the end.
    input: Option<BoxedOperator>,
    recursion: Option<Box<Recursion>>,
}

struct Recursion {
    term: Arc<Node>,
    outer: OuterRow,
    /// UNION: everything given so far, in the form in which it is compared.
    seen: Option<(KeySet<Row>, KeyForm)>,
    /// What the next round reads.
    next: RowStore,
    /// The plan under way is the recursive term.
    is_term: bool,
}

impl CteState {
    fn new(cte: &Cte, run: &Arc<ExecutionState>, outer: &OuterRow) -> Result<Self> {
        let recursion = cte.recursive.as_ref().map(|(term, distinct)| {
            Box::new(Recursion {
                term: run.copy(term),
                outer: outer.clone(),
                seen: distinct.then(|| (KeySet::default(), KeyForm::new(&cte.types))),
                next: RowStore::new(run),
                is_term: false,
            })
        });
        let source = Source {
            run: run.clone(),
            held: MemoryReservation::new(run),
            changes_data: cte.changes_data,
            input: Some(build(&cte.plan, run, Some(outer.clone()))?),
            recursion,
        };
        Ok(Self {
            rows: Mutex::new(RowStore::new(run)),
            working: Mutex::new(Arc::new(Mutex::new(RowStore::new(run)))),
            source: tokio::sync::Mutex::new(source),
        })
    }

    async fn make_rows(&self) -> Result<bool> {
        let mut source = self.source.lock().await;
        let source = &mut *source;
        loop {
            source.run.check_interrupts().await?;
            let Some(input) = &mut source.input else { return Ok(false) };
            let changed = source.run.changed_rows();
            let next = input.next().await?;
            if source.changes_data {
                source.run.reset_changed(changed);
            }
            match next {
                Some(mut batch) => {
                    if let Some(recursion) = &mut source.recursion {
                        if let Some((seen, form)) = &mut recursion.seen {
                            batch.retain(|row| seen.insert(form.key(row)));
                            source.held.take_rows(&batch)?;
                        }
                        recursion.next.append(batch.clone())?;
                    }
                    if batch.is_empty() {
                        continue;
                    }
                    self.rows.lock().append(batch)?;
                    return Ok(true);
                }
                None => {
                    let ended = source.input.take();
                    let recursion = source.recursion.as_deref_mut();
                    source.input = self.next_round(ended, recursion, &source.run)?;
                }
            }
        }
    }

    /// The recursive term over what the last round gave; `None` if that was nothing. `ended` is the
    /// plan that has given it: simple ones begin again.
    fn next_round(
        &self,
        ended: Option<BoxedOperator>,
        recursion: Option<&mut Recursion>,
        run: &Arc<ExecutionState>,
    ) -> Result<Option<BoxedOperator>> {
        let Some(recursion) = recursion else { return Ok(None) };
        if recursion.next.is_empty() {
            return Ok(None);
        }
        let rows = std::mem::replace(&mut recursion.next, RowStore::new(run));
        *self.working.lock() = Arc::new(Mutex::new(rows));
        let is_term = std::mem::replace(&mut recursion.is_term, true);
        if let Some(mut term) = ended.filter(|_| is_term)
            && term.begin_round()
        {
            return Ok(Some(term));
        }
        build(&recursion.term, run, Some(recursion.outer.clone())).map(Some)
    }
}

impl CteRows for CteState {
    fn reader(self: Arc<Self>, working: bool, places: Vec<usize>) -> Box<dyn CteReader> {
        let cursor = StoreCursor::default();
        if working {
            let rows = self.working.lock().clone();
            return Box::new(WorkingReader { rows, cursor, places });
        }
        Box::new(EntryReader { state: self, cursor, places })
    }
}

/// Reads the rows of an entry.
struct EntryReader {
    state: Arc<CteState>,
    cursor: StoreCursor,
    places: Vec<usize>,
}

impl CteReader for EntryReader {
    fn next(&mut self) -> BoxFuture<'_, Result<Vec<Row>>> {
        Box::pin(async move {
            loop {
                let batch = read(&self.state.rows, &mut self.cursor, &self.places)?;
                if !batch.is_empty() || !self.state.make_rows().await? {
                    return Ok(batch);
                }
            }
        })
    }
}

/// Reads the rows of a round of a recursion.
struct WorkingReader {
    rows: Arc<Mutex<RowStore>>,
    cursor: StoreCursor,
    places: Vec<usize>,
}

impl CteReader for WorkingReader {
    fn next(&mut self) -> BoxFuture<'_, Result<Vec<Row>>> {
        Box::pin(async move { read(&self.rows, &mut self.cursor, &self.places) })
    }
}

/// Chosen columns of the next rows that are there.
fn read(rows: &Mutex<RowStore>, cursor: &mut StoreCursor, places: &[usize]) -> Result<Vec<Row>> {
    rows.lock().read_as(cursor, |row| places.iter().map(|place| row[*place].clone()).collect())
}

/// WITH around a statement.
pub(crate) struct WithOperator {
    /// The entries; those marked run to their end first.
    ctes: Vec<(Arc<CteState>, bool)>,
    body: BoxedOperator,
    /// The body changes a table that an entry changes too, so it goes first.
    body_first: bool,
    started: bool,
    /// The rows of a body that went first, and how far they were given.
    rows: RowStore,
    given: StoreCursor,
}

/// The tables that the parts of a WITH change, the body last.
fn changed_tables(node: &With) -> Vec<Id> {
    let parts = node.ctes.iter().map(|cte| &cte.plan).chain([&node.body]);
    parts.flat_map(tables_changed_by).collect()
}

/// The tables that one part changes, each once.
fn tables_changed_by(node: &Node) -> Vec<Id> {
    let mut tables = match node {
        Node::Insert(insert) => {
            let leaves = insert.routes.iter().flat_map(|routes| &routes.leaves);
            leaves.flat_map(tables_changed_by).chain([insert.table.id]).collect()
        }
        Node::Update(update) => vec![update.table.id],
        Node::Delete(delete) => vec![delete.table.id],
        Node::Merge(merge) => vec![merge.table.id],
        Node::With(with) => tables_changed_by(&with.body),
        Node::Append(append) => append.inputs.iter().flat_map(tables_changed_by).collect(),
        _ => Vec::new(),
    };
    tables.sort_unstable();
    tables.dedup();
    tables
}

impl WithOperator {
    /// Makes the entries known and builds the statement.
    pub(crate) fn new(node: &With, run: &Arc<ExecutionState>, outer: OuterRow) -> Result<Self> {
        let tables = changed_tables(node);
        for (place, table) in tables.iter().enumerate() {
            if tables[..place].contains(table) {
                run.share_changes(*table);
            }
        }
        // What the entries change beside it comes afterwards, as in PostgreSQL.
        let changes = node.ctes.iter().any(|cte| cte.changes_data);
        let body_first = changes && !tables_changed_by(&node.body).is_empty();
        let mut ctes = Vec::with_capacity(node.ctes.len());
        let mut again = false;
        for cte in &node.ctes {
            let state = Arc::new(CteState::new(cte, run, &outer)?);
            let known: Weak<CteState> = Arc::downgrade(&state);
            again |= run.ctes.lock().insert(cte.id, known).is_some();
            ctes.push((state, cte.changes_data));
        }
        if again {
            run.subqueries.lock().clear();
        }
        let body = build(&node.body, run, Some(outer))?;
        let (rows, given) = (RowStore::new(run), StoreCursor::default());
        Ok(Self { ctes, body, body_first, started: false, rows, given })
    }

    async fn batch(&mut self) -> Result<Option<Vec<Row>>> {
        if !self.started {
            self.started = true;
            if self.body_first {
                while let Some(batch) = self.body.next().await? {
                    self.rows.append(batch)?;
                }
            }
            for (state, changes_data) in &self.ctes {
                while *changes_data && state.make_rows().await? {}
            }
        }
        if !self.body_first {
            return self.body.next().await;
        }
        let rows = self.rows.read(&mut self.given)?;
        Ok((!rows.is_empty()).then_some(rows))
    }
}

impl Operator for WithOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.batch())
    }
}

/// The rows of a WITH entry, or of the working table of its recursion.
pub(crate) struct CteScanOperator {
    id: u32,
    /// Places of the columns read, and whether they are those of the working table.
    places: Vec<usize>,
    working: bool,
    evaluator: Evaluator,
    reader: Option<Box<dyn CteReader>>,
}

impl CteScanOperator {
    /// A scan of an entry of a WITH around it.
    pub(crate) fn new(node: &CteScan, evaluator: Evaluator) -> Self {
        let places = node.columns.iter().map(|(_, place)| *place).collect();
        let (id, working) = (node.id, node.working);
        let mut scan = Self { id, places, working, evaluator, reader: None };
        scan.open();
        scan
    }

    fn open(&mut self) {
        let state = self.evaluator.run.ctes.lock().get(&self.id).and_then(Weak::upgrade);
        self.reader = state.map(|state| state.reader(self.working, self.places.clone()));
    }

    async fn batch(&mut self) -> Result<Option<Vec<Row>>> {
        self.evaluator.run.check_interrupts().await?;
        let Some(reader) = &mut self.reader else {
            return Err(broken(&format!("WITH entry {} is not under way", self.id)));
        };
        let batch = reader.next().await?;
        Ok((!batch.is_empty()).then_some(batch))
    }
}

impl Operator for CteScanOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.batch())
    }

    fn begin_round(&mut self) -> bool {
        if self.working {
            self.open();
        }
        self.working
    }
}
