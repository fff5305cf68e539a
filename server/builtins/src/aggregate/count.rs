//! `count`, `bool_and`, `bool_or`, and the bitwise aggregates.

use braid_types::{Datum, Result};

use super::accumulator::wrong_partial;
use crate::registry::tables::Registry;
use crate::{Accumulator, Environment};

/// The rows that a partial has counted.
fn counted(partial: &[Datum]) -> Result<i64> {
    match partial {
        [Datum::Int(rows)] => Ok(*rows),
        _ => Err(wrong_partial()),
    }
}

#[derive(Default)]
struct Rows(i64);

impl Accumulator for Rows {
    fn add(&mut self, _: &[Datum], _: &dyn Environment) -> Result<()> {
        self.0 += 1;
        Ok(())
    }

    fn add_rows(&mut self, rows: usize, _: &dyn Environment) -> Result<()> {
        self.0 += rows as i64;
        Ok(())
    }

    fn finish(&self, _: &dyn Environment) -> Result<Datum> {
        Ok(Datum::Int(self.0))
    }

    fn partial(&self) -> Option<Vec<Datum>> {
        Some(vec![Datum::Int(self.0)])
    }

    fn merge(&mut self, partial: &[Datum], _: &dyn Environment) -> Result<()> {
        self.0 += counted(partial)?;
        Ok(())
    }
}

#[derive(Default)]
struct NotNull(i64);

impl Accumulator for NotNull {
    fn add(&mut self, args: &[Datum], _: &dyn Environment) -> Result<()> {
        self.0 += i64::from(!args.iter().any(Datum::is_null));
        Ok(())
    }

    fn add_ints(&mut self, values: &[i64], _: &dyn Environment) -> Result<()> {
        self.0 += values.len() as i64;
        Ok(())
    }

    fn add_floats(&mut self, values: &[f64], _: &dyn Environment) -> Result<()> {
        self.0 += values.len() as i64;
        Ok(())
    }

    fn add_decimals(&mut self, values: &[i64], _: u16, _: &dyn Environment) -> Result<()> {
        self.0 += values.len() as i64;
        Ok(())
    }

    fn finish(&self, _: &dyn Environment) -> Result<Datum> {
        Ok(Datum::Int(self.0))
    }

    fn partial(&self) -> Option<Vec<Datum>> {
        Some(vec![Datum::Int(self.0)])
    }

    fn merge(&mut self, partial: &[Datum], _: &dyn Environment) -> Result<()> {
        self.0 += counted(partial)?;
        Ok(())
    }
}

/// Folds booleans or integers with a two-argument rule; NULL until the first value.
struct Fold<T> {
    value: Option<T>,
    step: fn(T, T) -> T,
}

impl Accumulator for Fold<bool> {
    fn add(&mut self, args: &[Datum], _: &dyn Environment) -> Result<()> {
        if let Some(Datum::Bool(next)) = args.first() {
            self.value = Some(self.value.map_or(*next, |value| (self.step)(value, *next)));
        }
        Ok(())
    }

    fn finish(&self, _: &dyn Environment) -> Result<Datum> {
        Ok(self.value.map_or(Datum::Null, Datum::Bool))
    }

    fn partial(&self) -> Option<Vec<Datum>> {
        Some(vec![self.value.map_or(Datum::Null, Datum::Bool)])
    }

    fn merge(&mut self, partial: &[Datum], env: &dyn Environment) -> Result<()> {
        self.add(partial, env)
    }
}

impl Accumulator for Fold<i64> {
    fn add(&mut self, args: &[Datum], _: &dyn Environment) -> Result<()> {
        if let Some(Datum::Int(next)) = args.first() {
            self.value = Some(self.value.map_or(*next, |value| (self.step)(value, *next)));
        }
        Ok(())
    }

    fn finish(&self, _: &dyn Environment) -> Result<Datum> {
        Ok(self.value.map_or(Datum::Null, Datum::Int))
    }

    fn partial(&self) -> Option<Vec<Datum>> {
        Some(vec![self.value.map_or(Datum::Null, Datum::Int)])
    }

    fn merge(&mut self, partial: &[Datum], env: &dyn Environment) -> Result<()> {
        self.add(partial, env)
    }
}

pub(crate) fn register(registry: &mut Registry) {
    registry.aggregate("count() -> int8", |_, _| Box::<Rows>::default());
    registry.aggregate("count(any) -> int8", |_, _| Box::<NotNull>::default());
    registry.aggregate("bool_and|every(bool) -> bool", |_, _| {
        Box::new(Fold::<bool> { value: None, step: |a, b| a && b })
    });
    registry.aggregate("bool_or(bool) -> bool", |_, _| {
        Box::new(Fold::<bool> { value: None, step: |a, b| a || b })
    });
    for signature in ["bit_and(int2) -> int2", "bit_and(int4) -> int4", "bit_and(int8) -> int8"] {
        registry
            .aggregate(signature, |_, _| Box::new(Fold::<i64> { value: None, step: |a, b| a & b }));
    }
    for signature in ["bit_or(int2) -> int2", "bit_or(int4) -> int4", "bit_or(int8) -> int8"] {
        registry
            .aggregate(signature, |_, _| Box::new(Fold::<i64> { value: None, step: |a, b| a | b }));
    }
    for signature in ["bit_xor(int2) -> int2", "bit_xor(int4) -> int4", "bit_xor(int8) -> int8"] {
        registry
            .aggregate(signature, |_, _| Box::new(Fold::<i64> { value: None, step: |a, b| a ^ b }));
    }
}
