//! The functions of PostgreSQL's extension `pgcrypto` for hashes, passwords and random bytes.
//!
//! Not here: its encryption (`encrypt`, `pgp_…`), and passwords by DES.

use blowfish::Blowfish;
use braid_types::{Datum, Error, Result, work};
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use crate::Call;
use crate::registry::call::{invalid, text};
use crate::registry::tables::Registry;

/// The digits of md5-crypt, from the lowest.
const DIGITS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// The digits of bcrypt, from the lowest.
const BCRYPT_DIGITS: &[u8; 64] =
    b"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/// Bytes of a password that bcrypt looks at, with the zero at its end.
const BCRYPT_PASSWORD_MAX: usize = 72;
/// Rounds of bcrypt, as a power of two, unless the caller says otherwise.
const BCRYPT_COST: u32 = 6;
/// Units of work of one round of bcrypt, which takes about 40 µs.
const BCRYPT_ROUND_UNITS: u32 = 100;
/// What bcrypt encrypts with the key that it has made.
const BCRYPT_TEXT: &[u8; 24] = b"OrpheanBeholderScryDoubt";
/// How many times it does so.
const BCRYPT_ENCRYPTIONS: usize = 64;
/// Rounds of md5-crypt.
const MD5_ROUNDS: usize = 1000;
/// How many random bytes one call gives at most.
const RANDOM_BYTES_MAX: i64 = 1024;

/// Hashes the concatenation of parts.
type Hash = fn(&[&[u8]]) -> Vec<u8>;

fn hash<D: Digest>(parts: &[&[u8]]) -> Vec<u8> {
    let mut state = D::new();
    for part in parts {
        state.update(part);
    }
    state.finalize().to_vec()
}

/// A hash by name, with the bytes of its block; 22023 if there is none.
fn algorithm(name: &str) -> Result<(Hash, usize)> {
    Ok(match name.to_ascii_lowercase().as_str() {
        "md5" => (hash::<Md5>, 64),
        "sha1" | "sha-1" => (hash::<Sha1>, 64),
        "sha224" | "sha-224" => (hash::<Sha224>, 64),
        "sha256" | "sha-256" => (hash::<Sha256>, 64),
        "sha384" | "sha-384" => (hash::<Sha384>, 128),
        "sha512" | "sha-512" => (hash::<Sha512>, 128),
        _ => return Err(invalid(format!("Cannot use \"{name}\": No such hash algorithm"))),
    })
}

/// The bytes of a text or bytea argument.
fn bytes<'a>(call: &'a Call<'_>, index: usize) -> Result<&'a [u8]> {
    match call.datum(index) {
        Datum::Text(value) => Ok(value.as_bytes()),
        _ => call.bytes(index),
    }
}

fn digest(call: &Call<'_>) -> Result<Datum> {
    let (hash, _) = algorithm(call.text(1)?)?;
    Ok(Datum::bytes(hash(&[bytes(call, 0)?])))
}

fn hmac(call: &Call<'_>) -> Result<Datum> {
    let (hash, block) = algorithm(call.text(2)?)?;
    let (data, key) = (bytes(call, 0)?, bytes(call, 1)?);
    let mut padded = if key.len() > block { hash(&[key]) } else { key.to_vec() };
    padded.resize(block, 0);
    let masked = |mask: u8| -> Vec<u8> { padded.iter().map(|byte| byte ^ mask).collect() };
    let inner = hash(&[&masked(0x36), data]);
    Ok(Datum::bytes(hash(&[&masked(0x5c), &inner])))
}

fn random(count: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; count];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::internal(format!("no random values: {error}")))?;
    Ok(bytes)
}

fn random_bytes(call: &Call<'_>) -> Result<Datum> {
    let count = call.int(0)?;
    if !(1..=RANDOM_BYTES_MAX).contains(&count) {
        return Err(invalid("Length not in range"));
    }
    Ok(Datum::bytes(random(count as usize)?))
}

fn unsupported(what: &str) -> Error {
    Error::unsupported(format!("crypt with {what}")).hint("The algorithms are bf (bcrypt) and md5.")
}

fn gen_salt(call: &Call<'_>) -> Result<Datum> {
    let rounds = if call.args.len() > 1 { call.int(1)? } else { 0 };
    let wrong_rounds = || invalid("gen_salt: Incorrect number of rounds");
    match call.text(0)?.to_ascii_lowercase().as_str() {
        "bf" => {
            let cost = match rounds {
                0 => BCRYPT_COST,
                4..=31 => rounds as u32,
                _ => return Err(wrong_rounds()),
            };
            let salt = bcrypt_base64(&random(16)?);
            text(format!("$2a${cost:02}${salt}"))
        }
        "md5" if rounds == 0 || rounds == MD5_ROUNDS as i64 => {
            let letters = random(8)?.into_iter().map(|byte| DIGITS[usize::from(byte & 63)]);
            text(format!("$1${}", letters.map(char::from).collect::<String>()))
        }
        "md5" => Err(wrong_rounds()),
        "des" | "xdes" => Err(unsupported("DES")),
        _ => Err(invalid("gen_salt: Unknown salt algorithm")),
    }
}

fn crypt(call: &Call<'_>) -> Result<Datum> {
    let (password, salt) = (call.text(0)?, call.text(1)?);
    if let Some(rest) = salt.strip_prefix("$1$") {
        let end = rest.find('$').unwrap_or(rest.len()).min(8);
        let end = (0..=end).rev().find(|end| rest.is_char_boundary(*end)).unwrap_or(0);
        return text(md5_crypt(password.as_bytes(), &rest[..end]));
    }
    for version in ["$2a$", "$2b$", "$2y$"] {
        if let Some(rest) = salt.strip_prefix(version) {
            return text(bcrypt_hash(password, version, rest)?);
        }
    }
    if salt.len() < 2 {
        return Err(invalid("invalid salt"));
    }
    Err(unsupported(if salt.starts_with('$') { "such a salt" } else { "DES" }))
}

