//! `BEGIN`, `COMMIT`, `ROLLBACK` and `SET TRANSACTION`.
//!
//! The state machine of the block says what each of them means; here it is carried out.

use braid_sql::ast::{IsolationLevel, TransactionModes};
use braid_types::{Error, Result, SqlState};

use crate::clock::now_micros;
use crate::groups::ParallelStatements;
use crate::observe::transactions::begin_transaction;
use crate::session::Session;
use crate::shared::Modes;
use crate::transaction::commit::commit_open;
use crate::transaction::commit_attempt::{end_block, rollback_open};
use crate::transaction::machine::{Block, Effect, Event};
use crate::transaction::open::{ensure_open, require_block};
use crate::transaction::state::BlockState;

pub(crate) fn warn_outside_block(session: &mut Session, command: &str) {
    if require_block(session, command).is_err() {
        session.notices.warn(
            SqlState::NoActiveSqlTransaction,
            &format!("{command} can only be used in transaction blocks"),
        );
    }
}

pub(crate) fn set_transaction(session: &mut Session, modes: &TransactionModes) -> Result<()> {
    warn_outside_block(session, "SET TRANSACTION");
    if session.block == Block::None && !session.in_simple_list {
        return Ok(());
    }
    set_modes(session, modes)
}

/// `BEGIN`
pub(crate) fn begin_block(session: &mut Session, modes: &TransactionModes) -> Result<()> {
    let begin = session.block.on(Event::Begin).map_err(|refusal| refusal.of("BEGIN"))?;
    if begin.effect == Effect::Begin {
        session.block_state = BlockState { micros: Some(now_micros()), ..BlockState::default() };
        session.block.enter(begin);
        begin_transaction(session);
        let record_timeline = session.active().record_timeline;
        session.begin_group(record_timeline);
        if session.open.is_none() {
            session.shared.reset_modes();
        }
    } else {
        let message = "there is already a transaction in progress";
        session.notices.warn(SqlState::ActiveSqlTransaction, message);
    }
    set_modes(session, modes)
}

/// `SET TRANSACTION` in a routine: its transaction has begun. 25001 for what would need another.
pub(crate) fn set_running_modes(session: &mut Session, modes: &TransactionModes) -> Result<()> {
    let mut now = session.shared.modes();
    let refused = |message: &str| Err(Error::new(SqlState::ActiveSqlTransaction, message));
    if modes.isolation.is_some_and(|isolation| isolation != now.isolation) {
        return refused("SET TRANSACTION ISOLATION LEVEL must be called before any query");
    }
    if modes.read_only == Some(false) && now.read_only {
        return refused("transaction read-write mode must be set before any query");
    }
    now.read_only = modes.read_only.unwrap_or(now.read_only);
    now.deferrable = modes.deferrable.unwrap_or(now.deferrable);
    session.shared.state.lock().modes = now;
    Ok(())
}

pub(crate) fn set_modes(session: &mut Session, modes: &TransactionModes) -> Result<()> {
    let begun = session.open.as_ref().is_some_and(|open| open.statements > 0);
    let mut now = session.shared.modes();
    if let Some(isolation) = modes.isolation
        && isolation != now.isolation
    {
        if begun {
            return Err(Error::new(
                SqlState::ActiveSqlTransaction,
                "SET TRANSACTION ISOLATION LEVEL must be called before any query",
            ));
        }
        if !session.block_state.savepoints.is_empty() {
            return Err(Error::new(
                SqlState::ActiveSqlTransaction,
                "SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction",
            ));
        }
        now.isolation = isolation;
    }
    if let Some(read_only) = modes.read_only
        && read_only != now.read_only
    {
        if !read_only && !session.block_state.savepoints.is_empty() {
            return Err(Error::new(
                SqlState::ActiveSqlTransaction,
                "cannot set transaction read-write mode inside a read-only transaction",
            ));
        }
        if begun && !read_only {
            return Err(Error::new(
                SqlState::ActiveSqlTransaction,
                "transaction read-write mode must be set before any query",
            ));
        }
        now.read_only = read_only;
    }
    now.deferrable = modes.deferrable.unwrap_or(now.deferrable);
    session.shared.state.lock().modes = now;
    if !begun {
        // It has not been used yet, so it can begin again with these modes.
        session.open = None;
    }
    Ok(())
}

