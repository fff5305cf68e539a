//! Where the catalog's own pairs lie: system tables with numbers below 100.
//!
//! ```text
//! 1  meta        /1/1             format, version and next id, as JSON
//! 2  descriptor  /2/1/id          one object each, as JSON
//! 3  statistics  /3/1/table id    estimates of ANALYZE, as JSON
//! 4  counter     /4/1/counter     a sequence's counter, outside of transactions
//! 7  backfill    /7/1/table id/index  the first row that is not done
//! 9  dropped     /9/1/data/index  a range that nobody uses any more, as JSON
//! ```
//!
//! Numbers 5, 6, 8, 10 and 11 belong to the crate `cluster`.

use braid_codec::key;
use braid_kv::{Key, Span};
use braid_types::{Datum, SqlType};

use crate::{Id, IndexNumber};

pub(crate) const META: u32 = 1;
pub(crate) const DESCRIPTORS: u32 = 2;
pub(crate) const STATISTICS: u32 = 3;
pub(crate) const COUNTERS: u32 = 4;
pub(crate) const BACKFILLS: u32 = 7;
pub(crate) const DROPPED: u32 = 9;

/// The name of a system table; `None` if that number is none.
pub(crate) fn system_table_name(table: u32) -> Option<&'static str> {
    Some(match table {
        META => "system.meta",
        DESCRIPTORS => "system.descriptor",
        STATISTICS => "system.statistics",
        COUNTERS => "system.counter",
        BACKFILLS => "system.backfill",
        DROPPED => "system.dropped",
        _ => return braid_cluster::system_table_name(table),
    })
}

fn numbered(table: u32, number: i64) -> Key {
    let mut out = key::index_prefix(table, 1);
    key::encode(&mut out, &Datum::Int(number), &SqlType::Int8, false);
    out
}

/// The key of the catalog's version. DDL locks it first, so that DDL transactions queue.
pub fn version_key() -> Key {
    key::index_prefix(META, 1)
}

/// The key of a descriptor: what a statement that used the object hands to
/// [`braid_kv::CommitTerms::require_unchanged`].
pub fn descriptor_key(id: Id) -> Key {
    numbered(DESCRIPTORS, i64::from(id))
}

pub(crate) fn descriptors_span() -> Span {
    Span::prefix(key::index_prefix(DESCRIPTORS, 1))
}

pub(crate) fn statistics_key(table: Id) -> Key {
    numbered(STATISTICS, i64::from(table))
}

pub(crate) fn statistics_span() -> Span {
    Span::prefix(key::index_prefix(STATISTICS, 1))
}

pub(crate) fn counter_key(counter: u64) -> Key {
    numbered(COUNTERS, counter.cast_signed())
}

/// The key of the note of a dropped range; number 0 stands for all of the data.
pub(crate) fn dropped_key(data_id: Id, number: IndexNumber) -> Key {
    of_index(DROPPED, data_id, number)
}

/// Where it is noted how far a backfill has come.
pub(crate) fn backfill_key(table: Id, number: IndexNumber) -> Key {
    of_index(BACKFILLS, table, number)
}

fn of_index(system_table: u32, table: Id, number: IndexNumber) -> Key {
    let mut out = numbered(system_table, i64::from(table));
    key::encode(&mut out, &Datum::Int(i64::from(number)), &SqlType::Int8, false);
    out
}

pub(crate) fn dropped_span() -> Span {
    Span::prefix(key::index_prefix(DROPPED, 1))
}

/// Every key of a table's rows and indexes.
pub fn table_span(data_id: Id) -> Span {
    Span::prefix(key::table_prefix(data_id))
}
