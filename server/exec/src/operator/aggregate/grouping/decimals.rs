//! Sums, differences and products of numerics, by columns.
//!
//! Columns of one scale are integers of 64 bits ([`braid_rows::Decimals`]). As long as every result
//! fits as well, a batch is computed by loops over integers, with the scales that [`Numeric`]
//! gives. Otherwise the batch is computed row by row.

use std::borrow::Cow;

use braid_plan::eval::EvalContext;
use braid_plan::{CallExpr, Expr};
use braid_rows::{Columns, IntKind, Values};
use braid_types::{Datum, Numeric, SqlType};

/// Results with a larger scale are left to [`Numeric`], which may round them.
const SCALE_MAX: u16 = 64;

/// Integers with a scale: one for each row, or one for all.
enum Operand<'c> {
    Rows(Cow<'c, [i64]>, u16),
    Single(i64, u16),
}

/// The values of an expression for all rows of a batch, and their scale. `None` if it has other
/// parts than numerics, or NULL, or a value that does not fit.
pub(crate) fn evaluate(
    e: &Expr,
    columns: &Columns,
    cx: &EvalContext<'_>,
) -> Option<(Vec<i64>, u16)> {
    match operand(e, columns, cx)? {
        Operand::Rows(values, scale) => Some((values.into_owned(), scale)),
        Operand::Single(value, scale) => Some((vec![value; columns.rows], scale)),
    }
}

fn operand<'c>(e: &Expr, columns: &'c Columns, cx: &EvalContext<'_>) -> Option<Operand<'c>> {
    match e {
        Expr::Input(place, _) => column(*place, columns),
        Expr::Const(value, _) => single(value),
        Expr::Param(place, _) => single(cx.params.get(*place)?),
        Expr::Outer(place, _) => single(cx.outer.get(*place)?),
        // An integer as a numeric has the scale 0.
        Expr::Cast(cast) if cast.to == SqlType::Numeric(None) => match &cast.expr {
            Expr::Input(place, SqlType::Int2 | SqlType::Int4 | SqlType::Int8) => {
                column(*place, columns)
            }
            _ => None,
        },
        Expr::Call(call) => combine(call, columns, cx),
        _ => None,
    }
}

fn single<'c>(value: &Datum) -> Option<Operand<'c>> {
    let Datum::Numeric(Numeric::Small(digits, scale)) = value else { return None };
    Some(Operand::Single(i64::try_from(digits.get()).ok()?, *scale))
}

fn column(place: usize, columns: &Columns) -> Option<Operand<'_>> {
    let column = columns.list.get(place).filter(|column| !column.has_nulls())?;
    let (values, scale) = match &column.values {
        Values::Decimals(values) => (&values.coefficients, values.scale()),
        Values::Ints(IntKind::Int, values) => (values, 0),
        _ => return None,
    };
    (values.len() == columns.rows).then_some(Operand::Rows(Cow::Borrowed(values), scale))
}

fn combine<'c>(call: &CallExpr, columns: &'c Columns, cx: &EvalContext<'_>) -> Option<Operand<'c>> {
    let [left, right] = call.args.as_slice() else { return None };
    if call.types.iter().any(|ty| !matches!(ty, SqlType::Numeric(_))) {
        return None;
    }
    let step: fn(i64, i64) -> Option<i64> = match call.function.name {
        "+" => i64::checked_add,
        "-" => i64::checked_sub,
        "*" => i64::checked_mul,
        _ => return None,
    };
    let (left, right) = (operand(left, columns, cx)?, operand(right, columns, cx)?);
    if call.function.name == "*" {
        let scale = left.scale() + right.scale();
        return (scale <= SCALE_MAX).then(|| zip(left, right, scale, step)).flatten();
    }
    let scale = left.scale().max(right.scale());
    zip(left.at(scale)?, right.at(scale)?, scale, step)
}

impl Operand<'_> {
    fn scale(&self) -> u16 {
        match self {
            Operand::Rows(_, scale) | Operand::Single(_, scale) => *scale,
        }
    }

    /// The same values at a scale that is not smaller.
    fn at(self, wanted: u16) -> Option<Self> {
        if wanted == self.scale() {
            return Some(self);
        }
        let power = 10_i64.checked_pow(u32::from(wanted.checked_sub(self.scale())?))?;
        Some(match self {
            Operand::Single(value, _) => Operand::Single(value.checked_mul(power)?, wanted),
            Operand::Rows(values, _) => {
                let values = values.iter().map(|value| value.checked_mul(power));
                Operand::Rows(values.collect::<Option<Vec<i64>>>()?.into(), wanted)
            }
        })
    }
}

/// Combines two operands value by value.
fn zip<'c>(
    left: Operand<'c>,
    right: Operand<'c>,
    scale: u16,
    step: impl Fn(i64, i64) -> Option<i64>,
) -> Option<Operand<'c>> {
    let values: Option<Vec<i64>> = match (left, right) {
        (Operand::Single(a, _), Operand::Single(b, _)) => {
            return step(a, b).map(|value| Operand::Single(value, scale));
        }
        (Operand::Rows(a, _), Operand::Single(b, _)) => a.iter().map(|a| step(*a, b)).collect(),
        (Operand::Single(a, _), Operand::Rows(b, _)) => b.iter().map(|b| step(a, *b)).collect(),
        (Operand::Rows(a, _), Operand::Rows(b, _)) => {
            a.iter().zip(b.iter()).map(|(a, b)| step(*a, *b)).collect()
        }
    };
    values.map(|values| Operand::Rows(values.into(), scale))
}
