//! Random UUIDs, and the random bytes under them.

use braid_types::{Datum, Result};

use crate::Call;
use crate::registry::Registry;

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

pub(crate) fn register(registry: &mut Registry) {
    registry.add("gen_random_uuid|uuid_generate_v4() -> uuid volatile", random_uuid);
}
