//! Keys on their way to the cluster: the prefix of the database, and the form in which PD and the
//! regions know a key.
//!
//! Stores take keys as they are. PD and the bounds of regions have them in groups of eight bytes,
//! each followed by a byte that says how much of the group is padding, so that a version number can
//! follow a key without disturbing the order.

use braid_kv::{Key, Span};

const GROUP: usize = 8;
const MARKER: u8 = 0xff;

/// A key as PD and the bounds of regions have it.
pub(crate) fn encode(key: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity((key.len() / GROUP + 1) * (GROUP + 1));
    let mut rest = key;
    loop {
        let taken = rest.len().min(GROUP);
        out.extend_from_slice(&rest[..taken]);
        out.resize(out.len() + GROUP - taken, 0);
        out.push(MARKER - (GROUP - taken) as u8);
        if taken < GROUP {
            return out;
        }
        rest = &rest[GROUP..];
    }
}

/// The key of an encoded one. A bound that was cut short, as of a raw table, gives the first key
/// that is not below it, or nearly so; `None` is for bytes that are no such bound at all.
pub(crate) fn decode(encoded: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(encoded.len());
    for group in encoded.chunks(GROUP + 1) {
        let Some(marker) = group.get(GROUP) else {
            out.extend_from_slice(group);
            return Some(out);
        };
        let padding = usize::from(MARKER - marker);
        if padding > GROUP {
            return None;
        }
        out.extend_from_slice(&group[..GROUP - padding]);
        if padding > 0 {
            return Some(out);
        }
    }
    Some(out)
}

/// What every key of a database starts with.
#[derive(Clone, Debug)]
pub(crate) struct Prefix {
    bytes: Vec<u8>,
}

impl Prefix {
    /// The data of the database that was given this prefix.
    pub fn data(prefix: &str) -> Prefix {
        Prefix { bytes: [prefix.as_bytes(), b"d"].concat() }
    }

    /// What belongs to the store itself.
    pub fn meta(prefix: &str) -> Prefix {
        Prefix { bytes: [prefix.as_bytes(), b"m"].concat() }
    }

    pub fn key(&self, key: &[u8]) -> Key {
        [self.bytes.as_slice(), key].concat()
    }

    pub fn span(&self, span: &Span) -> Span {
        Span::new(self.key(&span.start), self.key(&span.end))
    }

    /// Whether a span with the prefix lies under it as a whole, and is not all of it.
    pub fn contains(&self, span: &Span) -> bool {
        let all = Span::prefix(self.bytes.clone());
        all.start < span.start && span.end <= all.end
    }

    /// The key without the prefix.
    pub fn strip<'a>(&self, key: &'a [u8]) -> &'a [u8] {
        key.strip_prefix(self.bytes.as_slice()).unwrap_or(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_keys_come_back_and_keep_their_order() {
        let keys: [&[u8]; 8] =
            [b"", b"\0", b"\0\0\0\0\0\0\0\0", b"a", b"abcdefgh", b"abcdefgh\0", b"abcdefghi", b"b"];
        for pair in keys.windows(2) {
            assert!(encode(pair[0]) < encode(pair[1]));
        }
        for key in keys {
            assert_eq!(decode(&encode(key)).unwrap(), key);
        }
    }

    #[test]
    fn spans_stay_within_the_prefix() {
        let prefix = Prefix::data("x/");
        let all = prefix.span(&Span::new([0].as_slice(), [0xff; 20].as_slice()));
        assert!(all.start.starts_with(b"x/d") && all.end <= b"x/e".to_vec());
        assert_eq!(prefix.strip(&prefix.key(b"k")), b"k");
        assert!(prefix.contains(&prefix.span(&Span::prefix(b"k".to_vec()))));
        let beyond = Span::new(prefix.key(b"k"), Prefix::data("y/").key(b"k"));
        assert!(!prefix.contains(&beyond) && !prefix.contains(&Span::prefix(prefix.key(b""))));
    }
}
