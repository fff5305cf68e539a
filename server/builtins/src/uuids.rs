//! Random UUIDs, the random bytes under them, and numbers for rows without a primary key.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use braid_types::{Datum, Result};

use crate::Call;
use crate::registry::Registry;

/// How many row numbers a microsecond has room for, in bits.
const ROWID_BITS: u32 = 12;

/// Sixteen bytes from the operating system.
pub(crate) fn random_bytes() -> [u8; 16] {
    let mut bytes = [0; 16];
    if getrandom::fill(&mut bytes).is_err() {
        // Without a source of randomness a fixed seed is better than a panic; uniqueness is gone.
        bytes = *b"braid-no-entropy";
    }
    bytes
}

fn random_uuid(_: &Call<'_>) -> Result<Datum> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| braid_types::Error::internal(format!("no random values: {error}")))?;
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    Ok(Datum::Uuid(bytes))
}

/// Above every number before in this process; the time leads, so that later rows come later and a
/// restart goes on above.
fn unique_rowid(_: &Call<'_>) -> Result<Datum> {
    static LAST: AtomicI64 = AtomicI64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let micros = i64::try_from(now.as_micros()).unwrap_or(0) & 0x0007_ffff_ffff_ffff;
    let start = micros << ROWID_BITS;
    let before = LAST.fetch_max(start, Ordering::Relaxed);
    let number = if before < start { start } else { LAST.fetch_add(1, Ordering::Relaxed) + 1 };
    Ok(Datum::Int(number))
}

pub(crate) fn register(registry: &mut Registry) {
    registry.add("unique_rowid() -> int8 volatile", unique_rowid);
    registry.add("gen_random_uuid|uuid_generate_v4() -> uuid volatile", random_uuid);
}
