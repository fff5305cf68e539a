//! The one error that can reach a client: a SQLSTATE, a message, and what helps to act on it.
//!
//! Rooms below (kv, codec) have small enums of their own, converted once at their border.
//! Not here: how it is written to the wire (`wire`).

use std::error::Error as Cause;
use std::fmt;
use std::sync::Arc;

/// The result of anything a client's input can make fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error for a client, one pointer wide.
#[derive(Clone)]
pub struct Error(Box<Fields>);

/// What an [`Error`] carries, field by field as PostgreSQL's protocol names them.
#[derive(Clone, Debug)]
pub struct Fields {
    /// The SQLSTATE.
    pub state: SqlState,
    /// The message: lower case, no full stop.
    pub message: String,
    /// What exactly was wrong.
    pub detail: Option<String>,
    /// What the user can do.
    pub hint: Option<String>,
    /// Where in the query text, counted in characters from 1.
    pub position: Option<u32>,
    /// Where in [`Fields::internal_query`], counted in characters from 1.
    pub internal_position: Option<u32>,
    /// The text that the server ran for the client's statement, such as one of a function's body.
    pub internal_query: Option<Arc<str>>,
    /// The context (`W`), one line a frame.
    pub context: Option<String>,
    /// The schema of the table.
    pub schema: Option<String>,
    /// The table concerned.
    pub table: Option<String>,
    /// The column concerned.
    pub column: Option<String>,
    /// The data type concerned.
    pub data_type: Option<String>,
    /// The constraint violated.
    pub constraint: Option<String>,
    /// The function of PostgreSQL that reports this error (`R`), where clients decide by it.
    pub routine: Option<&'static str>,
    /// The SQLSTATE that a user has given it, where it is none of the server's own.
    pub own_code: Option<Arc<str>>,
    /// The error of a lower room that this one was made of: the server decides by it, and clients
    /// do not see it.
    pub cause: Option<Arc<dyn Cause + Send + Sync>>,
}

impl Error {
    /// An error with a SQLSTATE and a message.
    pub fn new(state: SqlState, message: impl Into<String>) -> Self {
        Self(Box::new(Fields {
            state,
            message: message.into(),
            detail: None,
            hint: None,
            position: None,
            internal_position: None,
            internal_query: None,
            context: None,
            schema: None,
            table: None,
            column: None,
            data_type: None,
            constraint: None,
            routine: None,
            own_code: None,
            cause: None,
        }))
    }

    /// 0A000: `what` is not supported (the message names it).
    pub fn unsupported(what: impl fmt::Display) -> Self {
        Self::new(SqlState::FeatureNotSupported, format!("{what} is not supported"))
    }

    /// XX000: a bug of ours, never the client's fault.
    pub fn internal(what: impl Into<String>) -> Self {
        Self::new(SqlState::InternalError, what)
    }

    /// XX000 for a broken invariant; `what` says what was missing. A debug build stops here.
    pub fn broken(what: impl Into<String>) -> Self {
        let what = what.into();
        debug_assert!(false, "broken invariant: {what}");
        Self::internal(what)
    }

