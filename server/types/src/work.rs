//! The statement that the current thread computes for: its stop switch and its share of time.
//!
//! Every poll of a statement's work is made by [`poll`]. Inside, code that may compute for long
//! calls one of these functions. Outside of a statement all of them do nothing.
//!
//! ```text
//! loops of plain functions  spend(units)?              the statement's stop, every 100 µs or so
//! loops that cannot fail    note(units)                the next look finds the stop
//! loops of async functions  check_interrupts().await?  the same, and others get their turn
//! one long library call     aside(|| …)                other tasks go on, on another thread
//! buffers that grow         take(bytes)?               counted against the statement's memory
//! ```
//!
//! Rules:
//! - a unit is about the work of one cheap function call, or of [`BYTES_PER_UNIT`] bytes;
//! - nothing waits in here; [`check_interrupts`] gives the thread back once its slice is used up;
//! - short statements pay for a counter, not for a look at the clock.

use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::Result;

/// Units between two looks at the stop switch.
const LOOK_UNITS: u32 = 256;
/// Bytes that are copied or compared in about one unit.
pub const BYTES_PER_UNIT: usize = 64;
/// Calls of [`check_interrupts`] in one poll that are not worth a look at the clock.
const FREE_BREATHS: u32 = 4;
/// Where calls follow each other quickly, only one of this number looks at the clock.
const STRIDE_MAX: u32 = 8;
/// Calls are quick if those between two looks take less than this part of a slice.
const QUICK_PART: u32 = 16;
/// How long a poll on a shared thread may go on without [`check_interrupts`].
const OVERRUN: Duration = Duration::from_millis(2);
/// Long enough for another thread to take over the tasks of this one.
const STEP_ASIDE: Duration = Duration::from_micros(100);

/// A statement as the code that computes for it sees it.
pub trait Statement: Send + Sync {
    /// 57014 or the like once the statement is to stop.
    fn check(&self) -> Result<()>;

    /// Counts bytes that the statement holds; 53200 beyond its limit.
    fn take(&self, _bytes: usize) -> Result<()> {
        Ok(())
    }

    /// Gives counted bytes back.
    fn give(&self, _bytes: usize) {}
}

/// Runs a closure while another thread takes over the tasks of this one.
pub type Aside = fn(&mut dyn FnMut());

/// The kind of thread that polls.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// [`check_interrupts`] gives the thread back after this time.
    pub slice: Duration,
    /// Whether it serves other tasks as well.
    pub is_shared: bool,
    /// How other tasks get away from this thread; `None` if it has no others.
    pub aside: Option<Aside>,
}

/// What a poll came to.
pub enum Polled<T> {
    /// It is done.
    Ready(T),
    /// It waits for something.
    Waiting,
    /// It has more to compute, but its slice is used up.
    Exhausted,
}

struct Frame {
    statement: Arc<dyn Statement>,
    place: Place,
    /// When this poll first looked at the clock.
    started: Option<Instant>,
    /// When others last got away from this thread.
    stepped_aside: Option<Instant>,
    breaths: u32,
    /// When [`check_interrupts`] looked last, the number of calls until the next look, and at which
    /// call that is.
    looked: Option<Instant>,
    stride: u32,
    next_look: u32,
    is_exhausted: bool,
}

impl Frame {
    /// Counts a call of [`check_interrupts`]; whether the slice is used up, as far as it looks.
    fn breathe(&mut self) -> bool {
        self.breaths += 1;
        let is_first_late = self.looked.is_none() && self.started.is_some();
        if self.breaths < self.next_look && !is_first_late {
            return false;
        }
        let now = Instant::now();
        let quick = self.place.slice / QUICK_PART;
        let is_quick = self.looked.is_some_and(|last| now.duration_since(last) < quick);
        self.stride = if is_quick { (self.stride * 2).min(STRIDE_MAX) } else { 1 };
        self.next_look = self.breaths.saturating_add(self.stride);
        self.looked = Some(now);
        now.duration_since(*self.started.get_or_insert(now)) >= self.place.slice
    }
}

