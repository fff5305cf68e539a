//! Conditions on rows by columns.
//!
//! A comparison of a column with a constant or a parameter looks at the column's buffer only;
//! every other condition is evaluated on one row after the other, made again and again in the same
//! place. Either way a condition is evaluated only where all before it hold.

use braid_plan::eval::{self, EvalContext};
use braid_plan::{CompareOp, Expr};
use braid_rows::{Column, Columns, IntKind, Values};
use braid_types::{Datum, Result, Row, compare_floats};

/// What is used again for each batch.
#[derive(Default)]
pub struct ColumnFilter {
    marks: Vec<bool>,
    row: Row,
}

impl ColumnFilter {
    /// Marks the rows on which all conditions hold.
    pub fn mark(
        &mut self,
        conditions: &[Expr],
        columns: &Columns,
        cx: &EvalContext<'_>,
    ) -> Result<&[bool]> {
        self.marks.clear();
        self.marks.resize(columns.rows, true);
        for condition in conditions {
            if self.compare(condition, columns, cx) {
                continue;
            }
            for i in 0..columns.rows {
                if self.marks[i] {
                    columns.read_row(i, &mut self.row);
                    self.marks[i] = eval::holds(condition, &self.row, cx)?;
                }
            }
        }
        Ok(&self.marks)
    }

    /// Evaluates a comparison of a column with one value; false if it is something else.
    fn compare(&mut self, condition: &Expr, columns: &Columns, cx: &EvalContext<'_>) -> bool {
        let Expr::Compare(op, left, right) = condition else { return false };
        let (place, op, value) = match (&**left, &**right) {
            (Expr::Input(place, _), other) => (*place, *op, single(other, cx)),
            (other, Expr::Input(place, _)) => (*place, turned(*op), single(other, cx)),
            _ => return false,
        };
        let (Some(value), Some(column)) = (value, columns.list.get(place)) else { return false };
        match (&column.values, value) {
            (Values::Ints(kind, values), value) if int_of(*kind, value).is_some() => {
                let wanted = int_of(*kind, value).unwrap_or_default();
                self.mark_values(column, values, |value| op.holds(value.cmp(&wanted)));
            }
            (Values::Floats(values), Datum::Float(wanted)) => {
                self.mark_values(column, values, |value| op.holds(compare_floats(*value, *wanted)));
            }
            _ => return false,
        }
        true
    }

    fn mark_values<T>(&mut self, column: &Column, values: &[T], holds: impl Fn(&T) -> bool) {
        for (mark, value) in self.marks.iter_mut().zip(values) {
            *mark &= holds(value);
        }
        if column.has_nulls() {
            for (i, mark) in self.marks.iter_mut().enumerate() {
                *mark &= !column.is_null(i);
            }
        }
    }
}

/// The places of the columns that a condition reads.
pub fn places_of(e: &Expr, places: &mut Vec<usize>) {
    if let Expr::Input(place, _) = e {
        places.push(*place);
    }
    e.for_each_child(&mut |child| places_of(child, places));
}

/// The value of an expression that is the same for every row.
fn single<'v>(e: &'v Expr, cx: &EvalContext<'v>) -> Option<&'v Datum> {
    match e {
        Expr::Const(value, _) => Some(value),
        Expr::Param(place, _) => cx.params.get(*place),
        Expr::Outer(place, _) => cx.outer.get(*place),
        _ => None,
    }
}

/// The same comparison with its sides exchanged.
fn turned(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Eq => CompareOp::Eq,
        CompareOp::Ne => CompareOp::Ne,
        CompareOp::Lt => CompareOp::Gt,
        CompareOp::Le => CompareOp::Ge,
        CompareOp::Gt => CompareOp::Lt,
        CompareOp::Ge => CompareOp::Le,
    }
}

/// The 64 bits of a value, if it is of that kind.
fn int_of(kind: IntKind, value: &Datum) -> Option<i64> {
    match (kind, value) {
        (IntKind::Int, Datum::Int(value))
        | (IntKind::Time, Datum::Time(value))
        | (IntKind::Timestamp, Datum::Timestamp(value))
        | (IntKind::Timestamptz, Datum::Timestamptz(value)) => Some(*value),
        (IntKind::Date, Datum::Date(value)) => Some(i64::from(*value)),
        _ => None,
    }
}
