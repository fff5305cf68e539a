//! Memory of statements: one account for each statement, one pool for the process.
//!
//! ```text
//!   operator ─take─▶ Memory ──(beyond UNPOOLED_BYTES, in chunks)──▶ MemoryPool
//!                      │ statement_memory_limit                        │ --memory-limit
//!                      ▼                                               ▼
//!                    53200 here                    53200 for the statement that holds most
//! ```
//!
//! Rules: what is taken is given back when the account is dropped, at the latest; a statement that
//! the pool stops is one that still runs; small statements never touch the pool.
//!
//! Operators that can spill stop at three quarters of both limits ([`Memory::try_take`]). The rest
//! is for values and for what cannot spill.
//!
//! Not counted here: caches (they have limits of their own) and the write buffers of
//! transactions (`transaction_buffer_bytes`).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use braid_types::{Datum, Error, Result, SqlState};
use parking_lot::Mutex;

use crate::cancel::{self, Cancel};

/// Bytes that a statement uses before it is entered in the pool.
const UNPOOLED_BYTES: u64 = 256 << 10;
/// Bytes that an account asks of the pool at a time.
const CHUNK_BYTES: u64 = 1 << 20;

/// What an operator that spills may have beside the limits, at most.
const WORKING_BYTES_MAX: u64 = 4 << 20;

/// What operators that can spill may use of a limit.
fn spilling_part(limit_bytes: u64) -> u64 {
    limit_bytes / 4 * 3
}

/// Roughly the memory of a key in a set.
pub fn key_bytes(key: &[u8]) -> usize {
    48 + key.len()
}

/// Roughly the memory of a row.
pub fn row_bytes(row: &[Datum]) -> usize {
    24 + row.iter().map(Datum::size_bytes).sum::<usize>()
}

/// Memory that all statements of the process use together, with a limit.
pub struct MemoryPool {
    limit_bytes: u64,
    used: AtomicU64,
    /// The statements that use more than [`UNPOOLED_BYTES`].
    accounts: Mutex<Vec<Arc<Account>>>,
}

/// What one statement has reserved of the pool.
struct Account {
    pooled: AtomicU64,
    /// The pool has failed the statement; its memory is about to be given back.
    failed: AtomicBool,
    stop: Arc<Cancel>,
}

impl MemoryPool {
    /// A pool with a limit (`--memory-limit`) in bytes; 0: none.
    pub fn new(limit_bytes: u64) -> Arc<Self> {
        Arc::new(Self { limit_bytes, used: AtomicU64::new(0), accounts: Mutex::default() })
    }

    /// Bytes reserved by statements now, rounded up to whole chunks.
    pub fn used_bytes(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    fn reserve(&self, account: &Arc<Account>, bytes: u64) -> Result<()> {
        account.pooled.fetch_add(bytes, Ordering::Relaxed);
        let used = self.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if self.limit_bytes == 0 || used <= self.limit_bytes {
            return Ok(());
        }
        self.relieve(account)
    }

    /// Fails the statements that hold most, until what is left fits; the error if the asking
    /// statement is one of them.
    fn relieve(&self, asking: &Arc<Account>) -> Result<()> {
        // Held while a statement is stopped: an account that is still here has not ended, so the
        // switch cannot belong to the session's next statement yet.
        let accounts = self.accounts.lock();
        loop {
            let running = |account: &&Arc<Account>| !account.failed.load(Ordering::Relaxed);
            let bytes = |account: &Arc<Account>| account.pooled.load(Ordering::Relaxed);
            let kept: u64 = accounts.iter().filter(running).map(bytes).sum();
            if kept <= self.limit_bytes {
                return Ok(());
            }
            let Some(most) = accounts.iter().filter(running).max_by_key(|a| bytes(a)) else {
                return Ok(());
            };
            most.failed.store(true, Ordering::Relaxed);
            if Arc::ptr_eq(most, asking) {
                return Err(self.exhausted());
            }
            most.stop.stop(self.exhausted());
        }
    }

    fn exhausted(&self) -> Error {
        Error::new(SqlState::OutOfMemory, "out of memory")
            .detail(format!(
                "The statements of this server together need more than --memory-limit ({} MiB), \
                 and this one holds the most.",
                self.limit_bytes >> 20
            ))
            .hint("Lower statement_memory_limit, run fewer large statements at a time, or raise --memory-limit.")
    }
}

/// Memory of one statement, counted roughly, with a limit.
pub struct Memory {
    used: AtomicU64,
    limit_bytes: u64,
    pool: Arc<MemoryPool>,
    stop: Arc<Cancel>,
    account: OnceLock<Arc<Account>>,
}

impl Memory {
    /// An account with a limit (`statement_memory_limit`) in bytes; 0: none. The pool stops the
    /// statement by its switch.
    pub fn new(limit_bytes: u64, pool: Arc<MemoryPool>, stop: Arc<Cancel>) -> Self {
        Self { used: AtomicU64::new(0), limit_bytes, pool, stop, account: OnceLock::new() }
    }

