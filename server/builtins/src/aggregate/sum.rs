//! `sum` and `avg`.
//!
//! Integers are summed in 128 bits and floats in 64, so a row costs no allocation. `sum(int8)` and
//! every integer `avg` are numeric, as in PostgreSQL.

use braid_types::{Datum, Error, Interval, Numeric, Result, SqlState, SqlType, money};

use super::accumulator::wrong_partial;
use crate::numbers::integers::fit;
use crate::registry::tables::Registry;
use crate::{Accumulator, Environment};

#[derive(Default)]
struct Integers {
    sum: i128,
    count: i64,
    returns: Option<SqlType>,
    average: bool,
}

impl Accumulator for Integers {
    fn add(&mut self, args: &[Datum], _: &dyn Environment) -> Result<()> {
        if let Some(Datum::Int(value)) = args.first() {
            self.sum += i128::from(*value);
            self.count += 1;
        }
        Ok(())
    }

    fn add_ints(&mut self, values: &[i64], _: &dyn Environment) -> Result<()> {
        self.sum += values.iter().map(|value| i128::from(*value)).sum::<i128>();
        self.count += values.len() as i64;
        Ok(())
    }

    fn finish(&self, _: &dyn Environment) -> Result<Datum> {
        if self.count == 0 {
            return Ok(Datum::Null);
        }
        if self.average {
            let sum = Numeric::from_parts(self.sum, 0);
            return Ok(Datum::Numeric(sum.div(&Numeric::from_i64(self.count))?));
        }
        match &self.returns {
            Some(ty @ SqlType::Int8) => fit(ty, i64::try_from(self.sum).ok()),
            _ => Ok(Datum::Numeric(Numeric::from_parts(self.sum, 0))),
        }
    }

    fn partial(&self) -> Option<Vec<Datum>> {
        let sum = Numeric::from_parts(self.sum, 0);
        Some(vec![Datum::Numeric(sum), Datum::Int(self.count)])
    }

    fn merge(&mut self, partial: &[Datum], _: &dyn Environment) -> Result<()> {
        let [Datum::Numeric(sum), Datum::Int(count)] = partial else {
            return Err(wrong_partial());
        };
        // The sum has no decimals, so this is exact.
        self.sum += sum.to_i128().ok_or_else(wrong_partial)?;
        self.count += count;
        Ok(())
    }
}

/// The sum of amounts; 22003 as soon as it is out of range.
#[derive(Default)]
struct Amounts {
    sum: Option<i64>,
}

impl Accumulator for Amounts {
    fn add(&mut self, args: &[Datum], _: &dyn Environment) -> Result<()> {
        if let Some(Datum::Int(value)) = args.first() {
            let sum = self.sum.unwrap_or(0).checked_add(*value);
            self.sum = Some(sum.ok_or_else(money::out_of_range)?);
        }
        Ok(())
    }

    fn finish(&self, _: &dyn Environment) -> Result<Datum> {
        Ok(self.sum.map_or(Datum::Null, Datum::Int))
    }

    fn partial(&self) -> Option<Vec<Datum>> {
        Some(vec![self.sum.map_or(Datum::Null, Datum::Int)])
    }

    fn merge(&mut self, partial: &[Datum], env: &dyn Environment) -> Result<()> {
        self.add(partial, env)
    }
}

#[derive(Default)]
struct Floats {
    sum: f64,
    count: i64,
    small: bool,
    average: bool,
}

fn float_overflow() -> Error {
    Error::new(SqlState::NumericValueOutOfRange, "value out of range: overflow")
}

impl Floats {
    fn add_value(&mut self, value: f64) -> Result<()> {
        self.add_sum(value, 1)
    }

    /// Adds the sum of that many rows.
    fn add_sum(&mut self, value: f64, count: i64) -> Result<()> {
        let mut sum = self.sum + value;
        if self.small && !self.average {
            sum = f64::from(sum as f32);
        }
        if sum.is_infinite() && !value.is_infinite() && !self.sum.is_infinite() {
            return Err(float_overflow());
        }
        self.sum = sum;
        self.count += count;
        Ok(())
    }
}

impl Accumulator for Floats {
    fn add(&mut self, args: &[Datum], _: &dyn Environment) -> Result<()> {
        match args.first() {
            Some(Datum::Float(value)) => self.add_value(*value),
            _ => Ok(()),
        }
    }

    fn add_floats(&mut self, values: &[f64], _: &dyn Environment) -> Result<()> {
        values.iter().try_for_each(|value| self.add_value(*value))
    }

    fn finish(&self, _: &dyn Environment) -> Result<Datum> {
        Ok(match (self.count, self.average) {
            (0, _) => Datum::Null,
            (count, true) => Datum::Float(self.sum / count as f64),
            (_, false) => Datum::Float(self.sum),
        })
    }

