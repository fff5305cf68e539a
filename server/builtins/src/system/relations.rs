//! What clients ask of relations: the trees of partitions, what access methods and indexes can
//! do, and what sequences count by.

use crate::registry::function::PartitionTree;
use crate::registry::tables::Registry;
use crate::sets::rows;
use crate::{Call, Rows};
use braid_types::hashing::hash_of_key;
use braid_types::{Datum, Result, Row};

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
    register_traits(registry);
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

fn answer(found: Option<bool>) -> Result<Datum> {
    Ok(found.map_or(Datum::Null, Datum::Bool))
}

/// `pg_indexam_has_property(method, name)`.
fn method_has(call: &Call<'_>) -> Result<Datum> {
    let is_btree = match call.oid(0)? {
        403 => true,
        405 | 783 | 2742 | 3580 | 4000 => false,
        _ => return Ok(Datum::Null),
    };
    let oid = call.oid(0)?;
    answer(match call.text(1)?.to_lowercase().as_str() {
        "can_order" | "can_unique" => Some(is_btree),
        "can_multi_col" => Some(!matches!(oid, 405 | 4000)),
        "can_exclude" => Some(matches!(oid, 403 | 405 | 783 | 4000)),
        "can_include" => Some(matches!(oid, 403 | 783 | 4000)),
        _ => None,
    })
}

/// `pg_index_has_property(index, name)`.
fn index_has(call: &Call<'_>) -> Result<Datum> {
    let Some(index) = call.env.lookup().index_traits(call.oid(0)?) else {
        return Ok(Datum::Null);
    };
    let is_gin = index.method == "gin";
    answer(match call.text(1)?.to_lowercase().as_str() {
        "clusterable" => Some(matches!(index.method.as_str(), "btree" | "gist")),
        "index_scan" => Some(!is_gin),
        "bitmap_scan" => Some(true),
        "backward_scan" => Some(matches!(index.method.as_str(), "btree" | "hash")),
        _ => None,
    })
}

/// `pg_index_column_has_property(index, column, name)`.
fn column_has(call: &Call<'_>) -> Result<Datum> {
    let found = call.env.lookup().index_traits(call.oid(0)?);
    let place = usize::try_from(call.int(1)?).ok().and_then(|number| number.checked_sub(1));
    let (Some(index), Some(place)) = (found, place) else { return Ok(Datum::Null) };
    if place >= index.keys.len() + index.included {
        return Ok(Datum::Null);
    }
    let key = index.keys.get(place).copied();
    let ordered = key.filter(|_| index.method == "btree");
    let name = call.text(2)?.to_lowercase();
    answer(match name.as_str() {
        // Columns beside the keys have no order, and can only be returned.
        "asc" | "desc" | "nulls_first" | "nulls_last" if ordered.is_none() => key.map(|_| false),
        "asc" => ordered.map(|(down, _)| !down),
        "desc" => ordered.map(|(down, _)| down),
        "nulls_first" => ordered.map(|(_, first)| first),
        "nulls_last" => ordered.map(|(_, first)| !first),
        "orderable" => Some(ordered.is_some()),
        "distance_orderable" => Some(false),
        "returnable" => Some(index.method == "btree"),
        "search_array" | "search_nulls" => key.map(|_| index.method == "btree"),
        _ => None,
    })
}

/// `pg_sequence_parameters(sequence)`.
fn sequence_parameters(call: &Call<'_>) -> Result<Rows> {
    let found = call.env.lookup().sequence_traits(call.oid(0)?);
    let row = found.map(|found| {
        let [start, min, max, increment] = found.numbers.map(Datum::Int);
        Row::from([
            start,
            min,
            max,
            increment,
            Datum::Bool(found.cycle),
            Datum::Int(found.cache),
            Datum::Int(found.ty.into()),
        ])
    });
    rows(row.into_iter())
}

fn register_traits(registry: &mut Registry) {
    registry.add("pg_indexam_has_property(oid, text) -> bool stable", method_has);
    registry.add("pg_index_has_property(regclass, text) -> bool stable", index_has);
    registry.add("pg_index_column_has_property(regclass, int4, text) -> bool stable", column_has);
    registry.set(
        "pg_sequence_parameters(oid) -> start_value int8, minimum_value int8, \
         maximum_value int8, increment int8, cycle_option bool, cache_size int8, data_type oid",
        sequence_parameters,
    );
}
