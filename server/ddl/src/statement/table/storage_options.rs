//! Storage parameters: `WITH (fillfactor = 70)` of tables and indexes, and `SET` and `RESET`.
//!
//! They say how PostgreSQL lays out its files and when it vacuums, so they have no effect here.
//! They are kept and shown, but for those of `toast`. What PostgreSQL would refuse is refused all
//! the same.

use braid_sql::ast::{Expr, Ident, UnaryOperator, Value};
use braid_types::text::{parse_bool, parse_f64};
use braid_types::{Error, Result, SqlState};

/// Parameters as they are written.
type Written = [(Ident, Option<Expr>)];

/// What values a parameter has.
#[derive(Clone, Copy)]
enum Kind {
    /// Whole numbers between two limits.
    Integer(i64, i64),
    /// Numbers between two limits.
    Real(f64, f64),
    /// A truth value.
    Bool,
    /// A truth value, or `auto`.
    Auto,
}

/// Whose parameters they are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner<'a> {
    /// A table, a partition or a materialized view.
    Table,
    /// A partitioned table, which has none.
    Partitioned,
    /// An index of that access method.
    Index(&'a str),
}

const INT_MAX: i64 = i32::MAX as i64;
const BILLION: i64 = 1_000_000_000;

/// The parameters that the table of long values has as well, below `toast`.
fn vacuum_option(name: &str) -> Option<Kind> {
    Some(match name {
        "autovacuum_enabled" | "vacuum_truncate" => Kind::Bool,
        "vacuum_index_cleanup" => Kind::Auto,
        "autovacuum_vacuum_threshold" => Kind::Integer(0, INT_MAX),
        "autovacuum_vacuum_insert_threshold" => Kind::Integer(-1, INT_MAX),
        "autovacuum_vacuum_cost_limit" => Kind::Integer(1, 10_000),
        "autovacuum_freeze_min_age" | "autovacuum_multixact_freeze_min_age" => {
            Kind::Integer(0, BILLION)
        }
        "autovacuum_freeze_max_age" => Kind::Integer(100_000, 2 * BILLION),
        "autovacuum_multixact_freeze_max_age" => Kind::Integer(10_000, 2 * BILLION),
        "autovacuum_freeze_table_age" | "autovacuum_multixact_freeze_table_age" => {
            Kind::Integer(0, 2 * BILLION)
        }
        "log_autovacuum_min_duration" => Kind::Integer(-1, INT_MAX),
        "autovacuum_vacuum_cost_delay"
        | "autovacuum_vacuum_scale_factor"
        | "autovacuum_vacuum_insert_scale_factor" => Kind::Real(0.0, 100.0),
        _ => return None,
    })
}

fn table_option(name: &str) -> Option<Kind> {
    Some(match name {
        "fillfactor" => Kind::Integer(10, 100),
        "toast_tuple_target" => Kind::Integer(128, 8160),
        "parallel_workers" => Kind::Integer(0, 1024),
        "autovacuum_analyze_threshold" => Kind::Integer(0, INT_MAX),
        "autovacuum_analyze_scale_factor" => Kind::Real(0.0, 100.0),
        "user_catalog_table" => Kind::Bool,
        name => return vacuum_option(name),
    })
}

fn index_option(method: &str, name: &str) -> Option<Kind> {
    Some(match (method, name) {
        ("btree" | "hash" | "gist" | "spgist", "fillfactor") => Kind::Integer(10, 100),
        ("btree", "deduplicate_items") | ("gin", "fastupdate") => Kind::Bool,
        ("gist", "buffering") => Kind::Auto,
        ("gin", "gin_pending_list_limit") => Kind::Integer(64, INT_MAX),
        _ => return None,
    })
}

