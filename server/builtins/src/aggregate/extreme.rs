//! `min` and `max` of every type that PostgreSQL gives them.

use std::cmp::Ordering;

use braid_types::{Datum, Numeric, Result, SqlType, ignores_blanks};

use crate::registry::tables::Registry;
use crate::scalars::classes::check_class;
use crate::{Accumulator, Environment};

struct Extreme {
    best: Datum,
    wanted: Ordering,
    ty: SqlType,
}

impl Extreme {
    /// The best one of these integers.
    fn best_of<'v>(&self, values: &'v [i64]) -> Option<&'v i64> {
        match self.wanted {
            Ordering::Less => values.iter().min(),
            _ => values.iter().max(),
        }
    }
}

impl Accumulator for Extreme {
    fn add(&mut self, args: &[Datum], _: &dyn Environment) -> Result<()> {
        let Some(next) = args.first() else { return Ok(()) };
        if next.is_null() {
            return Ok(());
        }
        if self.best.is_null() {
            self.best = next.clone();
            return Ok(());
        }
        check_class(&self.ty, true)?;
        let order = next.compare_typed(&self.best, &self.ty);
        // Of equal values the last one counts; of `char(n)` the first.
        if order == self.wanted || (order.is_eq() && !ignores_blanks(&self.ty)) {
            self.best = next.clone();
        }
        Ok(())
    }

    fn add_ints(&mut self, values: &[i64], env: &dyn Environment) -> Result<()> {
        self.best_of(values).map_or(Ok(()), |best| self.add(&[Datum::Int(*best)], env))
    }

    fn add_decimals(&mut self, values: &[i64], scale: u16, env: &dyn Environment) -> Result<()> {
        let number = |best: &i64| Numeric::from_parts(i128::from(*best), scale);
        self.best_of(values).map_or(Ok(()), |best| self.add(&[Datum::Numeric(number(best))], env))
    }

    fn finish(&self, _: &dyn Environment) -> Result<Datum> {
        Ok(self.best.clone())
    }

    fn partial(&self) -> Option<Vec<Datum>> {
        Some(vec![self.best.clone()])
    }

    fn merge(&mut self, partial: &[Datum], env: &dyn Environment) -> Result<()> {
        self.add(partial, env)
    }

    fn size_bytes(&self) -> usize {
        64 + self.best.size_bytes()
    }
}

fn start(args: &[SqlType], wanted: Ordering) -> Box<dyn Accumulator> {
    let ty = args.first().cloned().unwrap_or(SqlType::Unknown);
    Box::new(Extreme { best: Datum::Null, wanted, ty })
}

macro_rules! extremes {
    ($registry:ident: $($ty:literal),*) => {
        $(
            $registry.aggregate(concat!("min(", $ty, ") -> ", $ty), |args, _| {
                start(args, Ordering::Less)
            });
            $registry.aggregate(concat!("max(", $ty, ") -> ", $ty), |args, _| {
                start(args, Ordering::Greater)
            });
        )*
    };
}

pub(crate) fn register(registry: &mut Registry) {
    extremes!(registry: "int2", "int4", "int8", "float4", "float8", "numeric", "text", "bpchar");
    extremes!(registry: "date", "time", "timestamp", "timestamptz", "interval", "oid", "anyarray");
    extremes!(registry: "tid", "xid8", "pg_lsn", "inet", "timetz", "anyenum");
    extremes!(registry: "citext", "money");
}
