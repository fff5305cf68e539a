//! The form in which regions name their borders: TiKV's, which sorts as the keys do.
//!
//! Groups of eight bytes, the last one filled up with zeros, each followed by 255 less the number
//! of zeros. Requests carry the keys themselves; PD and errors about regions carry this form.

const GROUP: usize = 8;

/// A key as a border.
pub(crate) fn encode(key: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::with_capacity((key.len() / GROUP + 1) * (GROUP + 1));
    for at in (0..=key.len()).step_by(GROUP) {
        let group = &key[at..key.len().min(at + GROUP)];
        let zeros = GROUP - group.len();
        encoded.extend_from_slice(group);
        encoded.extend(std::iter::repeat_n(0, zeros));
        encoded.push(255 - zeros as u8);
    }
    encoded
}

/// The key of a border; `None` if it is not in this form.
pub(crate) fn decode(encoded: &[u8]) -> Option<Vec<u8>> {
    let mut key = Vec::with_capacity(encoded.len());
    let mut groups = encoded.chunks(GROUP + 1);
    loop {
        let group = groups.next().filter(|group| group.len() == GROUP + 1)?;
        let zeros = usize::from(255 - group[GROUP]);
        if zeros > GROUP || group[GROUP - zeros..GROUP].iter().any(|byte| *byte != 0) {
            return None;
        }
        key.extend_from_slice(&group[..GROUP - zeros]);
        if zeros > 0 {
            return groups.next().is_none().then_some(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn the_form_is_tikvs() {
        let table: [(&[u8], &[u8]); 4] = [
            (b"", &[0, 0, 0, 0, 0, 0, 0, 0, 247]),
            (&[1, 2, 3], &[1, 2, 3, 0, 0, 0, 0, 0, 250]),
            (&[1, 2, 3, 0], &[1, 2, 3, 0, 0, 0, 0, 0, 251]),
            (
                &[1, 2, 3, 4, 5, 6, 7, 8],
                &[1, 2, 3, 4, 5, 6, 7, 8, 255, 0, 0, 0, 0, 0, 0, 0, 0, 247],
            ),
        ];
        for (key, encoded) in table {
            assert_eq!(encode(key), encoded);
            assert_eq!(decode(encoded).as_deref(), Some(key));
        }
        for broken in [&b""[..], b"abc", &[1, 0, 0, 0, 0, 0, 0, 1, 250], &[0; 9]] {
            assert_eq!(decode(broken), None);
        }
    }

    #[test]
    fn it_sorts_as_the_keys_do() {
        let mut random = Random::new(1);
        let mut key = || {
            let length = random.below(20);
            (0..length).map(|_| random.below(3) as u8 * 127).collect::<Vec<_>>()
        };
        for _ in 0..2_000 {
            let (a, b) = (key(), key());
            assert_eq!(a.cmp(&b), encode(&a).cmp(&encode(&b)), "{a:?} {b:?}");
            assert_eq!(decode(&encode(&a)), Some(a));
        }
    }
}
