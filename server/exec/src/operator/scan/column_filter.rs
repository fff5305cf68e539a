//! Conditions on rows by columns.
//!
//! A comparison of columns and constants looks at the columns' buffers only, and so do AND and OR
//! of such comparisons. Every other condition is evaluated on one row after the other, made again
//! and again in the same place. Either way a condition is evaluated only where all before it hold.

use std::collections::HashSet;

use braid_plan::eval::{self, EvalContext};
use braid_plan::{CompareOp, Expr};
use braid_rows::{Column, Columns, Decimals, IntKind, Values};
use braid_types::{Datum, Error, Numeric, Result, Row, SqlType, compare_floats};

/// Sets of more values are looked into by hash.
const LISTED_VALUES_MAX: usize = 8;

/// What is used again for each batch.
#[derive(Default)]
pub(crate) struct ColumnFilter {
    marks: Vec<bool>,
    row: Row,
}

impl ColumnFilter {
    /// The marks of this number of rows, all of them set.
    pub(crate) fn all_of(&mut self, rows: usize) -> &mut [bool] {
        self.marks.clear();
        self.marks.resize(rows, true);
        &mut self.marks
    }

    /// Marks the rows on which all conditions hold.
    fn mark(&mut self, conditions: &[Expr], columns: &Columns, cx: &EvalContext<'_>) -> Result<()> {
        self.all_of(columns.rows);
        for condition in conditions {
            if narrow(condition, columns, cx, &mut self.marks) {
                continue;
            }
            let places = self.begin_row(condition, columns);
            for i in 0..columns.rows {
                if self.marks[i] {
                    self.read_row(&places, columns, i);
                    self.marks[i] = eval::holds(condition, &self.row, cx)?;
                }
            }
        }
        Ok(())
    }

    /// The same up to the first row on which a condition fails. The rows from there on are not
    /// marked.
    pub(crate) fn mark_up_to_error(
        &mut self,
        conditions: &[Expr],
        columns: &Columns,
        cx: &EvalContext<'_>,
    ) -> (&mut [bool], Option<Error>) {
        if self.mark(conditions, columns, cx).is_ok() {
            return (&mut self.marks, None);
        }
        let mut failed = None;
        for i in 0..columns.rows {
            self.marks[i] = failed.is_none();
            columns.read_row(i, &mut self.row);
            for condition in conditions {
                if !self.marks[i] {
                    break;
                }
                self.marks[i] = eval::holds(condition, &self.row, cx).unwrap_or_else(|error| {
                    failed = Some(error);
                    false
                });
            }
        }
        (&mut self.marks, failed)
    }

    /// Makes room for rows of which a condition reads some columns: their places.
    fn begin_row(&mut self, condition: &Expr, columns: &Columns) -> Vec<usize> {
        self.row.clear();
        self.row.resize(columns.list.len(), Datum::Null);
        let mut places = Vec::new();
        places_of(condition, &mut places);
        places.sort_unstable();
        places.dedup();
        places
    }

    fn read_row(&mut self, places: &[usize], columns: &Columns, i: usize) {
        for place in places {
            self.row[*place] = columns.list[*place].datum(i);
        }
    }
}