    /// An empty account with the same limits, for another attempt or statement.
    #[must_use]
    pub fn renewed(&self, stop: Arc<Cancel>) -> Self {
        Self::new(self.limit_bytes, self.pool.clone(), stop)
    }

    /// Functions of the statement that this switch stops count their values here.
    pub fn charge(self: &Arc<Self>, stop: &Cancel) {
        let account = Arc::downgrade(self);
        stop.charge_to(account);
    }

    /// Counts bytes; 53200 beyond the statement's limit or that of the process.
    pub fn take(&self, bytes: usize) -> Result<()> {
        let used = self.used.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        if self.limit_bytes > 0 && used > self.limit_bytes {
            return Err(Error::new(SqlState::OutOfMemory, "out of memory for this statement")
                .detail(format!(
                    "The statement needs more than statement_memory_limit ({}).",
                    size_text(self.limit_bytes)
                ))
                .hint("Raise statement_memory_limit or make the statement smaller."));
        }
        if used > UNPOOLED_BYTES { self.take_pooled(used) } else { Ok(()) }
    }

    /// Counts bytes of an operator that can spill; false if it has to spill instead.
    pub fn try_take(&self, bytes: usize) -> Result<bool> {
        let used = self.used.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        let is_full = self.limit_bytes > 0 && used > spilling_part(self.limit_bytes);
        if is_full || !self.pool_has_room(used) {
            self.used.fetch_sub(bytes as u64, Ordering::Relaxed);
            return Ok(false);
        }
        if used > UNPOOLED_BYTES {
            self.take_pooled(used)?;
        }
        Ok(true)
    }

    /// What each operator that spills may have although nothing is left.
    pub fn working_bytes(&self) -> usize {
        let limit = if self.limit_bytes > 0 { self.limit_bytes } else { u64::MAX };
        usize::try_from((limit / 16).min(WORKING_BYTES_MAX)).unwrap_or(usize::MAX)
    }

    /// What operators that can spill may still take of the statement's limit.
    pub fn room(&self) -> usize {
        if self.limit_bytes == 0 {
            return usize::MAX;
        }
        let used = self.used.load(Ordering::Relaxed);
        usize::try_from(spilling_part(self.limit_bytes).saturating_sub(used)).unwrap_or(usize::MAX)
    }

    /// Whether the pool has room for an operator that can spill.
    fn pool_has_room(&self, used: u64) -> bool {
        if used <= UNPOOLED_BYTES || self.pool.limit_bytes == 0 {
            return true;
        }
        let pooled = self.account.get().map_or(0, |a| a.pooled.load(Ordering::Relaxed));
        let missing = used.saturating_sub(pooled).next_multiple_of(CHUNK_BYTES);
        let all = self.pool.used.load(Ordering::Relaxed).saturating_add(missing);
        missing == 0 || all <= spilling_part(self.pool.limit_bytes)
    }

    fn take_pooled(&self, used: u64) -> Result<()> {
        let account = self.account.get_or_init(|| {
            let account = Arc::new(Account {
                pooled: AtomicU64::new(0),
                failed: AtomicBool::new(false),
                stop: self.stop.clone(),
            });
            self.pool.accounts.lock().push(account.clone());
            account
        });
        if account.failed.load(Ordering::Relaxed) {
            return Err(self.pool.exhausted());
        }
        let missing = used.saturating_sub(account.pooled.load(Ordering::Relaxed));
        if missing == 0 {
            return Ok(());
        }
        self.pool.reserve(account, missing.next_multiple_of(CHUNK_BYTES))
    }

