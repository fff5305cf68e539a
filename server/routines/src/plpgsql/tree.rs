//! The tree of a PL/pgSQL body.

use std::sync::Arc;

use braid_exec::CursorStep;
use braid_plan::{TransitionTable, Variables};

/// The number of a variable in the frame of a call.
pub type Slot = usize;

/// A body.
#[derive(Debug)]
pub struct Body {
    /// The outermost block.
    pub block: Block,
    /// The variables of the frame, the parameters first, then `found`.
    pub slots: Vec<SlotKind>,
    /// The slot of `found`.
    pub found: Slot,
    /// How many pieces of SQL there are.
    pub pieces: usize,
    /// The first name of each slot.
    pub names: Vec<Option<String>>,
    /// The cursors that are declared with a query, by the slots of their names.
    pub cursors: Vec<(Slot, BoundCursor)>,
    /// The transition tables of a trigger's function, by their slots.
    pub tables: Vec<TransitionTable>,
}

/// A cursor that is declared with its query.
#[derive(Debug, Clone)]
pub struct BoundCursor {
    /// Its name, which an open one has.
    pub name: String,
    /// The names and slots of its arguments.
    pub arguments: Vec<(String, Slot)>,
    /// The query.
    pub query: Sql,
    /// `SCROLL` (true) or `NO SCROLL`.
    pub scroll: Option<bool>,
}

/// What a slot of the frame holds.
#[derive(Debug, Clone)]
pub enum SlotKind {
    /// The parameter of that number.
    Parameter(usize),
    /// A value of a type as it is written.
    Typed(TypeText),
    /// A row of any columns.
    Record,
    /// A value of a type that the language fixes.
    Fixed(braid_types::SqlType),
}

/// A type in a declaration.
#[derive(Debug, Clone)]
pub enum TypeText {
    /// The name of a type.
    Named(String),
    /// `table.column%TYPE`, or `variable%TYPE` that is no variable.
    OfColumn(String),
    /// `variable%TYPE`.
    OfVariable(Slot),
    /// `table%ROWTYPE`.
    RowOf(String),
}

/// A block with declarations and handlers.
#[derive(Debug)]
pub struct Block {
    /// Its label.
    pub label: Option<String>,
    /// The variables that it declares.
    pub declarations: Vec<Declaration>,
    /// Its statements.
    pub body: Vec<Statement>,
    /// Its handlers, `None` without EXCEPTION.
    pub handlers: Option<Handlers>,
}

/// The handlers of a block.
#[derive(Debug)]
pub struct Handlers {
    /// The slots of `sqlstate` and `sqlerrm`.
    pub state: Slot,
    /// The slot of `sqlerrm`.
    pub message: Slot,
    /// Conditions and statements.
    pub list: Vec<(Vec<Condition>, Vec<Statement>)>,
}

/// What a handler catches.
#[derive(Debug, Clone)]
pub enum Condition {
    /// `OTHERS`.
    Others,
    /// A condition by its SQLSTATE; one that ends with `000` is a whole class.
    State(String),
}

/// A declared variable.
#[derive(Debug)]
pub struct Declaration {
    /// Its slot.
    pub slot: Slot,
    /// Its name.
    pub name: String,
    /// `NOT NULL`.
    pub not_null: bool,
    /// Its first value.
    pub default: Option<Sql>,
    /// The line where it stands.
    pub line: u32,
}

/// A piece of SQL with the variables that its names may mean.
#[derive(Debug, Clone)]
pub struct Sql {
    /// The text; an expression has `SELECT` before it.
    pub text: Arc<str>,
    /// Its number, the place of its plan.
    pub number: usize,
    /// The variables.
    pub variables: Arc<Variables>,
    /// The name of the only variable that it reads, if it is no more than that.
    pub only: Option<Slot>,
    /// What stands before the value of an assignment, such as `x := `.
    pub assigned: Option<Arc<str>>,
}

/// What the text of an expression has before it, so that it is a statement.
pub(crate) const EXPRESSION_PREFIX: &str = "SELECT ";

/// A statement with its line.
#[derive(Debug)]
pub struct Statement {
    /// The line where it begins.
    pub line: u32,
    /// What it is.
    pub kind: Kind,
}

/// Where a value goes.
#[derive(Debug, Clone)]
pub enum Target {
    /// A variable.
    Variable(Slot),
    /// A field of a record.
    Field(Slot, String),
    /// A part of a variable, at the end of several steps.
    Part(Slot, Vec<Step>),
}

/// A step into the value of a variable.
#[derive(Debug, Clone)]
pub enum Step {
    /// A field of a record.
    Field(String),
    /// An element or a slice of an array.
    Subscripts(Vec<Subscript>),
}

/// A subscript of an array that is assigned to.
#[derive(Debug, Clone)]
pub enum Subscript {
    /// `[i]`.
    Place(Sql),
    /// `[l:u]`.
    Range(Option<Sql>, Option<Sql>),
}

/// Where the row of a statement goes.
#[derive(Debug, Clone)]
pub struct Into {
    /// Exactly one row is demanded.
    pub strict: bool,
    /// The targets.
    pub targets: Vec<Target>,
}

