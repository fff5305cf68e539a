//! Where the catalog's own pairs lie: system tables with numbers below 100.
//!
//! ```text
//! 1  meta        /1/1             format, version and next id, as JSON
//! 2  descriptor  /2/1/id          one object each, as JSON
//! 3  statistics  /3/1/table id    estimates of ANALYZE, as JSON
//! 4  counter     /4/1/counter     a sequence's counter, outside of transactions
//! 5  commit      /5/1/token       what became of the transaction with that commit token
//! 6  gateway     /6/1/id          a gateway and its lease, as JSON
//!                /6/2/id          a gateway that is changing the schema
//!                /6/3/duty        the gateway that has a duty
//!                /6/4             a number that changes with the stored statistics
//! 7  backfill    /7/1/table id/index  the first row that is not done
//! 8  notification  /8/1/number   notifications of a transaction, in the order of commits
//!                /8/2             a lock: its holder has the next number
//! 9  dropped     /9/1/data/index  a range that nobody uses any more, as JSON
//! ```

use braid_codec::key;
use braid_kv::{Key, Span};
use braid_types::{Datum, SqlType};

use crate::{Id, IndexNumber, Token};

pub(crate) const META: u32 = 1;
pub(crate) const DESCRIPTORS: u32 = 2;
pub(crate) const STATISTICS: u32 = 3;
pub(crate) const COUNTERS: u32 = 4;
pub(crate) const COMMITS: u32 = 5;
pub(crate) const GATEWAYS: u32 = 6;
pub(crate) const BACKFILLS: u32 = 7;
pub(crate) const NOTIFICATIONS: u32 = 8;
pub(crate) const DROPPED: u32 = 9;

/// The name of a system table; `None` if that number is none.
pub(crate) fn system_table_name(table: u32) -> Option<&'static str> {
    Some(match table {
        META => "system.meta",
        DESCRIPTORS => "system.descriptor",
        STATISTICS => "system.statistics",
        COUNTERS => "system.counter",
        COMMITS => "system.commit",
        GATEWAYS => "system.gateway",
        BACKFILLS => "system.backfill",
        NOTIFICATIONS => "system.notification",
        DROPPED => "system.dropped",
        _ => return None,
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
/// [`braid_kv::Transaction::require_unchanged`].
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

/// Where a transaction with this commit token leaves its record.
pub fn token_key(token: Token) -> Key {
    let mut out = key::index_prefix(COMMITS, 1);
    key::encode(&mut out, &Datum::Uuid(token), &SqlType::Uuid, false);
    out
}

pub(crate) fn tokens_span() -> Span {
    Span::prefix(key::index_prefix(COMMITS, 1))
}

/// Everything that gateways tell each other.
pub(crate) fn gateways_span() -> Span {
    Span::prefix(key::table_prefix(GATEWAYS))
}

pub(crate) fn records_span() -> Span {
    Span::prefix(key::index_prefix(GATEWAYS, 1))
}

pub(crate) fn marks_span() -> Span {
    Span::prefix(key::index_prefix(GATEWAYS, 2))
}

pub(crate) fn duties_span() -> Span {
    Span::prefix(key::index_prefix(GATEWAYS, 3))
}

/// Where the notifications with a number lie.
pub(crate) fn notification_key(number: u64) -> Key {
    numbered(NOTIFICATIONS, number.cast_signed())
}

/// The number in a key of [`notification_key`].
pub(crate) fn notification_number(key: &[u8]) -> Option<u64> {
    let mut column = key.strip_prefix(key::index_prefix(NOTIFICATIONS, 1).as_slice())?;
    let number = key::decode(&mut column, &SqlType::Int8, false).ok()?.as_int()?;
    u64::try_from(number).ok()
}

/// The numbers after this one.
pub(crate) fn notifications_after(number: u64) -> Span {
    let all = Span::prefix(key::index_prefix(NOTIFICATIONS, 1));
    Span { start: notification_key(number.saturating_add(1)), ..all }
}

/// What is locked before a number is taken.
pub(crate) fn notification_lock_key() -> Key {
    key::index_prefix(NOTIFICATIONS, 2)
}

fn of_gateway(index: u16, gateway: u64) -> Key {
    let mut out = key::index_prefix(GATEWAYS, index);
    key::encode(&mut out, &Datum::Int(gateway.cast_signed()), &SqlType::Int8, false);
    out
}

pub(crate) fn record_key(gateway: u64) -> Key {
    of_gateway(1, gateway)
}

pub(crate) fn mark_key(gateway: u64) -> Key {
    of_gateway(2, gateway)
}

pub(crate) fn duty_key(duty: &str) -> Key {
    let mut out = key::index_prefix(GATEWAYS, 3);
    key::encode(&mut out, &Datum::text(duty), &SqlType::Text, false);
    out
}

pub(crate) fn statistics_stamp_key() -> Key {
    key::index_prefix(GATEWAYS, 4)
}

/// Where the note of a dropped range lies; number 0 stands for all of the data.
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
