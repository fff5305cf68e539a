//! The bytes of a term, and the hash that stands for long ones.

/// The bytes of a term.
pub type Term = Vec<u8>;

/// Bytes of a term at most; longer ones are hashed.
const TERM_BYTES_MAX: usize = 64;

/// A term of at most a fixed size: long contents are replaced by their hash. `long` marks these.
pub(super) fn bounded(mut term: Term, long: u8) -> Term {
    if term.len() > TERM_BYTES_MAX {
        let mut hash = Hash::default();
        hash.add(&term);
        term.clear();
        term.push(long);
        term.extend_from_slice(&hash.0.to_be_bytes());
    }
    term
}

/// FNV-1a of 64 bits. Its values are on disk, so it never changes.
#[derive(Clone, Copy)]
pub(super) struct Hash(pub(super) u64);

impl Default for Hash {
    fn default() -> Self {
        Hash(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_terms_are_hashed_alike() {
        let term = |text: &str| bounded(text.as_bytes().to_vec(), 0xff);
        let long = "x".repeat(1_000);
        assert_eq!(term(&long).len(), 9);
        assert_eq!(term(&long), term(&long));
        assert_ne!(term(&long), term(&long[1..]));
        assert_eq!(term("short"), b"short");
    }
}
