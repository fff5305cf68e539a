//! The plan tree: what the binder builds and the rules rewrite, until `exec` can run it.
//!
//! Every operator gives a list of slots ([`Node::slots`]). After the last step (`layout`)
//! expressions refer to positions of their operator's input instead.

use std::sync::Arc;

use braid_builtins::{SetFunction, WindowKind};
use braid_catalog::{IndexNumber, Routine, Table, VirtualTable};
use braid_types::{Datum, SqlType};

pub use super::access::{
    Access, Bound, LimitHint, Parallel, Reading, RowSource, SkippedRows, SortKey, TermBound,
    TermCondition, TermSearch,
};
use super::expr::{Expr, Slot};
pub use super::partitions::{
    Append, Destination, KeyedLevel, Moves, Pruning, RouteLevel, RouteTarget, Routes,
    ScannedPartition,
};
pub use super::row_change::{
    Delete, Firing, IndexPart, Insert, Merge, MergeAction, OnConflict, PlannedTrigger, PolicyUse,
    RootTriggers, RowCheck, TableTriggers, Update, When,
};
pub use super::row_lock::{
    LockRows, LockWait, LockedPart, LockedTable, OID_PLACE, Recheck, RowLock,
};
use crate::aggregate::AggregateKind;
use crate::memo::Memo;

/// An operator of a plan.
#[derive(Clone)]
pub enum Node {
    /// Rows of expressions.
    Values(Values),
    /// A table, by one of its indexes.
    Scan(Box<Scan>),
    /// A catalog view.
    Virtual(VirtualScan),
    /// A set-returning function.
    Function(FunctionScan),
    /// Rows that satisfy every predicate.
    Filter(Box<Filter>),
    /// Expressions over rows.
    Project(Box<Project>),
    /// Several set-returning functions in a select list, side by side.
    ProjectSet(Box<ProjectSet>),
    /// Two inputs joined.
    Join(Box<Join>),
    /// Groups and aggregates.
    Aggregate(Box<AggregateNode>),
    /// Window functions.
    Window(Box<Window>),
    /// Order.
    Sort(Box<Sort>),
    /// LIMIT and OFFSET.
    Limit(Box<Limit>),
    /// DISTINCT, DISTINCT ON.
    Distinct(Box<Distinct>),
    /// UNION, INTERSECT, EXCEPT.
    SetOp(Box<SetOp>),
    /// The partitions of a table, or their changes.
    Append(Box<Append>),
    /// WITH: entries run when first read (or at the start, if they change data).
    With(Box<With>),
    /// The rows of a WITH entry.
    CteScan(CteScan),
    /// INSERT and UPSERT.
    Insert(Box<Insert>),
    /// Rows locked as they are given.
    LockRows(Box<LockRows>),
    /// UPDATE.
    Update(Box<Update>),
    /// DELETE.
    Delete(Box<Delete>),
    /// MERGE
    Merge(Box<Merge>),
}

/// Rows of expressions.
#[derive(Clone)]
pub struct Values {
    /// The output.
    pub slots: Vec<Slot>,
    /// The rows.
    pub rows: Vec<Vec<Expr>>,
    /// Parameters of one row, if a run may repeat the row with the next parameters each time.
    pub repeats: Option<usize>,
}

