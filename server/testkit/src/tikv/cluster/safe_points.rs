//! PD's safe points: below which versions may be removed.
//!
//! As in PD 9: `gc_worker` first moves the transactions' safe point, as far as the barriers of
//! others allow; only up to there may the collectors' safe point follow. Neither goes back.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::tikv::engine::Ts;

/// The name whose safe point is that of all transactions.
const GC_WORKER: &str = "gc_worker";

/// All safe points.
#[derive(Debug, Default)]
pub(crate) struct SafePoints {
    transactions: Ts,
    collected: Ts,
    barriers: BTreeMap<String, (Ts, Option<Instant>)>,
}

/// The lowest safe point of all services.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lowest {
    /// Whose it is.
    pub service: String,
    /// How long it holds, in seconds.
    pub ttl: i64,
    /// The safe point.
    pub safe_point: Ts,
}

impl SafePoints {
    /// Below this, versions may be gone.
    pub(crate) fn collected(&self) -> Ts {
        self.collected
    }

    /// Sets a service's safe point; a time to live of zero removes it.
    pub(crate) fn set_service(
        &mut self,
        service: &str,
        ttl_secs: i64,
        safe_point: Ts,
        now: Instant,
    ) -> Result<Lowest, String> {
        self.barriers.retain(|_, (_, until)| until.is_none_or(|until| until > now));
        if service == GC_WORKER {
            return self.move_transactions(ttl_secs, safe_point);
        }
        if ttl_secs <= 0 {
            self.barriers.remove(service);
        } else if safe_point >= self.transactions {
            let until = now.checked_add(Duration::from_secs(ttl_secs as u64));
            self.barriers.insert(service.to_owned(), (safe_point, until));
        }
        Ok(self.lowest(GC_WORKER, self.transactions))
    }

    /// Moves the collectors' safe point; what it is then.
    pub(crate) fn set_collected(&mut self, safe_point: Ts) -> Result<Ts, String> {
        if safe_point > self.transactions {
            return Err(format!(
                "trying to update GC safe point to a too large value that exceeds the txn safe \
                 point, current value: {}, given: {safe_point}, current txn safe point: {}",
                self.collected, self.transactions
            ));
        }
        self.collected = self.collected.max(safe_point);
        Ok(self.collected)
    }

    /// Forgets what services have set.
    pub(crate) fn forget_services(&mut self) {
        self.barriers.clear();
    }

    fn move_transactions(&mut self, ttl_secs: i64, target: Ts) -> Result<Lowest, String> {
        if ttl_secs != i64::MAX {
            return Err("TTL of gc_worker's service safe point must be infinity".to_owned());
        }
        if target < self.transactions {
            return Err("trying to update txn safe point to a smaller value".to_owned());
        }
        let lowest = self.barriers.iter().min_by_key(|(_, (safe_point, _))| *safe_point);
        let blocker = lowest.filter(|(_, (safe_point, _))| *safe_point < target);
        let (service, allowed) =
            blocker.map_or((GC_WORKER, target), |(service, (ts, _))| (service.as_str(), *ts));
        let allowed = allowed.max(self.transactions);
        let answer = self.lowest(service, allowed);
        self.transactions = allowed;
        Ok(answer)
    }

    fn lowest(&self, service: &str, safe_point: Ts) -> Lowest {
        Lowest { service: service.to_owned(), ttl: i64::MAX, safe_point }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collectors_follow_the_transactions_and_those_respect_barriers() {
        let now = Instant::now();
        let later = now + Duration::from_secs(20);
        let mut points = SafePoints::default();
        assert!(points.set_collected(10).is_err(), "gc_worker comes first");
        points.set_service("backup", 10, 50, now).expect("a barrier");
        let lowest = points.set_service(GC_WORKER, i64::MAX, 70, now).expect("moved");
        assert_eq!((lowest.service.as_str(), lowest.safe_point), ("backup", 50));
        assert_eq!(points.set_collected(50), Ok(50));
        assert_eq!(points.set_collected(0), Ok(50), "no way back");
        let lowest = points.set_service(GC_WORKER, i64::MAX, 70, later).expect("moved");
        assert_eq!((lowest.service.as_str(), lowest.safe_point), (GC_WORKER, 70));
        let lowest = points.set_service("late", 10, 60, later).expect("an answer");
        assert_eq!(lowest.safe_point, 70, "too late for a barrier at 60");
        assert_eq!(
            points.set_service(GC_WORKER, i64::MAX, 80, later).expect("moved").safe_point,
            80
        );
        assert!(points.set_service(GC_WORKER, 10, 90, later).is_err());
    }
}