/// `COMMIT`; the tag.
pub(crate) async fn commit_block(session: &mut Session, and_chain: bool) -> Result<&'static str> {
    let modes = session.shared.modes();
    let commit = session.block.on(Event::Commit { chain: and_chain });
    let commit = commit.map_err(|refusal| refusal.of("COMMIT AND CHAIN"))?;
    match commit.effect {
        Effect::WarnAndCommit => {
            warn_no_transaction(session);
            commit_open(session).await?;
            return Ok("COMMIT");
        }
        Effect::Commit => {
            // However it ends, the block is over.
            let result = commit_open(session).await;
            end_block(session);
            result?;
        }
        Effect::RollBack => rollback_open(session).await,
        _ => {}
    }
    end_block(session);
    begin_chained(session, and_chain, modes);
    Ok(if commit.effect == Effect::RollBack { "ROLLBACK" } else { "COMMIT" })
}

fn warn_no_transaction(session: &mut Session) {
    let message = "there is no transaction in progress";
    session.notices.warn(SqlState::NoActiveSqlTransaction, message);
}

/// `ROLLBACK`
pub(crate) async fn rollback_block(session: &mut Session, and_chain: bool) -> Result<()> {
    let modes = session.shared.modes();
    let rollback = session.block.on(Event::Rollback { chain: and_chain });
    let rollback = rollback.map_err(|refusal| refusal.of("ROLLBACK AND CHAIN"))?;
    match rollback.effect {
        Effect::WarnAndRollBack => warn_no_transaction(session),
        Effect::WarnCommitted => {
            let message = "the transaction has been committed by RELEASE SAVEPOINT";
            session.notices.warn(SqlState::InvalidTransactionState, message);
        }
        _ => {}
    }
    rollback_open(session).await;
    end_block(session);
    begin_chained(session, and_chain, modes);
    Ok(())
}

fn begin_chained(session: &mut Session, and_chain: bool, modes: Modes) {
    if and_chain {
        session.block.follow(Event::Chain);
        session.block_state.micros = Some(now_micros());
        begin_transaction(session);
        session.shared.state.lock().modes = modes;
    }
}

/// `SET TRANSACTION SNAPSHOT`
pub(crate) fn import_snapshot(session: &mut Session, name: &str) -> Result<()> {
    warn_outside_block(session, "SET TRANSACTION");
    let begun = session.open.as_ref().is_some_and(|open| open.statements > 0);
    if begun || !session.block_state.savepoints.is_empty() {
        return Err(Error::new(
            SqlState::ActiveSqlTransaction,
            "SET TRANSACTION SNAPSHOT must be called before any query",
        ));
    }
    let modes = session.shared.modes();
    let is_serializable = modes.isolation == IsolationLevel::Serializable;
    if !is_serializable && modes.isolation != IsolationLevel::RepeatableRead {
        return Err(unsupported(
            "a snapshot-importing transaction must have isolation level SERIALIZABLE or \
             REPEATABLE READ",
        ));
    }
    let known = session.engine.snapshots.find(name);
    let exported = known.ok_or_else(|| {
        let message = format!("invalid snapshot identifier: \"{name}\"");
        Error::new(SqlState::InvalidParameterValue, message)
    })?;
    if is_serializable && !exported.is_serializable {
        return Err(unsupported(
            "a serializable transaction cannot import a snapshot from a non-serializable \
             transaction",
        ));
    }
    if is_serializable && exported.is_read_only && !modes.read_only {
        return Err(unsupported(
            "a non-read-only serializable transaction cannot import a snapshot from a \
             read-only transaction",
        ));
    }
    if exported.database != session.shared.entry.database {
        return Err(unsupported("cannot import a snapshot from a different database"));
    }
    if session.block != Block::None || session.in_simple_list {
        session.open = None;
        session.block_state.snapshot = Some(exported.snapshot);
        ensure_open(session);
    }
    Ok(())
}

/// The command tag of BEGIN, which may be written as START TRANSACTION.
pub(crate) fn begin_tag(text: &str) -> &'static str {
    let is_start = text.trim_start().to_ascii_lowercase().starts_with("start");
    if is_start { "START TRANSACTION" } else { "BEGIN" }
}

pub(crate) fn unsupported(message: &str) -> Error {
    Error::new(SqlState::FeatureNotSupported, message)
}