/// A scan of a stored table.
#[derive(Clone)]
pub struct Scan {
    /// The table.
    pub table: Arc<Table>,
    /// Its name in the query.
    pub alias: String,
    /// The output: slots and places among the table's columns.
    pub columns: Vec<(Slot, usize)>,
    /// The keys of the table's indexes that are expressions: places, and expressions over the
    /// table's columns in order.
    pub key_exprs: Arc<[(usize, Expr)]>,
    /// The predicates of the table's partial indexes, over the table's columns in order.
    pub predicates: Arc<[(IndexNumber, Expr)]>,
    /// Literals in the place of the statement's parameters may allow a partial index.
    pub wants_literals: bool,
    /// It reads many rows, so that a plan for the values of the parameters alone may pay.
    pub wants_values: bool,
    /// Expressions that are no constants, with the values that they have while planning.
    pub guesses: Arc<[(Expr, Datum)]>,
    /// The members that are read of `jsonb` columns of which not all are.
    pub members: Vec<(Slot, Arc<[Box<str>]>)>,
    /// Conditions on the scan's own columns.
    pub filter: Vec<Expr>,
    /// Conditions that its bounds express exactly. A lookup by another index needs them again.
    pub bounded_by: Vec<Expr>,
    /// The index read and the part of it.
    pub access: Access,
    /// The scans that together give the rows at less cost, each row once; empty if there are none.
    /// While joins are planned they stand beside the access; a later rule puts them in its place.
    pub union: Vec<Scan>,
    /// Whether rows are locked while they are read.
    pub lock: Option<RowLock>,
    /// The lock comes from UPDATE or DELETE and can be switched off.
    pub implicit_lock: bool,
    /// The families to be read and locked, by place; `None`: those of the columns, and for a lock
    /// all of them. Columns of families that are left out are NULL.
    pub families: Option<Vec<usize>>,
    /// What is read is not remembered: only rows that are locked afterwards count (SKIP LOCKED).
    pub unrecorded: bool,
    /// Estimated rows after the filter.
    pub rows: f64,
    /// How many keys of other tables lie together between its own about, if they lie mixed and
    /// statistics know.
    pub gap_keys: Option<usize>,
    /// The table as a partition.
    pub partition: Option<Arc<ScannedPartition>>,
    /// Conditions that may show when the scan starts that the partition has no such rows.
    pub pruning: Vec<Pruning>,
    /// How its rows and keys are read.
    pub memo: Memo,
}

/// A scan of a catalog view.
#[derive(Clone)]
pub struct VirtualScan {
    /// The view.
    pub table: &'static VirtualTable,
    /// The output: slots and places among the view's columns.
    pub columns: Vec<(Slot, usize)>,
    /// Conditions.
    pub filter: Vec<Expr>,
}

/// A set-returning function in FROM.
#[derive(Clone)]
pub struct FunctionScan {
    /// The functions, side by side (`ROWS FROM`, `unnest(a, b)`).
    pub functions: Vec<FunctionCall>,
    /// `WITH ORDINALITY`
    pub ordinality: Option<Slot>,
}

/// One call of a set-returning function.
#[derive(Clone)]
pub struct FunctionCall {
    /// The function; `None`: a scalar expression (its only argument) as one row.
    pub function: Option<&'static SetFunction>,
    /// The function of a user that gives the rows.
    pub routine: Option<RoutineCall>,
    /// The arguments.
    pub args: Vec<Expr>,
    /// Their types.
    pub types: Vec<SqlType>,
    /// The output.
    pub columns: Vec<(Slot, SqlType)>,
    /// The names of the columns of a function that returns `record`, from the call's column
    /// definition list; empty for any other function.
    pub defined: Vec<String>,
    /// The type of the rows of a built-in function whose fields are the columns.
    pub row: Option<SqlType>,
}

/// A function of a user that gives rows.
#[derive(Clone)]
pub struct RoutineCall {
    /// The function.
    pub routine: Arc<Routine>,
    /// Whether the fields of its rows are the columns; else each row is one value.
    pub spreads: bool,
}

/// Rows that satisfy every predicate.
#[derive(Clone)]
pub struct Filter {
    /// The input.
    pub input: Node,
    /// The predicates.
    pub predicates: Vec<Expr>,
    /// The input hides rows: no condition from above that could reveal them moves into it.
    pub barrier: bool,
}

impl Filter {
    /// A filter that hides nothing.
    pub fn of(input: Node, predicates: Vec<Expr>) -> Box<Self> {
        Box::new(Self { input, predicates, barrier: false })
    }
}

/// Expressions over rows.
#[derive(Clone)]
pub struct Project {
    /// The input.
    pub input: Node,
    /// The output.
    pub exprs: Vec<(Slot, Expr)>,
}