/// An operand of a comparison.
enum Operand<'v> {
    Column(&'v Column),
    /// A `char(n)` as text: without the blanks at its end.
    Trimmed(&'v Column),
    Value(&'v Datum),
}

impl<'v> Operand<'v> {
    fn of(e: &'v Expr, columns: &'v Columns, cx: &EvalContext<'v>) -> Option<Self> {
        match e {
            Expr::Input(place, _) => columns.list.get(*place).map(Operand::Column),
            Expr::Cast(cast) if cast.to == SqlType::Text && is_char(&cast.from) => {
                match &cast.expr {
                    Expr::Input(place, _) => columns.list.get(*place).map(Operand::Trimmed),
                    _ => None,
                }
            }
            other => single(other, cx).map(Operand::Value),
        }
    }
}

/// Takes the marks of rows away on which a condition does not hold. False, and nothing done, if
/// the condition is not a simple one.
fn narrow(condition: &Expr, columns: &Columns, cx: &EvalContext<'_>, marks: &mut [bool]) -> bool {
    match condition {
        Expr::Compare(op, left, right) => {
            let left = Operand::of(left, columns, cx);
            let right = Operand::of(right, columns, cx);
            match (left, right) {
                (Some(left), Some(right)) => compare(*op, &left, &right, marks),
                _ => false,
            }
        }
        Expr::InSet(e, set, _) => match Operand::of(e, columns, cx) {
            Some(Operand::Column(column)) => is_in(column, set, marks),
            _ => false,
        },
        Expr::And(list) => {
            let mut all = marks.to_vec();
            let is_simple = list.iter().all(|e| narrow(e, columns, cx, &mut all));
            if is_simple {
                marks.copy_from_slice(&all);
            }
            is_simple
        }
        Expr::Or(list) => {
            let mut any = vec![false; marks.len()];
            for e in list {
                let mut one = marks.to_vec();
                if !narrow(e, columns, cx, &mut one) {
                    return false;
                }
                any.iter_mut().zip(one).for_each(|(any, one)| *any |= one);
            }
            marks.copy_from_slice(&any);
            true
        }
        _ => false,
    }
}

fn compare(op: CompareOp, left: &Operand<'_>, right: &Operand<'_>, marks: &mut [bool]) -> bool {
    match (left, right) {
        (Operand::Column(column), Operand::Value(value)) => with_value(op, column, value, marks),
        (Operand::Value(value), Operand::Column(column)) => {
            with_value(turned(op), column, value, marks);
        }
        (Operand::Trimmed(column), Operand::Value(Datum::Text(text))) => {
            with_text(op, column, text, marks);
        }
        (Operand::Value(Datum::Text(text)), Operand::Trimmed(column)) => {
            with_text(turned(op), column, text, marks);
        }
        (Operand::Column(left), Operand::Column(right)) => with_column(op, left, right, marks),
        _ => return false,
    }
    true
}

/// Compares a column with one value.
fn with_value(op: CompareOp, column: &Column, value: &Datum, marks: &mut [bool]) {
    if value.is_null() {
        return marks.fill(false);
    }
    match (&column.values, value) {
        (Values::Ints(kind, values), value) if let Some(wanted) = int_of(*kind, value) => {
            mark_ints(op, values, wanted, marks);
            without_nulls(column, marks);
        }
        (Values::Decimals(values), Datum::Numeric(wanted))
            if mark_decimals(op, values, wanted, marks) =>
        {
            without_nulls(column, marks);
        }
        (Values::Floats(values), Datum::Float(wanted)) => {
            for (mark, value) in marks.iter_mut().zip(values) {
                *mark &= op.holds(compare_floats(*value, *wanted));
            }
            without_nulls(column, marks);
        }
        _ => {
            for (i, mark) in marks.iter_mut().enumerate() {
                let holds = |known: &Datum| !known.is_null() && op.holds(known.compare(value));
                *mark = *mark && holds(&column.value(i));
            }
        }
    }
}

/// Compares integers with one value, by a loop for each operator.
fn mark_ints<T: Copy + PartialOrd>(op: CompareOp, values: &[T], wanted: T, marks: &mut [bool]) {
    fn each<T: Copy>(values: &[T], marks: &mut [bool], holds: impl Fn(T) -> bool) {
        for (mark, value) in marks.iter_mut().zip(values) {
            *mark &= holds(*value);
        }
    }
    match op {
        CompareOp::Eq => each(values, marks, |value| value == wanted),
        CompareOp::Ne => each(values, marks, |value| value != wanted),
        CompareOp::Lt => each(values, marks, |value| value < wanted),
        CompareOp::Le => each(values, marks, |value| value <= wanted),
        CompareOp::Gt => each(values, marks, |value| value > wanted),
        CompareOp::Ge => each(values, marks, |value| value >= wanted),
    }
}

/// Compares numerics with one number at the larger of both scales. False, and nothing done, if that
/// needs more than 64 bits.
fn mark_decimals(op: CompareOp, values: &Decimals, wanted: &Numeric, marks: &mut [bool]) -> bool {
    let Numeric::Small(digits, scale) = wanted else { return false };
    let (digits, scale) = (digits.get(), *scale);
    let power = |scale: u16| 10_i64.checked_pow(u32::from(scale));
    let (own, coefficients) = (values.scale(), &values.coefficients);
    if scale <= own {
        let at_own = power(own - scale).and_then(|power| digits.checked_mul(i128::from(power)));
        let Some(wanted) = at_own.and_then(|wanted| i64::try_from(wanted).ok()) else {
            return false;
        };
        mark_ints(op, coefficients, wanted, marks);
        return true;
    }
    let Some(power) = power(scale - own) else { return false };
    for (mark, value) in marks.iter_mut().zip(coefficients) {
        *mark &= op.holds((i128::from(*value) * i128::from(power)).cmp(&digits));
    }
    true
}

/// Compares a column of `char(n)` with a text that has no blanks of such a column.
fn with_text(op: CompareOp, column: &Column, text: &str, marks: &mut [bool]) {
    for (i, mark) in marks.iter_mut().enumerate() {
        let holds = |known: &Datum| match known {
            Datum::Text(known) => {
                let known = known.trim_end_matches(' ');
                op.holds(known.as_bytes().cmp(text.as_bytes()))
            }
            _ => false,
        };
        *mark = *mark && holds(&column.value(i));
    }
}

/// Compares two columns.
fn with_column(op: CompareOp, left: &Column, right: &Column, marks: &mut [bool]) {
    match (&left.values, &right.values) {
        (Values::Ints(kind, a), Values::Ints(other, b)) if kind == other => {
            for ((mark, a), b) in marks.iter_mut().zip(a).zip(b) {
                *mark &= op.holds(a.cmp(b));
            }
            without_nulls(left, marks);
            without_nulls(right, marks);
        }
        (Values::Decimals(a), Values::Decimals(b)) if a.scale() == b.scale() => {
            for ((mark, a), b) in marks.iter_mut().zip(&a.coefficients).zip(&b.coefficients) {
                *mark &= op.holds(a.cmp(b));
            }
            without_nulls(left, marks);
            without_nulls(right, marks);
        }
        _ => {
            for (i, mark) in marks.iter_mut().enumerate() {
                let holds =
                    |a: &Datum, b: &Datum| !a.is_null() && !b.is_null() && op.holds(a.compare(b));
                *mark = *mark && holds(&left.value(i), &right.value(i));
            }
        }
    }
}

/// Whether the values of a column are in a set. A NULL in the list never makes it true.
fn is_in(column: &Column, set: &HashSet<Datum>, marks: &mut [bool]) -> bool {
    let list: Vec<&Datum> = match set.len() {
        0..=LISTED_VALUES_MAX => set.iter().collect(),
        _ => Vec::new(),
    };
    let has = |value: &Datum| match list.is_empty() {
        false => list.contains(&value),
        true => set.contains(value),
    };
    for (i, mark) in marks.iter_mut().enumerate() {
        let is_member = |value: &Datum| !value.is_null() && has(value);
        *mark = *mark && is_member(&column.value(i));
    }
    true
}

fn without_nulls(column: &Column, marks: &mut [bool]) {
    if column.has_nulls() {
        for (i, mark) in marks.iter_mut().enumerate() {
            *mark &= !column.is_null(i);
        }
    }
}

/// Whether a condition only compares columns and values that are given, so that it cannot fail.
pub(crate) fn is_simple(condition: &Expr) -> bool {
    match condition {
        Expr::Compare(_, left, right) => is_operand(left) && is_operand(right),
        Expr::InSet(e, ..) => matches!(**e, Expr::Input(..)),
        Expr::And(list) | Expr::Or(list) => list.iter().all(is_simple),
        _ => false,
    }
}

fn is_operand(e: &Expr) -> bool {
    match e {
        Expr::Cast(cast) => {
            cast.to == SqlType::Text && is_char(&cast.from) && matches!(cast.expr, Expr::Input(..))
        }
        other => is_given(other),
    }
}

fn is_given(e: &Expr) -> bool {
    matches!(e, Expr::Input(..) | Expr::Const(..) | Expr::Param(..) | Expr::Outer(..))
}

/// The places of the columns that a condition reads.
pub(crate) fn places_of(e: &Expr, places: &mut Vec<usize>) {
    if let Expr::Input(place, _) = e {
        places.push(*place);
    }
    e.for_each_child(&mut |child| places_of(child, places));
}

fn is_char(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Char(_))
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
