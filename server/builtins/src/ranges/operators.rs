//! Operators of two ranges, two multiranges, or one of each, and the functions behind them.
//!
//! A range is a set of none or one range, so one function serves all kinds of operands.

use std::cmp::Ordering;

use braid_types::range::{
    adjoins, contains, contains_value, difference, ends_within, hull, intersection, is_left_of,
    merged, normalized, overlaps, starts_within,
};
use braid_types::{Datum, Error, Range, Result, SqlState};

use super::parts::{range_datum, ranges};
use crate::Call;
use crate::registry::tables::Registry;

type Eval = fn(&Call<'_>) -> Result<Datum>;

fn flag(value: bool) -> Result<Datum> {
    Ok(Datum::Bool(value))
}

fn contains_first(call: &Call<'_>) -> Result<Datum> {
    flag(contains(ranges(call, 1)?, ranges(call, 0)?)?)
}

fn contains_second(call: &Call<'_>) -> Result<Datum> {
    flag(contains(ranges(call, 0)?, ranges(call, 1)?)?)
}

/// A result of several ranges, of which an operator of ranges may have one.
fn one_of(set: Vec<Range>, operator: &str) -> Result<Datum> {
    if set.len() > 1 {
        return Err(not_contiguous(operator));
    }
    range_datum(hull(&set))
}

fn not_contiguous(operator: &str) -> Error {
    let message = format!("result of range {operator} would not be contiguous");
    Error::new(SqlState::DataException, message)
}

fn union_of_ranges(call: &Call<'_>) -> Result<Datum> {
    let (a, b) = (ranges(call, 0)?, ranges(call, 1)?);
    let is_whole = a.is_empty() || b.is_empty() || overlaps(a, b)? || adjoins(a, b);
    if !is_whole {
        return Err(not_contiguous("union"));
    }
    range_datum(merged(hull(a), hull(b)))
}

fn union(call: &Call<'_>) -> Result<Datum> {
    let both = [ranges(call, 0)?, ranges(call, 1)?].concat();
    multirange_of(normalized(both)?)
}

fn multirange_of(set: Vec<Range>) -> Result<Datum> {
    Ok(Datum::Multirange(set.into()))
}

fn order(call: &Call<'_>) -> Result<Datum> {
    Ok(Datum::Int(match call.datum(0).compare(call.datum(1)) {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    }))
}

/// For each operator of two sets its function, and the names of the functions of two ranges, of a
/// range and a multirange, of a multirange and a range, and of two multiranges.
macro_rules! of_sets {
    ($registry:ident: $(($operator:literal, $word:literal, $eval:expr)),*) => {
        $(
            let eval: Eval = $eval;
            for signature in [
                concat!($operator, "(anyrange, anyrange) -> bool"),
                concat!($operator, "(anyrange, anymultirange) -> bool"),
                concat!($operator, "(anymultirange, anyrange) -> bool"),
                concat!($operator, "(anymultirange, anymultirange) -> bool"),
                concat!("range_", $word, "(anyrange, anyrange) -> bool"),
                concat!("range_", $word, "_multirange(anyrange, anymultirange) -> bool"),
                concat!("multirange_", $word, "_range(anymultirange, anyrange) -> bool"),
                concat!("multirange_", $word, "_multirange(anymultirange, anymultirange) -> bool"),
            ] {
                $registry.add(signature, eval);
            }
        )*
    };
}

/// The functions behind the comparisons.
macro_rules! of_order {
    ($registry:ident: $(($word:literal, $holds:ident)),*) => {
        $(
            for signature in [
                concat!("range_", $word, "(anyrange, anyrange) -> bool"),
                concat!("multirange_", $word, "(anymultirange, anymultirange) -> bool"),
            ] {
                $registry.add(signature, |c| flag(c.datum(0).compare(c.datum(1)).$holds()));
            }
        )*
    };
}

pub(crate) fn register(registry: &mut Registry) {
    of_sets!(registry:
        ("&&", "overlaps", |c| flag(overlaps(ranges(c, 0)?, ranges(c, 1)?)?)),
        ("@>", "contains", contains_second),
        ("<@", "contained_by", contains_first),
        ("<<", "before", |c| flag(is_left_of(ranges(c, 0)?, ranges(c, 1)?))),
        (">>", "after", |c| flag(is_left_of(ranges(c, 1)?, ranges(c, 0)?))),
        ("&<", "overleft", |c| flag(ends_within(ranges(c, 0)?, ranges(c, 1)?))),
        ("&>", "overright", |c| flag(starts_within(ranges(c, 0)?, ranges(c, 1)?))),
        ("-|-", "adjacent", |c| flag(adjoins(ranges(c, 0)?, ranges(c, 1)?))));
    of_order!(registry:
        ("eq", is_eq), ("ne", is_ne), ("lt", is_lt), ("le", is_le), ("gt", is_gt), ("ge", is_ge));
    registry.add("range_cmp(anyrange, anyrange) -> int4", order);
    registry.add("multirange_cmp(anymultirange, anymultirange) -> int4", order);
    register_elements(registry);
    register_results(registry);
}

/// Operators of a value and a set.
fn register_elements(registry: &mut Registry) {
    for signature in [
        "@>(anyrange, anyelement) -> bool",
        "range_contains_elem(anyrange, anyelement) -> bool",
        "@>(anymultirange, anyelement) -> bool",
        "multirange_contains_elem(anymultirange, anyelement) -> bool",
    ] {
        registry.add(signature, |c| flag(contains_value(ranges(c, 0)?, c.datum(1))));
    }
    for signature in [
        "<@(anyelement, anyrange) -> bool",
        "elem_contained_by_range(anyelement, anyrange) -> bool",
        "<@(anyelement, anymultirange) -> bool",
        "elem_contained_by_multirange(anyelement, anymultirange) -> bool",
    ] {
        registry.add(signature, |c| flag(contains_value(ranges(c, 1)?, c.datum(0))));
    }
}

/// Operators whose results are ranges or multiranges.
fn register_results(registry: &mut Registry) {
    let both: [(&[&'static str], Eval); 6] = [
        (
            &["+(anyrange, anyrange) -> anyrange", "range_union(anyrange, anyrange) -> anyrange"],
            union_of_ranges,
        ),
        (
            &["-(anyrange, anyrange) -> anyrange", "range_minus(anyrange, anyrange) -> anyrange"],
            |c| one_of(difference(ranges(c, 0)?, ranges(c, 1)?)?, "difference"),
        ),
        (
            &[
                "*(anyrange, anyrange) -> anyrange",
                "range_intersect(anyrange, anyrange) -> anyrange",
            ],
            |c| one_of(intersection(ranges(c, 0)?, ranges(c, 1)?)?, "intersection"),
        ),
        (
            &[
                "+(anymultirange, anymultirange) -> anymultirange",
                "multirange_union(anymultirange, anymultirange) -> anymultirange",
            ],
            union,
        ),
        (
            &[
                "-(anymultirange, anymultirange) -> anymultirange",
                "multirange_minus(anymultirange, anymultirange) -> anymultirange",
            ],
            |c| multirange_of(difference(ranges(c, 0)?, ranges(c, 1)?)?),
        ),
        (
            &[
                "*(anymultirange, anymultirange) -> anymultirange",
                "multirange_intersect(anymultirange, anymultirange) -> anymultirange",
            ],
            |c| multirange_of(intersection(ranges(c, 0)?, ranges(c, 1)?)?),
        ),
    ];
    for (signatures, eval) in both {
        for signature in signatures {
            registry.add(signature, eval);
        }
    }
}