/// Set-returning functions in a select list: as many rows as the longest gives.
#[derive(Clone)]
pub struct ProjectSet {
    /// The input.
    pub input: Node,
    /// The functions; each has one output column.
    pub functions: Vec<FunctionCall>,
}

/// How two inputs are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JoinKind {
    /// Matching pairs.
    Inner,
    /// Left rows without a match too.
    Left,
    /// Right rows without a match too.
    Right,
    /// Both.
    Full,
    /// Left rows with a match.
    Semi,
    /// Left rows without a match.
    Anti,
}

/// Two inputs joined.
#[derive(Clone)]
pub struct Join {
    /// How.
    pub kind: JoinKind,
    /// The left (outer, probing) input.
    pub left: Node,
    /// The right (inner, built) input.
    pub right: Node,
    /// The condition's conjuncts; with [`JoinMethod::Hash`] those beyond the equalities.
    pub on: Vec<Expr>,
    /// The right side may read the left row (LATERAL, or a lookup).
    pub lateral: bool,
    /// What the right side needs of the left row, in the order of its [`Expr::Outer`] numbers.
    pub outer: Vec<Expr>,
    /// How it is carried out.
    pub method: JoinMethod,
    /// Estimated rows.
    pub rows: f64,
    /// How many rows are likely to be taken from a lookup join.
    pub limit_hint: Option<LimitHint>,
    /// How several workers can read its build side, in any order, if they can.
    pub parallel_build: Option<Parallel>,
}

impl Join {
    /// A join of two inputs by every pair, whose rows are not estimated yet.
    pub fn new(kind: JoinKind, (left, right): (Node, Node), on: Vec<Expr>) -> Self {
        let (lateral, outer, method, rows) = (false, Vec::new(), JoinMethod::Loop, 0.0);
        let (limit_hint, parallel_build) = (None, None);
        Self { kind, left, right, on, lateral, outer, method, rows, limit_hint, parallel_build }
    }
}

/// How a join is carried out.
#[derive(Clone)]
pub enum JoinMethod {
    /// Every pair, the right side kept in memory (run again for each left row if lateral).
    Loop,
    /// Equal keys of left and right by a hash table of one side.
    Hash {
        /// Keys over the left row.
        left: Vec<Expr>,
        /// Keys over the right row.
        right: Vec<Expr>,
        /// The table is one of the left side, not of the right one: in left, semi and anti joins
        /// whose condition neither waits nor is volatile.
        builds_left: bool,
    },
    /// For batches of left rows, the right side's index is looked up. `right` is a scan whose
    /// bounds are expressions over the left row.
    Lookup,
    /// `right` is a scan of a table that is interleaved below the last table of `left`, a scan or
    /// another such join, and rows meet that lie below each other: one pass over the common range
    /// gives all of them. That the parent's key columns are equal is no longer in `on`.
    Interleaved,
}

/// Groups and aggregates.
#[derive(Clone)]
pub struct AggregateNode {
    /// The input.
    pub input: Node,
    /// The grouping expressions.
    pub group: Vec<(Slot, Expr)>,
    /// Grouping sets as places in `group`; empty: one set of all of them.
    pub sets: Vec<Vec<usize>>,
    /// The slot of `GROUPING()`'s bit mask over `group`, if asked for.
    pub grouping: Option<Slot>,
    /// The aggregates.
    pub aggregates: Vec<(Slot, AggregateCall)>,
    /// How several workers can do its work, if they can.
    pub parallel: Option<Parallel>,
}

/// A call of an aggregate.
#[derive(Clone)]
pub struct AggregateCall {
    /// The aggregate.
    pub aggregate: AggregateKind,
    /// The arguments, cast as resolution asked.
    pub args: Vec<Expr>,
    /// Their types.
    pub types: Vec<SqlType>,
    /// The type of the result.
    pub returns: SqlType,
    /// DISTINCT
    pub distinct: bool,
    /// FILTER
    pub filter: Option<Expr>,
    /// ORDER BY
    pub order: Vec<SortKey>,
}

