//! Random requests and ends: nobody waits for nothing, and nobody waits in a circle.

use super::{
    held_locks::{Target, conflicts},
    table::Table,
};
use braid_kv::{LockStrength, Span, TxnId};
use std::{collections::HashSet, ops::RangeInclusive, sync::Arc};

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
    if random.below(4) != 0 {
        return Target::Key(Arc::from([from].as_slice()));
    }
    let to = from + 1 + random.below(6) as u8;
    Target::Span(Arc::new(Span::new([from], [to])))
}

/// Everyone whom `txn` waits for, by the rules alone and without a short cut.
fn waits_for(table: &Table, txn: TxnId) -> HashSet<TxnId> {
    let mut found = HashSet::new();
    for ticket in table.waiting.get(&txn).into_iter().flatten() {
        let waiter = &table.waiters[ticket];
        let held = table.held.holders(&waiter.target);
        found.extend(held.filter(|(_, s)| conflicts(*s, waiter.strength)).map(|(t, _)| t));
        for (_, earlier) in table.waiters.range(..ticket) {
            let overlaps = earlier.target.overlaps(&waiter.target);
            if overlaps
                && conflicts(earlier.strength, waiter.strength)
                && !table.blocks(txn, earlier)
            {
                found.insert(earlier.txn);
            }
        }
    }
    found.remove(&txn);
    found
}

fn waits_for_itself(table: &Table, txn: TxnId) -> bool {
    let mut reached = waits_for(table, txn);
    let mut next: Vec<TxnId> = reached.iter().copied().collect();
    while let Some(other) = next.pop() {
        next.extend(waits_for(table, other).into_iter().filter(|found| reached.insert(*found)));
    }
    reached.contains(&txn)
}

fn run(seed: u64, waits_max: usize) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut table = Table::default();
    let mut log = Vec::new();
    for _ in 0..60 {
        let txn = TxnId(1 + random.below(5 + seed % 3));
        let waits = table.waiting.get(&txn).map_or(0, Vec::len);
        if random.below(6 + seed % 6) == 0 {
            log.push(format!("{txn:?} ends"));
            while !table.release(txn, 1 + random.below(3) as usize) {}
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
            let circle = waits_for_itself(&table, waiter.txn);
            assert!(!circle, "seed {seed}: a circle is left\n{}", log.join("\n"));
        }
    }
}

/// The seeds of a test; `BRAID_TEST_SIZE` says how many.
fn seeds() -> RangeInclusive<u64> {
    match std::env::var("BRAID_TEST_SIZE").as_deref() {
        Ok("medium" | "full") => 1..=1_500,
        _ => 1..=200,
    }
}

#[test]
fn transactions_with_one_wait_at_a_time() {
    seeds().for_each(|seed| run(seed, 1));
}

#[test]
fn transactions_with_several_waits_at_a_time() {
    seeds().for_each(|seed| run(seed, 3));
}

/// B passes A, who waits for it, and so does not stand for A among those before W.
#[test]
fn who_passes_another_does_not_hide_it() {
    let [a, b, x, h, w] = [1, 2, 3, 4, 5].map(TxnId);
    let key = |at: u8| Target::Key(Arc::from([at].as_slice()));
    let mut table = Table::default();
    let mut wants = |txn, target: Target| {
        let taken = table.try_take(txn, &target, LockStrength::Exclusive);
        if !taken {
            drop(table.join(txn, &target, LockStrength::Exclusive));
        }
        taken
    };
    assert!(wants(b, key(1)) && wants(x, key(2)) && wants(h, key(3)) && wants(w, key(5)));
    assert!(!wants(a, Target::Span(Arc::new(Span::new([0], [5])))), "B, X and H are in it");
    assert!(!wants(b, key(3)), "H has it");
    assert!(!wants(w, key(3)), "behind A and B");
    assert!(!wants(x, key(5)), "W has it");
    assert!(!waits_for_itself(&table, w), "W waits for A, A for X, X for W");
    assert_eq!(table.deadlocks, 1);
}
