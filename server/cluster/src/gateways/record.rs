//! What gateways leave in the store for each other.

use std::collections::{BTreeMap, BTreeSet};

use braid_kv::{Database as Kv, Record, Result as KvResult, Timestamp, TxnOptions};
use serde::{Deserialize, Serialize};

use crate::records::{parse, scan_all};
use crate::system_keys::{
    duties_span, gateways_span, marks_span, records_span, statistics_stamp_key,
};

/// Whether a gateway trusts its cached catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GatewayMode {
    /// It does, and proves nothing of the schema.
    Fast,
    /// It reads the version and proves the schema.
    Strict,
}

/// The record of a gateway.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GatewayRecord {
    pub id: u64,
    pub address: String,
    pub version: String,
    /// Microseconds since 2000-01-01.
    pub started: i64,
    /// The end of the lease.
    pub expires: u64,
    pub mode: GatewayMode,
}

/// A gateway as `braid_internal.gateways` shows it. Times are microseconds since 2000-01-01 UTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayInfo {
    /// Its number.
    pub id: u64,
    /// Where SQL clients find it, if it has said so.
    pub address: String,
    /// Its version of BraidDB.
    pub version: String,
    /// When it was started.
    pub started: i64,
    /// When its lease ends; none where it needs no lease.
    pub expires: Option<i64>,
    /// `fast`, `strict`, or `expired`.
    pub mode: &'static str,
    /// Whether it is the one that was asked.
    pub is_self: bool,
}

/// Everything that was there at one snapshot.
#[derive(Clone, Debug, Default)]
pub(super) struct Roster {
    pub at: Timestamp,
    pub records: Vec<GatewayRecord>,
    /// Gateways that are changing the schema.
    pub marks: BTreeSet<u64>,
    pub duties: BTreeMap<String, u64>,
    /// Changes with the stored statistics.
    pub statistics: u64,
}

impl GatewayRecord {
    /// Whether its lease has not ended at that time.
    pub(super) fn is_live(&self, at: Timestamp) -> bool {
        self.expires > at.0
    }
}

impl Roster {
    /// The roster as it is now.
    pub(super) async fn read(kv: &Kv) -> KvResult<Roster> {
        let txn = kv.begin(TxnOptions { read_only: true, ..TxnOptions::default() });
        let seq = txn.next_statement();
        let pairs = scan_all(&txn, seq, gateways_span(), Record::Never).await;
        let snapshot = txn.snapshots().current().await;
        txn.rollback().await;
        let mut roster = Roster { at: snapshot?, ..Roster::default() };
        let (records, marks, duties) = (records_span(), marks_span(), duties_span());
        for (key, value) in pairs? {
            if records.contains(&key) {
                roster.records.push(parse(&value)?);
            } else if marks.contains(&key) {
                roster.marks.insert(parse(&value)?);
            } else if duties.contains(&key) {
                let (duty, owner): (String, u64) = parse(&value)?;
                roster.duties.insert(duty, owner);
            } else if key == statistics_stamp_key() {
                roster.statistics = parse(&value)?;
            }
        }
        Ok(roster)
    }

    /// Whether that gateway's lease has not ended.
    pub(super) fn is_live(&self, gateway: u64) -> bool {
        self.records.iter().any(|record| record.id == gateway && record.is_live(self.at))
    }

    /// Whether a gateway other than this one is changing the schema.
    pub(super) fn others_change(&self, me: u64) -> bool {
        self.marks.iter().any(|gateway| *gateway != me && self.is_live(*gateway))
    }

    /// Whether no gateway other than this one is fast.
    pub(super) fn others_are_strict(&self, me: u64) -> bool {
        let live = self.records.iter().filter(|record| record.id != me && record.is_live(self.at));
        live.into_iter().all(|record| record.mode == GatewayMode::Strict)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(id: u64, expires: u64, mode: GatewayMode) -> GatewayRecord {
        let (address, version) = (String::new(), String::new());
        GatewayRecord { id, address, version, started: 0, expires, mode }
    }

    #[test]
    fn only_leases_that_have_not_ended_count() {
        let fast = |expires| Roster {
            at: Timestamp(100),
            records: vec![record(1, 200, GatewayMode::Fast), record(2, expires, GatewayMode::Fast)],
            marks: BTreeSet::from([2]),
            ..Roster::default()
        };
        assert!(!fast(101).others_are_strict(1));
        assert!(fast(101).others_change(1));
        assert!(fast(100).others_are_strict(1));
        assert!(!fast(100).others_change(1));
        assert!(!fast(101).others_change(2), "its own mark");
    }

    #[test]
    fn records_are_json() {
        let record = record(7, 9, GatewayMode::Strict);
        let json = serde_json::to_vec(&record).unwrap();
        assert_eq!(parse::<GatewayRecord>(&braid_kv::Value::from(json)).unwrap(), record);
    }
}