    /// Gives bytes back to the statement. The pool gets large amounts at once, and the rest when
    /// the statement ends.
    pub fn give(&self, bytes: usize) {
        let used = self.used.fetch_sub(bytes as u64, Ordering::Relaxed);
        if bytes as u64 >= CHUNK_BYTES {
            self.give_to_pool(used.saturating_sub(bytes as u64));
        }
    }

    fn give_to_pool(&self, used: u64) {
        let Some(account) = self.account.get() else { return };
        let kept = used.next_multiple_of(CHUNK_BYTES);
        let reduce = |pooled: u64| (pooled > kept).then_some(kept);
        let order = Ordering::Relaxed;
        if let Ok(pooled) = account.pooled.fetch_update(order, order, reduce) {
            self.pool.used.fetch_sub(pooled - kept, Ordering::Relaxed);
        }
    }
}

impl cancel::Account for Memory {
    fn take(&self, bytes: usize) -> Result<()> {
        Memory::take(self, bytes)
    }

    fn give(&self, bytes: usize) {
        Memory::give(self, bytes);
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(account) = self.account.get() {
            self.pool.accounts.lock().retain(|known| !Arc::ptr_eq(known, account));
            self.pool.used.fetch_sub(account.pooled.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }
}

/// A limit as it is shown: in MiB if it is a whole number of them.
fn size_text(bytes: u64) -> String {
    const MIB: u64 = 1024 * 1024;
    match bytes.is_multiple_of(MIB) {
        true => format!("{} MiB", bytes / MIB),
        false => format!("{} kB", bytes / 1024),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn statement(pool: &Arc<MemoryPool>, limit_bytes: u64) -> (Memory, Arc<Cancel>) {
        let stop = Arc::new(Cancel::default());
        (Memory::new(limit_bytes, pool.clone(), stop.clone()), stop)
    }

    fn is_out_of_memory<T>(result: Result<T>) -> bool {
        result.err().is_some_and(|error| error.state() == SqlState::OutOfMemory)
    }

    #[test]
    fn a_statement_fails_at_its_own_limit_and_gives_back_what_it_held() {
        let pool = MemoryPool::new(0);
        let (memory, _) = statement(&pool, 2 * MIB as u64);
        assert!(memory.take(MIB).is_ok());
        assert!(is_out_of_memory(memory.take(2 * MIB)));
        memory.give(2 * MIB);
        assert!(memory.take(MIB / 2).is_ok());
        drop(memory);
        assert_eq!(pool.used_bytes(), 0);
    }

    #[test]
    fn the_statement_that_holds_most_fails_for_the_process() {
        let pool = MemoryPool::new(10 * MIB as u64);
        let (greedy, greedy_stop) = statement(&pool, 0);
        let (modest, modest_stop) = statement(&pool, 0);
        assert!(greedy.take(7 * MIB).is_ok());
        assert!(modest.take(4 * MIB).is_ok(), "the other one has to go");
        assert!(is_out_of_memory(greedy_stop.check()));
        assert!(modest_stop.check().is_ok());
        assert!(is_out_of_memory(greedy.take(1)), "even if it misses its switch");
        drop(greedy);
        assert!(modest.take(5 * MIB).is_ok());
        assert!(is_out_of_memory(modest.take(5 * MIB)), "now it holds most itself");
        drop(modest);
        assert_eq!(pool.used_bytes(), 0);
    }

    #[test]
    fn an_operator_that_can_spill_leaves_a_quarter_of_each_limit() {
        let pool = MemoryPool::new(40 * MIB as u64);
        let (memory, _) = statement(&pool, 20 * MIB as u64);
        assert!(matches!(memory.try_take(15 * MIB), Ok(true)));
        assert!(matches!(memory.try_take(1), Ok(false)));
        assert!(memory.take(4 * MIB).is_ok(), "what cannot spill has the rest");
        let (second, _) = statement(&pool, 0);
        assert!(matches!(second.try_take(10 * MIB), Ok(true)));
        assert!(matches!(second.try_take(2 * MIB), Ok(false)), "the pool's quarter");
        memory.give(15 * MIB);
        assert!(matches!(second.try_take(2 * MIB), Ok(true)), "given back to the pool at once");
    }

    #[test]
    fn small_statements_do_not_touch_the_pool() {
        let pool = MemoryPool::new(1);
        let (small, _) = statement(&pool, 0);
        assert!(small.take(UNPOOLED_BYTES as usize).is_ok());
        assert_eq!(pool.used_bytes(), 0);
    }
}
