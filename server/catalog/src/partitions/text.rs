//! Partition keys and bounds as PostgreSQL prints them.

use crate::Collations;
use braid_sql::{quote_ident, quote_literal};
use braid_types::{Result, SqlType};

use super::bound::{KeyPart, PartitionBound, PartitionOf, Partitioning, RangeEnd};
use crate::{CatalogNames, StoredDatum, Table};

/// `RANGE (logdate, lower(name))`, as `pg_get_partkeydef` prints it.
pub fn key_text(names: CatalogNames<'_>, table: &Table, keys: &Partitioning) -> String {
    format!("{} ({})", keys.strategy.name(), key_list(names, table, keys))
}

/// `logdate, lower(name)`.
pub fn key_list(names: CatalogNames<'_>, table: &Table, keys: &Partitioning) -> String {
    let mut parts = Vec::with_capacity(keys.keys.len());
    for key in &keys.keys {
        let mut text = match &key.part {
            KeyPart::Column(id) => {
                quote_ident(table.column(*id).map_or("?column?", |column| &column.name))
            }
            KeyPart::Expr(expr, _) => names.key_expr(table, expr, false),
        };
        if let Some(collation) = &key.collation {
            let shown = Collations::of(names.catalog).text(names.path, collation);
            text.push_str(&format!(" COLLATE {shown}"));
        }
        parts.push(text);
    }
    parts.join(", ")
}

/// `FOR VALUES FROM (1) TO (10)`, as `pg_get_expr` prints the bound of a partition.
pub fn bound_text(parent: &Table, part: &PartitionOf) -> Result<String> {
    let keys = parent.partitioning.as_ref().map_or(&[][..], |keys| &keys.keys);
    let types: Vec<SqlType> = keys.iter().map(|key| key.ty(parent)).collect::<Result<_>>()?;
    let end = |ends: &[RangeEnd]| {
        let ends = ends.iter().zip(&types).map(|(end, ty)| match end {
            RangeEnd::MinValue => "MINVALUE".to_owned(),
            RangeEnd::MaxValue => "MAXVALUE".to_owned(),
            RangeEnd::Value(value) => value_text(value, ty),
        });
        ends.collect::<Vec<_>>().join(", ")
    };
    Ok(match &part.bound {
        PartitionBound::Default => "DEFAULT".to_owned(),
        PartitionBound::Range { from, to } => {
            format!("FOR VALUES FROM ({}) TO ({})", end(from), end(to))
        }
        PartitionBound::List(values) => {
            let ty = types.first().unwrap_or(&SqlType::Text);
            let values: Vec<String> = values.iter().map(|value| value_text(value, ty)).collect();
            format!("FOR VALUES IN ({})", values.join(", "))
        }
        PartitionBound::Hash { modulus, remainder } => {
            format!("FOR VALUES WITH (modulus {modulus}, remainder {remainder})")
        }
    })
}

/// A constant without its type: numbers that are not negative stand without quotes.
fn value_text(value: &StoredDatum, ty: &SqlType) -> String {
    let Some(text) = &value.0 else { return "NULL".to_owned() };
    let is_number =
        ty.is_integer() || matches!(ty, SqlType::Numeric(_) | SqlType::Float4 | SqlType::Float8);
    match ty {
        SqlType::Bool => if text.starts_with('t') { "true" } else { "false" }.to_owned(),
        _ if is_number && text.starts_with(|c: char| c.is_ascii_digit()) => text.clone(),
        _ => quote_literal(text),
    }
}

/// The condition that every row of a partition meets, as `pg_get_partition_constraintdef` prints
/// it; `None` for a table that is no partition, or has no other rows than a default partition may.
pub fn condition_text(names: CatalogNames<'_>, table: &Table) -> Option<String> {
    let part = table.partition_of.as_ref()?;
    let parent = names.catalog.table(part.parent)?;
    let own = bound_condition(names, parent, &part.bound);
    let above = condition_text(names, parent);
    let all: Vec<String> = above.into_iter().chain(own).collect();
    match &all[..] {
        [] => None,
        [only] => Some(only.clone()),
        several => Some(several.join(" AND ")),
    }
}

