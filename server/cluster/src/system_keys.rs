//! The system tables of this crate and their keys.
//!
//! ```text
//! 5  commit        /5/1/token   the outcome of the transaction with that commit token
//! 6  gateway       /6/1/id      a gateway and its lease, as JSON
//!                  /6/2/id      a gateway that is changing the schema
//!                  /6/3/duty    the gateway that has a duty
//!                  /6/4         a number that changes with the stored statistics
//! 8  notification  /8/1/number  notifications of a transaction, in the order of commits
//!                  /8/2         a lock: its holder has the next number
//! 10 advisory lock /10/1/lock   the sessions that hold an advisory lock, as JSON
//!                  /10/2/id     what a gateway says of waits for rows, as JSON
//! 11 prepared      /11/1/gid    a prepared transaction; the number of a part follows
//! ```
//!
//! The other numbers below 100 belong to the crate `catalog`.

use braid_codec::key;
use braid_kv::{Key, Span};
use braid_types::{Datum, SqlType};

/// A commit token: the bytes of a uuid.
pub type Token = [u8; 16];

const COMMITS: u32 = 5;
const GATEWAYS: u32 = 6;
const NOTIFICATIONS: u32 = 8;
const ADVISORY_LOCKS: u32 = 10;
const PREPARED: u32 = 11;

/// The name of a system table of this crate; `None` if that number is none.
pub fn system_table_name(table: u32) -> Option<&'static str> {
    Some(match table {
        COMMITS => "system.commit",
        GATEWAYS => "system.gateway",
        NOTIFICATIONS => "system.notification",
        ADVISORY_LOCKS => "system.advisory_lock",
        PREPARED => "system.prepared_transaction",
        _ => return None,
    })
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
    let mut out = key::index_prefix(NOTIFICATIONS, 1);
    key::encode(&mut out, &Datum::Int(number.cast_signed()), &SqlType::Int8, false);
    out
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

/// Where the record of a lock stands that sessions hold; `lock` is what is locked.
pub(crate) fn lock_record_key(lock: &[u8]) -> Key {
    let mut out = key::index_prefix(ADVISORY_LOCKS, 1);
    key::encode(&mut out, &Datum::bytes(lock), &SqlType::Bytes, false);
    out
}

/// What is locked by the record with a key of [`lock_record_key`].
pub(crate) fn lock_of_record_key(key: &[u8]) -> Option<Key> {
    let mut column = key.strip_prefix(key::index_prefix(ADVISORY_LOCKS, 1).as_slice())?;
    let lock = key::decode(&mut column, &SqlType::Bytes, false).ok()?;
    lock.as_bytes().map(<[u8]>::to_vec)
}

/// The records of all locks that sessions hold.
pub(crate) fn lock_records_span() -> Span {
    Span::prefix(key::index_prefix(ADVISORY_LOCKS, 1))
}

/// What all gateways say of waits for locks of rows.
pub(crate) fn row_waits_span() -> Span {
    Span::prefix(key::index_prefix(ADVISORY_LOCKS, 2))
}

/// Where a gateway says which of its transactions wait for locks of rows.
pub(crate) fn row_waits_key(gateway: u64) -> Key {
    numbered(ADVISORY_LOCKS, 2, gateway)
}

/// The gateway in a key of [`row_waits_key`].
pub(crate) fn gateway_of_row_waits(key: &[u8]) -> Option<u64> {
    let mut column = key.strip_prefix(key::index_prefix(ADVISORY_LOCKS, 2).as_slice())?;
    let gateway = key::decode(&mut column, &SqlType::Int8, false).ok()?.as_int()?;
    Some(gateway.cast_unsigned())
}

/// Where the record of the prepared transaction with this identifier is: its parts have keys that
/// begin with this.
pub(crate) fn prepared_key(gid: &str) -> Key {
    let mut out = key::index_prefix(PREPARED, 1);
    key::encode(&mut out, &Datum::text(gid), &SqlType::Text, false);
    out
}

/// The records of all prepared transactions.
pub(crate) fn prepared_span() -> Span {
    Span::prefix(key::index_prefix(PREPARED, 1))
}

fn numbered(table: u32, index: u16, gateway: u64) -> Key {
    let mut out = key::index_prefix(table, index);
    key::encode(&mut out, &Datum::Int(gateway.cast_signed()), &SqlType::Int8, false);
    out
}

pub(crate) fn record_key(gateway: u64) -> Key {
    numbered(GATEWAYS, 1, gateway)
}

pub(crate) fn mark_key(gateway: u64) -> Key {
    numbered(GATEWAYS, 2, gateway)
}

pub(crate) fn duty_key(duty: &str) -> Key {
    let mut out = key::index_prefix(GATEWAYS, 3);
    key::encode(&mut out, &Datum::text(duty), &SqlType::Text, false);
    out
}

/// Where a number stands that changes with the stored statistics.
pub fn statistics_stamp_key() -> Key {
    key::index_prefix(GATEWAYS, 4)
}
