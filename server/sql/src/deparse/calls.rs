//! Calls of functions, aggregates and window functions, and the keys of sorts.

use braid_types::Result;
use sqlparser::ast::{
    DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArgumentList, FunctionArguments, OrderByExpr, WindowFrame, WindowFrameBound,
    WindowFrameUnits, WindowSpec, WindowType,
};

use super::expr::unnested;
use super::{Printer, unprintable};

/// Functions without parentheses.
const KEYWORD_VALUES: [&str; 8] = [
    "current_date",
    "current_time",
    "current_timestamp",
    "localtime",
    "localtimestamp",
    "current_user",
    "session_user",
    "current_role",
];

/// Functions without parentheses that may have a precision in parentheses.
const KEYWORD_TIMES: [&str; 4] =
    ["current_time", "current_timestamp", "localtime", "localtimestamp"];

impl Printer<'_> {
    /// A function's name, in quotes where a keyword would be read.
    pub(super) fn function_name(&mut self, name: &str) {
        self.push(&crate::quote_ident(name));
    }

    pub(super) fn function(&mut self, function: &Function) -> Result<()> {
        let name = function.name.0.last().and_then(|part| part.as_ident());
        let name = name.map(crate::fold).unwrap_or_default();
        match &function.args {
            FunctionArguments::None => {
                self.push(&name.to_uppercase());
                return Ok(());
            }
            FunctionArguments::Subquery(query) => {
                return self.subquery(&format!("{}(", name.to_uppercase()), query);
            }
            FunctionArguments::List(list) => match name.as_str() {
                "coalesce" | "greatest" | "least" | "nullif" | "row" | "grouping" => {
                    self.push(&format!("{}(", name.to_uppercase()));
                    self.arguments(list)?;
                    self.push(")");
                    return Ok(());
                }
                word if list.args.is_empty() && KEYWORD_VALUES.contains(&word) => {
                    self.push(&name.to_uppercase());
                    return Ok(());
                }
                _ => {
                    match KEYWORD_TIMES.contains(&name.as_str()) {
                        true => self.push(&name.to_uppercase()),
                        false => self.function_name(&name),
                    }
                    self.push("(");
                    self.arguments(list)?;
                    self.push(")");
                }
            },
        }
        if !function.within_group.is_empty() {
            self.push(" WITHIN GROUP (ORDER BY ");
            self.aggregate_keys(&function.within_group)?;
            self.push(")");
        }
        if let Some(filter) = &function.filter {
            self.push(" FILTER (WHERE ");
            self.expr(filter)?;
            self.push(")");
        }
        match &function.over {
            None => Ok(()),
            Some(WindowType::NamedWindow(name)) => {
                self.push(" OVER ");
                self.name(&crate::fold(name));
                Ok(())
            }
            Some(WindowType::WindowSpec(spec)) => {
                self.push(" OVER ");
                self.window_spec(spec)
            }
        }
    }

    fn arguments(&mut self, list: &FunctionArgumentList) -> Result<()> {
        if matches!(list.duplicate_treatment, Some(DuplicateTreatment::Distinct)) {
            self.push("DISTINCT ");
        }
        for (place, arg) in list.args.iter().enumerate() {
            if place > 0 {
                self.push(", ");
            }
            match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) => self.expr(e)?,
                FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => self.push("*"),
                other => return Err(unprintable(other)),
            }
        }
        for clause in &list.clauses {
            match clause {
                FunctionArgumentClause::OrderBy(order) => {
                    self.push(" ORDER BY ");
                    self.aggregate_keys(order)?;
                }
                other => return Err(unprintable(other)),
            }
        }
        Ok(())
    }

    fn aggregate_keys(&mut self, order: &[OrderByExpr]) -> Result<()> {
        self.sort_keys(order, &[])
    }

    /// A key of ORDER BY or GROUP BY.
    pub(super) fn sort_expr(&mut self, e: &Expr) -> Result<()> {
        let e = unnested(e);
        let paren = match e {
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_) => false,
            Expr::Cast { expr, .. } if matches!(unnested(expr), Expr::Value(_)) => false,
            Expr::Function(function) => {
                let name = function.name.to_string().to_lowercase();
                self.pretty()
                    || !["coalesce", "greatest", "least", "nullif", "row"].contains(&&*name)
            }
            _ => self.pretty(),
        };
        self.maybe_in_parentheses(paren, e)
    }

    /// `(PARTITION BY … ORDER BY … ROWS …)`
    pub(super) fn window_spec(&mut self, spec: &WindowSpec) -> Result<()> {
        self.push("(");
        let mut parts: Vec<String> = Vec::new();
        if let Some(name) = &spec.window_name {
            parts.push(self.aside(|p| {
                p.name(&crate::fold(name));
                Ok(())
            })?);
        }
        if !spec.partition_by.is_empty() {
            parts.push(self.aside(|p| {
                p.push("PARTITION BY ");
                for (place, key) in spec.partition_by.iter().enumerate() {
                    if place > 0 {
                        p.push(", ");
                    }
                    p.sort_expr(key)?;
                }
                Ok(())
            })?);
        }
        if !spec.order_by.is_empty() {
            parts.push(self.aside(|p| {
                p.push("ORDER BY ");
                p.aggregate_keys(&spec.order_by)
            })?);
        }
        if let Some(frame) = &spec.window_frame
            && (self.is_stored() || !is_default(frame))
        {
            parts.push(self.aside(|p| p.frame(frame))?);
        }
        self.push(&parts.join(" "));
        self.push(")");
        Ok(())
    }

    fn frame(&mut self, frame: &WindowFrame) -> Result<()> {
        self.push(match frame.units {
            WindowFrameUnits::Rows => "ROWS ",
            WindowFrameUnits::Range => "RANGE ",
            WindowFrameUnits::Groups => "GROUPS ",
        });
        let Some(end) = &frame.end_bound else { return self.bound(&frame.start_bound) };
        self.push("BETWEEN ");
        self.bound(&frame.start_bound)?;
        self.push(" AND ");
        self.bound(end)
    }

    fn bound(&mut self, bound: &WindowFrameBound) -> Result<()> {
        let (offset, word) = match bound {
            WindowFrameBound::CurrentRow => {
                self.push("CURRENT ROW");
                return Ok(());
            }
            WindowFrameBound::Preceding(offset) => (offset, " PRECEDING"),
            WindowFrameBound::Following(offset) => (offset, " FOLLOWING"),
        };
        match offset {
            Some(offset) => self.expr(offset)?,
            None => self.push("UNBOUNDED"),
        }
        self.push(word);
        Ok(())
    }
}

/// Whether a frame is the one that a window has without any.
fn is_default(frame: &WindowFrame) -> bool {
    frame.units == WindowFrameUnits::Range
        && matches!(frame.start_bound, WindowFrameBound::Preceding(None))
        && matches!(frame.end_bound, Some(WindowFrameBound::CurrentRow))
}