    fn partial(&self) -> Option<Vec<Datum>> {
        Some(vec![Datum::Float(self.sum), Datum::Int(self.count)])
    }

    fn merge(&mut self, partial: &[Datum], _: &dyn Environment) -> Result<()> {
        match partial {
            [Datum::Float(sum), Datum::Int(count)] => self.add_sum(*sum, *count),
            _ => Err(wrong_partial()),
        }
    }
}

struct Numerics {
    sum: Numeric,
    count: i64,
    average: bool,
}

impl Accumulator for Numerics {
    fn add(&mut self, args: &[Datum], _: &dyn Environment) -> Result<()> {
        if let Some(Datum::Numeric(value)) = args.first() {
            self.sum = self.sum.add(value)?;
            self.count += 1;
        }
        Ok(())
    }

    fn add_decimals(&mut self, values: &[i64], scale: u16, _: &dyn Environment) -> Result<()> {
        if !values.is_empty() {
            let sum = values.iter().map(|value| i128::from(*value)).sum();
            self.sum = self.sum.add(&Numeric::from_parts(sum, scale))?;
            self.count += values.len() as i64;
        }
        Ok(())
    }

    fn finish(&self, _: &dyn Environment) -> Result<Datum> {
        Ok(match (self.count, self.average) {
            (0, _) => Datum::Null,
            (count, true) => Datum::Numeric(self.sum.div(&Numeric::from_i64(count))?),
            (_, false) => Datum::Numeric(self.sum.clone()),
        })
    }

    fn partial(&self) -> Option<Vec<Datum>> {
        Some(vec![Datum::Numeric(self.sum.clone()), Datum::Int(self.count)])
    }

    fn merge(&mut self, partial: &[Datum], _: &dyn Environment) -> Result<()> {
        let [Datum::Numeric(sum), Datum::Int(count)] = partial else {
            return Err(wrong_partial());
        };
        self.sum = self.sum.add(sum)?;
        self.count += count;
        Ok(())
    }
}

#[derive(Default)]
struct Intervals {
    sum: Interval,
    count: i64,
    average: bool,
}

impl Accumulator for Intervals {
    fn add(&mut self, args: &[Datum], _: &dyn Environment) -> Result<()> {
        if let Some(Datum::Interval(value)) = args.first() {
            self.sum = self.sum.checked_add(value)?;
            self.count += 1;
        }
        Ok(())
    }

    fn finish(&self, _: &dyn Environment) -> Result<Datum> {
        Ok(match (self.count, self.average) {
            (0, _) => Datum::Null,
            (count, true) => Datum::Interval(self.sum.checked_div(count as f64)?),
            (_, false) => Datum::Interval(self.sum),
        })
    }

    fn partial(&self) -> Option<Vec<Datum>> {
        Some(vec![Datum::Interval(self.sum), Datum::Int(self.count)])
    }

    fn merge(&mut self, partial: &[Datum], _: &dyn Environment) -> Result<()> {
        let [Datum::Interval(sum), Datum::Int(count)] = partial else {
            return Err(wrong_partial());
        };
        self.sum = self.sum.checked_add(sum)?;
        self.count += count;
        Ok(())
    }
}

pub(crate) fn register(registry: &mut Registry) {
    for signature in ["sum(int2) -> int8", "sum(int4) -> int8", "sum(int8) -> numeric"] {
        registry.aggregate(signature, |_, returns| {
            Box::new(Integers { returns: Some(returns.clone()), ..Integers::default() })
        });
    }
    for signature in ["avg(int2) -> numeric", "avg(int4) -> numeric", "avg(int8) -> numeric"] {
        registry.aggregate(signature, |_, _| {
            Box::new(Integers { average: true, ..Integers::default() })
        });
    }
    registry.aggregate("sum(float4) -> float4", |_, _| {
        Box::new(Floats { small: true, ..Floats::default() })
    });
    registry.aggregate("sum(float8) -> float8", |_, _| Box::<Floats>::default());
    for signature in ["avg(float4) -> float8", "avg(float8) -> float8"] {
        registry
            .aggregate(signature, |_, _| Box::new(Floats { average: true, ..Floats::default() }));
    }
    registry.aggregate("sum(money) -> money", |_, _| Box::<Amounts>::default());
    registry.aggregate("sum(numeric) -> numeric", |_, _| {
        Box::new(Numerics { sum: Numeric::ZERO, count: 0, average: false })
    });
    registry.aggregate("avg(numeric) -> numeric", |_, _| {
        Box::new(Numerics { sum: Numeric::ZERO, count: 0, average: true })
    });
    registry.aggregate("sum(interval) -> interval", |_, _| Box::<Intervals>::default());
    registry.aggregate("avg(interval) -> interval", |_, _| {
        Box::new(Intervals { average: true, ..Intervals::default() })
    });
}