/// Window functions over one partition and order.
#[derive(Clone)]
pub struct Window {
    /// The input.
    pub input: Node,
    /// PARTITION BY
    pub partition: Vec<Expr>,
    /// ORDER BY
    pub order: Vec<SortKey>,
    /// The functions.
    pub calls: Vec<(Slot, WindowCall)>,
}

/// A call of a window function.
#[derive(Clone)]
pub struct WindowCall {
    /// An aggregate over a frame, or a function of windows by name.
    pub function: WindowFunction,
    /// The arguments.
    pub args: Vec<Expr>,
    /// The type of the result.
    pub returns: SqlType,
    /// FILTER
    pub filter: Option<Expr>,
    /// The frame.
    pub frame: Frame,
}

/// What a window call computes.
#[derive(Clone)]
pub enum WindowFunction {
    /// An aggregate.
    Aggregate(AggregateKind, Vec<SqlType>),
    /// `row_number`, `rank`, `lag`, …
    Named(WindowKind),
}

/// A window frame.
#[derive(Clone)]
pub struct Frame {
    /// ROWS, RANGE or GROUPS.
    pub units: FrameUnits,
    /// Where it starts.
    pub start: FrameBound,
    /// Where it ends.
    pub end: FrameBound,
    /// What it leaves out.
    pub exclusion: Option<FrameExclusion>,
}

pub use braid_sql::FrameExclusion;

/// What a frame counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameUnits {
    /// Rows.
    Rows,
    /// Values of the order.
    Range,
    /// Groups of equal order.
    Groups,
}

/// An end of a frame.
#[derive(Clone)]
pub enum FrameBound {
    /// UNBOUNDED PRECEDING
    UnboundedPreceding,
    /// n PRECEDING
    Preceding(Expr),
    /// CURRENT ROW
    CurrentRow,
    /// n FOLLOWING
    Following(Expr),
    /// UNBOUNDED FOLLOWING
    UnboundedFollowing,
}

/// Order.
#[derive(Clone)]
pub struct Sort {
    /// The input.
    pub input: Node,
    /// The keys.
    pub keys: Vec<SortKey>,
    /// How many of the first rows are needed, besides those of `offset`.
    pub limit: Option<Expr>,
    /// How many rows an OFFSET above skips, if there is a limit.
    pub offset: Option<Expr>,
}

/// LIMIT and OFFSET.
#[derive(Clone)]
pub struct Limit {
    /// The input.
    pub input: Node,
    /// LIMIT
    pub limit: Option<Expr>,
    /// OFFSET
    pub offset: Option<Expr>,
    /// Where the rows of OFFSET are dropped.
    pub skipped: SkippedRows,
    /// WITH TIES: rows equal in these keys to the last one stay.
    pub ties: Vec<Expr>,
}

/// DISTINCT, DISTINCT ON.
#[derive(Clone)]
pub struct Distinct {
    /// The input; sorted by `on` if that is not empty.
    pub input: Node,
    /// DISTINCT ON expressions; empty: the whole row.
    pub on: Vec<Expr>,
    /// The types of the whole row, if that is compared.
    pub types: Vec<SqlType>,
}

/// The set operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOpKind {
    /// UNION
    Union,
    /// INTERSECT
    Intersect,
    /// EXCEPT
    Except,
}

/// UNION, INTERSECT, EXCEPT; both inputs have the same types.
#[derive(Clone)]
pub struct SetOp {
    /// Which.
    pub kind: SetOpKind,
    /// ALL
    pub all: bool,
    /// The inputs.
    pub left: Node,
    /// The inputs.
    pub right: Node,
    /// The output.
    pub slots: Vec<Slot>,
    /// Its types.
    pub types: Vec<SqlType>,
}

/// WITH.
#[derive(Clone)]
pub struct With {
    /// The entries, in order.
    pub ctes: Vec<Cte>,
    /// The statement.
    pub body: Node,
}