    /// Adds a detail line.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.0.detail = Some(detail.into());
        self
    }

    /// Adds a detail, if there is one.
    #[must_use]
    pub fn details(mut self, detail: Option<String>) -> Self {
        self.0.detail = detail;
        self
    }

    /// The error without its detail.
    #[must_use]
    pub fn without_detail(self) -> Self {
        self.details(None)
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Sets the position (characters from 1) unless one is known already.
    #[must_use]
    pub fn position(mut self, position: u32) -> Self {
        if self.0.position.is_none() && position > 0 {
            self.0.position = Some(position);
        }
        self
    }

    /// Moves a known position by a number of characters, for a text that is part of another.
    #[must_use]
    pub fn moved(mut self, characters: u32) -> Self {
        self.0.position = self.0.position.map(|at| at.saturating_add(characters));
        self
    }

    /// Makes a known position one in a text that the client has not sent: such a text is shown
    /// with the error.
    #[must_use]
    pub fn in_query(mut self, query: &str) -> Self {
        if let Some(position) = self.0.position.take() {
            self.0.internal_position = Some(position);
            self.0.internal_query = Some(Arc::from(query));
        }
        self
    }

    /// Moves a known position back by a number of characters that stand before the text.
    #[must_use]
    pub fn moved_back(mut self, characters: u32) -> Self {
        self.0.position = self.0.position.map(|at| at.saturating_sub(characters).max(1));
        self
    }

    /// Forgets the position, for a text that the client does not see.
    #[must_use]
    pub fn without_position(mut self) -> Self {
        self.0.position = None;
        self
    }

    /// Sets the context lines.
    #[must_use]
    pub fn context(mut self, context: impl Into<String>) -> Self {
        self.0.context = Some(context.into());
        self
    }

    /// Names the table (and its schema).
    #[must_use]
    pub fn table(mut self, schema: &str, table: &str) -> Self {
        self.0.schema = Some(schema.to_owned()).filter(|schema| !schema.is_empty());
        self.0.table = Some(table.to_owned());
        self
    }

    /// Names the column.
    #[must_use]
    pub fn column(mut self, column: &str) -> Self {
        self.0.column = Some(column.to_owned());
        self
    }

    /// Names the data type (and its schema).
    #[must_use]
    pub fn data_type(mut self, schema: &str, data_type: &str) -> Self {
        self.0.schema = Some(schema.to_owned()).filter(|schema| !schema.is_empty());
        self.0.data_type = Some(data_type.to_owned());
        self
    }

    /// Names the constraint.
    #[must_use]
    pub fn constraint(mut self, constraint: &str) -> Self {
        self.0.constraint = Some(constraint.to_owned());
        self
    }

    /// Names the function of PostgreSQL that reports this error.
    #[must_use]
    pub fn routine(mut self, routine: &'static str) -> Self {
        self.0.routine = Some(routine);
        self
    }

    /// The error with a SQLSTATE by its code. One that the server has no name for is kept beside
    /// the state of errors that users raise.
    #[must_use]
    pub fn coded(mut self, code: &str) -> Self {
        match SqlState::ALL.iter().find(|state| state.code() == code) {
            Some(state) => self.0.state = *state,
            None => {
                self.0.state = SqlState::RaiseException;
                self.0.own_code = Some(Arc::from(code));
            }
        }
        self
    }

    /// Keeps the error that this one was made of, for those who decide by it.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Cause + Send + Sync + 'static) -> Self {
        self.0.cause = Some(Arc::new(cause));
        self
    }

    /// The error that this one was made of, if it is of this type.
    pub fn cause<E: Cause + 'static>(&self) -> Option<&E> {
        self.0.cause.as_deref().and_then(|cause| cause.downcast_ref::<E>())
    }

    /// The SQLSTATE.
    pub fn state(&self) -> SqlState {
        self.0.state
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Every field.
    pub fn fields(&self) -> &Fields {
        &self.0
    }
}

impl Fields {
    /// The SQLSTATE that clients see.
    pub fn code(&self) -> &str {
        self.own_code.as_deref().unwrap_or(self.state.code())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.state.code(), self.0.message)
    }
}

impl std::error::Error for Error {}