/// 22023 unless every parameter exists, once, and has one of its values. Of a RESET the values are
/// refused (42601).
pub(crate) fn check(owner: Owner<'_>, written: &Written, is_reset: bool) -> Result<()> {
    for (place, (name, value)) in written.iter().enumerate() {
        let name = name.value.as_str();
        let has_oids = name == "oids" && !matches!(owner, Owner::Index(_));
        if has_oids && !is_reset && parse_bool(&text_of_option(value.as_ref())).unwrap_or(true) {
            let message = "tables declared WITH OIDS are not supported";
            return Err(Error::new(SqlState::FeatureNotSupported, message));
        }
        if is_reset {
            if value.is_some() {
                let message = "RESET must not include values for parameters";
                return Err(Error::new(SqlState::SyntaxError, message));
            }
            continue;
        }
        if written.iter().take(place).any(|(other, _)| other.value == name) {
            return Err(invalid(format!("parameter \"{name}\" specified more than once")));
        }
        if let Some(kind) = kind_of(owner, name)? {
            check_value(name, kind, value.as_ref())?;
        }
    }
    Ok(())
}

/// The parameters that are kept: the old ones with those that a SET or RESET has written.
pub(crate) fn changed(old: &[String], written: &Written, is_reset: bool) -> Vec<String> {
    let name_of = |kept: &str| kept.split_once('=').map_or(kept, |(name, _)| name).to_owned();
    let is_written =
        |kept: &&String| written.iter().any(|(name, _)| name.value == name_of(kept.as_str()));
    let mut all: Vec<String> = old.iter().filter(|kept| !is_written(kept)).cloned().collect();
    if !is_reset {
        let kept =
            written.iter().filter(|(name, _)| name.value != "oids" && !name.value.contains('.'));
        let text = |value: &Option<Expr>| text_of_option(value.as_ref());
        all.extend(kept.map(|(name, value)| format!("{}={}", name.value, text(value))));
    }
    all
}

/// The values of a parameter; `None` for one that may have any.
fn kind_of(owner: Owner<'_>, name: &str) -> Result<Option<Kind>> {
    let unknown = |name: &str| invalid(format!("unrecognized parameter \"{name}\""));
    if let Some((space, name)) = name.split_once('.') {
        if space != "toast" || matches!(owner, Owner::Index(_)) {
            return Err(invalid(format!("unrecognized parameter namespace \"{space}\"")));
        }
        return vacuum_option(name).map(Some).ok_or_else(|| unknown(name));
    }
    // Numbers of rows as a column have gone with PostgreSQL 12; a false one is accepted.
    if name == "oids" && !matches!(owner, Owner::Index(_)) {
        return Ok(None);
    }
    let found = match owner {
        Owner::Table => table_option(name),
        Owner::Partitioned => None,
        Owner::Index(method) => index_option(method, name),
    };
    found.map(Some).ok_or_else(|| unknown(name))
}

fn check_value(name: &str, kind: Kind, value: Option<&Expr>) -> Result<()> {
    let text = text_of_option(value);
    let wrong = |kind: &str| invalid(format!("invalid value for {kind} option \"{name}\": {text}"));
    let outside = |low: String, high: String| {
        invalid(format!("value {text} out of bounds for option \"{name}\""))
            .detail(format!("Valid values are between \"{low}\" and \"{high}\"."))
    };
    let number = || parse_f64(&text).ok().filter(|number| number.is_finite());
    match kind {
        Kind::Integer(low, high) => {
            let number = number().ok_or_else(|| wrong("integer"))?.round_ties_even();
            if number < low as f64 || number > high as f64 {
                return Err(outside(low.to_string(), high.to_string()));
            }
        }
        Kind::Real(low, high) => {
            let number = number().ok_or_else(|| wrong("floating point"))?;
            if number < low || number > high {
                return Err(outside(format!("{low:.6}"), format!("{high:.6}")));
            }
        }
        Kind::Bool if parse_bool(&text).is_err() => return Err(wrong("boolean")),
        Kind::Auto if text != "auto" && parse_bool(&text).is_err() => {
            return Err(invalid(format!("invalid value for enum option \"{name}\": {text}")));
        }
        Kind::Bool | Kind::Auto => {}
    }
    Ok(())
}

/// A parameter without a value is true.
fn text_of_option(value: Option<&Expr>) -> String {
    value.map_or_else(|| "true".to_owned(), text_of)
}

/// A value as text.
fn text_of(value: &Expr) -> String {
    match value {
        Expr::Identifier(word) => word.value.clone(),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::Number(text, _) => text.clone(),
            other => other.to_string(),
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => format!("-{}", text_of(expr)),
        other => other.to_string(),
    }
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::InvalidParameterValue, message)
}
