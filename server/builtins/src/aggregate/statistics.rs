//! Variance, standard deviation, covariance, correlation and linear regression.
//!
//! Floats follow Youngs and Cramer, which loses little to cancellation and is what PostgreSQL
//! does; integers and numerics are exact sums of values and squares. States of floats merge by the
//! same method, also as in PostgreSQL.

use braid_types::numeric::math::sqrt;
use braid_types::numeric::rounding::round;
use braid_types::{Datum, Error, Numeric, Result, SqlState};

use super::accumulator::wrong_partial;
use crate::registry::tables::Registry;
use crate::{Accumulator, Environment};

#[derive(Clone, Copy)]
enum Spread {
    VariancePopulation,
    VarianceSample,
    DeviationPopulation,
    DeviationSample,
}

impl Spread {
    fn is_sample(self) -> bool {
        matches!(self, Spread::VarianceSample | Spread::DeviationSample)
    }

    fn is_deviation(self) -> bool {
        matches!(self, Spread::DeviationPopulation | Spread::DeviationSample)
    }
}

/// One column of floats: count, sum and sum of squared differences.
#[derive(Clone, Copy, Default)]
struct Moments {
    count: f64,
    sum: f64,
    squares: f64,
}

fn overflow() -> Error {
    Error::new(SqlState::NumericValueOutOfRange, "value out of range: overflow")
}

impl Moments {
    fn add(&mut self, value: f64) -> Result<()> {
        self.step(value, |square, divisor| square / divisor)
    }

    /// As [`Moments::add`]; PostgreSQL's regressions multiply by a reciprocal, which rounds
    /// differently in the last digit.
    fn add_by_reciprocal(&mut self, value: f64) -> Result<()> {
        self.step(value, |square, divisor| square * (1.0 / divisor))
    }

    fn step(&mut self, value: f64, divide: fn(f64, f64) -> f64) -> Result<()> {
        let before = *self;
        self.count += 1.0;
        self.sum += value;
        if before.count > 0.0 {
            let difference = value * self.count - self.sum;
            self.squares += divide(difference * difference, self.count * before.count);
            if self.sum.is_infinite() || self.squares.is_infinite() {
                if !before.sum.is_infinite() && !value.is_infinite() {
                    return Err(overflow());
                }
                self.squares = f64::NAN;
            }
        } else if !value.is_finite() {
            self.squares = f64::NAN;
        }
        Ok(())
    }

    fn mean(&self) -> f64 {
        self.sum / self.count
    }

    /// Adds the values of another column.
    fn merge(&mut self, other: &Moments) -> Result<()> {
        if self.count == 0.0 {
            *self = *other;
            return Ok(());
        }
        if other.count == 0.0 {
            return Ok(());
        }
        let between = squares_between((self, other), (self, other));
        self.squares = checked_sum(self.squares, other.squares, between)?;
        self.sum = checked_sum(self.sum, other.sum, 0.0)?;
        self.count += other.count;
        Ok(())
    }
}

/// The squared differences between two parts of a column: what their own do not contain. Two
/// columns give the products of their differences.
fn squares_between(x: (&Moments, &Moments), y: (&Moments, &Moments)) -> f64 {
    let (own, other) = (x.0.count, x.1.count);
    let (dx, dy) = (x.0.mean() - x.1.mean(), y.0.mean() - y.1.mean());
    own * other * dx * dy / (own + other)
}

/// The sum of two parts' totals and a difference between them; 22003 if finite totals overflow.
fn checked_sum(own: f64, other: f64, between: f64) -> Result<f64> {
    let sum = own + other + between;
    if sum.is_infinite() && !own.is_infinite() && !other.is_infinite() {
        return Err(overflow());
    }
    Ok(sum)
}

struct FloatSpread {
    moments: Moments,
    spread: Spread,
}

impl Accumulator for FloatSpread {
    fn add(&mut self, args: &[Datum], _: &dyn Environment) -> Result<()> {
        match args.first() {
            Some(Datum::Float(value)) => self.moments.add(*value),
            _ => Ok(()),
        }
    }

    fn finish(&self, _: &dyn Environment) -> Result<Datum> {
        let Moments { count, squares, .. } = self.moments;
        let divisor = if self.spread.is_sample() { count - 1.0 } else { count };
        if divisor <= 0.0 {
            return Ok(Datum::Null);
        }
        let variance = squares / divisor;
        Ok(Datum::Float(if self.spread.is_deviation() { variance.sqrt() } else { variance }))
    }

