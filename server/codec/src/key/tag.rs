//! The tag bytes with which columns begin.

pub(super) const END: u8 = 0x01;
pub(super) const FALSE: u8 = 0x08;
pub(super) const TRUE: u8 = 0x09;
/// Negative integers of 8 to 1 bytes are `INT_MIN..INT_ZERO`.
pub(super) const INT_MIN: u8 = 0x10;
/// Small integers are the tag alone: `INT_ZERO + value`.
pub(super) const INT_ZERO: u8 = 0x18;
/// The last tag of a small integer; positive integers of n bytes are `INT_SMALL_MAX + n`.
pub(super) const INT_SMALL_MAX: u8 = 0x85;
pub(super) const INT_ONE_BYTE: u8 = INT_SMALL_MAX + 1;
pub(super) const INT_MAX: u8 = 0x8d;
pub(super) const FLOAT: u8 = 0x90;
pub(super) const TEXT: u8 = 0x98;
pub(super) const BYTES: u8 = 0x99;
pub(super) const UUID: u8 = 0x9a;
pub(super) const NUMERIC_NEG_INFINITY: u8 = 0xa0;
pub(super) const NUMERIC_NEGATIVE: u8 = 0xa1;
pub(super) const NUMERIC_ZERO: u8 = 0xa2;
pub(super) const NUMERIC_POSITIVE: u8 = 0xa3;
pub(super) const NUMERIC_INFINITY: u8 = 0xa4;
pub(super) const NUMERIC_NAN: u8 = 0xa5;
pub(super) const INTERVAL: u8 = 0xb0;
pub(super) const ARRAY: u8 = 0xb8;
pub(super) const RECORD: u8 = 0xb9;
pub(super) const JSONB: u8 = 0xc0;
pub(super) const JSON_TEXT: u8 = 0xc1;
pub(super) const NULL: u8 = 0xfd;
