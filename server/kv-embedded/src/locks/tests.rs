//! Random requests and ends: nobody waits for nothing, and nobody waits in a circle.

use super::table::{Table, Target};
use braid_kv::{LockStrength, Span, TxnId};
use std::sync::Arc;

/// Numbers, the same for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

fn target(random: &mut Random) -> Target {
    let from = random.below(6) as u8;
    if random.below(2) == 0 {
        return Target::Key(Arc::from([from].as_slice()));
    }
    let to = from + 1 + random.below(3) as u8;
    Target::Span(Arc::new(Span::new([from], [to])))
}

fn run(seed: u64, waits_max: usize) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut table = Table::default();
    let mut log = Vec::new();
    for _ in 0..60 {
        let txn = TxnId(1 + random.below(5));
        let waits = table.waiting.get(&txn).map_or(0, Vec::len);
        if random.below(6) == 0 {
            log.push(format!("{txn:?} ends"));
            table.release(txn);
        } else if waits < waits_max {
            let target = target(&mut random);
            let strength =
                if random.below(4) == 0 { LockStrength::Shared } else { LockStrength::Exclusive };
            let taken = table.try_take(txn, &target, strength);
            log.push(format!("{txn:?} wants {target:?} {strength:?}: {taken}"));
            if !taken {
                table.join(txn, &target, strength);
            }
        }
        for (&ticket, waiter) in &table.waiters {
            let free = table.is_free(waiter.txn, &waiter.target, waiter.strength, ticket);
            assert!(!free, "seed {seed}: {:?} waits for nothing\n{}", waiter.txn, log.join("\n"));
            let cycle = table.find_cycle(waiter.txn);
            assert!(cycle.is_none(), "seed {seed}: a circle is left\n{}", log.join("\n"));
        }
    }
}

#[test]
fn transactions_with_one_wait_at_a_time() {
    (1..=2_000).for_each(|seed| run(seed, 1));
}

#[test]
fn transactions_with_several_waits_at_a_time() {
    (1..=2_000).for_each(|seed| run(seed, 3));
}