/// An entry of WITH.
#[derive(Clone)]
pub struct Cte {
    /// Its number, unique within the plan.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Its plan; of a recursive one the non-recursive term.
    pub plan: Node,
    /// The recursive term, which reads the working table, and whether it is UNION (not ALL).
    pub recursive: Option<(Node, bool)>,
    /// The types of the rows of a recursive one.
    pub types: Vec<SqlType>,
    /// It changes data: runs to its end even if nobody reads it.
    pub changes_data: bool,
    /// Whether MATERIALIZED or NOT MATERIALIZED is written.
    pub materialized: Option<bool>,
}

/// The rows of a WITH entry.
#[derive(Clone)]
pub struct CteScan {
    /// Its number.
    pub id: u32,
    /// Its name in the query.
    pub name: String,
    /// The output: slots and places among the entry's columns.
    pub columns: Vec<(Slot, usize)>,
    /// Reads the working table of the recursion that is under way.
    pub working: bool,
    /// Estimated rows, 0 if nothing is known.
    pub rows: f64,
}

impl Cte {
    /// An entry that only reads and does not name itself.
    pub fn new(id: u32, name: String, plan: Node) -> Self {
        let (recursive, types, materialized) = (None, Vec::new(), None);
        Self { id, name, plan, recursive, types, changes_data: false, materialized }
    }
}

impl Node {
    /// One row without columns.
    pub fn one_row() -> Self {
        Node::Values(Values { slots: Vec::new(), rows: vec![Vec::new()], repeats: None })
    }

    /// The output's slots, in order.
    pub fn slots(&self) -> Vec<Slot> {
        match self {
            Node::Values(values) => values.slots.clone(),
            Node::Scan(scan) => scan.columns.iter().map(|(slot, _)| *slot).collect(),
            Node::Virtual(scan) => scan.columns.iter().map(|(slot, _)| *slot).collect(),
            Node::Function(scan) => scan
                .functions
                .iter()
                .flat_map(|call| call.columns.iter().map(|(slot, _)| *slot))
                .chain(scan.ordinality)
                .collect(),
            Node::Filter(filter) => filter.input.slots(),
            Node::Project(project) => project.exprs.iter().map(|(slot, _)| *slot).collect(),
            Node::ProjectSet(set) => {
                let mut slots = set.input.slots();
                slots.extend(set.functions.iter().flat_map(|f| f.columns.iter().map(|c| c.0)));
                slots
            }
            Node::Join(join) => {
                let mut slots = join.left.slots();
                if !matches!(join.kind, JoinKind::Semi | JoinKind::Anti) {
                    slots.extend(join.right.slots());
                }
                slots
            }
            Node::Aggregate(node) => node
                .group
                .iter()
                .map(|(slot, _)| *slot)
                .chain(node.grouping)
                .chain(node.aggregates.iter().map(|(slot, _)| *slot))
                .collect(),
            Node::Window(window) => {
                let mut slots = window.input.slots();
                slots.extend(window.calls.iter().map(|(slot, _)| *slot));
                slots
            }
            Node::Sort(sort) => sort.input.slots(),
            Node::LockRows(lock) => lock.slots(),
            Node::Limit(limit) => limit.input.slots(),
            Node::Distinct(distinct) => distinct.input.slots(),
            Node::SetOp(op) => op.slots.clone(),
            Node::Append(append) => append.slots.clone(),
            Node::With(with) => with.body.slots(),
            Node::CteScan(scan) => scan.columns.iter().map(|(slot, _)| *slot).collect(),
            Node::Insert(insert) => insert.returning.iter().map(|(slot, _)| *slot).collect(),
            Node::Update(update) => update.returning.iter().map(|(slot, _)| *slot).collect(),
            Node::Delete(delete) => delete.returning.iter().map(|(slot, _)| *slot).collect(),
            Node::Merge(_) => Vec::new(),
        }
    }
}
