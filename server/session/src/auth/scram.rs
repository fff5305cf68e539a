//! SCRAM-SHA-256 (RFC 5802, RFC 7677) without channel binding.
//!
//! Here: the stored secret in PostgreSQL's form, and the server's half of the exchange. A user
//! who does not exist gets an exchange with a made-up secret, so that names cannot be probed.
//!
//! Rules: a password is never kept nor logged; the proof is compared in constant time.

use std::num::NonZeroU32;

use braid_types::{Error, Result, SqlState};
use ring::rand::{SecureRandom, SystemRandom};
use ring::{digest, hmac, pbkdf2};

/// PostgreSQL's default; the client does this many rounds at each connection.
const ITERATIONS: u32 = 4096;
const SALT_LEN: usize = 16;
const PREFIX: &str = "SCRAM-SHA-256$";

/// What is stored instead of a password.
#[derive(Clone)]
pub struct ScramSecret {
    iterations: u32,
    salt: Vec<u8>,
    stored_key: Vec<u8>,
    server_key: Vec<u8>,
}

/// The secret of a password in PostgreSQL's form: `SCRAM-SHA-256$4096:salt$stored:server`.
pub fn hash_password(password: &str) -> Result<String> {
    let mut salt = [0u8; SALT_LEN];
    fill_random(&mut salt)?;
    Ok(ScramSecret::derive(password, &salt, ITERATIONS).to_text())
}

fn fill_random(bytes: &mut [u8]) -> Result<()> {
    SystemRandom::new().fill(bytes).map_err(|_| Error::internal("could not generate random bytes"))
}

fn hmac_sha256(key: &[u8], data: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), data).as_ref().to_vec()
}

fn sha256(data: &[u8]) -> Vec<u8> {
    digest::digest(&digest::SHA256, data).as_ref().to_vec()
}

impl ScramSecret {
    fn derive(password: &str, salt: &[u8], iterations: u32) -> ScramSecret {
        let rounds = NonZeroU32::new(iterations).unwrap_or(NonZeroU32::MIN);
        let mut salted = [0u8; digest::SHA256_OUTPUT_LEN];
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, salt, password.as_bytes(), &mut salted);
        ScramSecret {
            iterations,
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
            iterations: iterations.parse().ok().filter(|n| *n > 0)?,
            salt: base64_decode(salt)?,
            stored_key: base64_decode(stored)?,
            server_key: base64_decode(server)?,
        };
        let whole = secret.stored_key.len() == digest::SHA256_OUTPUT_LEN
            && secret.server_key.len() == digest::SHA256_OUTPUT_LEN;
        whole.then_some(secret)
    }

    fn to_text(&self) -> String {
        format!(
            "{PREFIX}{}:{}${}:{}",
            self.iterations,
            base64_encode(&self.salt),
            base64_encode(&self.stored_key),
            base64_encode(&self.server_key)
        )
    }

    /// A secret that no password fits; the same salt each time for the same user.
    fn made_up(user: &str, seed: &[u8]) -> ScramSecret {
        let salt = hmac_sha256(seed, user.as_bytes());
        ScramSecret {
            iterations: ITERATIONS,
            salt: salt[..SALT_LEN].to_vec(),
            stored_key: vec![0; digest::SHA256_OUTPUT_LEN],
            server_key: vec![0; digest::SHA256_OUTPUT_LEN],
        }
    }
}

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
        self.nonce = format!("{client_nonce}{}", base64_encode(&random));
        self.gs2_header = format!("{flag},,");
        self.client_first_bare = bare.to_owned();
        self.server_first = format!(
            "r={},s={},i={}",
            self.nonce,
            base64_encode(&self.secret.salt),
            self.secret.iterations
        );
        Ok(self.server_first.clone())
    }

    /// Takes the client's last message; returns the server's last, or 28P01 for a wrong password.
    pub fn finish(&self, message: &str) -> Result<String> {
        let (without_proof, proof) =
            message.rsplit_once(",p=").ok_or_else(|| protocol_error("the proof is missing"))?;
        let proof = base64_decode(proof).ok_or_else(|| protocol_error("the proof is malformed"))?;
        if proof.len() != digest::SHA256_OUTPUT_LEN {
            return Err(protocol_error("the proof is malformed"));
        }
        let mut attributes = without_proof.split(',');
        let binding = attributes.next().and_then(|binding| binding.strip_prefix("c="));
        if binding != Some(base64_encode(self.gs2_header.as_bytes()).as_str()) {
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
        Ok(format!("v={}", base64_encode(&server_signature)))
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

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64_encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut word = [0u8; 3];
        word[..chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes([0, word[0], word[1], word[2]]);
        for place in 0..4 {
            if place <= chunk.len() {
                let index = (bits >> (18 - 6 * place)) & 0x3f;
                out.push(char::from(ALPHABET[index as usize]));
            } else {
                out.push('=');
            }
        }
    }
    out
}

fn base64_decode(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let body = text.trim_end_matches('=');
    if text.len() - body.len() > 2 {
        return None;
    }
    let mut out = Vec::with_capacity(body.len() * 3 / 4);
    let (mut bits, mut count) = (0u32, 0);
    for byte in body.bytes() {
        let value = ALPHABET.iter().position(|letter| *letter == byte)?;
        bits = (bits << 6) | u32::try_from(value).ok()?;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(((bits >> count) & 0xff) as u8);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays the client of RFC 5802.
    fn prove(password: &str, bare: &str, server_first: &str) -> String {
        let field = |name: &str| {
            server_first.split(',').find_map(|part| part.strip_prefix(name)).unwrap().to_owned()
        };
        let salt = base64_decode(&field("s=")).unwrap();
        let rounds = NonZeroU32::new(field("i=").parse().unwrap()).unwrap();
        let mut salted = [0u8; 32];
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, &salt, password.as_bytes(), &mut salted);
        let client_key = hmac_sha256(&salted, b"Client Key");
        let last = format!("c=biws,r={}", field("r="));
        let auth = format!("{bare},{server_first},{last}");
        let signature = hmac_sha256(&sha256(&client_key), auth.as_bytes());
        let proof: Vec<u8> = client_key.iter().zip(&signature).map(|(a, b)| a ^ b).collect();
        format!("{last},p={}", base64_encode(&proof))
    }

    fn exchange(stored: Option<&str>, given: &str) -> Result<String> {
        let secret = stored.map(|text| ScramSecret::parse(&hash_password(text).unwrap()).unwrap());
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

    #[test]
    fn secrets_survive_their_text_form() {
        let text = hash_password("x").unwrap();
        assert_eq!(ScramSecret::parse(&text).unwrap().to_text(), text);
        assert!(ScramSecret::parse("SCRAM-SHA-256$0:AAAA$AAAA:AAAA").is_none());
        assert!(ScramSecret::parse("password").is_none());
    }

    #[test]
    fn base64_is_the_usual_one() {
        for (plain, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v")] {
            assert_eq!(base64_encode(plain.as_bytes()), coded);
            assert_eq!(base64_decode(coded).unwrap(), plain.as_bytes());
        }
    }
}
