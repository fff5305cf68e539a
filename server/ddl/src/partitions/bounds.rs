//! The bound of a new partition: its values, and that it does not overlap others.

use braid_catalog::partitions::{Bound, bound_text};
use braid_catalog::{
    KeyPart, PartitionBound, PartitionMap, PartitionOf, PartitionStrategy, Partitioning, RangeEnd,
    StoredDatum, StoredExpr, Table,
};
use braid_plan::{NotAllowedIn, NotAssignable, bind_default};
use braid_sql::ast::{BoundClause, BoundKind, Expr, Spanned};
use braid_types::{Datum, Error, FormatSettings, Result, SqlState, SqlType};

use crate::context::DdlContext;
use crate::table::exprs::evaluate;

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::InvalidTableDefinition, message.into())
}

fn conflicting(message: String) -> Error {
    Error::new(SqlState::InvalidObjectDefinition, message)
}

/// The bound of a partition as written; 42P16 or 42P17 if it does not fit the parent.
pub(crate) fn partition_bound(
    cx: &DdlContext<'_>,
    parent: &Table,
    partition: &str,
    clause: &BoundClause,
) -> Result<PartitionBound> {
    let place = bound_place(cx, clause);
    let partitioning = partitioning_of(parent)?;
    let wrong = || {
        let strategy = partitioning.strategy.name().to_lowercase();
        invalid(format!("invalid bound specification for a {strategy} partition")).position(place)
    };
    let bound = match (&clause.kind, partitioning.strategy) {
        (BoundKind::Default, PartitionStrategy::Hash) => {
            let message = "a hash-partitioned table may not have a default partition";
            return Err(invalid(message));
        }
        (BoundKind::Default, _) => PartitionBound::Default,
        (BoundKind::Hash(modulus, remainder), PartitionStrategy::Hash) => {
            hash_bound(*modulus, *remainder)?
        }
        (BoundKind::List(values), PartitionStrategy::List) => {
            list_bound(cx, parent, partitioning, values)?
        }
        (BoundKind::Range(from, to), PartitionStrategy::Range) => PartitionBound::Range {
            from: range_ends(cx, parent, partitioning, from, "FROM")?,
            to: range_ends(cx, parent, partitioning, to, "TO")?,
        },
        _ => return Err(wrong()),
    };
    check_overlap(cx, parent, partition, &bound).map_err(|error| error.position(place))?;
    Ok(bound)
}

/// Where PostgreSQL points at a bound: at its first value, else at the word that begins it.
fn bound_place(cx: &DdlContext<'_>, clause: &BoundClause) -> u32 {
    let start = braid_sql::offset_of(clause.span);
    match &clause.kind {
        BoundKind::List(values) => {
            values.first().map_or(start, |e| braid_sql::offset_of(Spanned::span(e)))
        }
        BoundKind::Range(..) => {
            let word = braid_sql::find_token(cx.text, start, u32::MAX, &["from"]);
            if word > 0 { word } else { start }
        }
        _ => start,
    }
}

fn partitioning_of(parent: &Table) -> Result<&Partitioning> {
    let broken = || Error::broken(format!("table \"{}\" is not partitioned", parent.name));
    parent.partitioning.as_deref().ok_or_else(broken)
}

fn hash_bound(modulus: i64, remainder: i64) -> Result<PartitionBound> {
    if modulus <= 0 {
        return Err(invalid(
            "modulus for hash partition must be an integer value greater than zero",
        ));
    }
    if remainder < 0 {
        let message = "remainder for hash partition must be an integer value greater than or equal \
                       to zero";
        return Err(invalid(message));
    }
    if remainder >= modulus {
        return Err(invalid("remainder for hash partition must be less than modulus"));
    }
    let (Ok(modulus), Ok(remainder)) = (i32::try_from(modulus), i32::try_from(remainder)) else {
        return Err(invalid("modulus for hash partition is too large"));
    };
    Ok(PartitionBound::Hash {
        modulus: modulus.unsigned_abs(),
        remainder: remainder.unsigned_abs(),
    })
}

fn list_bound(
    cx: &DdlContext<'_>,
    parent: &Table,
    partitioning: &Partitioning,
    values: &[Expr],
) -> Result<PartitionBound> {
    let mut found: Vec<Datum> = Vec::with_capacity(values.len());
    let mut stored = Vec::with_capacity(values.len());
    for e in values {
        let place = braid_sql::offset_of(Spanned::span(e));
        let value = bound_value(cx, parent, partitioning, 0, e);
        let (value, ty) = value.map_err(|error| error.position(place))?;
        // A value that is given twice counts once.
        if !found.contains(&value) {
            stored.push(stored_value(&value, &ty));
            found.push(value);
        }
    }
    Ok(PartitionBound::List(stored))
}

fn range_ends(
    cx: &DdlContext<'_>,
    parent: &Table,
    partitioning: &Partitioning,
    values: &[Expr],
    word: &str,
) -> Result<Vec<RangeEnd>> {
    if values.len() != partitioning.keys.len() {
        let message = format!("{word} must specify exactly one value per partitioning column");
        return Err(invalid(message));
    }
    let mut ends: Vec<RangeEnd> = Vec::with_capacity(values.len());
    for (place, e) in values.iter().enumerate() {
        let end = match unquoted_name(e).as_deref() {
            Some("minvalue") => RangeEnd::MinValue,
            Some("maxvalue") => RangeEnd::MaxValue,
            _ => {
                let start = braid_sql::offset_of(Spanned::span(e));
                let value = bound_value(cx, parent, partitioning, place, e);
                let (value, ty) = value.map_err(|error| error.position(start))?;
                if value.is_null() {
                    let message = "cannot specify NULL in range bound".to_owned();
                    return Err(conflicting(message));
                }
                RangeEnd::Value(stored_value(&value, &ty))
            }
        };
        let word = match ends.last() {
            Some(RangeEnd::MinValue) if !matches!(end, RangeEnd::MinValue) => "MINVALUE",
            Some(RangeEnd::MaxValue) if !matches!(end, RangeEnd::MaxValue) => "MAXVALUE",
            _ => {
                ends.push(end);
                continue;
            }
        };
        let message = format!("every bound following {word} must also be {word}");
        return Err(Error::new(SqlState::DatatypeMismatch, message));
    }
    Ok(ends)
}

