//! `pg_snapshot` and `txid_snapshot`: which transactions a statement sees.
//!
//! A value is held as its text, `xmin:xmax:xip,…`: the oldest open transaction, the next one to
//! come, and the open ones between them in ascending order, each once.

use crate::text::invalid_syntax;
use crate::{Error, Result, SqlState};

/// The two names of the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum SnapshotName {
    /// `pg_snapshot`
    Pg,
    /// `txid_snapshot`, the older name
    Txid,
}

impl SnapshotName {
    /// The name of the type's arrays.
    pub(crate) fn array_name(self) -> &'static str {
        match self {
            SnapshotName::Pg => "pg_snapshot[]",
            SnapshotName::Txid => "txid_snapshot[]",
        }
    }
}

/// A snapshot in its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// All transactions below it have ended.
    pub xmin: i64,
    /// No transaction from it on has ended.
    pub xmax: i64,
    /// The transactions between them that are open, in ascending order.
    pub open: Vec<i64>,
}

impl Snapshot {
    /// Reads the text form. 22P02 for any other text.
    pub fn parse(text: &str) -> Result<Snapshot> {
        let invalid = || invalid_syntax("pg_snapshot", text);
        let number = |part: &str| {
            let is_plain = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            part.parse::<i64>().ok().filter(|_| is_plain).ok_or_else(invalid)
        };
        let mut parts = text.split(':');
        let mut next = || parts.next().ok_or_else(invalid);
        let (xmin, xmax, list) = (number(next()?)?, number(next()?)?, next()?);
        if parts.next().is_some() {
            return Err(invalid());
        }
        let list = list.split(',').filter(|part| !part.is_empty());
        let open = list.map(number).collect::<Result<Vec<_>>>()?;
        Snapshot { xmin, xmax, open }.checked().ok_or_else(invalid)
    }

    /// The snapshot without repeated numbers; `None` if its parts do not fit together.
    fn checked(mut self) -> Option<Snapshot> {
        let inside = self.open.iter().all(|id| (self.xmin..self.xmax).contains(id));
        if self.xmin < 1 || self.xmax < self.xmin || !inside || !self.open.is_sorted() {
            return None;
        }
        self.open.dedup();
        Some(self)
    }

    /// The text form.
    pub fn print(&self) -> String {
        let open: Vec<String> = self.open.iter().map(i64::to_string).collect();
        format!("{}:{}:{}", self.xmin, self.xmax, open.join(","))
    }

    /// Whether the transaction of that number had ended.
    pub fn shows(&self, id: i64) -> bool {
        id < self.xmin || (id < self.xmax && self.open.binary_search(&id).is_err())
    }

    /// Appends the binary form of a held value: the count of open transactions, then the numbers.
    pub fn encode(held: &str, out: &mut Vec<u8>) {
        let Ok(Snapshot { xmin, xmax, open }) = Snapshot::parse(held) else { return };
        let count = u32::try_from(open.len()).unwrap_or(u32::MAX);
        out.extend_from_slice(&count.to_be_bytes());
        for number in [xmin, xmax].into_iter().chain(open) {
            out.extend_from_slice(&number.to_be_bytes());
        }
    }

    /// Reads the binary form. 22P03 for any other bytes.
    pub fn decode(bytes: &[u8]) -> Result<Snapshot> {
        let numbers = bytes.split_first_chunk::<4>().and_then(|(count, rest)| {
            let numbers: Vec<i64> = rest
                .chunks_exact(8)
                .filter_map(|chunk| Some(i64::from_be_bytes(chunk.try_into().ok()?)))
                .collect();
            let expected = usize::try_from(u32::from_be_bytes(*count)).ok()?.checked_add(2)?;
            (numbers.len() == expected && rest.len() == expected * 8).then_some(numbers)
        });
        let snapshot = numbers.and_then(|numbers| match numbers[..] {
            [xmin, xmax, ref open @ ..] => Snapshot { xmin, xmax, open: open.to_vec() }.checked(),
            _ => None,
        });
        snapshot.ok_or_else(|| {
            let message = "invalid external pg_snapshot data";
            Error::new(SqlState::InvalidBinaryRepresentation, message)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_and_written_again() {
        for (text, printed) in [
            ("12:13:", Some("12:13:")),
            ("12:18:14,16", Some("12:18:14,16")),
            ("12:16:14,14", Some("12:16:14")),
            ("31:12:", None),
            ("0:1:", None),
            ("12:13:0", None),
            ("12:16:14,13", None),
            ("12:16:+14", None),
            ("12:16", None),
            ("12:16::", None),
        ] {
            let found = Snapshot::parse(text).ok().map(|snapshot| snapshot.print());
            assert_eq!(found.as_deref(), printed, "{text}");
        }
    }

    #[test]
    fn open_and_later_transactions_are_not_shown() {
        let snapshot = Snapshot::parse("12:20:13,15,18").unwrap();
        let shown: Vec<i64> = (11..22).filter(|id| snapshot.shows(*id)).collect();
        assert_eq!(shown, [11, 12, 14, 16, 17, 19]);
        let mut bytes = Vec::new();
        Snapshot::encode("12:20:13,15,18", &mut bytes);
        assert_eq!(Snapshot::decode(&bytes).unwrap(), snapshot);
        assert!(Snapshot::decode(&bytes[..bytes.len() - 1]).is_err());
    }
}
