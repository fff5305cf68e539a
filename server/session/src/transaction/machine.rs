//! The state machine of a transaction block: pure transitions, without a session.
//!
//! ```text
//!            BEGIN                     an error
//!   None ───────────▶ Active ───────────────────────────▶ Failed
//!    ▲ ◀── COMMIT ──────┤ ◀──── ROLLBACK TO SAVEPOINT ─────┤
//!    ├ ◀── ROLLBACK ────┼───────── ROLLBACK or COMMIT ◀────┘
//!    │                  └─ RELEASE cockroach_restart ─▶ Released
//!    └ ◀────────────────────────── COMMIT or ROLLBACK ◀────┘
//! ```
//!
//! A session asks [`BlockMachine::on`] what an event means, carries out the [`Effect`], and then
//! enters the next state with [`BlockMachine::enter`]. Nothing else changes the state.
//!
//! An implicit transaction is open while the state is None and the session has an open kv
//! transaction.

use braid_types::{Error, SqlState};

/// Whether the session is in a transaction block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Block {
    /// No.
    #[default]
    None,
    /// Yes.
    Active,
    /// Yes, and it has failed.
    Failed,
    /// Yes, and it has committed already by `RELEASE SAVEPOINT cockroach_restart`.
    Released,
}

/// What happens to a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// `BEGIN`
    Begin,
    /// `AND CHAIN`, after the block has ended.
    Chain,
    /// A statement that a failed block does not take.
    Statement,
    /// `SAVEPOINT` and `RELEASE SAVEPOINT`.
    Savepoint,
    /// `ROLLBACK TO SAVEPOINT`
    RollbackTo,
    /// `RELEASE SAVEPOINT cockroach_restart` has committed.
    CommittedByRelease,
    /// An error is on its way to the client.
    Error {
        /// Whether there is a savepoint to go back to.
        has_savepoint: bool,
    },
    /// `COMMIT`, perhaps `AND CHAIN`.
    Commit {
        /// `AND CHAIN`
        chain: bool,
    },
    /// `ROLLBACK`, perhaps `AND CHAIN`.
    Rollback {
        /// `AND CHAIN`
        chain: bool,
    },
    /// The transaction is to run again, or cannot: the block is forgotten.
    Forget,
    /// A rerun has failed: the block is as its client believes it to be.
    Restore,
}

/// What the session has to do before it enters the next state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing.
    Nothing,
    /// Begin the block.
    Begin,
    /// Warn that there is a transaction already.
    WarnBegun,
    /// Commit the block.
    Commit,
    /// Warn that there is no block, and commit what is open.
    WarnAndCommit,
    /// Roll back what is open.
    RollBack,
    /// Warn that there is no block, and roll back what is open.
    WarnAndRollBack,
    /// Warn that the block has committed, and roll back what is open.
    WarnCommitted,
    /// Keep what is open: the client may go back to a savepoint.
    KeepForSavepoint,
}

/// Why an event is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// 25P02: the block has failed.
    Aborted,
    /// 25000: the block has committed.
    Committed,
    /// 25P01: there is no block.
    NotInBlock,
}

impl Refusal {
    /// The error for this command.
    pub(crate) fn of(self, command: &str) -> Error {
        match self {
            Refusal::Aborted => Error::new(
                SqlState::InFailedSqlTransaction,
                "current transaction is aborted, commands ignored until end of transaction block",
            ),
            Refusal::Committed => Error::new(
                SqlState::InvalidTransactionState,
                "current transaction is committed, commands ignored until end of transaction block",
            ),
            Refusal::NotInBlock => Error::new(
                SqlState::NoActiveSqlTransaction,
                format!("{command} can only be used in transaction blocks"),
            ),
        }
    }
}

/// What an event means in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transition {
    /// What to do first.
    pub effect: Effect,
    /// The state afterwards.
    pub next: Block,
}

fn to(next: Block, effect: Effect) -> Result<Transition, Refusal> {
    Ok(Transition { effect, next })
}

