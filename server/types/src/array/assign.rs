//! Assignment to elements and slices, with PostgreSQL's rules: an array of one dimension grows and
//! fills gaps with NULL, one of several dimensions keeps its bounds.

use super::subscript::places;
use super::{Array, Dimension, ITEMS_MAX, Members, check_dimensions, too_many_items};
use crate::{Datum, Error, Result, SqlState};

fn subscript_error(message: &str) -> Error {
    Error::new(SqlState::ArraySubscriptError, message)
}

fn wrong_number() -> Error {
    subscript_error("wrong number of array subscripts")
}

fn int4(subscript: i64) -> i32 {
    subscript.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}

impl Array {
    /// The array with another element; 2202E if an array of several dimensions has no such place.
    pub fn with_item(&self, subscripts: &[i64], value: Datum) -> Result<Array> {
        let mut dimensions = self.dimensions();
        if dimensions.is_empty() {
            dimensions = subscripts
                .iter()
                .map(|subscript| Dimension { lower: int4(*subscript), length: 1 })
                .collect();
            check_dimensions(&dimensions)?;
            return Ok(Array::from_dimensions(self.element.clone(), &dimensions, vec![value]));
        }
        if dimensions.len() != subscripts.len() {
            return Err(wrong_number());
        }
        if let ([subscript], [_]) = (subscripts, dimensions.as_slice()) {
            return self.with_items_at(*subscript, *subscript, vec![value]);
        }
        let mut place = 0;
        for (dimension, subscript) in dimensions.iter().zip(subscripts) {
            let inside = dimension
                .place(*subscript)
                .ok_or_else(|| subscript_error("array subscript out of range"))?;
            place = place * dimension.length + inside;
        }
        let mut changed = self.clone();
        changed.items[place] = value;
        Ok(changed)
    }

    /// Gives an element of an array of one dimension a value in place, or adds it behind the last
    /// one; what was there before. The value comes back where that is not possible.
    pub fn set_item(&mut self, subscript: i64, value: Datum) -> std::result::Result<Datum, Datum> {
        let place = subscript.checked_sub(i64::from(self.lower));
        let Some(place) = place.and_then(|place| usize::try_from(place).ok()) else {
            return Err(value);
        };
        if !self.inner.is_empty() || self.items.is_empty() {
            return Err(value);
        }
        if place == self.items.len() && place < ITEMS_MAX {
            self.members = Members::default();
            self.items.push(value);
            return Ok(Datum::Null);
        }
        let Some(item) = self.items.get_mut(place) else { return Err(value) };
        self.members = Members::default();
        Ok(std::mem::replace(item, value))
    }

    /// Adds elements of the same type after the last one in place. The elements come back if the
    /// array is empty or has several dimensions, or would have too many elements.
    pub fn append(&mut self, items: Vec<Datum>) -> std::result::Result<(), Vec<Datum>> {
        let length = self.items.len() + items.len();
        let last = i64::from(self.lower) + length as i64 - 1;
        let has_room = length <= ITEMS_MAX / 4 && last < i64::from(i32::MAX);
        if !self.inner.is_empty() || self.items.is_empty() || !has_room {
            return Err(items);
        }
        self.members = Members::default();
        self.items.extend(items);
        Ok(())
    }

    /// The array with another slice, taken from the first items of `source`. A bound that is
    /// `None` is the array's own.
    pub fn with_slice(
        &self,
        bounds: &[(Option<i64>, Option<i64>)],
        source: &Array,
    ) -> Result<Array> {
        let dimensions = self.dimensions();
        if dimensions.is_empty() {
            return self.first_slice(bounds, source);
        }
        if bounds.len() > dimensions.len() {
            return Err(wrong_number());
        }
        let is_flat = dimensions.len() == 1;
        let mut spans = Vec::with_capacity(dimensions.len());
        for (at, dimension) in dimensions.iter().enumerate() {
            let (lower, upper) = bounds.get(at).copied().unwrap_or_default();
            let lower = lower.unwrap_or(i64::from(dimension.lower));
            let upper = upper.unwrap_or(dimension.upper());
            if lower > upper {
                return Err(subscript_error("upper bound cannot be less than lower bound"));
            }
            let inside = dimension.place(lower).is_some() && dimension.place(upper).is_some();
            if !is_flat && !inside {
                return Err(subscript_error("array subscript out of range"));
            }
            spans.push((lower, upper));
        }
        let wanted = spans.iter().try_fold(1usize, |count, (lower, upper)| {
            count.checked_mul((upper - lower + 1) as usize).ok_or_else(too_many_items)
        })?;
        if is_flat {
            let (lower, upper) = spans[0];
            grown(dimensions[0], lower, upper)?;
            let items = taken(source, wanted)?;
            return self.with_items_at(lower, upper, items);
        }
        let spans: Vec<(usize, usize)> = spans
            .iter()
            .zip(&dimensions)
            .map(|((lower, upper), dimension)| {
                let start = (lower - i64::from(dimension.lower)) as usize;
                (start, (upper - lower + 1) as usize)
            })
            .collect();
        let mut changed = self.clone();
        let items = taken(source, wanted)?;
        for (place, item) in places(&dimensions, &spans).into_iter().zip(items) {
            changed.items[place] = item;
        }
        Ok(changed)
    }

    /// A slice of an array without elements: it makes the array.
    fn first_slice(&self, bounds: &[(Option<i64>, Option<i64>)], source: &Array) -> Result<Array> {
        let mut dimensions = Vec::with_capacity(bounds.len());
        for bound in bounds {
            let (Some(lower), Some(upper)) = bound else {
                return Err(subscript_error("array slice subscript must provide both boundaries")
                    .detail(
                        "When assigning to a slice of an empty array value, slice boundaries \
                         must be fully specified.",
                    ));
            };
            let length = usize::try_from(upper - lower + 1).map_err(|_| too_many_items())?;
            dimensions.push(Dimension { lower: int4(*lower), length });
        }
        let wanted = check_dimensions(&dimensions)?;
        let items = taken(source, wanted)?;
        Ok(Array::from_dimensions(self.element.clone(), &dimensions, items))
    }

    /// An array of one dimension with these items from `lower` to `upper`; it grows to hold them.
    fn with_items_at(&self, lower: i64, upper: i64, items: Vec<Datum>) -> Result<Array> {
        let old = Dimension { lower: self.lower, length: self.items.len() };
        let new = grown(old, lower, upper)?;
        crate::work::afford(new.length.saturating_mul(size_of::<Datum>()))?;
        let mut all = vec![Datum::Null; new.length];
        let before = (i64::from(old.lower) - i64::from(new.lower)) as usize;
        all[before..before + old.length].clone_from_slice(&self.items);
        let start = (lower - i64::from(new.lower)) as usize;
        for (place, item) in all[start..].iter_mut().zip(items) {
            *place = item;
        }
        Ok(Array::from_lower(self.element.clone(), new.lower, all))
    }
}

/// A dimension that holds `lower` to `upper` as well; 54000 if it becomes too long.
fn grown(old: Dimension, lower: i64, upper: i64) -> Result<Dimension> {
    let first = lower.min(i64::from(old.lower));
    let last = upper.max(old.upper());
    let length = usize::try_from(last - first + 1).map_err(|_| too_many_items())?;
    let new = Dimension { lower: int4(first), length };
    check_dimensions(&[new])?;
    Ok(new)
}

/// The first items of an assigned array.
fn taken(source: &Array, wanted: usize) -> Result<Vec<Datum>> {
    match source.items.get(..wanted) {
        Some(items) => Ok(items.to_vec()),
        None => Err(subscript_error("source array too small")),
    }
}
