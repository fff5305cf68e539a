//! What the hot path needs of the settings, parsed once at each change.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::LazyLock;
use std::time::Duration;

use braid_exec::Parallelism;
use braid_sql::ast::IsolationLevel;
use braid_types::FormatSettings;
use braid_types::encoding::Encoding;
use braid_types::text::IntervalStyle;

use super::formats::{parse_bool, parse_date_style, split_names, time_zone};
use super::isolation::isolation_of;
use super::units::Unit;
use super::{Kind, find, units};
use crate::client::Severity;

/// Parsed values.
#[derive(Clone, Debug)]
pub struct Active {
    /// Formats and time zone.
    pub format: FormatSettings,
    /// `client_encoding`
    pub client_encoding: &'static Encoding,
    /// The schemas of the search path.
    pub search_path: Vec<String>,
    /// `statement_timeout`; `None`: for ever.
    pub statement_timeout: Option<Duration>,
    /// `log_min_duration_statement`; `None`: nothing is logged.
    pub log_min_duration: Option<Duration>,
    /// `lock_timeout`; `None`: for ever.
    pub lock_timeout: Option<Duration>,
    /// `idle_in_transaction_session_timeout`; `None`: for ever.
    pub idle_in_transaction_timeout: Option<Duration>,
    /// `idle_session_timeout`; `None`: for ever.
    pub idle_session_timeout: Option<Duration>,
    /// `result_buffer_bytes`
    pub result_buffer_bytes: u64,
    /// `statement_memory_limit`; 0: none.
    pub memory_limit_bytes: u64,
    /// `temp_file_limit`; `None`: none.
    pub temp_file_bytes_max: Option<u64>,
    /// `temporary_memory_limit`
    pub temporary_bytes_max: usize,
    /// The isolation level of transactions that name none.
    pub default_isolation: IsolationLevel,
    /// `default_transaction_read_only`
    pub default_read_only: bool,
    /// `default_transaction_deferrable`
    pub default_deferrable: bool,
    /// `implicit_select_for_update`
    pub implicit_locks: bool,
    /// `range_delete`
    pub range_delete: bool,
    /// `max_parallel_workers_per_query` and `min_parallel_cost`
    pub parallelism: Parallelism,
    /// `inject_retry_errors_enabled`
    pub inject_retry_errors: bool,
    /// `standard_conforming_strings`
    pub standard_strings: bool,
    /// `escape_string_warning`
    pub warns_of_escapes: bool,
    /// `share_plans`
    pub share_plans: bool,
    /// `max_parallel_statements`
    pub parallel_statements_max: usize,
    /// `max_parallel_statement_bytes`
    pub parallel_bytes_max: usize,
    /// `pg_stat_statements.track`
    pub track_statements: bool,
    /// `record_timeline`
    pub record_timeline: bool,
    /// The least severity of notices sent; `None`: none but INFO.
    pub notices: Option<Severity>,
}

