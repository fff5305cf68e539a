//! The form in which PD and the bounds of regions hold a key.
//!
//! Stores take keys as they are. PD and the bounds of regions hold them in groups of eight bytes.
//! A byte after each group counts its padding, so that a version number can follow a key without
//! changing the order.

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
}
