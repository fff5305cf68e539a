//! Ordered-set aggregates: `mode`, `percentile_cont`, `percentile_disc`.
//!
//! Each row is the direct arguments, then the value of WITHIN GROUP (ORDER BY …), in that order;
//! `exec` sorts.

use braid_types::{Datum, Error, Result, SqlState, SqlType};

use super::hypothetical::hypothetical;
use crate::registry::tables::Registry;
use crate::{Accumulator, Environment};

/// Whether an aggregate needs WITHIN GROUP, as far as its name says.
pub fn is_ordered_set(name: &str) -> bool {
    matches!(name, "mode" | "percentile_cont" | "percentile_disc") || hypothetical(name).is_some()
}

/// The most frequent value; of several the first in order.
struct Mode {
    best: Option<(Datum, u64)>,
    current: Option<(Datum, u64)>,
    ty: SqlType,
}

impl Accumulator for Mode {
    fn add(&mut self, args: &[Datum], _: &dyn Environment) -> Result<()> {
        let Some(value) = args.last().filter(|value| !value.is_null()) else { return Ok(()) };
        let (value, count) = match self.current.take() {
            Some((current, count)) if current.compare_typed(value, &self.ty).is_eq() => {
                (current, count + 1)
            }
            _ => (value.clone(), 1),
        };
        if self.best.as_ref().is_none_or(|(_, most)| count > *most) {
            self.best = Some((value.clone(), count));
        }
        self.current = Some((value, count));
        Ok(())
    }

    fn finish(&self, _: &dyn Environment) -> Result<Datum> {
        Ok(self.best.as_ref().map_or(Datum::Null, |(value, _)| value.clone()))
    }
}

struct Percentile {
    fraction: Datum,
    values: Vec<Datum>,
    continuous: bool,
    element: SqlType,
    bytes: usize,
}

impl Percentile {
    fn one(&self, fraction: &Datum) -> Result<Datum> {
        let Datum::Float(fraction) = fraction else { return Ok(Datum::Null) };
        if !(0.0..=1.0).contains(fraction) {
            let message = format!("percentile value {fraction} is not between 0 and 1");
            return Err(Error::new(SqlState::NumericValueOutOfRange, message));
        }
        if self.values.is_empty() {
            return Ok(Datum::Null);
        }
        if !self.continuous {
            let rank = (fraction * self.values.len() as f64).ceil() as usize;
            let index = rank.max(1).min(self.values.len()) - 1;
            return Ok(self.values[index].clone());
        }
        let place = fraction * (self.values.len() - 1) as f64;
        let (low, high) = (place.floor() as usize, place.ceil() as usize);
        let share = place - low as f64;
        match (&self.values[low], &self.values[high]) {
            (low, _) if share == 0.0 => Ok(low.clone()),
            (Datum::Float(a), Datum::Float(b)) => Ok(Datum::Float(a + share * (b - a))),
            (Datum::Interval(a), Datum::Interval(b)) => {
                let step = b.checked_sub(a)?.checked_mul(share)?;
                Ok(Datum::Interval(a.checked_add(&step)?))
            }
            _ => Ok(Datum::Null),
        }
    }
}

impl Accumulator for Percentile {
    fn add(&mut self, args: &[Datum], _: &dyn Environment) -> Result<()> {
        let [fraction, value] = args else { return Ok(()) };
        self.fraction = fraction.clone();
        if !value.is_null() {
            self.bytes += value.size_bytes();
            self.values.push(value.clone());
        }
        Ok(())
    }

    fn finish(&self, _: &dyn Environment) -> Result<Datum> {
        match &self.fraction {
            Datum::Array(fractions) => {
                if self.values.is_empty() {
                    return Ok(Datum::Null);
                }
                let items =
                    fractions.items.iter().map(|one| self.one(one)).collect::<Result<Vec<_>>>()?;
                Ok(fractions.with_items(self.element.clone(), items).into())
            }
            fraction => self.one(fraction),
        }
    }

    fn size_bytes(&self) -> usize {
        64 + self.bytes
    }
}

fn percentile(args: &[SqlType], continuous: bool) -> Box<dyn Accumulator> {
    let element = args.last().map_or(SqlType::Float8, SqlType::bare);
    Box::new(Percentile {
        fraction: Datum::Null,
        values: Vec::new(),
        continuous,
        element,
        bytes: 0,
    })
}

pub(crate) fn register(registry: &mut Registry) {
    registry.aggregate("mode(anyelement) -> anyelement", |args, _| {
        let ty = args.last().cloned().unwrap_or(SqlType::Unknown);
        Box::new(Mode { best: None, current: None, ty })
    });
    for signature in [
        "percentile_cont(float8, float8) -> float8",
        "percentile_cont(float8, interval) -> interval",
        "percentile_cont(float8[], float8) -> float8[]",
        "percentile_cont(float8[], interval) -> interval[]",
    ] {
        registry.aggregate(signature, |args, _| percentile(args, true));
    }
    for signature in [
        "percentile_disc(float8, anyelement) -> anyelement",
        "percentile_disc(float8[], anyelement) -> anyarray",
    ] {
        registry.aggregate(signature, |args, _| percentile(args, false));
    }
}
