//! How many different hashes were seen: exactly while there are few, by HyperLogLog afterwards.

use std::collections::HashSet;

/// What hashes values. The upper bits of a hash have to be as good as the lower ones; the seed is
/// random, because users decide what is hashed.
pub(super) type ValueHasher = foldhash::quality::RandomState;

/// Hashes that are kept before they become a sketch.
const EXACT_MAX: usize = 1024;
/// Bits of a hash that choose a register.
const INDEX_BITS: u32 = 12;
/// Registers of a sketch: one byte each. The usual error is 1.04 / √4096 = 1.6 %.
const REGISTERS: usize = 1 << INDEX_BITS;

/// Counts different hashes.
pub(super) enum Distinct {
    /// All of them.
    Exact(HashSet<u64, ValueHasher>),
    /// For each part of the hashes the longest run of zero bits, and one more.
    Sketch(Box<[u8; REGISTERS]>),
}

impl Distinct {
    pub(super) fn new() -> Self {
        Distinct::Exact(HashSet::default())
    }

    /// Counts a hash.
    pub(super) fn add(&mut self, hash: u64) {
        match self {
            Distinct::Exact(seen) => {
                seen.insert(hash);
                if seen.len() > EXACT_MAX {
                    let mut registers = Box::new([0; REGISTERS]);
                    seen.iter().for_each(|hash| note(&mut registers, *hash));
                    *self = Distinct::Sketch(registers);
                }
            }
            Distinct::Sketch(registers) => note(registers, hash),
        }
    }

    /// About how many different hashes there were.
    pub(super) fn count(&self) -> f64 {
        match self {
            Distinct::Exact(seen) => seen.len() as f64,
            Distinct::Sketch(registers) => estimate(registers),
        }
    }
}

fn note(registers: &mut [u8; REGISTERS], hash: u64) {
    let place = (hash >> (64 - INDEX_BITS)) as usize;
    // The bit that is added bounds the run of zeros.
    let rest = (hash << INDEX_BITS) | (1 << (INDEX_BITS - 1));
    let run = rest.leading_zeros() as u8 + 1;
    registers[place] = registers[place].max(run);
}

/// Flajolet and others, "HyperLogLog", with linear counting for small numbers.
fn estimate(registers: &[u8; REGISTERS]) -> f64 {
    let size = REGISTERS as f64;
    let sum: f64 = registers.iter().map(|run| (-f64::from(*run)).exp2()).sum();
    let raw = 0.7213 / (1.0 + 1.079 / size) * size * size / sum;
    let zeros = registers.iter().filter(|run| **run == 0).count();
    if raw <= 2.5 * size && zeros > 0 { size * (size / zeros as f64).ln() } else { raw }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::BuildHasher;

    #[test]
    fn numbers_of_hashes_are_close() {
        for number in [0_u64, 1, 100, 1024, 3000, 20_000, 300_000] {
            let (mut distinct, hasher) = (Distinct::new(), ValueHasher::default());
            for round in 0..2 {
                (0..number).for_each(|value| distinct.add(hasher.hash_one(value)));
                let error = (distinct.count() - number as f64).abs() / (number as f64).max(1.0);
                assert!(error < 0.08, "{number} in round {round}: {}", distinct.count());
            }
        }
    }
}