    fn partial(&self) -> Option<Vec<Datum>> {
        let Moments { count, sum, squares } = self.moments;
        Some([count, sum, squares].map(Datum::Float).to_vec())
    }

    fn merge(&mut self, partial: &[Datum], _: &dyn Environment) -> Result<()> {
        let [Datum::Float(count), Datum::Float(sum), Datum::Float(squares)] = *partial else {
            return Err(wrong_partial());
        };
        self.moments.merge(&Moments { count, sum, squares })
    }
}

struct NumericSpread {
    count: i64,
    sum: Numeric,
    squares: Numeric,
    spread: Spread,
}

impl Accumulator for NumericSpread {
    fn add(&mut self, args: &[Datum], _: &dyn Environment) -> Result<()> {
        let value = match args.first() {
            Some(Datum::Numeric(value)) => value.clone(),
            Some(Datum::Int(value)) => Numeric::from_i64(*value),
            _ => return Ok(()),
        };
        self.count += 1;
        self.squares = self.squares.add(&value.mul(&value)?)?;
        self.sum = self.sum.add(&value)?;
        Ok(())
    }

    fn finish(&self, _: &dyn Environment) -> Result<Datum> {
        let sample = self.spread.is_sample();
        if self.count <= i64::from(sample) {
            return Ok(Datum::Null);
        }
        if !self.sum.is_finite() {
            return Ok(Datum::Numeric(Numeric::NaN));
        }
        let count = Numeric::from_i64(self.count);
        let top = count.mul(&self.squares)?.sub(&self.sum.mul(&self.sum)?)?;
        if top.signum() <= 0 {
            return Ok(Datum::Numeric(Numeric::ZERO));
        }
        let bottom = count.mul(&Numeric::from_i64(self.count - i64::from(sample)))?;
        let variance = top.div(&bottom)?;
        if !self.spread.is_deviation() {
            return Ok(Datum::Numeric(variance));
        }
        let scale = variance.scale().unwrap_or(0);
        Ok(Datum::Numeric(round(&sqrt(&variance)?, scale)?))
    }

    fn partial(&self) -> Option<Vec<Datum>> {
        let [sum, squares] = [&self.sum, &self.squares].map(|total| total.clone());
        Some(vec![Datum::Int(self.count), Datum::Numeric(sum), Datum::Numeric(squares)])
    }