/// The name of a loop and its statements.
#[derive(Debug)]
pub struct Loop {
    /// Its label.
    pub label: Option<String>,
    /// Its statements.
    pub body: Vec<Statement>,
}

/// Where the rows of a loop come from.
#[derive(Debug)]
pub enum Rows {
    /// A query.
    Query(Sql),
    /// The text of a query, and its parameters.
    Execute(Sql, Vec<Sql>),
    /// A cursor with the values of its arguments.
    Cursor(Slot, Vec<(Slot, Sql)>),
}

/// How OPEN gives a cursor its rows.
#[derive(Debug)]
pub enum Opening {
    /// The query of its declaration, with the values of its arguments.
    Bound(Vec<(Slot, Sql)>),
    /// A query.
    For(Rows),
}

/// Where FETCH or MOVE goes.
#[derive(Debug)]
pub enum Direction {
    /// To the next place.
    Fixed(CursorStep),
    /// Over that many rows: forward (true) or backward.
    Count(bool, Sql),
    /// `ABSOLUTE`.
    Absolute(Sql),
    /// `RELATIVE`.
    Relative(Sql),
}

/// What a statement is.
#[derive(Debug)]
pub enum Kind {
    /// `target := value`.
    Assign(Target, Sql),
    /// Conditions with statements, and those of ELSE.
    If(Vec<(Sql, Vec<Statement>)>, Vec<Statement>),
    /// `CASE`.
    Case(Box<Case>),
    /// `LOOP`.
    Loop(Loop),
    /// `WHILE`.
    While(Sql, Loop),
    /// `FOR i IN …`.
    ForInteger(Box<ForInteger>),
    /// `FOR row IN query`.
    ForRows(Vec<Target>, Rows, Loop),
    /// `FOREACH`, with the number of dimensions of its slices.
    ForEach(Target, Sql, usize, Loop),
    /// `EXIT` (true) or `CONTINUE` of a loop, under a condition.
    Leave(bool, Option<String>, Option<Sql>),
    /// `RETURN`.
    Return(Option<Sql>),
    /// `RETURN NEXT`.
    ReturnNext(Option<Sql>),
    /// `RETURN QUERY`.
    ReturnQuery(Rows),
    /// `OPEN`, with `SCROLL` (true) or `NO SCROLL`.
    Open(Slot, Opening, Option<bool>),
    /// `FETCH`.
    Fetch(Slot, Direction, Into),
    /// `MOVE`.
    Move(Slot, Direction),
    /// `CLOSE`.
    Close(Slot),
    /// `CALL`, with the name of each argument that has one, and the target of one that is a
    /// variable.
    Call(Sql, Vec<(Option<String>, Option<Target>)>),
    /// `PERFORM`.
    Perform(Sql),
    /// A statement of SQL.
    Sql(Sql, Option<Into>),
    /// `EXECUTE`.
    Execute(Sql, Vec<Sql>, Option<Into>),
    /// `RAISE`.
    Raise(Box<Raise>),
    /// `GET [STACKED] DIAGNOSTICS`.
    Diagnostics(bool, Vec<(Target, String)>),
    /// `ASSERT`.
    Assert(Sql, Option<Sql>),
    /// A block.
    Block(Block),
    /// `NULL`.
    Nothing,
    /// `COMMIT` and `ROLLBACK`.
    EndTransaction(TransactionEnd),
}

/// `COMMIT` and `ROLLBACK`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionEnd {
    /// `COMMIT`, not `ROLLBACK`.
    pub commits: bool,
    /// `AND CHAIN`: the next transaction has the modes of this one.
    pub chains: bool,
}

/// `CASE`.
#[derive(Debug)]
pub struct Case {
    /// The variable that holds what is compared, and its value.
    pub operand: Option<(Slot, Sql)>,
    /// Conditions with statements.
    pub whens: Vec<(Sql, Vec<Statement>)>,
    /// `ELSE`.
    pub otherwise: Option<Vec<Statement>>,
}

/// `FOR i IN [REVERSE] low..high [BY step]`.
#[derive(Debug)]
pub struct ForInteger {
    /// The loop's variable.
    pub slot: Slot,
    /// The first number.
    pub from: Sql,
    /// The last number.
    pub to: Sql,
    /// The step.
    pub step: Option<Sql>,
    /// `REVERSE`.
    pub reverse: bool,
    /// The loop.
    pub inner: Loop,
}

/// `RAISE`.
#[derive(Debug)]
pub struct Raise {
    /// Its level, `exception` without one.
    pub level: String,
    /// Nothing is written after RAISE: the caught error is raised again.
    pub again: bool,
    /// The format.
    pub format: Option<String>,
    /// What is put into the format.
    pub arguments: Vec<Sql>,
    /// The SQLSTATE of a condition.
    pub state: Option<String>,
    /// The name of the condition, the message without another one.
    pub condition: Option<String>,
    /// `USING`: options by name.
    pub options: Vec<(String, Sql)>,
}
