//! The server's half of a SCRAM-SHA-256 exchange (RFC 5802, RFC 7677) without channel binding.
//!
//! A user who does not exist gets an exchange with a made-up secret, so that names cannot be
//! probed.

use braid_types::{Error, Result, SqlState};
use ring::digest;

use crate::base64;
use crate::crypto::{fill_random, hmac_sha256, sha256};
use crate::secret::ScramSecret;

/// The server's half of one exchange.
pub struct ScramExchange {
    user: String,
    secret: ScramSecret,
    /// False for a made-up secret: even a proof that fits is refused.
    genuine: bool,
    client_first_bare: String,
    server_first: String,
    nonce: String,
    gs2_header: String,
}

impl ScramExchange {
    /// An exchange for `user`. Without a secret it always fails at its end; `seed` is the
    /// server's own random secret that makes up the salt.
    pub fn new(user: &str, secret: Option<ScramSecret>, seed: &[u8]) -> ScramExchange {
        ScramExchange {
            user: user.to_owned(),
            genuine: secret.is_some(),
            secret: secret.unwrap_or_else(|| ScramSecret::made_up(user, seed)),
            client_first_bare: String::new(),
            server_first: String::new(),
            nonce: String::new(),
            gs2_header: String::new(),
        }
    }

    /// Takes the client's first message, returns the server's first.
    pub fn first(&mut self, message: &str) -> Result<String> {
        let malformed = |what: &str| protocol_error(what);
        let mut parts = message.splitn(3, ',');
        let flag = parts.next().unwrap_or_default();
        let authzid = parts.next().ok_or_else(|| malformed("the message is too short"))?;
        let bare = parts.next().ok_or_else(|| malformed("the message is too short"))?;
        match flag {
            "n" | "y" => {}
            f if f.starts_with("p=") => {
                return Err(protocol_error("the client asked for channel binding"));
            }
            _ => return Err(malformed("unexpected channel-binding flag")),
        }
        if !authzid.is_empty() {
            return Err(Error::unsupported("an authorization identity in SCRAM"));
        }
        let mut attributes = bare.split(',');
        match attributes.next() {
            Some(user) if user.starts_with("n=") => {}
            Some(extension) if extension.starts_with("m=") => {
                return Err(Error::unsupported("a mandatory SCRAM extension"));
            }
            _ => return Err(malformed("the user name is missing")),
        }
        let client_nonce = attributes
            .next()
            .and_then(|nonce| nonce.strip_prefix("r="))
            .filter(|nonce| !nonce.is_empty() && nonce.bytes().all(|b| (0x21..0x7f).contains(&b)))
            .ok_or_else(|| malformed("the nonce is missing or not printable"))?;
        let mut random = [0u8; 18];
        fill_random(&mut random)?;
        self.nonce = format!("{client_nonce}{}", base64::encode(&random));
        self.gs2_header = format!("{flag},,");
        self.client_first_bare = bare.to_owned();
        self.server_first = format!(
            "r={},s={},i={}",
            self.nonce,
            base64::encode(&self.secret.salt),
            self.secret.iterations
        );
        Ok(self.server_first.clone())
    }

    /// Takes the client's last message; returns the server's last, or 28P01 for a wrong password.
    pub fn finish(&self, message: &str) -> Result<String> {
        let (without_proof, proof) =
            message.rsplit_once(",p=").ok_or_else(|| protocol_error("the proof is missing"))?;
        let proof =
            base64::decode(proof).ok_or_else(|| protocol_error("the proof is malformed"))?;
        if proof.len() != digest::SHA256_OUTPUT_LEN {
            return Err(protocol_error("the proof is malformed"));
        }
        let mut attributes = without_proof.split(',');
        let binding = attributes.next().and_then(|binding| binding.strip_prefix("c="));
        if binding != Some(base64::encode(self.gs2_header.as_bytes()).as_str()) {
            return Err(protocol_error("the channel binding does not match"));
        }
        let nonce = attributes.next().and_then(|nonce| nonce.strip_prefix("r="));
        if nonce != Some(self.nonce.as_str()) {
            return Err(protocol_error("the nonce does not match"));
        }
        let auth = format!("{},{},{without_proof}", self.client_first_bare, self.server_first);
        let signature = hmac_sha256(&self.secret.stored_key, auth.as_bytes());
        let client_key: Vec<u8> = proof.iter().zip(&signature).map(|(a, b)| a ^ b).collect();
        let same = same_bytes(&sha256(&client_key), &self.secret.stored_key);
        if !(same && self.genuine) {
            return Err(Error::new(
                SqlState::InvalidPassword,
                format!("password authentication failed for user \"{}\"", self.user),
            ));
        }
        let server_signature = hmac_sha256(&self.secret.server_key, auth.as_bytes());
        Ok(format!("v={}", base64::encode(&server_signature)))
    }
}

/// Compares in a time that does not depend on where the first difference is.
fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    let difference = a.iter().zip(b).fold(0, |sum, (x, y)| sum | (x ^ y));
    a.len() == b.len() && difference == 0
}

fn protocol_error(detail: &str) -> Error {
    Error::new(SqlState::ProtocolViolation, "malformed SCRAM message").detail(detail)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use ring::pbkdf2;

    use super::*;
    use crate::secret::scram_secret;

    /// Plays the client of RFC 5802.
    fn prove(password: &str, bare: &str, server_first: &str) -> String {
        let field = |name: &str| {
            server_first.split(',').find_map(|part| part.strip_prefix(name)).unwrap().to_owned()
        };
        let salt = base64::decode(&field("s=")).unwrap();
        let rounds = NonZeroU32::new(field("i=").parse().unwrap()).unwrap();
        let mut salted = [0u8; 32];
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, &salt, password.as_bytes(), &mut salted);
        let client_key = hmac_sha256(&salted, b"Client Key");
        let last = format!("c=biws,r={}", field("r="));
        let auth = format!("{bare},{server_first},{last}");
        let signature = hmac_sha256(&sha256(&client_key), auth.as_bytes());
        let proof: Vec<u8> = client_key.iter().zip(&signature).map(|(a, b)| a ^ b).collect();
        format!("{last},p={}", base64::encode(&proof))
    }

    fn exchange(stored: Option<&str>, given: &str) -> Result<String> {
        let secret = stored.map(|text| ScramSecret::parse(&scram_secret(text, b"salt")).unwrap());
        let mut server = ScramExchange::new("ann", secret, b"seed");
        let bare = "n=,r=abcdef";
        let first = server.first(&format!("n,,{bare}"))?;
        server.finish(&prove(given, bare, &first))
    }

    #[test]
    fn the_right_password_is_accepted_and_others_are_not() {
        assert!(exchange(Some("secret"), "secret").unwrap().starts_with("v="));
        assert_eq!(exchange(Some("secret"), "wrong").unwrap_err().state().code(), "28P01");
        assert_eq!(exchange(None, "").unwrap_err().state().code(), "28P01");
    }

    #[test]
    fn malformed_messages_are_errors() {
        let mut server = ScramExchange::new("ann", None, b"seed");
        for text in ["", "n", "n,", "n,,", "x,,n=,r=a", "p=tls,,n=,r=a", "n,,n=,r=", "n,a=b,n=,r=x"]
        {
            assert!(server.first(text).is_err(), "{text}");
        }
        for text in ["", "c=biws", "c=biws,r=a,p=", "c=biws,r=a,p=AAAA", "c=,r=,p===="] {
            assert!(server.finish(text).is_err(), "{text}");
        }
    }
}
