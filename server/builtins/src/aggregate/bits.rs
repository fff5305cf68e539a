//! `bit_and`, `bit_or` and `bit_xor` of bit strings, which all have one length.

use braid_types::{Datum, Result};

use crate::registry::tables::Registry;
use crate::text_types::combined;
use crate::{Accumulator, Environment};

struct Combination {
    value: Option<String>,
    name: &'static str,
    is_set: fn(bool, bool) -> bool,
}

impl Accumulator for Combination {
    fn add(&mut self, args: &[Datum], _: &dyn Environment) -> Result<()> {
        let Some(next) = args.first().and_then(Datum::as_str) else { return Ok(()) };
        self.value = Some(match self.value.take() {
            None => next.to_owned(),
            Some(value) => combined((&value, next), self.name, self.is_set)?,
        });
        Ok(())
    }

    fn finish(&self, _: &dyn Environment) -> Result<Datum> {
        Ok(self.value.as_deref().map_or(Datum::Null, Datum::text))
    }

    fn partial(&self) -> Option<Vec<Datum>> {
        Some(vec![self.value.as_deref().map_or(Datum::Null, Datum::text)])
    }

    fn merge(&mut self, partial: &[Datum], env: &dyn Environment) -> Result<()> {
        self.add(partial, env)
    }

    fn size_bytes(&self) -> usize {
        64 + self.value.as_ref().map_or(0, String::len)
    }
}

pub(super) fn register(registry: &mut Registry) {
    registry.aggregate("bit_and(bit) -> bit", |_, _| {
        Box::new(Combination { value: None, name: "AND", is_set: |a, b| a && b })
    });
    registry.aggregate("bit_or(bit) -> bit", |_, _| {
        Box::new(Combination { value: None, name: "OR", is_set: |a, b| a || b })
    });
    registry.aggregate("bit_xor(bit) -> bit", |_, _| {
        Box::new(Combination { value: None, name: "XOR", is_set: |a, b| a != b })
    });
}
