//! `PREPARE TRANSACTION`, `COMMIT PREPARED` and `ROLLBACK PREPARED`.
//!
//! ```text
//! PREPARE TRANSACTION ─ checks ─ commit_work ─ prepare_kv ─▶ prepared, or rolled back
//! COMMIT PREPARED     ─ checks ─ claim ─ a task of its own ─▶ gone, or prepared as before
//! ```
//!
//! Rule: the steps that change the store run in tasks that nobody drops, because the list of
//! prepared transactions has to know how they end.

use braid_catalog::Id;
use braid_cluster::{ClaimRefusal, PreparedInfo};
use braid_exec::{from_kv, pending_notifications};
use braid_kv::Error as Kv;
use braid_types::{Error, Result, SqlState};

use crate::clock::now_micros;
use crate::session::Session;
use crate::statement::commands::transaction_control::{rollback_block, unsupported};
use crate::statement::portal::Portal;
use crate::transaction::commit::prepare_open;
use crate::transaction::commit_attempt::{end_block, rollback_open};
use crate::transaction::machine::Block;

/// Bytes of an identifier, at most.
const GID_BYTES_MAX: usize = 199;

/// `PREPARE TRANSACTION`; the tag. However it ends, the block is over.
pub(crate) async fn prepare_transaction(session: &mut Session, gid: &str) -> Result<&'static str> {
    if session.block != Block::Active {
        rollback_block(session, false).await?;
        return Ok("ROLLBACK");
    }
    let result = match check_preparable(session, gid).await {
        Ok(info) => prepare_open(session, info).await,
        Err(error) => {
            rollback_open(session).await;
            Err(error)
        }
    };
    end_block(session);
    result.map(|()| "PREPARE TRANSACTION")
}

/// Whether the open transaction can wait for its second step; what is stored of it.
async fn check_preparable(session: &Session, gid: &str) -> Result<PreparedInfo> {
    if gid.len() > GID_BYTES_MAX {
        let message = format!("transaction identifier \"{gid}\" is too long");
        return Err(Error::new(SqlState::InvalidParameterValue, message));
    }
    let prepared = &session.engine.prepared;
    if !session.engine.kv.store().can_prepare() {
        return Err(unsupported("prepared transactions are not supported over TiKV")
            .detail("A lock in TiKV lasts only as long as the gateway that has taken it."));
    }
    if prepared.max() == 0 {
        let message = "prepared transactions are disabled";
        return Err(Error::new(SqlState::ObjectNotInPrerequisiteState, message)
            .hint("Set max_prepared_transactions to a nonzero value."));
    }
    let holds = |portal: &Portal| portal.cursor.as_ref().is_some_and(|cursor| cursor.hold);
    if session.portals.values().any(|portal| holds(portal) && !portal.held) {
        return Err(refused("has created a cursor WITH HOLD"));
    }
    if session.shared.exports.lock().has_any() {
        return Err(refused("has exported snapshots"));
    }
    if session.shared.advisory.has_transaction_locks() {
        return Err(refused("holds advisory locks"));
    }
    if let Some(open) = &session.open {
        if open.draft.is_locked() {
            let hint = "Commit the definitions before the transaction begins.";
            return Err(refused("has changed definitions").hint(hint));
        }
        // A draft without the catalog's lock has temporary objects only.
        if open.draft.is_open() || open.txn.writes().has_local() {
            return Err(refused("has operated on temporary objects"));
        }
        if pending_notifications(&open.txn).is_some() {
            return Err(refused("has executed LISTEN, UNLISTEN, or NOTIFY"));
        }
    }
    Ok(PreparedInfo {
        gid: gid.to_owned(),
        database: session.shared.database,
        role: current_role(session).await?,
        micros: now_micros(),
    })
}

fn refused(what: &str) -> Error {
    unsupported(&format!("cannot PREPARE a transaction that {what}"))
}

/// `COMMIT PREPARED` and `ROLLBACK PREPARED`; the tag.
pub(crate) async fn finish_prepared(
    session: &mut Session,
    commit: bool,
    gid: &str,
) -> Result<&'static str> {
    let tag = if commit { "COMMIT PREPARED" } else { "ROLLBACK PREPARED" };
    if session.block != Block::None || session.in_simple_list {
        let message = format!("{tag} cannot run inside a transaction block");
        return Err(Error::new(SqlState::ActiveSqlTransaction, message));
    }
    let prepared = session.engine.prepared.clone();
    let unknown = || {
        let message = format!("prepared transaction with identifier \"{gid}\" does not exist");
        Error::new(SqlState::UndefinedObject, message)
    };
    let info = prepared.info(gid).ok_or_else(unknown)?;
    check_may_finish(session, &info).await?;
    let claim = prepared.claim(gid).map_err(|refusal| match refusal {
        ClaimRefusal::Unknown => unknown(),
        ClaimRefusal::Busy => {
            let message = format!("prepared transaction with identifier \"{gid}\" is busy");
            Error::new(SqlState::ObjectNotInPrerequisiteState, message)
        }
    })?;
    let task = tokio::spawn(claim.end(commit));
    task.await.unwrap_or(Err(Kv::Unknown)).map_err(from_kv)?;
    Ok(tag)
}

async fn current_role(session: &Session) -> Result<Id> {
    let (catalog, name) = (session.engine.catalog_now().await?, session.shared.current_user());
    catalog.names().role(&name).map(|role| role.id).ok_or_else(|| {
        Error::new(SqlState::UndefinedObject, format!("role \"{name}\" does not exist"))
    })
}

async fn check_may_finish(session: &Session, info: &PreparedInfo) -> Result<()> {
    let is_superuser = session.shared.state.lock().settings.is_superuser();
    if !is_superuser && current_role(session).await? != info.role {
        let message = "permission denied to finish prepared transaction";
        let hint = "Must be superuser or the user that prepared the transaction.";
        return Err(Error::new(SqlState::InsufficientPrivilege, message).hint(hint));
    }
    if session.shared.database != info.database {
        return Err(unsupported("prepared transaction belongs to another database")
            .hint("Connect to the database where the transaction was prepared to finish it."));
    }
    Ok(())
}