    fn merge(&mut self, partial: &[Datum], _: &dyn Environment) -> Result<()> {
        let [Datum::Int(count), Datum::Numeric(sum), Datum::Numeric(squares)] = partial else {
            return Err(wrong_partial());
        };
        self.count += count;
        self.sum = self.sum.add(sum)?;
        self.squares = self.squares.add(squares)?;
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Pair {
    Count,
    Sxx,
    Syy,
    Sxy,
    AverageX,
    AverageY,
    R2,
    Slope,
    Intercept,
    CovariancePopulation,
    CovarianceSample,
    Correlation,
}

/// Two columns of floats: `y` comes first in SQL.
struct Regression {
    count: f64,
    x: Moments,
    y: Moments,
    products: f64,
    result: Pair,
}

impl Accumulator for Regression {
    fn add(&mut self, args: &[Datum], _: &dyn Environment) -> Result<()> {
        let (Some(Datum::Float(y)), Some(Datum::Float(x))) = (args.first(), args.get(1)) else {
            return Ok(());
        };
        let before = self.count;
        self.count += 1.0;
        self.x.add_by_reciprocal(*x)?;
        self.y.add_by_reciprocal(*y)?;
        if before > 0.0 {
            let dx = x * self.count - self.x.sum;
            let dy = y * self.count - self.y.sum;
            self.products += dx * dy * (1.0 / (self.count * before));
        } else if !x.is_finite() || !y.is_finite() {
            self.products = f64::NAN;
        }
        Ok(())
    }

    fn finish(&self, _: &dyn Environment) -> Result<Datum> {
        let n = self.count;
        let (sxx, syy, sxy) = (self.x.squares, self.y.squares, self.products);
        if matches!(self.result, Pair::Count) {
            return Ok(Datum::Int(n as i64));
        }
        if n < 1.0 {
            return Ok(Datum::Null);
        }
        let value = match self.result {
            Pair::Count => None,
            Pair::Sxx => Some(sxx),
            Pair::Syy => Some(syy),
            Pair::Sxy => Some(sxy),
            Pair::AverageX => Some(self.x.sum / n),
            Pair::AverageY => Some(self.y.sum / n),
            Pair::CovariancePopulation => Some(sxy / n),
            Pair::CovarianceSample => (n > 1.0).then(|| sxy / (n - 1.0)),
            Pair::Correlation => (sxx != 0.0 && syy != 0.0).then(|| sxy / (sxx * syy).sqrt()),
            Pair::R2 if sxx == 0.0 => None,
            Pair::R2 if syy == 0.0 => Some(1.0),
            Pair::R2 => Some((sxy * sxy) / (sxx * syy)),
            Pair::Slope => (sxx != 0.0).then(|| sxy / sxx),
            Pair::Intercept => (sxx != 0.0).then(|| (self.y.sum - self.x.sum * sxy / sxx) / n),
        };
        Ok(value.map_or(Datum::Null, Datum::Float))
    }

    fn partial(&self) -> Option<Vec<Datum>> {
        let Self { count, x, y, products, .. } = self;
        let values = [*count, x.sum, x.squares, y.sum, y.squares, *products];
        Some(values.map(Datum::Float).to_vec())
    }

    fn merge(&mut self, partial: &[Datum], _: &dyn Environment) -> Result<()> {
        let [
            Datum::Float(count),
            Datum::Float(x_sum),
            Datum::Float(x_squares),
            Datum::Float(y_sum),
            Datum::Float(y_squares),
            Datum::Float(products),
        ] = *partial
        else {
            return Err(wrong_partial());
        };
        let x = Moments { count, sum: x_sum, squares: x_squares };
        let y = Moments { count, sum: y_sum, squares: y_squares };
        if self.count == 0.0 {
            self.products = products;
        } else if count > 0.0 {
            let between = squares_between((&self.x, &x), (&self.y, &y));
            self.products = checked_sum(self.products, products, between)?;
        }
        self.x.merge(&x)?;
        self.y.merge(&y)?;
        self.count += count;
        Ok(())
    }
}

macro_rules! spread {
    ($registry:ident, $names:literal, $spread:expr) => {
        for signature in [
            concat!($names, "(int2) -> numeric"),
            concat!($names, "(int4) -> numeric"),
            concat!($names, "(int8) -> numeric"),
            concat!($names, "(numeric) -> numeric"),
        ] {
            $registry.aggregate(signature, |_, _| {
                Box::new(NumericSpread {
                    count: 0,
                    sum: Numeric::ZERO,
                    squares: Numeric::ZERO,
                    spread: $spread,
                })
            });
        }
        for signature in
            [concat!($names, "(float4) -> float8"), concat!($names, "(float8) -> float8")]
        {
            $registry.aggregate(signature, |_, _| {
                Box::new(FloatSpread { moments: Moments::default(), spread: $spread })
            });
        }
    };
}

macro_rules! pair {
    ($registry:ident, $name:literal, $ty:literal, $pair:expr) => {
        $registry.aggregate(concat!($name, "(float8, float8) -> ", $ty), |_, _| {
            Box::new(Regression {
                count: 0.0,
                x: Moments::default(),
                y: Moments::default(),
                products: 0.0,
                result: $pair,
            })
        });
    };
}

pub(crate) fn register(registry: &mut Registry) {
    spread!(registry, "var_pop", Spread::VariancePopulation);
    spread!(registry, "var_samp|variance", Spread::VarianceSample);
    spread!(registry, "stddev_pop", Spread::DeviationPopulation);
    spread!(registry, "stddev_samp|stddev", Spread::DeviationSample);
    pair!(registry, "regr_count", "int8", Pair::Count);
    pair!(registry, "regr_sxx", "float8", Pair::Sxx);
    pair!(registry, "regr_syy", "float8", Pair::Syy);
    pair!(registry, "regr_sxy", "float8", Pair::Sxy);
    pair!(registry, "regr_avgx", "float8", Pair::AverageX);
    pair!(registry, "regr_avgy", "float8", Pair::AverageY);
    pair!(registry, "regr_r2", "float8", Pair::R2);
    pair!(registry, "regr_slope", "float8", Pair::Slope);
    pair!(registry, "regr_intercept", "float8", Pair::Intercept);
    pair!(registry, "covar_pop", "float8", Pair::CovariancePopulation);
    pair!(registry, "covar_samp", "float8", Pair::CovarianceSample);
    pair!(registry, "corr", "float8", Pair::Correlation);
}
