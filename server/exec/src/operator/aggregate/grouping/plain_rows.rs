//! Aggregates over rows where nothing waits: a row costs no allocation and no future.

use braid_plan::Expr;
use braid_plan::eval::eval;
use braid_types::{Result, Row, SqlType};

use crate::memory::row_bytes;
use crate::operator::aggregate::call::{Call, State};
use crate::operator::aggregate::fold::Fold;
use crate::operator::aggregate::grouping::AggregateOperator;

/// The argument of a call whose state has a fixed size.
pub(crate) enum Argument<'c> {
    Nothing,
    /// A column.
    Column(usize),
    /// An expression that does not wait.
    Computed(&'c Expr),
}

/// Where the groups of rows come from.
pub(crate) struct PlainRows {
    /// The columns of the group.
    places: Vec<usize>,
}

impl Call {
    /// The argument, unless rows are to be kept or looked at in another way.
    pub(crate) fn argument(&self) -> Option<Argument<'_>> {
        let plain = !self.call.distinct && self.keys.is_empty() && self.filter.is_empty();
        match self.args.list.as_slice() {
            _ if !plain || self.grows || self.args.waits => None,
            [] => Some(Argument::Nothing),
            [Expr::Input(place, _)] => Some(Argument::Column(*place)),
            [e] if is_light(e) => Some(Argument::Computed(e)),
            _ => None,
        }
    }
}

/// Whether an expression computes small values only, quickly: a batch of them then needs neither a
/// reservation nor a pause.
fn is_light(e: &Expr) -> bool {
    let is_given = |e: &Expr| matches!(e, Expr::Input(..) | Expr::Const(..) | Expr::Param(..));
    !e.any(&mut |part| !is_given(part) && !is_small(&part.ty()))
}

fn is_small(ty: &SqlType) -> bool {
    use SqlType::{
        Bool, Date, Float4, Float8, Int2, Int4, Int8, Interval, Numeric, Oid, Time, Timestamp,
        Timestamptz,
    };
    matches!(
        ty,
        Bool | Date | Float4 | Float8 | Int2 | Int4 | Int8 | Interval | Numeric(_) | Oid | Time
    ) || matches!(ty, Timestamp | Timestamptz)
}

impl AggregateOperator {
    /// Whether rows can be taken in without waiting.
    pub(crate) fn plain_rows(&self) -> Option<PlainRows> {
        let are_plain = self.calls.iter().all(|call| call.argument().is_some());
        if self.sets.len() != 1 || self.overflow.is_below() || !are_plain {
            return None;
        }
        self.group.places().map(|places| PlainRows { places })
    }

    /// Takes rows into their groups.
    pub(crate) fn add_plain_rows(
        &mut self,
        plain: &PlainRows,
        batch: &[Row],
        scratch: &mut Row,
    ) -> Result<()> {
        let calls = self.calls.clone();
        let arguments: Vec<_> = calls.iter().filter_map(Call::argument).collect();
        for row in batch {
            let next = self.groups.len();
            let value_of = |n: usize| &row[plain.places[n]];
            let (group, new) = self.sets[0].find(value_of, scratch, next);
            if let Some(key) = new {
                self.fixed += row_bytes(&key) * 2 + self.calls.len() * 80 + 64;
                self.add_group(0, key);
            }
            let cx = self.evaluator.context();
            for (argument, state) in arguments.iter().zip(&mut self.groups[group].states) {
                let State::Plain(Fold::BuiltIn(state)) = state else { continue };
                match argument {
                    Argument::Nothing => state.add(&[], cx.env)?,
                    Argument::Column(place) => {
                        state.add(std::slice::from_ref(&row[*place]), cx.env)?;
                    }
                    Argument::Computed(e) => state.add(&[eval(e, row, &cx)?], cx.env)?,
                }
            }
        }
        Ok(())
    }
}
