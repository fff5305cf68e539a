//! Hashes: `md5`, the SHA-2 family, and `hashtext`.

use braid_types::{Datum, Result, work};
use md5::Md5;
use sha2::digest::Output;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use super::bytes::hex;
use crate::Call;
use crate::registry::call::text;
use crate::registry::tables::Registry;

/// Bytes between two looks at the stop switch.
const PIECE_BYTES: usize = 1 << 20;

fn digest<D: Digest>(call: &Call<'_>) -> Result<Datum> {
    let hash: &[u8] = &hash_of::<D>(call.bytes(0)?)?;
    Ok(Datum::bytes(hash))
}

/// A hash, computed in pieces so that a stop is noticed.
fn hash_of<D: Digest>(value: &[u8]) -> Result<Output<D>> {
    let mut hash = D::new();
    for piece in value.chunks(PIECE_BYTES) {
        work::spend_bytes(piece.len())?;
        hash.update(piece);
    }
    Ok(hash.finalize())
}

/// A stable 32-bit hash. PostgreSQL promises no particular values for `hashtext`, nor do we.
fn hash_text(call: &Call<'_>) -> Result<Datum> {
    let mut hash = 0x811c_9dc5u32;
    for byte in call.text(0)?.bytes() {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    hash ^= hash >> 15;
    Ok(Datum::Int(i64::from(hash.wrapping_mul(0x85eb_ca6b) as i32)))
}

/// The same with 64 bits and a seed.
fn hash_text_extended(call: &Call<'_>) -> Result<Datum> {
    let mut hash = 0xcbf2_9ce4_8422_2325u64 ^ call.int(1)? as u64;
    for byte in call.text(0)?.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(0xd6e8_feb8_6659_fd93);
    Ok(Datum::Int((hash ^ hash >> 32) as i64))
}

pub(super) fn register(registry: &mut Registry) {
    registry.add("md5(text) -> text", |c| text(hex(&hash_of::<Md5>(c.text(0)?.as_bytes())?)));
    registry.add("md5(bytea) -> text", |c| text(hex(&hash_of::<Md5>(c.bytes(0)?)?)));
    registry.add("sha224(bytea) -> bytea", digest::<Sha224>);
    registry.add("sha256(bytea) -> bytea", digest::<Sha256>);
    registry.add("sha384(bytea) -> bytea", digest::<Sha384>);
    registry.add("sha512(bytea) -> bytea", digest::<Sha512>);
    registry.add("hashtext(text) -> int4", hash_text);
    registry.add("hashtextextended(text, int8) -> int8", hash_text_extended);
}