impl Block {
    /// What an event means in this state.
    pub(crate) fn on(self, event: Event) -> Result<Transition, Refusal> {
        use Block::{Active, Failed, None, Released};
        match (self, event) {
            (None, Event::Begin) => to(Active, Effect::Begin),
            (Active, Event::Begin) => to(Active, Effect::WarnBegun),
            (None, Event::Statement) => to(None, Effect::Nothing),
            (Active, Event::Statement | Event::Savepoint) => to(Active, Effect::Nothing),
            (None, Event::Savepoint | Event::RollbackTo) => Err(Refusal::NotInBlock),
            (Failed, Event::Begin | Event::Statement | Event::Savepoint) => Err(Refusal::Aborted),
            (Released, Event::Begin | Event::Statement) => Err(Refusal::Committed),
            (Released, Event::Savepoint | Event::RollbackTo) => Err(Refusal::Committed),
            (Active | Failed, Event::RollbackTo) => to(Active, Effect::Nothing),
            (_, Event::CommittedByRelease) => to(Released, Effect::Nothing),
            (None, Event::Error { .. }) => to(None, Effect::RollBack),
            (Active, Event::Error { has_savepoint: true }) => to(Failed, Effect::KeepForSavepoint),
            (Active, Event::Error { has_savepoint: false }) => to(Failed, Effect::RollBack),
            (Failed | Released, Event::Error { .. }) => to(self, Effect::Nothing),
            (None, Event::Commit { chain: true } | Event::Rollback { chain: true }) => {
                Err(Refusal::NotInBlock)
            }
            (None, Event::Commit { chain: false }) => to(None, Effect::WarnAndCommit),
            (Active, Event::Commit { .. }) => to(None, Effect::Commit),
            (Failed, Event::Commit { .. }) => to(None, Effect::RollBack),
            (Released, Event::Commit { .. }) => to(None, Effect::Nothing),
            (None, Event::Rollback { chain: false }) => to(None, Effect::WarnAndRollBack),
            (Active | Failed, Event::Rollback { .. }) => to(None, Effect::RollBack),
            (Released, Event::Rollback { .. }) => to(None, Effect::WarnCommitted),
            (_, Event::Forget) => to(None, Effect::Nothing),
            (_, Event::Chain | Event::Restore) => to(Active, Effect::Nothing),
        }
    }
}

/// The state of a session's block.
#[derive(Debug, Default)]
pub(crate) struct BlockMachine(Block);

impl BlockMachine {
    /// The state.
    pub(crate) fn state(&self) -> Block {
        self.0
    }

    /// What an event means now.
    pub(crate) fn on(&self, event: Event) -> Result<Transition, Refusal> {
        self.0.on(event)
    }

    /// Enters the state after a transition whose effect was carried out.
    pub(crate) fn enter(&mut self, transition: Transition) {
        self.0 = transition.next;
    }

    /// Follows an event that is never refused and asks for nothing.
    pub(crate) fn follow(&mut self, event: Event) {
        let transition = self.0.on(event);
        debug_assert!(
            transition.is_ok_and(|transition| transition.effect == Effect::Nothing),
            "{event:?} is refused or asks for something in {:?}",
            self.0
        );
        if let Ok(transition) = transition {
            self.0 = transition.next;
        }
    }

    /// 25P02 in a failed block, 25000 in a released one.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.0.on(Event::Statement).map(drop).map_err(|refusal| refusal.of("this statement"))
    }
}

