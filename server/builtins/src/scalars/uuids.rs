//! Random UUIDs, the random bytes under them, and numbers for rows without a primary key.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use braid_types::{Datum, Result};
use md5::{Digest, Md5};
use sha1::Sha1;

use crate::Call;
use crate::registry::tables::Registry;

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

/// Hundreds of nanoseconds from 1582-10-15 to 1970.
const GREGORIAN_TICKS: u64 = 0x01b2_1dd2_1381_4000;

/// A uuid of the time, with a random node: nobody learns this machine's address from it.
fn time_uuid(_: &Call<'_>) -> Result<Datum> {
    static LAST: AtomicI64 = AtomicI64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(now.as_nanos() / 100).unwrap_or(0);
    let before = LAST.fetch_max(now, Ordering::Relaxed);
    let ticks = if before < now { now } else { LAST.fetch_add(1, Ordering::Relaxed) + 1 };
    let ticks = (ticks as u64).wrapping_add(GREGORIAN_TICKS);
    let mut bytes = random_bytes();
    bytes[..4].copy_from_slice(&(ticks as u32).to_be_bytes());
    bytes[4..6].copy_from_slice(&((ticks >> 32) as u16).to_be_bytes());
    bytes[6..8].copy_from_slice(&((ticks >> 48) as u16 & 0x0fff | 0x1000).to_be_bytes());
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    // The multicast bit says that the node is no address.
    bytes[10] |= 1;
    Ok(Datum::Uuid(bytes))
}

/// The uuid of a name in a namespace.
fn named_uuid<D: Digest>(call: &Call<'_>, version: u8) -> Result<Datum> {
    let Datum::Uuid(space) = call.datum(0) else {
        return Err(braid_types::Error::internal("a namespace that is no uuid"));
    };
    let hash = D::new().chain_update(space).chain_update(call.text(1)?.as_bytes()).finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash[..16]);
    bytes[6] = (bytes[6] & 0x0f) | version << 4;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    Ok(Datum::Uuid(bytes))
}

/// The namespace of that number in RFC 4122.
fn namespace(number: u8) -> Result<Datum> {
    Ok(Datum::Uuid([
        0x6b, 0xa7, 0xb8, number, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30,
        0xc8,
    ]))
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
    registry.add("uuid_generate_v1|uuid_generate_v1mc() -> uuid volatile", time_uuid);
    registry.add("uuid_generate_v3(uuid, text) -> uuid", |c| named_uuid::<Md5>(c, 3));
    registry.add("uuid_generate_v5(uuid, text) -> uuid", |c| named_uuid::<Sha1>(c, 5));
    registry.add("uuid_nil() -> uuid", |_| Ok(Datum::Uuid([0; 16])));
    registry.add("uuid_ns_dns() -> uuid", |_| namespace(0x10));
    registry.add("uuid_ns_url() -> uuid", |_| namespace(0x11));
    registry.add("uuid_ns_oid() -> uuid", |_| namespace(0x12));
    registry.add("uuid_ns_x500() -> uuid", |_| namespace(0x14));
}
