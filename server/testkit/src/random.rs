//! Random choices that a seed repeats.

use std::time::{SystemTime, UNIX_EPOCH};

/// A small random number generator (xorshift).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The same numbers for the same seed.
    pub fn new(seed: u64) -> Self {
        // Neighbouring seeds are spread apart; zero would stay zero.
        let spread = (seed ^ 0x5851_f42d_4c95_7f2d).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Random((spread ^ (spread >> 29)) | 1)
    }

    /// A number from 0 up to, but not including, the bound.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }

    /// True once in that many times.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// True in `chance` of a hundred cases.
    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// One of them.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }
}

/// The number in `BRAID_TEST_SEED`, if it is set.
///
/// # Panics
/// If that is no number.
pub fn seed_from_env() -> Option<u64> {
    let seed = std::env::var("BRAID_TEST_SEED").ok()?;
    Some(seed.parse().expect("BRAID_TEST_SEED is a number"))
}

/// The number in `BRAID_TEST_SEED`, or one of the clock.
///
/// # Panics
/// If `BRAID_TEST_SEED` is no number.
pub fn seed() -> u64 {
    seed_from_env().unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        now.as_nanos() as u64 % 1_000_000_000
    })
}