impl PartialEq<Block> for BlockMachine {
    fn eq(&self, state: &Block) -> bool {
        self.0 == *state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATES: [Block; 4] = [Block::None, Block::Active, Block::Failed, Block::Released];

    fn check(event: Event, wanted: [Result<(Block, Effect), Refusal>; 4]) {
        for (state, wanted) in STATES.into_iter().zip(wanted) {
            let found = state.on(event).map(|transition| (transition.next, transition.effect));
            assert_eq!(found, wanted, "{event:?} in {state:?}");
        }
    }

    #[test]
    fn begin_opens_one_block_and_warns_of_a_second() {
        check(
            Event::Begin,
            [
                Ok((Block::Active, Effect::Begin)),
                Ok((Block::Active, Effect::WarnBegun)),
                Err(Refusal::Aborted),
                Err(Refusal::Committed),
            ],
        );
    }

    #[test]
    fn a_failed_block_takes_no_statement() {
        check(
            Event::Statement,
            [
                Ok((Block::None, Effect::Nothing)),
                Ok((Block::Active, Effect::Nothing)),
                Err(Refusal::Aborted),
                Err(Refusal::Committed),
            ],
        );
    }

    #[test]
    fn savepoints_need_a_block_that_works() {
        check(
            Event::Savepoint,
            [
                Err(Refusal::NotInBlock),
                Ok((Block::Active, Effect::Nothing)),
                Err(Refusal::Aborted),
                Err(Refusal::Committed),
            ],
        );
    }

    #[test]
    fn rollback_to_a_savepoint_cures_a_failure() {
        check(
            Event::RollbackTo,
            [
                Err(Refusal::NotInBlock),
                Ok((Block::Active, Effect::Nothing)),
                Ok((Block::Active, Effect::Nothing)),
                Err(Refusal::Committed),
            ],
        );
    }

    #[test]
    fn an_error_fails_a_block_and_keeps_it_only_for_a_savepoint() {
        check(
            Event::Error { has_savepoint: false },
            [
                Ok((Block::None, Effect::RollBack)),
                Ok((Block::Failed, Effect::RollBack)),
                Ok((Block::Failed, Effect::Nothing)),
                Ok((Block::Released, Effect::Nothing)),
            ],
        );
        check(
            Event::Error { has_savepoint: true },
            [
                Ok((Block::None, Effect::RollBack)),
                Ok((Block::Failed, Effect::KeepForSavepoint)),
                Ok((Block::Failed, Effect::Nothing)),
                Ok((Block::Released, Effect::Nothing)),
            ],
        );
    }

    #[test]
    fn commit_ends_every_block_and_rolls_a_failed_one_back() {
        for chain in [false, true] {
            let outside = match chain {
                true => Err(Refusal::NotInBlock),
                false => Ok((Block::None, Effect::WarnAndCommit)),
            };
            check(
                Event::Commit { chain },
                [
                    outside,
                    Ok((Block::None, Effect::Commit)),
                    Ok((Block::None, Effect::RollBack)),
                    Ok((Block::None, Effect::Nothing)),
                ],
            );
        }
    }

    #[test]
    fn rollback_ends_every_block() {
        for chain in [false, true] {
            let outside = match chain {
                true => Err(Refusal::NotInBlock),
                false => Ok((Block::None, Effect::WarnAndRollBack)),
            };
            check(
                Event::Rollback { chain },
                [
                    outside,
                    Ok((Block::None, Effect::RollBack)),
                    Ok((Block::None, Effect::RollBack)),
                    Ok((Block::None, Effect::WarnCommitted)),
                ],
            );
        }
    }

    #[test]
    fn what_follows_a_rerun_a_chain_or_a_release_is_never_refused() {
        for (event, next) in [
            (Event::Forget, Block::None),
            (Event::Restore, Block::Active),
            (Event::Chain, Block::Active),
            (Event::CommittedByRelease, Block::Released),
        ] {
            check(event, [Ok((next, Effect::Nothing)); 4]);
        }
    }

    #[test]
    fn a_session_follows_the_machine_through_a_restarted_block() {
        let mut block = BlockMachine::default();
        let events = [
            (Event::Begin, Block::Active),
            (Event::Savepoint, Block::Active),
            (Event::Error { has_savepoint: true }, Block::Failed),
            (Event::RollbackTo, Block::Active),
            (Event::CommittedByRelease, Block::Released),
            (Event::Commit { chain: true }, Block::None),
            (Event::Chain, Block::Active),
        ];
        for (event, wanted) in events {
            let transition = block.on(event).expect("the event is allowed");
            block.enter(transition);
            assert_eq!(block.state(), wanted, "after {event:?}");
        }
    }
}
