//! Something of which each thread has its own, so that counting moves no cache lines between cores.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// How many there are; threads beyond share.
const SHARDS: usize = 8;

/// On cache lines of its own: processors fetch them in pairs of 64 bytes.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Apart<T>(T);

/// One `T` for each of a few groups of threads.
#[derive(Debug, Default)]
pub struct Sharded<T>([Apart<T>; SHARDS]);

impl<T> Sharded<T> {
    /// That of the running thread.
    pub fn here(&self) -> &T {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        thread_local! {
            static PLACE: Cell<usize> = Cell::new(NEXT.fetch_add(1, Relaxed) % SHARDS);
        }
        &self.0[PLACE.get()].0
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|apart| &apart.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn what_threads_count_is_all_there() {
        let counts = Sharded::<AtomicU64>::default();
        std::thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| {
                    for _ in 0..1_000 {
                        counts.here().fetch_add(1, Relaxed);
                    }
                });
            }
        });
        assert_eq!(counts.iter().map(|count| count.load(Relaxed)).sum::<u64>(), 20_000);
        assert!(counts.iter().all(|count| count.load(Relaxed) > 0));
    }
}
