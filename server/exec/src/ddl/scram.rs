//! SCRAM-SHA-256 secrets in PostgreSQL's form.

use std::num::NonZeroU32;

use ring::{digest, hmac, pbkdf2, rand};

/// PostgreSQL's number of iterations.
const ITERATIONS: NonZeroU32 = NonZeroU32::new(4096).expect("more than none");

/// Sixteen bytes that nobody can guess; `None` if the system has none to give.
pub(super) fn salt() -> Option<[u8; 16]> {
    let mut salt = [0; 16];
    let random = rand::SystemRandom::new();
    rand::SecureRandom::fill(&random, &mut salt).ok()?;
    Some(salt)
}

/// `SCRAM-SHA-256$4096:salt$StoredKey:ServerKey` of a password, as `pg_authid` holds it.
pub fn scram_secret(password: &str, salt: &[u8]) -> String {
    let mut salted = [0_u8; 32];
    let algorithm = pbkdf2::PBKDF2_HMAC_SHA256;
    pbkdf2::derive(algorithm, ITERATIONS, salt, password.as_bytes(), &mut salted);
    let client_key = keyed(&salted, b"Client Key");
    let stored_key = digest::digest(&digest::SHA256, client_key.as_ref());
    let server_key = keyed(&salted, b"Server Key");
    let (salt, stored) = (base64(salt), base64(stored_key.as_ref()));
    let server = base64(server_key.as_ref());
    format!("SCRAM-SHA-256${ITERATIONS}:{salt}${stored}:{server}")
}

/// Whether a password is such a secret already, so that it is stored as it is.
pub(super) fn is_secret(password: &str) -> bool {
    password.starts_with("SCRAM-SHA-256$") && password.matches('$').count() == 2
}

fn keyed(key: &[u8], message: &[u8]) -> hmac::Tag {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), message)
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut group = [0_u8; 3];
        group[..chunk.len()].copy_from_slice(chunk);
        let number = u32::from_be_bytes([0, group[0], group[1], group[2]]);
        for place in 0..4 {
            let index = (number >> (18 - 6 * place)) & 63;
            let letter = if place <= chunk.len() { LETTERS[index as usize] } else { b'=' };
            out.push(char::from(letter));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_pads() {
        assert_eq!(base64(b"f"), "Zg==");
        assert_eq!(base64(b"fo"), "Zm8=");
        assert_eq!(base64(b"foobar"), "Zm9vYmFy");
    }

    /// The example of RFC 7677: its server signature follows from these keys.
    #[test]
    fn secret_of_the_rfc() {
        let salt = [
            0x5b, 0x6d, 0x99, 0x68, 0x9d, 0x12, 0x35, 0x8e, 0xec, 0xa0, 0x4b, 0x14, 0x12, 0x36,
            0xfa, 0x81,
        ];
        let secret = scram_secret("pencil", &salt);
        assert_eq!(
            secret,
            "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$\
             WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:\
             wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
        );
    }
}
