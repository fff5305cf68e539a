//! SCRAM-SHA-256 secrets in PostgreSQL's form: what is stored instead of a password.

use std::num::NonZeroU32;

use ring::{digest, pbkdf2};

use crate::base64;
use crate::crypto::{fill_random, hmac_sha256, sha256};

/// PostgreSQL's default number of iterations. The client does as many at each connection.
const ITERATIONS: NonZeroU32 = NonZeroU32::new(4096).expect("more than none");
/// Bytes of a salt.
const SALT_BYTES: usize = 16;
const PREFIX: &str = "SCRAM-SHA-256$";

/// What is stored instead of a password.
#[derive(Clone)]
pub struct ScramSecret {
    pub(crate) iterations: NonZeroU32,
    pub(crate) salt: Vec<u8>,
    pub(crate) stored_key: Vec<u8>,
    pub(crate) server_key: Vec<u8>,
}

/// Sixteen bytes that nobody can guess; `None` if the system has none to give.
pub fn salt() -> Option<[u8; SALT_BYTES]> {
    let mut salt = [0; SALT_BYTES];
    fill_random(&mut salt).ok()?;
    Some(salt)
}

/// `SCRAM-SHA-256$4096:salt$StoredKey:ServerKey` of a password, as `pg_authid` holds it.
pub fn scram_secret(password: &str, salt: &[u8]) -> String {
    ScramSecret::derive(password, salt).to_text()
}

/// Whether a password is such a secret already, so that it is stored as it is.
pub fn is_secret(password: &str) -> bool {
    password.starts_with(PREFIX) && password.matches('$').count() == 2
}

impl ScramSecret {
    fn derive(password: &str, salt: &[u8]) -> ScramSecret {
        let mut salted = [0; digest::SHA256_OUTPUT_LEN];
        let algorithm = pbkdf2::PBKDF2_HMAC_SHA256;
        pbkdf2::derive(algorithm, ITERATIONS, salt, password.as_bytes(), &mut salted);
        ScramSecret {
            iterations: ITERATIONS,
            salt: salt.to_vec(),
            stored_key: sha256(&hmac_sha256(&salted, b"Client Key")),
            server_key: hmac_sha256(&salted, b"Server Key"),
        }
    }

    /// Reads PostgreSQL's form; `None` if it is not one.
    pub fn parse(text: &str) -> Option<ScramSecret> {
        let (head, keys) = text.strip_prefix(PREFIX)?.split_once('$')?;
        let (iterations, salt) = head.split_once(':')?;
        let (stored, server) = keys.split_once(':')?;
        let secret = ScramSecret {
            iterations: iterations.parse().ok()?,
            salt: base64::decode(salt)?,
            stored_key: base64::decode(stored)?,
            server_key: base64::decode(server)?,
        };
        let is_whole = secret.stored_key.len() == digest::SHA256_OUTPUT_LEN
            && secret.server_key.len() == digest::SHA256_OUTPUT_LEN;
        is_whole.then_some(secret)
    }

    fn to_text(&self) -> String {
        format!(
            "{PREFIX}{}:{}${}:{}",
            self.iterations,
            base64::encode(&self.salt),
            base64::encode(&self.stored_key),
            base64::encode(&self.server_key)
        )
    }

    /// A secret that no password fits; the same salt each time for the same user.
    pub(crate) fn made_up(user: &str, seed: &[u8]) -> ScramSecret {
        let salt = hmac_sha256(seed, user.as_bytes());
        ScramSecret {
            iterations: ITERATIONS,
            salt: salt[..SALT_BYTES].to_vec(),
            stored_key: vec![0; digest::SHA256_OUTPUT_LEN],
            server_key: vec![0; digest::SHA256_OUTPUT_LEN],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_survive_their_text_form() {
        let text = scram_secret("x", &salt().unwrap());
        assert!(is_secret(&text));
        assert_eq!(ScramSecret::parse(&text).unwrap().to_text(), text);
        assert!(ScramSecret::parse("SCRAM-SHA-256$0:AAAA$AAAA:AAAA").is_none());
        assert!(ScramSecret::parse("password").is_none());
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