thread_local! {
    static UNITS_LEFT: Cell<u32> = const { Cell::new(LOOK_UNITS) };
    /// Plain code has seen that the slice of this poll is used up.
    static IS_DUE: Cell<bool> = const { Cell::new(false) };
    static FRAME: RefCell<Option<Frame>> = const { RefCell::new(None) };
}

/// Puts the frame of the poll outside back, also when the poll inside panics.
struct Restore(Option<Frame>);

impl Restore {
    fn enter(frame: Frame) -> Restore {
        IS_DUE.set(false);
        Restore(FRAME.with_borrow_mut(|current| current.replace(frame)))
    }

    fn leave(mut self) -> Option<Frame> {
        let outer = self.0.take();
        let frame = FRAME.with_borrow_mut(|current| std::mem::replace(current, outer));
        IS_DUE.set(false);
        std::mem::forget(self);
        frame
    }
}

impl Drop for Restore {
    fn drop(&mut self) {
        let outer = self.0.take();
        // Dropped outside of the borrow: a statement's drop may look here.
        let inner = FRAME.with_borrow_mut(|current| std::mem::replace(current, outer));
        drop(inner);
    }
}

/// Polls work of a statement.
pub fn poll<T>(
    statement: &Arc<dyn Statement>,
    place: Place,
    work: Pin<&mut (dyn Future<Output = T> + Send + '_)>,
    cx: &mut Context<'_>,
) -> Polled<T> {
    let statement = statement.clone();
    let frame = Frame {
        statement,
        place,
        started: None,
        stepped_aside: None,
        breaths: 0,
        looked: None,
        stride: 1,
        next_look: FREE_BREATHS,
        is_exhausted: false,
    };
    let restore = Restore::enter(frame);
    let polled = work.poll(cx);
    let frame = restore.leave();
    match polled {
        Poll::Ready(value) => Polled::Ready(value),
        Poll::Pending if frame.is_some_and(|frame| frame.is_exhausted) => Polled::Exhausted,
        Poll::Pending => Polled::Waiting,
    }
}

/// The statement that this thread computes for.
pub fn current() -> Option<Arc<dyn Statement>> {
    FRAME.with_borrow(|frame| frame.as_ref().map(|frame| frame.statement.clone()))
}

fn stopped() -> Result<()> {
    FRAME.with_borrow(|frame| frame.as_ref().map_or(Ok(()), |frame| frame.statement.check()))
}

/// Counts bytes that the statement holds; 53200 beyond its limit.
pub fn take(bytes: usize) -> Result<()> {
    current().map_or(Ok(()), |statement| statement.take(bytes))
}

/// Gives counted bytes back.
pub fn give(bytes: usize) {
    if let Some(statement) = current() {
        statement.give(bytes);
    }
}

/// Fails with 53200 if the statement cannot hold that many bytes more now.
///
/// For a value about to be made; the code that keeps the value counts it.
pub fn afford(bytes: usize) -> Result<()> {
    let Some(statement) = current() else { return Ok(()) };
    statement.take(bytes)?;
    statement.give(bytes);
    Ok(())
}

/// Counts one unit of work; fails once the statement is to stop.
#[inline]
pub fn tick() -> Result<()> {
    spend(1)
}

/// Counts units of work; fails once the statement is to stop.
#[inline]
pub fn spend(units: u32) -> Result<()> {
    UNITS_LEFT.with(|left| match left.get().checked_sub(units) {
        Some(rest) if rest > 0 => {
            left.set(rest);
            Ok(())
        }
        _ => {
            left.set(LOOK_UNITS);
            check()
        }
    })
}

/// Counts units of work in code that cannot fail, such as a comparison of values. A statement that
/// is to stop does so at the next call of another function of this room.
#[inline]
pub fn note(units: u32) {
    if spend(units).is_err() {
        UNITS_LEFT.set(1);
        IS_DUE.set(true);
    }
}

/// Counts the work of going over that many bytes; fails once the statement is to stop.
#[inline]
pub fn spend_bytes(bytes: usize) -> Result<()> {
    spend(u32::try_from(bytes / BYTES_PER_UNIT).unwrap_or(u32::MAX).saturating_add(1))
}

/// Looks at the switch and at the clock at once, between steps that take long by themselves; fails
/// once the statement is to stop.
#[cold]
pub fn check() -> Result<()> {
    stopped()?;
    let overrun = FRAME.with_borrow_mut(|frame| {
        let frame = frame.as_mut()?;
        let now = Instant::now();
        let started = *frame.started.get_or_insert(now);
        if now.duration_since(started) >= frame.place.slice {
            IS_DUE.set(true);
        }
        let aside = frame.place.aside?;
        if now.duration_since(frame.stepped_aside.unwrap_or(started)) < OVERRUN {
            return None;
        }
        frame.stepped_aside = Some(now);
        Some(aside)
    });
    if let Some(aside) = overrun {
        aside(&mut || std::thread::sleep(STEP_ASIDE));
    }
    Ok(())
}

/// Runs what computes for long and cannot be interrupted, so that it keeps nobody else waiting.
pub fn aside<T>(work: impl FnOnce() -> T) -> T {
    let aside = FRAME.with_borrow(|frame| frame.as_ref().and_then(|frame| frame.place.aside));
    let Some(aside) = aside else { return work() };
    let (mut work, mut result) = (Some(work), None);
    aside(&mut || result = work.take().map(|work| work()));
    result.expect("an `Aside` runs its work once")
}

/// Gives the thread back if the slice of this poll is used up; fails once the statement is to
/// stop.
pub async fn check_interrupts() -> Result<()> {
    stopped()?;
    if is_due() {
        Yield { is_exhausted: true, is_done: false }.await;
        stopped()?;
    }
    Ok(())
}

/// Goes back to a shared thread, for what others wait for as well: those have a higher priority.
pub async fn return_home() {
    let is_away = |frame: &Option<Frame>| frame.as_ref().is_some_and(|f| !f.place.is_shared);
    if FRAME.with_borrow(is_away) {
        Yield { is_exhausted: false, is_done: false }.await;
    }
}

/// Whether plain code has seen that the slice is used up: a cheap question for each row, before
/// [`check_interrupts`].
#[inline]
pub fn is_overdue() -> bool {
    IS_DUE.get()
}

fn is_due() -> bool {
    if IS_DUE.replace(false) {
        return true;
    }
    FRAME.with_borrow_mut(|frame| frame.as_mut().is_some_and(Frame::breathe))
}

/// Gives the thread back once.
struct Yield {
    is_exhausted: bool,
    is_done: bool,
}

impl Future for Yield {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.is_done, true) {
            return Poll::Ready(());
        }
        FRAME.with_borrow_mut(|frame| {
            if let Some(frame) = frame {
                frame.is_exhausted |= self.is_exhausted;
            }
        });
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    use std::task::Waker;

    use super::*;
    use crate::{Error, SqlState};

    #[derive(Default)]
    struct Switch(AtomicBool);

    impl Statement for Switch {
        fn check(&self) -> Result<()> {
            match self.0.load(Ordering::Relaxed) {
                true => Err(Error::new(SqlState::QueryCanceled, "stopped")),
                false => Ok(()),
            }
        }
    }

    const ENDLESS: Place = Place { slice: Duration::MAX, is_shared: true, aside: None };
    const NONE: Place = Place { slice: Duration::ZERO, is_shared: false, aside: None };

    fn once<T>(
        switch: &Arc<Switch>,
        place: Place,
        work: Pin<&mut (dyn Future<Output = T> + Send + '_)>,
    ) -> Polled<T> {
        let statement: Arc<dyn Statement> = switch.clone();
        poll(&statement, place, work, &mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn without_a_statement_nothing_stops() {
        for _ in 0..3 * LOOK_UNITS {
            tick().expect("no statement");
        }
        assert_eq!(aside(|| 7), 7);
    }

    #[test]
    fn a_stopped_statement_is_noticed_by_plain_loops() {
        let switch = Arc::new(Switch::default());
        let endless = async {
            let mut count = 0_u64;
            while tick().is_ok() {
                count += 1;
                if count == 10 {
                    switch.0.store(true, Ordering::Relaxed);
                }
            }
            count
        };
        let mut endless = Box::pin(endless);
        let Polled::Ready(count) = once(&switch, ENDLESS, endless.as_mut()) else {
            panic!("it does not wait")
        };
        assert!(count <= u64::from(2 * LOOK_UNITS));
        // The frame has gone with the poll.
        check().expect("no statement");
    }

    #[test]
    fn a_stop_that_code_without_errors_meets_is_found_by_the_next_look() {
        let switch = Arc::new(Switch(AtomicBool::new(true)));
        let mut work = Box::pin(async {
            note(2 * LOOK_UNITS);
            (is_overdue(), tick())
        });
        let polled = once(&switch, ENDLESS, work.as_mut());
        assert!(matches!(polled, Polled::Ready((true, Err(_)))));
    }

    #[test]
    fn large_pieces_of_work_are_noticed_at_once() {
        let switch = Arc::new(Switch(AtomicBool::new(true)));
        let mut work = Box::pin(async { spend_bytes(usize::MAX) });
        let polled = once(&switch, ENDLESS, work.as_mut());
        assert!(matches!(polled, Polled::Ready(Err(_))));
    }

    #[test]
    fn a_used_up_slice_gives_the_thread_back() {
        let switch = Arc::new(Switch::default());
        let mut work = Box::pin(async {
            for _ in 0..=FREE_BREATHS {
                check_interrupts().await.expect("not stopped");
            }
        });
        assert!(matches!(once(&switch, NONE, work.as_mut()), Polled::Exhausted));
        let mut work = Box::pin(std::future::pending::<()>());
        assert!(matches!(once(&switch, NONE, work.as_mut()), Polled::Waiting));
    }

    #[test]
    fn quick_calls_look_seldom_and_slow_ones_each_time() {
        let slice = Duration::from_millis(800);
        let place = Place { slice, is_shared: true, aside: None };
        let stride = || FRAME.with_borrow(|frame| frame.as_ref().map_or(0, |f| f.stride));
        let switch = Arc::new(Switch::default());
        let mut work = Box::pin(async {
            for _ in 0..100 {
                check_interrupts().await.expect("not stopped");
            }
            let after_quick_ones = stride();
            for _ in 0..=STRIDE_MAX {
                std::thread::sleep(slice / QUICK_PART);
                check_interrupts().await.expect("not stopped");
            }
            (after_quick_ones, stride())
        });
        let strides = loop {
            if let Polled::Ready(strides) = once(&switch, place, work.as_mut()) {
                break strides;
            }
        };
        assert_eq!(strides, (STRIDE_MAX, 1));
    }

    #[test]
    fn only_who_is_away_returns_home() {
        let switch = Arc::new(Switch::default());
        let mut work = Box::pin(return_home());
        assert!(matches!(once(&switch, NONE, work.as_mut()), Polled::Waiting));
        assert!(matches!(once(&switch, ENDLESS, work.as_mut()), Polled::Ready(())));
        let mut work = Box::pin(return_home());
        assert!(matches!(once(&switch, ENDLESS, work.as_mut()), Polled::Ready(())));
    }

    #[test]
    fn an_overrun_steps_aside() {
        static ASIDE: AtomicU32 = AtomicU32::new(0);
        fn note(work: &mut dyn FnMut()) {
            ASIDE.fetch_add(1, Ordering::Relaxed);
            work();
        }
        let place = Place { slice: Duration::MAX, is_shared: true, aside: Some(note) };
        let switch = Arc::new(Switch::default());
        let mut work = Box::pin(async {
            while ASIDE.load(Ordering::Relaxed) < 2 {
                tick().expect("not stopped");
            }
            aside(|| 7)
        });
        assert!(matches!(once(&switch, place, work.as_mut()), Polled::Ready(7)));
        assert_eq!(ASIDE.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn polls_inside_of_polls_keep_their_own_frames() {
        let (outer, inner) = (Arc::new(Switch::default()), Arc::new(Switch::default()));
        inner.0.store(true, Ordering::Relaxed);
        let mut work = Box::pin(async {
            let mut work = Box::pin(async { check() });
            let polled = once(&inner, ENDLESS, work.as_mut());
            assert!(matches!(polled, Polled::Ready(Err(_))));
            check()
        });
        assert!(matches!(once(&outer, ENDLESS, work.as_mut()), Polled::Ready(Ok(()))));
    }
}
