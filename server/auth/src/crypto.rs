//! What SCRAM-SHA-256 is made of: HMAC, SHA-256, random bytes.

use braid_types::{Error, Result};
use ring::rand::{SecureRandom, SystemRandom};
use ring::{digest, hmac};

/// HMAC-SHA-256 of `data`.
pub(crate) fn hmac_sha256(key: &[u8], data: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), data).as_ref().to_vec()
}

/// SHA-256 of `data`.
pub(crate) fn sha256(data: &[u8]) -> Vec<u8> {
    digest::digest(&digest::SHA256, data).as_ref().to_vec()
}

/// Fills `bytes` with values that nobody can guess.
pub(crate) fn fill_random(bytes: &mut [u8]) -> Result<()> {
    SystemRandom::new().fill(bytes).map_err(|_| Error::internal("could not generate random bytes"))
}