/// bcrypt's base 64, without padding.
fn bcrypt_base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 4 / 3 + 1);
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..=chunk.len() {
            let value = group >> (18 - 6 * digit) & 63;
            out.push(char::from(BCRYPT_DIGITS[value as usize]));
        }
    }
    out
}

/// The sixteen bytes of a salt in bcrypt's base 64.
fn bcrypt_salt(text: &str) -> Option<[u8; 16]> {
    let digit = |letter: &u8| BCRYPT_DIGITS.iter().position(|known| known == letter);
    let letters = text.as_bytes().get(..22)?;
    let mut bits = 0u128;
    for letter in &letters[..21] {
        bits = bits << 6 | digit(letter)? as u128;
    }
    // The last digit has four bits too many.
    bits = bits << 2 | (digit(&letters[21])? >> 4) as u128;
    Some(bits.to_be_bytes())
}

/// The hash of a password by `cc$salt…`, with the version and the salt in front.
fn bcrypt_hash(password: &str, version: &str, rest: &str) -> Result<String> {
    let wrong = || invalid("invalid salt");
    let (cost, salt) = rest.split_once('$').ok_or_else(wrong)?;
    let rounds = cost.parse::<u32>().ok().filter(|c| cost.len() == 2 && (4..=31).contains(c));
    let (cost, salt) = (rounds.ok_or_else(wrong)?, bcrypt_salt(salt).ok_or_else(wrong)?);
    let mut key = password.as_bytes().to_vec();
    key.push(0);
    key.truncate(BCRYPT_PASSWORD_MAX);
    let hash = work::aside(|| bcrypt(cost, &salt, &key))?;
    let (salt, hash) = (bcrypt_base64(&salt), bcrypt_base64(&hash[..23]));
    Ok(format!("{version}{cost:02}${salt}{hash}"))
}

/// Provos and Mazières, "A Future-Adaptable Password Scheme". The loop of 2^cost rounds stops with
/// its statement, so every cost is allowed.
fn bcrypt(cost: u32, salt: &[u8; 16], key: &[u8]) -> Result<Vec<u8>> {
    let mut state: Blowfish = Blowfish::bc_init_state();
    state.salted_expand_key(salt, key);
    for _ in 0..1_u32 << cost {
        work::spend(BCRYPT_ROUND_UNITS)?;
        state.bc_expand_key(key);
        state.bc_expand_key(salt);
    }
    let mut hash = Vec::with_capacity(BCRYPT_TEXT.len());
    for block in BCRYPT_TEXT.chunks_exact(8) {
        let word = |bytes: &[u8]| bytes.iter().fold(0, |word, byte| word << 8 | u32::from(*byte));
        let mut pair = [word(&block[..4]), word(&block[4..])];
        for _ in 0..BCRYPT_ENCRYPTIONS {
            pair = state.bc_encrypt(pair);
        }
        hash.extend(pair.iter().flat_map(|word| word.to_be_bytes()));
    }
    Ok(hash)
}

/// The `crypt` of FreeBSD with MD5.
fn md5_crypt(password: &[u8], salt: &str) -> String {
    let mixed = hash::<Md5>(&[password, salt.as_bytes(), password]);
    let mut first = Md5::new();
    first.update(password);
    first.update(b"$1$");
    first.update(salt.as_bytes());
    for chunk in password.chunks(16) {
        first.update(&mixed[..chunk.len()]);
    }
    let mut length = password.len();
    while length > 0 {
        first.update(if length & 1 == 1 { &[0][..] } else { &password[..1] });
        length >>= 1;
    }
    let mut state = first.finalize().to_vec();
    for round in 0..MD5_ROUNDS {
        let mut next = Md5::new();
        next.update(if round % 2 == 1 { password } else { &state });
        if round % 3 != 0 {
            next.update(salt.as_bytes());
        }
        if round % 7 != 0 {
            next.update(password);
        }
        next.update(if round % 2 == 1 { &state } else { password });
        state = next.finalize().to_vec();
    }
    let mut out = format!("$1${salt}$");
    let mut push = |value: u32, digits: u32| {
        for digit in 0..digits {
            out.push(char::from(DIGITS[(value >> (6 * digit) & 63) as usize]));
        }
    };
    for [a, b, c] in [[0, 6, 12], [1, 7, 13], [2, 8, 14], [3, 9, 15], [4, 10, 5]] {
        let byte = |at: usize| u32::from(state[at]);
        push(byte(a) << 16 | byte(b) << 8 | byte(c), 4);
    }
    push(u32::from(state[11]), 2);
    out
}

pub(super) fn register(registry: &mut Registry) {
    registry.add("digest(text, text) -> bytea", digest);
    registry.add("digest(bytea, text) -> bytea", digest);
    registry.add("hmac(text, text, text) -> bytea", hmac);
    registry.add("hmac(bytea, bytea, text) -> bytea", hmac);
    registry.add("crypt(text, text) -> text", crypt);
    registry.add("gen_salt(text) -> text volatile", gen_salt);
    registry.add("gen_salt(text, int4) -> text volatile", gen_salt);
    registry.add("gen_random_bytes(int4) -> bytea volatile", random_bytes);
}
