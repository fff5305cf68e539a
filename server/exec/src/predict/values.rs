//! Values and rows that can be computed before the run.
//!
//! A row's value is `None` where it is not known: it comes from a stored row, from a subquery, or
//! it differs from call to call.

use braid_builtins::Call;
use braid_plan::eval::{EvalContext, eval};
use braid_plan::{Expr, FunctionCall, FunctionScan, Node};
use braid_types::{Datum, Row, SqlType};

use crate::ExecContext;

/// The most rows of an input that are computed beforehand; more of them are unknown as a whole.
pub(crate) const ROWS_MAX: usize = 20_000;

/// A value, if it is known.
pub(crate) type Known = Option<Datum>;

/// Computes what can be known.
#[derive(Clone, Copy)]
pub(crate) struct Values<'a> {
    pub cx: &'a ExecContext,
    pub params: &'a [Datum],
}

impl Values<'_> {
    /// The value of an expression over a row of which not everything may be known, with the
    /// values handed in from outside; without them what needs one is unknown.
    pub(super) fn value(&self, e: &Expr, row: &[Known], outer: Option<&[Known]>) -> Known {
        // The common forms cost no copy of the row.
        match e {
            Expr::Const(value, _) => return Some(value.clone()),
            Expr::Param(place, _) => return self.params.get(*place).cloned(),
            Expr::Input(place, _) => return row.get(*place).cloned().flatten(),
            _ => {}
        }
        let unknown = e.waits()
            || e.is_volatile()
            || e.any(&mut |e| match e {
                Expr::Input(place, _) => row.get(*place).is_none_or(Option::is_none),
                Expr::Outer(place, _) => {
                    outer.and_then(|outer| outer.get(*place)).is_none_or(Option::is_none)
                }
                _ => false,
            });
        if unknown {
            return None;
        }
        let filled = |values: &[Known]| -> Row {
            values.iter().map(|value| value.clone().unwrap_or(Datum::Null)).collect()
        };
        let (row, outer) = (filled(row), filled(outer.unwrap_or_default()));
        let cx = EvalContext { env: &*self.cx.env, params: self.params, outer: &outer };
        eval(e, &row, &cx).ok()
    }

    /// The rows of an operator, if their number can be known: it reads no table.
    pub(super) fn rows(&self, node: &Node) -> Option<Vec<Vec<Known>>> {
        match node {
            Node::Values(values) => self.made(values),
            Node::Project(project) => {
                let rows = self.rows(&project.input)?;
                let row = |row: Vec<Known>| -> Vec<Known> {
                    project.exprs.iter().map(|(_, e)| self.value(e, &row, None)).collect()
                };
                Some(rows.into_iter().map(row).collect())
            }
            // More rows than there are in the end make the sets wider, not wrong.
            Node::Filter(filter) => self.rows(&filter.input),
            Node::Sort(sort) => self.rows(&sort.input),
            Node::Limit(limit) => self.rows(&limit.input),
            Node::Function(scan) => self.function_rows(scan),
            _ => None,
        }
    }

    /// The rows of VALUES; one that repeats takes the next parameters each time.
    fn made(&self, values: &braid_plan::Values) -> Option<Vec<Vec<Known>>> {
        let width = values.repeats.unwrap_or(self.params.len()).max(1);
        let times = self.params.chunks(width);
        if values.rows.len().saturating_mul(times.len().max(1)) > ROWS_MAX {
            return None;
        }
        let row = |e: &[Expr], params| -> Vec<Known> {
            let values = Values { cx: self.cx, params };
            e.iter().map(|e| values.value(e, &[], None)).collect()
        };
        Some(match (times.len(), &values.rows[..]) {
            (2.., [one]) => times.map(|params| row(one, params)).collect(),
            (_, rows) => rows.iter().map(|e| row(e, self.params)).collect(),
        })
    }

    fn function_rows(&self, scan: &FunctionScan) -> Option<Vec<Vec<Known>>> {
        let mut rows: Vec<Vec<Known>> = Vec::new();
        let mut width = 0;
        for call in &scan.functions {
            let next = width + call.columns.len();
            let columns = self.call_rows(call)?;
            for (i, values) in columns.into_iter().enumerate() {
                if i == rows.len() {
                    rows.push(vec![Some(Datum::Null); width]);
                }
                rows[i].extend(values.into_iter().map(Some));
            }
            for row in &mut rows {
                row.resize(next, Some(Datum::Null));
            }
            width = next;
        }
        if scan.ordinality.is_some() {
            for (i, row) in rows.iter_mut().enumerate() {
                row.push(Some(Datum::Int(i as i64 + 1)));
            }
        }
        Some(rows)
    }

    /// The rows of one set-returning function of plain columns.
    fn call_rows(&self, call: &FunctionCall) -> Option<Vec<Row>> {
        if call.routine.is_some() {
            return None;
        }
        let args: Row =
            call.args.iter().map(|e| self.value(e, &[], None)).collect::<Option<_>>()?;
        let Some(function) = call.function else { return Some(vec![args]) };
        if function.strict && args.iter().any(Datum::is_null) {
            return Some(Vec::new());
        }
        let [(_, ty)] = call.columns.as_slice() else { return None };
        if matches!(ty, SqlType::Record(_)) {
            return None;
        }
        let env = &*self.cx.env;
        let call = Call { env, types: &call.types, returns: ty, args: &args };
        let mut rows = Vec::new();
        for row in (function.eval)(&call).ok()? {
            let row = row.ok().filter(|row| row.len() == 1)?;
            if rows.len() == ROWS_MAX {
                return None;
            }
            rows.push(row);
        }
        Some(rows)
    }
}
