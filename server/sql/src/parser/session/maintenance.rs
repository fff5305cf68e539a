//! `ANALYZE`, `VACUUM` and `REINDEX`: their options and tables.

use braid_types::{Error, Result, SqlState};
use sqlparser::tokenizer::{Span, Token};

use super::set::parse_setting_value;
use crate::ast::{MaintainedTable, Reindex, ReindexTarget, Statement};
use crate::parser::Cursor;
use crate::parser::clauses::check_tablespace;
use crate::parser::names::{parse_columns, parse_label, parse_object_name};

/// Parallel workers that VACUUM may be asked for.
const WORKERS_MAX: i64 = 1024;

/// What the options of VACUUM say. Only ANALYZE has an effect.
#[derive(Default)]
struct VacuumOptions {
    analyze: bool,
    full: bool,
    parallel: bool,
    disable_page_skipping: bool,
    without_toast: bool,
}

/// An option with its value, if it has one.
struct MaintenanceOption {
    name: String,
    value: Option<String>,
    span: Span,
}

impl MaintenanceOption {
    fn refused(&self, message: String) -> Error {
        Error::new(SqlState::SyntaxError, message).position(crate::offset_of(self.span))
    }

    fn unrecognized(&self, statement: &str) -> Error {
        self.refused(format!("unrecognized {statement} option \"{}\"", self.name))
    }

    /// The value as a switch; an option without a value is on.
    fn switch(&self) -> Result<bool> {
        let value = self.value.as_deref().map(str::to_ascii_lowercase);
        match value.as_deref() {
            None | Some("true" | "on" | "1") => Ok(true),
            Some("false" | "off" | "0") => Ok(false),
            Some(_) => {
                let message = format!("{} requires a Boolean value", self.name);
                Err(Error::new(SqlState::SyntaxError, message))
            }
        }
    }

    /// Whether workers are asked for. 42601 for a number out of range.
    fn workers(&self) -> Result<bool> {
        let Some(value) = &self.value else {
            let message = format!("parallel option requires a value between 0 and {WORKERS_MAX}");
            return Err(self.refused(message));
        };
        match value.parse::<i64>() {
            Ok(workers) if (0..=WORKERS_MAX).contains(&workers) => Ok(workers > 0),
            Ok(_) => {
                let message =
                    format!("parallel workers for vacuum must be between 0 and {WORKERS_MAX}");
                Err(self.refused(message))
            }
            Err(_) => {
                let message = format!("{} requires an integer value", self.name);
                Err(Error::new(SqlState::SyntaxError, message))
            }
        }
    }
}

fn parse_options(cursor: &mut Cursor<'_>) -> Result<Vec<MaintenanceOption>> {
    cursor.parens(|cursor| {
        let span = cursor.span();
        let name = parse_label(cursor)?.value;
        let value = match cursor.peek() {
            Token::Comma | Token::RParen => None,
            _ => Some(parse_setting_value(cursor)?),
        };
        Ok(MaintenanceOption { name, value, span })
    })
}

fn parse_tables(cursor: &mut Cursor<'_>) -> Result<Vec<MaintainedTable>> {
    if cursor.at_end() {
        return Ok(Vec::new());
    }
    cursor.list(|cursor| {
        let name = parse_object_name(cursor)?;
        let has_columns = *cursor.peek() == Token::LParen;
        let columns = if has_columns { parse_columns(cursor)? } else { Vec::new() };
        Ok(MaintainedTable { name, columns })
    })
}

/// `ANALYZE`.
pub(crate) fn parse_analyze(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    if *cursor.peek() == Token::LParen {
        for option in parse_options(cursor)? {
            match option.name.as_str() {
                "verbose" | "skip_locked" => option.switch()?,
                _ => return Err(option.unrecognized("ANALYZE")),
            };
        }
    } else {
        cursor.take("verbose");
    }
    Ok(Statement::Analyze(parse_tables(cursor)?))
}

/// `REINDEX`.
pub(crate) fn parse_reindex(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    let mut options = Vec::new();
    if *cursor.peek() == Token::LParen {
        options = parse_options(cursor)?;
    }
    let target = match cursor.take_one(&["index", "table", "schema", "database", "system"]) {
        Some(0) => ReindexTarget::Index,
        Some(1) => ReindexTarget::Table,
        Some(2) => ReindexTarget::Schema,
        Some(3) => ReindexTarget::Database,
        Some(_) => ReindexTarget::System,
        None => return Err(cursor.unexpected()),
    };
    let mut concurrently = cursor.take("concurrently");
    let name = parse_object_name(cursor)?;
    for option in options {
        match option.name.as_str() {
            "concurrently" => concurrently = option.switch()?,
            "verbose" => {
                option.switch()?;
            }
            "tablespace" => check_tablespace(option.value.as_deref().unwrap_or_default())?,
            _ => return Err(option.unrecognized("REINDEX")),
        }
    }
    Ok(Statement::Reindex(Reindex { target, name, concurrently }))
}

/// `VACUUM`.
pub(crate) fn parse_vacuum(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    let mut found = VacuumOptions::default();
    if *cursor.peek() == Token::LParen {
        for option in parse_options(cursor)? {
            read_vacuum_option(&mut found, &option)?;
        }
    } else {
        found.full = cursor.take("full");
        cursor.take("freeze");
        cursor.take("verbose");
        found.analyze = cursor.take("analyze") || cursor.take("analyse");
    }
    let tables = parse_tables(cursor)?;
    found.check(&tables)?;
    Ok(Statement::Vacuum { analyze: found.analyze, tables })
}

fn read_vacuum_option(found: &mut VacuumOptions, option: &MaintenanceOption) -> Result<()> {
    match option.name.as_str() {
        "analyze" => found.analyze = option.switch()?,
        "full" => found.full = option.switch()?,
        "parallel" => found.parallel = option.workers()?,
        "disable_page_skipping" => found.disable_page_skipping = option.switch()?,
        "process_toast" => found.without_toast = !option.switch()?,
        "verbose" | "freeze" | "skip_locked" | "truncate" => {
            option.switch()?;
        }
        "index_cleanup" => {
            let value = option.value.as_deref().unwrap_or_default();
            if !value.eq_ignore_ascii_case("auto") {
                option.switch()?;
            }
        }
        _ => return Err(option.unrecognized("VACUUM")),
    }
    Ok(())
}

impl VacuumOptions {
    /// 0A000 for options that exclude each other.
    fn check(&self, tables: &[MaintainedTable]) -> Result<()> {
        let message = if !self.analyze && tables.iter().any(|table| !table.columns.is_empty()) {
            "ANALYZE option must be specified when a column list is provided"
        } else if self.full && self.parallel {
            "VACUUM FULL cannot be performed in parallel"
        } else if self.full && self.disable_page_skipping {
            "VACUUM option DISABLE_PAGE_SKIPPING cannot be used with FULL"
        } else if self.full && self.without_toast {
            "PROCESS_TOAST required with VACUUM FULL"
        } else {
            return Ok(());
        };
        Err(Error::new(SqlState::FeatureNotSupported, message))
    }
}
