//! The parts of a timestamp of PD: milliseconds since 1970, and a count within the millisecond.

/// Bits of a timestamp that count within one millisecond.
pub(crate) const LOGICAL_BITS: u32 = 18;

/// Milliseconds of a timestamp.
pub(crate) fn millis(ts: u64) -> u64 {
    ts >> LOGICAL_BITS
}
