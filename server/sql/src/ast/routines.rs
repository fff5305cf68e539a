//! Functions and procedures of users, `DO` and `CALL`.

use super::{DataType, Expr, Ident, ObjectName, Reset, Set};

/// The modifier of a custom type that stands for `table.column%TYPE`: the name is the column's.
pub const COLUMN_TYPE: &str = "%TYPE";

/// What a routine is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoutineKind {
    /// `FUNCTION`.
    Function,
    /// `PROCEDURE`.
    Procedure,
    /// `AGGREGATE`.
    Aggregate,
    /// `ROUTINE`: any of them.
    Any,
}

impl RoutineKind {
    /// Its word in messages.
    pub fn word(self) -> &'static str {
        match self {
            RoutineKind::Function => "function",
            RoutineKind::Procedure => "procedure",
            RoutineKind::Aggregate => "aggregate",
            RoutineKind::Any => "routine",
        }
    }

    /// Its word in command tags.
    pub fn tag(self) -> &'static str {
        match self {
            RoutineKind::Function => "FUNCTION",
            RoutineKind::Procedure => "PROCEDURE",
            RoutineKind::Aggregate => "AGGREGATE",
            RoutineKind::Any => "ROUTINE",
        }
    }
}

/// `CREATE FUNCTION` or `CREATE PROCEDURE`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateRoutine {
    /// Which of the two.
    pub kind: RoutineKind,
    /// `OR REPLACE`.
    pub or_replace: bool,
    /// The routine.
    pub name: ObjectName,
    /// Its parameters.
    pub parameters: Vec<RoutineParameter>,
    /// `RETURNS`.
    pub returns: Option<Returns>,
    /// The options, as they were written.
    pub options: Vec<RoutineOption>,
}

/// `CREATE AGGREGATE`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateAggregate {
    /// `OR REPLACE`.
    pub or_replace: bool,
    /// The aggregate.
    pub name: ObjectName,
    /// Its parameters; `None` in the old style, which has the option `BASETYPE` instead.
    pub parameters: Option<Vec<RoutineParameter>>,
    /// The options in lower case with their values, as they were written.
    pub options: Vec<(String, AggregateOption)>,
}

/// The value of an option of `CREATE AGGREGATE`.
#[derive(Debug, Clone, PartialEq)]
pub enum AggregateOption {
    /// The name of a function.
    Function(ObjectName),
    /// A type; `None` is the word `ANY` of the old style.
    Type(Option<DataType>),
    /// A string, number or word.
    Text(String),
    /// A switch.
    Switch(bool),
    /// The symbol of an operator.
    Operator(String),
    /// An option that does not exist.
    Unknown,
}

/// A parameter of a routine.
#[derive(Debug, Clone, PartialEq)]
pub struct RoutineParameter {
    /// Its name.
    pub name: Option<Ident>,
    /// Its type.
    pub data_type: DataType,
    /// `DEFAULT`, with its text.
    pub default: Option<(Expr, String)>,
    /// Which way it goes.
    pub mode: ParameterMode,
}

/// Which way a parameter goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ParameterMode {
    /// `IN`.
    #[default]
    In,
    /// `OUT`.
    Out,
    /// `INOUT`.
    InOut,
    /// `VARIADIC`.
    Variadic,
}

/// What a function returns.
#[derive(Debug, Clone, PartialEq)]
pub enum Returns {
    /// One value.
    Value(DataType),
    /// `SETOF`: any number of values.
    Set(DataType),
    /// `TABLE`: rows of these columns.
    Table(Vec<(Ident, DataType)>),
}

/// An option of a routine.
#[derive(Debug, Clone, PartialEq)]
pub enum RoutineOption {
    /// `LANGUAGE`.
    Language(String),
    /// `IMMUTABLE`, `STABLE` or `VOLATILE`, by its letter in `pg_proc`.
    Volatility(char),
    /// `STRICT`, `RETURNS NULL ON NULL INPUT` (true), `CALLED ON NULL INPUT` (false).
    Strict(bool),
    /// `LEAKPROOF`.
    Leakproof(bool),
    /// `SECURITY DEFINER` (true) or `SECURITY INVOKER`.
    SecurityDefiner(bool),
    /// `PARALLEL`, by its letter in `pg_proc`.
    Parallel(char),
    /// `COST` and `ROWS`, which choose no plan here.
    Estimate(&'static str, f64),
    /// `AS 'text'`.
    Body(String),
    /// `RETURN expression` or `BEGIN ATOMIC … END`: the text of the statements.
    Statements(StandardBody),
    /// `SET name = value`.
    Set(Set),
    /// `SET name FROM CURRENT`: the value that the session has.
    SetFromCurrent(String),
    /// `RESET name`, of ALTER.
    Reset(Reset),
    /// `SUPPORT function`.
    Support(ObjectName),
    /// `WINDOW`.
    Window,
}

/// A body that is not a string.
#[derive(Debug, Clone, PartialEq)]
pub struct StandardBody {
    /// Its statements, with semicolons between them.
    pub statements: String,
    /// Whether it is written as `RETURN expression`.
    pub is_return: bool,
}

/// A routine as other statements name it.
#[derive(Debug, Clone, PartialEq)]
pub struct RoutineName {
    /// What it is said to be.
    pub kind: RoutineKind,
    /// Its name.
    pub name: ObjectName,
    /// The types of its arguments; `None` if no list is written.
    pub arguments: Option<Vec<DataType>>,
}

/// `ALTER FUNCTION` and its like, except the renaming and moving forms ([`super::Rename`]).
#[derive(Debug, Clone, PartialEq)]
pub struct AlterRoutine {
    /// The routine.
    pub routine: RoutineName,
    /// The options to change.
    pub options: Vec<RoutineOption>,
}

/// `DO`.
#[derive(Debug, Clone, PartialEq)]
pub struct DoBlock {
    /// `LANGUAGE`; `plpgsql` without it.
    pub language: Option<String>,
    /// The code.
    pub body: String,
}

/// `CALL`.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The call, as an expression.
    pub call: Expr,
}