fn bound_condition(
    names: CatalogNames<'_>,
    parent: &Table,
    bound: &PartitionBound,
) -> Option<String> {
    let keys = parent.partitioning.as_ref()?;
    let mut shown = Vec::with_capacity(keys.keys.len());
    for key in &keys.keys {
        shown.push((
            match &key.part {
                KeyPart::Column(id) => quote_ident(&parent.column(*id)?.name),
                KeyPart::Expr(expr, _) => names.key_expr(parent, expr, false),
            },
            key.ty(parent).ok()?,
        ));
    }
    let typed = |value: &StoredDatum, ty: &SqlType| match value_text(value, ty) {
        text if text.starts_with('\'') => format!("{text}::{}", ty.plain_name()),
        text => text,
    };
    match bound {
        PartitionBound::Default => None,
        PartitionBound::Hash { modulus, remainder } => {
            let list: Vec<&str> = shown.iter().map(|(name, _)| name.as_str()).collect();
            let (id, list) = (parent.id, list.join(", "));
            let args = format!("'{id}'::oid, {modulus}, {remainder}, {list}");
            Some(format!("satisfies_hash_partition({args})"))
        }
        PartitionBound::List(values) => {
            let (name, ty) = shown.first()?;
            let known: Vec<String> = values
                .iter()
                .filter(|value| value.0.is_some())
                .map(|value| typed(value, ty))
                .collect();
            let equal = match &known[..] {
                [only] => format!("({name} = {only})"),
                several => format!("({name} = ANY (ARRAY[{}]))", several.join(", ")),
            };
            Some(match known.len() == values.len() {
                true => format!("(({name} IS NOT NULL) AND {equal})"),
                false => format!("(({name} IS NULL) OR {equal})"),
            })
        }
        PartitionBound::Range { from, to } => {
            let mut all: Vec<String> =
                shown.iter().map(|(name, _)| format!("({name} IS NOT NULL)")).collect();
            if let [(name, ty)] = &shown[..] {
                for (ends, op) in [(from, ">="), (to, "<")] {
                    if let Some(RangeEnd::Value(value)) = ends.first() {
                        all.push(format!("({name} {op} {})", typed(value, ty)));
                    }
                }
            } else {
                all.extend(row_end(&shown, from, &typed, (">", ">=")));
                all.extend(row_end(&shown, to, &typed, ("<", "<")));
            }
            Some(format!("({})", all.join(" AND ")))
        }
    }
}

/// What an end of several parts says of the keys.
fn row_end(
    shown: &[(String, SqlType)],
    ends: &[RangeEnd],
    typed: &dyn Fn(&StoredDatum, &SqlType) -> String,
    (strict, last): (&str, &str),
) -> Option<String> {
    let mut branches = Vec::new();
    let mut equal: Vec<String> = Vec::new();
    for (place, ((name, ty), end)) in shown.iter().zip(ends).enumerate() {
        let RangeEnd::Value(value) = end else { break };
        let is_last =
            place + 1 == shown.len() || !matches!(ends.get(place + 1), Some(RangeEnd::Value(_)));
        let op = match (is_last, ends.get(place + 1)) {
            (true, Some(RangeEnd::MaxValue)) if last == "<" => "<=",
            (true, None | Some(RangeEnd::MinValue)) => last,
            _ => strict,
        };
        let value = typed(value, ty);
        let mut parts = equal.clone();
        parts.push(format!("({name} {op} {value})"));
        branches.push(match &parts[..] {
            [only] => only.clone(),
            several => format!("({})", several.join(" AND ")),
        });
        equal.push(format!("({name} = {value})"));
    }
    match &branches[..] {
        [] => None,
        [only] => Some(only.clone()),
        several => Some(format!("({})", several.join(" OR "))),
    }
}
