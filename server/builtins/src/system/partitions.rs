//! What partitions compute of their keys.

use braid_types::hashing::hash_of_key;
use braid_types::{Datum, Result, Row};

use crate::Call;
use crate::registry::function::PartitionTree;
use crate::registry::tables::Registry;
use crate::sets::rows;

/// Whether a key belongs to a hash partition: arguments are the table, the modulus, the remainder
/// and the values of the key.
fn satisfies_hash_partition(call: &Call<'_>) -> Result<Datum> {
    let (Datum::Int(modulus), Datum::Int(remainder)) = (call.datum(1), call.datum(2)) else {
        return Ok(Datum::Bool(false));
    };
    let (Ok(modulus), Ok(remainder)) = (u64::try_from(*modulus), u64::try_from(*remainder)) else {
        return Ok(Datum::Bool(false));
    };
    let key = call.args.get(3..).unwrap_or_default();
    let types = call.types.get(3..).unwrap_or_default();
    Ok(Datum::Bool(modulus > 0 && hash_of_key(key, types) % modulus == remainder))
}

fn tree_place(call: &Call<'_>) -> Result<Option<PartitionTree>> {
    Ok(call.env.lookup().partition_tree(call.oid(0)?))
}

/// A row of `pg_partition_tree`.
fn row((oid, parent, is_leaf, level): (u32, Option<u32>, bool, i64)) -> Row {
    let parent = parent.map_or(Datum::Null, |parent| Datum::Int(parent.into()));
    Row::from([Datum::Int(oid.into()), parent, Datum::Bool(is_leaf), Datum::Int(level)])
}

fn or_null(text: Option<String>) -> Result<Datum> {
    Ok(text.map_or(Datum::Null, Datum::text))
}

pub(super) fn register(registry: &mut Registry) {
    registry.set(
        "pg_partition_tree(regclass) -> relid regclass, parentrelid regclass, isleaf bool, \
         level int4",
        |call| rows(tree_place(call)?.unwrap_or_default().below.into_iter().map(row)),
    );
    registry.set("pg_partition_ancestors(regclass) -> relid regclass", |call| {
        let above = tree_place(call)?.unwrap_or_default().above;
        rows(above.into_iter().map(|oid| Row::from([Datum::Int(oid.into())])))
    });
    registry.add("pg_partition_root(regclass) -> regclass stable", |call| {
        let root = tree_place(call)?.and_then(|place| place.above.last().copied());
        Ok(root.map_or(Datum::Null, |oid| Datum::Int(oid.into())))
    });
    registry.add("pg_get_partkeydef(oid) -> text stable", |call| {
        or_null(call.env.lookup().partition_key(call.oid(0)?))
    });
    registry.add("pg_get_partition_constraintdef(oid) -> text stable", |call| {
        or_null(call.env.lookup().partition_condition(call.oid(0)?))
    });
    registry.add(
        "satisfies_hash_partition(oid, int4, int4, variadic any) -> bool lax",
        satisfies_hash_partition,
    );
}
