//! The condition that every row of a partition meets.

use std::sync::Arc;

use braid_catalog::partitions::{Bound, End};
use braid_catalog::{KeyPart, PartitionMap, Table};
use braid_types::{Datum, Error, Result, SqlType};

use super::leaves::{place_in, slots_by_name};
use crate::bind::Binder;
use crate::bind::expr::operators::compare_exprs;
use crate::bind::expr::scalar::call_function;
use crate::bind::stored::{bind_checks, bind_stored_table_expr};
use crate::collate::assign_collations_over;
use crate::context::PlanContext;
use crate::layout;
use crate::tree::expr::{CompareOp, Expr, Slot, conjunction};
use crate::tree::node::RowCheck;

/// The keys of a partitioned table over the row of another table, whose columns have these slots.
/// Columns belong together by name.
pub(crate) fn keys_over(
    binder: &mut Binder<'_>,
    upper: &Table,
    (table, slots): (&Table, &[Slot]),
) -> Result<Vec<Expr>> {
    let missing = |name: &str| {
        Error::broken(format!("table \"{}\" lacks the key column \"{name}\"", table.name))
    };
    let mut keys = Vec::new();
    for key in upper.partitioning.iter().flat_map(|keys| &keys.keys) {
        keys.push(match &key.part {
            KeyPart::Column(id) => {
                let column = &upper.columns[upper.place_of(*id)?];
                let place = place_in(table, &column.name).ok_or_else(|| missing(&column.name))?;
                Expr::Column(slots[place], column.ty.clone())
            }
            KeyPart::Expr(expr, _) => {
                let mapped = slots_by_name(binder, upper, (table, slots));
                bind_stored_table_expr(binder, upper, &mapped, expr, "partition key expressions")?
            }
        });
    }
    Ok(keys)
}

/// The condition of a partition over its row; `None` for a table that is none.
pub(crate) fn partition_condition(
    binder: &mut Binder<'_>,
    table: &Table,
    slots: &[Slot],
) -> Result<Option<Expr>> {
    let mut conditions = Vec::new();
    let mut child = Arc::new(table.clone());
    while let Some(part) = child.partition_of.clone() {
        let upper = binder.context().catalog.table(part.parent).cloned();
        let upper = upper.ok_or_else(|| {
            Error::broken(format!("the parent of partition \"{}\" is missing", child.name))
        })?;
        binder.tables.insert(upper.id);
        let keys = keys_over(binder, &upper, (table, slots))?;
        let types: Vec<SqlType> = keys.iter().map(Expr::ty).collect();
        let bound = Bound::decode(&part.bound, &types)?;
        let others = match bound {
            Bound::Default => Some(PartitionMap::of(binder.context().catalog, &upper)?),
            _ => None,
        };
        conditions.push(match others {
            None => bound_condition(binder, &upper, &keys, &bound)?,
            Some(map) => {
                let mut inside = Vec::new();
                for (_, bound) in map.entries.iter().filter(|(id, _)| *id != child.id) {
                    inside.push(bound_condition(binder, &upper, &keys, bound)?);
                }
                Expr::Not(Box::new(disjunction(inside)))
            }
        });
        child = upper;
    }
    conditions.reverse();
    Ok((!conditions.is_empty()).then(|| conjunction(conditions)))
}

/// The condition of a partition over its columns in order ([`Expr::Input`]); `None` for a table
/// that is no partition.
pub fn bind_partition_condition(cx: &PlanContext<'_>, table: &Table) -> Result<Option<Expr>> {
    let mut binder = Binder::new(cx);
    let slots: Vec<Slot> = table.columns.iter().map(|_| binder.slot()).collect();
    let mut condition = partition_condition(&mut binder, table, &slots)?;
    if let Some(e) = &mut condition {
        assign_collations_over(&mut binder, table, &[&slots], e)?;
        layout::layout_expr(e, &slots)?;
    }
    Ok(condition)
}

/// What each row that is written must meet: CHECK constraints, and the bound of a partition.
pub(crate) fn row_checks(
    binder: &mut Binder<'_>,
    table: &Table,
    slots: &[Slot],
) -> Result<Vec<(RowCheck, Expr)>> {
    let mut checks = bind_checks(binder, table, slots)?;
    if let Some(condition) = partition_condition(binder, table, slots)? {
        checks.push((RowCheck::Partition, condition));
    }
    Ok(checks)
}

fn disjunction(mut list: Vec<Expr>) -> Expr {
    match list.len() {
        0 => Expr::bool(false),
        1 => list.remove(0),
        _ => Expr::Or(list),
    }
}

fn is_not_null(e: &Expr) -> Expr {
    Expr::Not(Box::new(Expr::IsNull(Box::new(e.clone()))))
}

/// Whether keys are inside of a bound. It is never NULL.
fn bound_condition(
    binder: &mut Binder<'_>,
    upper: &Table,
    keys: &[Expr],
    bound: &Bound,
) -> Result<Expr> {
    match bound {
        Bound::Default => Ok(Expr::bool(true)),
        Bound::Hash { modulus, remainder } => {
            let number = |value: u64, ty| {
                let value = i64::try_from(value).unwrap_or(i64::MAX);
                Expr::Const(Datum::Int(value), ty)
            };
            let mut args = vec![number(u64::from(upper.id), SqlType::Oid)];
            args.push(number(*modulus, SqlType::Int4));
            args.push(number(*remainder, SqlType::Int4));
            args.extend(keys.iter().cloned());
            call_function(binder, "satisfies_hash_partition", args)
        }
        Bound::List(values) => {
            let Some(key) = keys.first() else { return Ok(Expr::bool(false)) };
            let mut equal = Vec::with_capacity(values.len());
            for value in values.iter().filter(|value| !value.is_null()) {
                equal.push(compared(binder, CompareOp::Eq, key, value)?);
            }
            let known = Expr::And(vec![is_not_null(key), disjunction(equal)]);
            Ok(match values.iter().any(Datum::is_null) {
                true => Expr::Or(vec![Expr::IsNull(Box::new(key.clone())), known]),
                false => known,
            })
        }
        Bound::Range(from, to) => {
            let mut all: Vec<Expr> = keys.iter().map(is_not_null).collect();
            all.push(beyond(binder, keys, from, true)?);
            all.push(beyond(binder, keys, to, false)?);
            Ok(conjunction(all))
        }
    }
}

fn compared(binder: &mut Binder<'_>, op: CompareOp, key: &Expr, value: &Datum) -> Result<Expr> {
    compare_exprs(binder, op, key.clone(), Expr::Const(value.clone(), key.ty()))
}

/// Whether keys are at or above an end, or below it.
fn beyond(binder: &mut Binder<'_>, keys: &[Expr], ends: &[End], is_lower: bool) -> Result<Expr> {
    let mut branches = Vec::new();
    let mut equal: Vec<Expr> = Vec::new();
    for (key, end) in keys.iter().zip(ends) {
        let End::Value(value) = end else {
            // MINVALUE is below and MAXVALUE above every value.
            if (*end == End::Min) == is_lower {
                branches.push(conjunction(std::mem::take(&mut equal)));
            }
            return Ok(disjunction(branches));
        };
        let op = if is_lower { CompareOp::Gt } else { CompareOp::Lt };
        let mut branch = equal.clone();
        branch.push(compared(binder, op, key, value)?);
        branches.push(conjunction(branch));
        equal.push(compared(binder, CompareOp::Eq, key, value)?);
    }
    if is_lower {
        branches.push(conjunction(equal));
    }
    Ok(disjunction(branches))
}
