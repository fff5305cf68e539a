//! What EXPLAIN was asked to show.

use braid_sql::ast::{Explain, ExplainFormat};
use braid_types::{Error, Result, SqlState, SqlType};

use crate::context::OutputColumn;

/// What EXPLAIN was asked to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExplainOptions {
    /// The statement is run, and what it did is shown.
    pub analyze: bool,
    /// Schemas and output columns too.
    pub verbose: bool,
    /// Estimated rows.
    pub costs: bool,
    /// Times of operators.
    pub timing: bool,
    /// Times of planning and execution.
    pub summary: bool,
    /// The plan before all rules of the planner, and after each rule that changed it.
    pub rules: bool,
    /// Text, JSON, YAML or XML.
    pub format: ExplainFormat,
}

impl ExplainOptions {
    /// The options of a statement: 22023 for what needs ANALYZE, and for what RULES excludes.
    pub fn new(explain: &Explain) -> Result<Self> {
        let option = |wanted: &str| {
            explain.options.iter().rev().find(|(name, _)| name == wanted).map(|(_, on)| *on)
        };
        for name in ["wal", "timing"] {
            if option(name) == Some(true) && !explain.analyze {
                return Err(Error::new(
                    SqlState::InvalidParameterValue,
                    format!("EXPLAIN option {} requires ANALYZE", name.to_ascii_uppercase()),
                ));
            }
        }
        let rules = option("rules") == Some(true);
        if rules && (explain.analyze || explain.format != ExplainFormat::Text) {
            let message =
                "EXPLAIN option RULES allows neither ANALYZE nor another format than TEXT";
            return Err(Error::new(SqlState::InvalidParameterValue, message));
        }
        Ok(Self {
            analyze: explain.analyze,
            verbose: explain.verbose,
            costs: explain.costs,
            timing: option("timing").unwrap_or(explain.analyze),
            summary: option("summary").unwrap_or(explain.analyze),
            rules,
            format: explain.format,
        })
    }

    /// The only column of the explanation.
    pub fn columns(&self) -> Vec<OutputColumn> {
        let ty = match self.format {
            ExplainFormat::Json => SqlType::Json,
            _ => SqlType::Text,
        };
        vec![OutputColumn::computed("QUERY PLAN", ty)]
    }
}
