//! The beginning of a key as a number, so that most comparisons read no key.

/// How many bytes two keys have in common at their beginning.
pub(crate) fn shared_bytes(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// The first bytes of a key after a prefix that all keys have: the lesser of two numbers belongs
/// to the lesser key. Equal numbers say nothing.
pub(crate) fn head(key: &[u8], prefix: usize) -> u64 {
    let rest = key.get(prefix..).unwrap_or_default();
    match rest.first_chunk::<8>() {
        Some(head) => u64::from_be_bytes(*head),
        None => {
            let mut head = [0; 8];
            head[..rest.len()].copy_from_slice(rest);
            u64::from_be_bytes(head)
        }
    }
}
