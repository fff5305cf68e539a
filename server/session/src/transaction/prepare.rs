//! One attempt to prepare a transaction: locks, which may be waited for, then the record.
//!
//! Rule: once the record may be stored, the attempt runs to its end in a task of its own. The list
//! of prepared transactions has to know how it ends.

use std::sync::Arc;

use braid_cluster::{PreparedInfo, ReserveRefusal};
use braid_kv::{Error as Kv, Preparation, Result as KvResult, Transaction};
use braid_types::{Error, Result, SqlState};

use crate::session::Session;

/// Prepares the transaction under its identifier. The outer error is one of the identifier.
pub(crate) async fn prepare_kv(
    session: &Session,
    txn: &Arc<Transaction>,
    info: &PreparedInfo,
) -> Result<KvResult<()>> {
    let prepared = &session.engine.prepared;
    let reservation = prepared.reserve(info.clone()).map_err(|refusal| match refusal {
        ReserveRefusal::InUse => {
            let message = format!("transaction identifier \"{}\" is already in use", info.gid);
            Error::new(SqlState::DuplicateObject, message)
        }
        ReserveRefusal::TooMany => {
            let message = "maximum number of prepared transactions reached";
            let max = prepared.max();
            let hint = format!("Increase max_prepared_transactions (currently {max}).");
            Error::new(SqlState::OutOfMemory, message).hint(hint)
        }
    })?;
    let preparation = tokio::select! {
        biased;
        locked = Preparation::begin(txn) => match locked {
            Ok(preparation) => preparation,
            Err(error) => return Ok(Err(error)),
        },
        error = session.shared.entry.cancel.stopped() => return Err(error),
    };
    let task = tokio::spawn(reservation.prepare(preparation));
    Ok(task.await.unwrap_or(Err(Kv::Unknown)))
}
