//! Keys of advisory locks. They are locked and never stored.

use super::prefix::{SYSTEM, system_key};

const NAME: &str = "advisory lock/";

/// What an advisory lock is on, in the words of `pg_locks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AdvisoryKey {
    /// The database.
    pub database: u32,
    /// The upper half of a `bigint`, or the first `integer`.
    pub class: u32,
    /// The lower half, or the second `integer`.
    pub object: u32,
    /// 1 for a `bigint`, 2 for two `integer`s.
    pub parts: u16,
}

impl AdvisoryKey {
    /// The key of a `bigint`.
    pub fn of_int8(database: u32, key: i64) -> AdvisoryKey {
        let bits = key as u64;
        AdvisoryKey { database, class: (bits >> 32) as u32, object: bits as u32, parts: 1 }
    }

    /// The key of two `integer`s.
    pub fn of_int4s(database: u32, class: i32, object: i32) -> AdvisoryKey {
        AdvisoryKey { database, class: class as u32, object: object as u32, parts: 2 }
    }

    /// The bytes that are locked.
    pub fn encode(&self) -> Vec<u8> {
        let mut key = system_key(NAME);
        for part in [self.database, self.class, self.object] {
            key.extend_from_slice(&part.to_be_bytes());
        }
        key.extend_from_slice(&self.parts.to_be_bytes());
        key
    }

    /// The advisory lock of these bytes; `None` if they are the key of something else.
    pub fn decode(key: &[u8]) -> Option<AdvisoryKey> {
        let rest = key.strip_prefix(&[SYSTEM])?.strip_prefix(NAME.as_bytes())?;
        let (database, rest) = rest.split_first_chunk()?;
        let (class, rest) = rest.split_first_chunk()?;
        let (object, rest) = rest.split_first_chunk()?;
        Some(AdvisoryKey {
            database: u32::from_be_bytes(*database),
            class: u32::from_be_bytes(*class),
            object: u32::from_be_bytes(*object),
            parts: u16::from_be_bytes(*rest.first_chunk()?),
        })
    }
}

/// As PostgreSQL's DETAIL of a deadlock shows it.
impl std::fmt::Display for AdvisoryKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let AdvisoryKey { database, class, object, parts } = self;
        write!(f, "advisory lock [{database},{class},{object},{parts}]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_comes_back_as_it_went() {
        for key in [AdvisoryKey::of_int8(5, -2), AdvisoryKey::of_int4s(5, -1, 7)] {
            assert_eq!(AdvisoryKey::decode(&key.encode()), Some(key));
        }
        assert_eq!(
            AdvisoryKey::of_int8(5, -2).to_string(),
            "advisory lock [5,4294967295,4294967294,1]"
        );
        assert_eq!(AdvisoryKey::decode(&system_key("version")), None);
    }
}