macro_rules! states {
    ($($(#[$doc:meta])* $name:ident = $code:literal,)*) => {
        /// The SQLSTATEs that BraidDB sends; each is in `server/docs/reference/errors.md`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum SqlState { $($(#[$doc])* #[doc = concat!("`", $code, "`")] $name,)* }
        impl SqlState {
            /// Every state, in the order of the list.
            pub const ALL: &[SqlState] = &[$(SqlState::$name,)*];
            /// The five characters.
            pub const fn code(self) -> &'static str {
                match self { $(SqlState::$name => $code,)* }
            }
        }
    };
}

states! {
    SuccessfulCompletion = "00000",
    Warning = "01000",
    PrivilegeNotRevoked = "01006",
    PrivilegeNotGranted = "01007",
    NoData = "02000",
    DiagnosticsWithoutHandler = "0Z002",
    CaseNotFound = "20000",
    ConnectionFailure = "08006",
    ProtocolViolation = "08P01",
    FeatureNotSupported = "0A000",
    InvalidGrantOperation = "0LP01",
    CardinalityViolation = "21000",
    DataException = "22000",
    StringDataRightTruncation = "22001",
    NumericValueOutOfRange = "22003",
    NullValueNotAllowed = "22004",
    ErrorInAssignment = "22005",
    DatetimeFieldOverflow = "22008",
    InvalidDatetimeFormat = "22007",
    DivisionByZero = "22012",
    IntervalFieldOverflow = "22015",
    InvalidUseOfEscapeCharacter = "2200C",
    ZeroLengthCharacterString = "2200F",
    InvalidEscapeCharacter = "22019",
    InvalidRegularExpression = "2201B",
    InvalidArgumentForLogarithm = "2201E",
    InvalidArgumentForPowerFunction = "2201F",
    InvalidArgumentForWidthBucket = "2201G",
    InvalidPrecedingOrFollowingSize = "22013",
    InvalidArgumentForNtile = "22014",
    InvalidArgumentForNthValue = "22016",
    InvalidRowCountInLimit = "2201W",
    InvalidRowCountInOffset = "2201X",
    InvalidTimeZoneDisplacement = "22009",
    SubstringError = "22011",
    CharacterNotInRepertoire = "22021",
    InvalidParameterValue = "22023",
    InvalidEscapeSequence = "22025",
    StringDataLengthMismatch = "22026",
    ArraySubscriptError = "2202E",
    InvalidTablesampleRepeat = "2202G",
    InvalidTablesampleArgument = "2202H",
    BadCopyFileFormat = "22P04",
    FloatingPointException = "22P01",
    InvalidTextRepresentation = "22P02",
    InvalidBinaryRepresentation = "22P03",
    UntranslatableCharacter = "22P05",
    NonstandardUseOfEscapeCharacter = "22P06",
    DuplicateJsonObjectKey = "22030",
    InvalidArgumentForJsonDatetime = "22031",
    InvalidJsonText = "22032",
    InvalidJsonSubscript = "22033",
    NonNumericJsonItem = "22036",
    SingletonJsonItemRequired = "22038",
    JsonArrayNotFound = "22039",
    JsonMemberNotFound = "2203A",
    JsonNumberNotFound = "2203B",
    JsonObjectNotFound = "2203C",
    IntegrityConstraintViolation = "23000",
    RestrictViolation = "23001",
    NotNullViolation = "23502",
    ForeignKeyViolation = "23503",
    UniqueViolation = "23505",
    CheckViolation = "23514",
    ExclusionViolation = "23P01",
    InvalidCursorState = "24000",
    InvalidTransactionState = "25000",
    ActiveSqlTransaction = "25001",
    ReadOnlySqlTransaction = "25006",
    NoActiveSqlTransaction = "25P01",
    InFailedSqlTransaction = "25P02",
    IdleInTransactionSessionTimeout = "25P03",
    InvalidSqlStatementName = "26000",
    TriggeredDataChangeViolation = "27000",
    InvalidAuthorizationSpecification = "28000",
    InvalidPassword = "28P01",
    DependentObjectsStillExist = "2BP01",
    InvalidTransactionTermination = "2D000",
    FunctionExecutedNoReturn = "2F005",
    InvalidCursorName = "34000",
    TriggerProtocolViolated = "39P01",
    InvalidSavepointSpecification = "3B001",
    InvalidCatalogName = "3D000",
    InvalidSchemaName = "3F000",
    TransactionRollback = "40000",
    SerializationFailure = "40001",
    StatementCompletionUnknown = "40003",
    DeadlockDetected = "40P01",
    SyntaxErrorOrAccessRule = "42000",
    InsufficientPrivilege = "42501",
    SyntaxError = "42601",
    InvalidName = "42602",
    InvalidColumnDefinition = "42611",
    NameTooLong = "42622",
    DuplicateColumn = "42701",
    AmbiguousColumn = "42702",
    UndefinedColumn = "42703",
    UndefinedObject = "42704",
    DuplicateObject = "42710",
    DuplicateAlias = "42712",
    DuplicateFunction = "42723",
    AmbiguousFunction = "42725",
    GroupingError = "42803",
    DatatypeMismatch = "42804",
    WrongObjectType = "42809",
    InvalidForeignKey = "42830",
    CannotCoerce = "42846",
    UndefinedFunction = "42883",
    GeneratedAlways = "428C9",
    ReservedName = "42939",
    UndefinedTable = "42P01",
    UndefinedParameter = "42P02",
    DuplicateCursor = "42P03",
    DuplicateDatabase = "42P04",
    DuplicatePreparedStatement = "42P05",
    DuplicateSchema = "42P06",
    DuplicateTable = "42P07",
    AmbiguousParameter = "42P08",
    AmbiguousAlias = "42P09",
    InvalidColumnReference = "42P10",
    InvalidCursorDefinition = "42P11",
    InvalidFunctionDefinition = "42P13",
    InvalidTableDefinition = "42P16",
    InvalidSchemaDefinition = "42P15",
    IndeterminateDatatype = "42P18",
    /// `COLLATE` twice, with different collations.
    CollationMismatch = "42P21",
    IndeterminateCollation = "42P22",
    InvalidObjectDefinition = "42P17",
    InvalidRecursion = "42P19",
    WindowingError = "42P20",
    WithCheckOptionViolation = "44000",
    InsufficientResources = "53000",
    DiskFull = "53100",
    OutOfMemory = "53200",
    TooManyConnections = "53300",
    ConfigurationLimitExceeded = "53400",
    ProgramLimitExceeded = "54000",
    StatementTooComplex = "54001",
    TooManyColumns = "54011",
    TooManyArguments = "54023",
    ObjectNotInPrerequisiteState = "55000",
    ObjectInUse = "55006",
    CantChangeRuntimeParam = "55P02",
    LockNotAvailable = "55P03",
    UnsafeNewEnumValueUsage = "55P04",
    QueryCanceled = "57014",
    AdminShutdown = "57P01",
    CrashShutdown = "57P02",
    CannotConnectNow = "57P03",
    IdleSessionTimeout = "57P05",
    SystemError = "58000",
    UndefinedFile = "58P01",
    IoError = "58030",
    SnapshotTooOld = "72000",
    RaiseException = "P0001",
    NoDataFound = "P0002",
    TooManyRows = "P0003",
    AssertFailure = "P0004",
    DataCorrupted = "XX001",
    InternalError = "XX000",
    SequenceGeneratorLimitExceeded = "2200H",
}