impl Active {
    pub(super) fn parse(values: &BTreeMap<String, String>) -> Active {
        let text = |name: &str| -> String {
            let default = || find(name).map_or_else(String::new, |s| s.default.to_owned());
            values.get(name).cloned().unwrap_or_else(default)
        };
        let number = |name: &str| -> u64 {
            let Some(Kind::Int { unit, .. }) = find(name).map(|setting| setting.kind) else {
                return 0;
            };
            units::parse(&text(name), unit).map_or(0, |number| number.max(0.0) as u64)
        };
        let kilobytes = units::parse(&text("temp_file_limit"), Some(Unit::KiloBytes));
        let temp_file_bytes_max =
            kilobytes.ok().filter(|n| *n >= 0.0).map(|n| (n as u64).saturating_mul(1024));
        let signed = |name: &str| units::parse(&text(name), None).map_or(0, |n| n as i32);
        let duration = |name: &str| match number(name) {
            0 => None,
            millis => Some(Duration::from_millis(millis)),
        };
        let defaults = FormatSettings::default();
        let (time_zone_name, time_zone) =
            time_zone(&text("timezone")).unwrap_or((defaults.time_zone_name, defaults.time_zone));
        let base = (defaults.date_style, defaults.date_order);
        let (date_style, date_order) = parse_date_style(&text("datestyle"), base).unwrap_or(base);
        Active {
            format: FormatSettings {
                time_zone,
                time_zone_name,
                date_style,
                date_order,
                interval_style: interval_style(&text("intervalstyle")),
                extra_float_digits: signed("extra_float_digits"),
                bytea_escape: text("bytea_output") == "escape",
            },
            client_encoding: Encoding::named(&text("client_encoding"))
                .unwrap_or_else(Encoding::utf8),
            search_path: split_names(&text("search_path")),
            statement_timeout: duration("statement_timeout"),
            log_min_duration: units::parse(&text("log_min_duration_statement"), Some(Unit::Millis))
                .ok()
                .and_then(|millis| Duration::try_from_secs_f64(millis / 1e3).ok()),
            lock_timeout: duration("lock_timeout"),
            idle_in_transaction_timeout: duration("idle_in_transaction_session_timeout"),
            idle_session_timeout: duration("idle_session_timeout"),
            result_buffer_bytes: number("result_buffer_bytes"),
            memory_limit_bytes: number("statement_memory_limit"),
            temp_file_bytes_max,
            temporary_bytes_max: number("temporary_memory_limit") as usize,
            default_isolation: isolation_of(&text("default_transaction_isolation")),
            default_read_only: text("default_transaction_read_only") == "on",
            default_deferrable: text("default_transaction_deferrable") == "on",
            implicit_locks: parse_bool(&text("implicit_select_for_update")).unwrap_or(true),
            range_delete: parse_bool(&text("range_delete")).unwrap_or(true),
            parallelism: parallelism(text, number),
            inject_retry_errors: text("inject_retry_errors_enabled") == "on",
            standard_strings: text("standard_conforming_strings") != "off",
            warns_of_escapes: text("escape_string_warning") != "off",
            share_plans: parse_bool(&text("share_plans")).unwrap_or(true),
            parallel_statements_max: number("max_parallel_statements") as usize,
            parallel_bytes_max: number("max_parallel_statement_bytes") as usize,
            track_statements: text("pg_stat_statements.track") != "none",
            record_timeline: text("record_timeline") == "on",
            notices: least_severity(&text("client_min_messages")),
        }
    }
}

/// The least severity of notices that `client_min_messages` lets through.
fn least_severity(text: &str) -> Option<Severity> {
    match text {
        "error" => None,
        "warning" => Some(Severity::Warning),
        "notice" => Some(Severity::Notice),
        "log" => Some(Severity::Log),
        _ => Some(Severity::Debug),
    }
}

/// Workers that share the rows of a scan, where nothing else is set.
const WORKERS_MAX: usize = 4;

/// The cores of the machine, asked for once: that reads files, and settings are parsed often.
static CORES: LazyLock<usize> =
    LazyLock::new(|| std::thread::available_parallelism().map_or(1, NonZero::get));

/// How many workers a query may have; a number below zero means as many as the machine has cores.
fn parallelism(text: impl Fn(&str) -> String, number: impl Fn(&str) -> u64) -> Parallelism {
    let workers = text("max_parallel_workers_per_query");
    let given = units::parse(&workers, None).ok().filter(|workers| *workers >= 0.0);
    let workers_max = given.map_or_else(|| CORES.min(WORKERS_MAX), |workers| workers as usize);
    Parallelism { workers_max: workers_max.max(1), cost_min: number("min_parallel_cost") }
}

fn interval_style(text: &str) -> IntervalStyle {
    match text {
        "postgres_verbose" => IntervalStyle::PostgresVerbose,
        "sql_standard" => IntervalStyle::SqlStandard,
        "iso_8601" => IntervalStyle::Iso8601,
        _ => IntervalStyle::Postgres,
    }
}
