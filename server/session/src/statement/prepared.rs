//! Prepared statements: a statement of a text, what its parameters and columns are.

use std::sync::Arc;

use braid_sql::Normalized;
use braid_sql::ast::Statement;
use braid_types::{Error, Result, SqlState, SqlType};
use parking_lot::Mutex;

use crate::client::ResultColumn;
use crate::clock::now_micros;
use crate::observe::traceparent::TraceParent;
use crate::statement::plans::cache::{CachedPlan, ParsedText, PlanCache};
use crate::statement::skeleton::given::Given;

/// A statement ready to be bound.
pub(crate) struct Prepared {
    /// Its name; empty for the unnamed one.
    pub name: String,
    /// The text, which may hold other statements as well.
    pub parsed: Arc<ParsedText>,
    /// Which of them it is; `None` for an empty text.
    pub index: Option<usize>,
    /// Its text, where `parsed` is only its skeleton.
    pub text: Option<Arc<str>>,
    /// What it has instead of the skeleton's parameters.
    pub given: Option<Given>,
    /// Parameter types as far as the client said.
    pub hints: Vec<SqlType>,
    /// Parameter types.
    pub params: Vec<SqlType>,
    /// The columns promised to the client; `None` if it returns no rows.
    pub columns: Option<Arc<[ResultColumn]>>,
    /// The text that a PREPARE came in.
    pub source: Option<Arc<str>>,
    /// The trace that a comment of its text names.
    pub trace: Option<TraceParent>,
    /// By PREPARE, else by the protocol.
    pub from_sql: bool,
    /// When it was prepared.
    pub time: i64,
    /// The plan that was used last.
    pub plan: Mutex<Option<Arc<CachedPlan>>>,
}

impl Prepared {
    pub(crate) fn new(
        name: &str,
        parsed: Arc<ParsedText>,
        index: Option<usize>,
        hints: Vec<SqlType>,
    ) -> Prepared {
        Prepared {
            name: name.to_owned(),
            parsed,
            index,
            text: None,
            given: None,
            hints,
            params: Vec::new(),
            columns: None,
            source: None,
            trace: None,
            from_sql: false,
            time: now_micros(),
            plan: Mutex::new(None),
        }
    }

    /// The statement; `None` for an empty text.
    pub(crate) fn statement(&self) -> Option<&Statement> {
        self.parsed.statements.get(self.index?).map(|parsed| &parsed.statement)
    }

    /// The whole text that it came in.
    pub(crate) fn whole_text(&self) -> &Arc<str> {
        self.text.as_ref().unwrap_or(&self.parsed.text)
    }

    /// The statement without its constants; `None` for an empty text.
    pub(crate) fn normalized(&self) -> Option<&Normalized> {
        self.parsed.normalized().get(self.index?)
    }

    /// The highest parameter that occurs.
    pub(crate) fn parameters(&self) -> usize {
        let parsed = self.index.and_then(|index| self.parsed.statements.get(index));
        parsed.map_or(0, |parsed| parsed.parameters)
    }

    /// The statement's own text.
    pub(crate) fn text(&self) -> &str {
        if let Some(text) = &self.text {
            let is_around = |c: char| c.is_ascii_whitespace() || c == ';';
            return text.trim_ascii_start().trim_end_matches(is_around);
        }
        let range = self.index.and_then(|index| self.parsed.statements.get(index));
        range.and_then(|parsed| self.parsed.text.get(parsed.text.clone())).unwrap_or_default()
    }

    /// The same statement, planned as it is written.
    pub(crate) fn without_skeleton(&self, plans: &PlanCache) -> Result<Prepared> {
        let parsed = plans.parse(self.text())?;
        Ok(Prepared::new(&self.name, parsed, Some(0), self.params.clone()))
    }

    /// 42P02: a statement that is given no values has a parameter.
    pub(crate) fn no_parameter(&self) -> Error {
        let missing = |name: &str| {
            Error::new(SqlState::UndefinedParameter, format!("there is no parameter {name}"))
        };
        let highest = format!("${}", self.parameters());
        if self.text.is_some() {
            return missing(&highest);
        }
        let statement = self.index.and_then(|index| self.parsed.statements.get(index));
        let before = statement.and_then(|parsed| self.parsed.text.get(..parsed.text.start));
        let after = before.map_or(0, |text| text.chars().count()) as u32 + 1;
        match braid_sql::find_parameter(&self.parsed.text, after) {
            Some((name, place)) => missing(&name).position(place),
            None => missing(&highest),
        }
    }
}

/// Types by oid, as Parse gives them; 42704 for one that does not exist.
pub(crate) fn hint_types(oids: &[u32]) -> Result<Vec<SqlType>> {
    let type_of = |oid: &u32| match *oid {
        // 705 is `unknown`.
        0 | 705 => Ok(SqlType::Unknown),
        oid => SqlType::from_oid(oid).ok_or_else(|| {
            Error::new(SqlState::UndefinedObject, format!("type with OID {oid} does not exist"))
        }),
    };
    oids.iter().map(type_of).collect()
}

/// 26000: there is no such prepared statement.
pub(crate) fn unknown_statement(name: &str) -> Error {
    let message = match name {
        "" => "unnamed prepared statement does not exist".to_owned(),
        name => format!("prepared statement \"{name}\" does not exist"),
    };
    Error::new(SqlState::InvalidSqlStatementName, message).routine("FetchPreparedStatement")
}

/// 42P05: the name is taken.
pub(crate) fn duplicate(name: &str) -> Error {
    Error::new(
        SqlState::DuplicatePreparedStatement,
        format!("prepared statement \"{name}\" already exists"),
    )
}

/// 25006: the transaction may not write.
pub(crate) fn read_only(prepared: &Prepared) -> Error {
    let statement = match prepared.statement() {
        Some(Statement::Explain(explain)) => Some(&explain.statement),
        other => other,
    };
    let command = match statement {
        Some(Statement::Insert(_)) => "INSERT",
        Some(Statement::Update(_)) => "UPDATE",
        Some(Statement::Delete(_)) => "DELETE",
        Some(Statement::Merge(_)) => "MERGE",
        _ => "SELECT",
    };
    Error::new(
        SqlState::ReadOnlySqlTransaction,
        format!("cannot execute {command} in a read-only transaction"),
    )
}