fn unquoted_name(e: &Expr) -> Option<String> {
    match e {
        Expr::Identifier(ident) if ident.quote_style.is_none() => Some(ident.value.to_lowercase()),
        _ => None,
    }
}

/// A value of a bound, cast to the type of its key.
fn bound_value(
    cx: &DdlContext<'_>,
    parent: &Table,
    partitioning: &Partitioning,
    place: usize,
    e: &Expr,
) -> Result<(Datum, SqlType)> {
    let Some(key) = partitioning.keys.get(place) else {
        return Err(Error::broken("a bound has more values than there are keys"));
    };
    if let Expr::Identifier(_) | Expr::CompoundIdentifier(_) = e {
        let message = "cannot use column reference in partition bound expression";
        return Err(Error::new(SqlState::FeatureNotSupported, message));
    }
    let ty = key.ty(parent)?;
    let text = StoredExpr::Written(e.to_string());
    let bound = cx.plan_own(|cx| bind_default(cx, &text, &ty)).map_err(|error| {
        if let Some(refused) = error.cause::<NotAllowedIn>() {
            let refused = refused.in_clause("partition bound");
            return Error::new(error.state(), refused.to_string());
        }
        if error.cause::<NotAssignable>().is_none() {
            return error;
        }
        let column = match &key.part {
            KeyPart::Column(id) => parent.column(*id).map(|column| column.name.clone()),
            KeyPart::Expr(..) => None,
        };
        let message = format!(
            "specified value cannot be cast to type {} for column \"{}\"",
            ty.display_name(),
            column.unwrap_or_default()
        );
        Error::new(SqlState::DatatypeMismatch, message)
    })?;
    Ok((evaluate(cx, &bound, &[])?, ty))
}

fn stored_value(value: &Datum, ty: &SqlType) -> StoredDatum {
    let settings = FormatSettings::default();
    StoredDatum((!value.is_null()).then(|| braid_types::text::to_string(ty, value, &settings)))
}

/// 42P17 if another partition of the parent has some of these keys.
pub(crate) fn check_overlap(
    cx: &DdlContext<'_>,
    parent: &Table,
    partition: &str,
    bound: &PartitionBound,
) -> Result<()> {
    let catalog = cx.catalog();
    let map = PartitionMap::of(&catalog, parent)?;
    let new = Bound::decode(bound, &map.types)?;
    if PartitionMap::is_empty_range(&new) {
        let part = PartitionOf { parent: parent.id, bound: bound.clone() };
        let text = bound_text(parent, &part)?;
        let ends = text.strip_prefix("FOR VALUES FROM ").and_then(|text| text.split_once(" TO "));
        let (from, to) = ends.unwrap_or_default();
        let message = format!("empty range bound specified for partition \"{partition}\"");
        return Err(conflicting(message).detail(format!(
            "Specified lower bound {from} is greater than or equal to upper bound {to}."
        )));
    }
    if let Bound::Hash { modulus, .. } = new {
        check_moduli(&catalog, &map, modulus)?;
    }
    let Some(other) = map.overlapping(&new).and_then(|id| catalog.table(id)) else { return Ok(()) };
    let other = &other.name;
    Err(conflicting(match new {
        Bound::Default => format!(
            "partition \"{partition}\" conflicts with existing default partition \"{other}\""
        ),
        _ => format!("partition \"{partition}\" would overlap partition \"{other}\""),
    }))
}

/// 42P17 unless each modulus is a factor of the next larger one.
fn check_moduli(catalog: &braid_catalog::Catalog, map: &PartitionMap, modulus: u64) -> Result<()> {
    let known = map.entries.iter().filter_map(|(id, bound)| match bound {
        Bound::Hash { modulus, .. } => Some((*modulus, *id)),
        _ => None,
    });
    let known: Vec<(u64, u32)> = known.collect();
    let name = |id: u32| catalog.table(id).map(|table| table.name.clone()).unwrap_or_default();
    let message = "every hash partition modulus must be a factor of the next larger modulus";
    let below = known.iter().filter(|(other, _)| *other <= modulus).max_by_key(|(other, _)| *other);
    if let Some((other, id)) = below
        && !modulus.is_multiple_of(*other)
    {
        return Err(conflicting(message.to_owned()).detail(format!(
            "The new modulus {modulus} is not divisible by {other}, the modulus of existing \
             partition \"{}\".",
            name(*id)
        )));
    }
    let above = known.iter().filter(|(other, _)| *other > modulus).min_by_key(|(other, _)| *other);
    if let Some((other, id)) = above
        && !other.is_multiple_of(modulus)
    {
        return Err(conflicting(message.to_owned()).detail(format!(
            "The new modulus {modulus} is not a factor of {other}, the modulus of existing \
             partition \"{}\".",
            name(*id)
        )));
    }
    Ok(())
}
