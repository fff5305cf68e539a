//! `SET`, `RESET`, `SHOW` and `DISCARD`.

use std::collections::VecDeque;

use braid_sql::ast::{DiscardKind, Reset, Set, SetScope, SetValue, ShowTarget, TransactionModes};
use braid_types::{Datum, Error, Result, Row, SqlState};

use crate::groups::ParallelStatements;
use crate::session::Session;
use crate::settings::{is_identity, isolation_of, isolation_text};
use crate::statement::commands::show;
use crate::statement::commands::transaction_control::{set_modes, warn_outside_block};
use crate::statement::cursor_rows::forget_cursors;
use crate::statement::prepare::discard_prepared;
use crate::transaction::machine::Block;
use crate::transaction::open::{catalog_at, ensure_open};
use crate::transaction::temporary_objects::discard_temporary;

pub(crate) fn set_characteristics(session: &mut Session, modes: &TransactionModes) -> Result<()> {
    let on_off = |on: bool| if on { "on" } else { "off" }.to_owned();
    let mut state = session.shared.state.lock();
    let mut put = |name: &str, value: String| state.settings.set(name, &[value], false);
    if let Some(isolation) = modes.isolation {
        let text = isolation_text(isolation);
        put("default_transaction_isolation", text.to_owned())?;
    }
    if let Some(read_only) = modes.read_only {
        put("default_transaction_read_only", on_off(read_only))?;
    }
    if let Some(deferrable) = modes.deferrable {
        put("default_transaction_deferrable", on_off(deferrable))?;
    }
    Ok(())
}

pub(crate) async fn run_set(session: &mut Session, set: &Set) -> Result<()> {
    let local = set.scope == SetScope::Local;
    if local && session.block == Block::None && !session.in_simple_list {
        warn_outside_block(session, "SET LOCAL");
    }
    apply_set(session, set).await
}

/// `SET` without the warning that `LOCAL` has no effect outside of a block.
pub(crate) async fn apply_set(session: &mut Session, set: &Set) -> Result<()> {
    let local = set.scope == SetScope::Local;
    if local && session.block == Block::None {
        // It ends with the implicit transaction, which runs again with it.
        ensure_open(session);
    }
    let values = match &set.value {
        SetValue::Default => None,
        SetValue::Values(values) => Some(values.as_slice()),
    };
    match set.name.as_str() {
        "transaction_isolation" | "transaction_read_only" | "transaction_deferrable" => {
            return set_mode(session, &set.name, values);
        }
        "seed" => {
            if let Some(values) = values {
                let seed = crate::settings::check_value(&set.name, values)?;
                braid_builtins::seed_random(seed.parse().unwrap_or_default());
            }
            return Ok(());
        }
        name if is_identity(name) => {
            return set_user(session, &set.name, values, local).await;
        }
        _ => {}
    }
    let mut state = session.shared.state.lock();
    match values {
        None => state.settings.reset(&set.name, local),
        Some(values) => state.settings.set(&set.name, values, local).map(drop),
    }
}

/// `SET transaction_isolation` and similar variables are `SET TRANSACTION` in other words.
fn set_mode(session: &mut Session, name: &str, values: Option<&[String]>) -> Result<()> {
    let text = match values {
        None => session.shared.setting(&format!("default_{name}")).unwrap_or_default(),
        Some(values) => crate::settings::check_value(name, values)?,
    };
    let mut modes = TransactionModes::default();
    match name {
        "transaction_isolation" => modes.isolation = Some(isolation_of(&text)),
        "transaction_read_only" => modes.read_only = Some(text == "on"),
        _ => modes.deferrable = Some(text == "on"),
    }
    set_modes(session, &modes)
}

/// `SET ROLE` and `SET SESSION AUTHORIZATION`.
async fn set_user(
    session: &mut Session,
    name: &str,
    values: Option<&[String]>,
    local: bool,
) -> Result<()> {
    let seq = ensure_open(session).txn.next_statement();
    let catalog = catalog_at(session, seq).await?;
    let wanted = values.and_then(<[String]>::first).map(String::as_str);
    session.shared.set_identity(&catalog, name, wanted, local)
}

pub(crate) async fn run_reset(session: &mut Session, reset: &Reset) -> Result<()> {
    match reset {
        Reset::All => {
            session.shared.state.lock().settings.reset_all();
            Ok(())
        }
        Reset::Name(name) if is_identity(name) => set_user(session, name, None, false).await,
        Reset::Name(name) => session.shared.state.lock().settings.reset(name, false),
    }
}

pub(crate) fn show_rows(session: &Session, target: &ShowTarget) -> Result<VecDeque<Row>> {
    match target {
        ShowTarget::All => {
            let mut rows: Vec<(String, String, String)> =
                session.shared.state.lock().settings.all();
            for (name, value, _) in &mut rows {
                if let Some(actual) = session.shared.setting(name) {
                    *value = actual;
                }
            }
            rows.sort_by_key(|(name, _, _)| name.to_lowercase());
            let texts = |(a, b, c): (String, String, String)| {
                vec![Datum::text(a), Datum::text(b), Datum::text(c)]
            };
            Ok(rows.into_iter().map(texts).collect())
        }
        ShowTarget::Variable(name) => {
            let value = match session.shared.setting(name) {
                Some(value) => value,
                None => session.shared.state.lock().settings.show(name)?,
            };
            Ok(VecDeque::from([vec![Datum::text(value)]]))
        }
        ShowTarget::TransactionTimeline => Ok(session.timeline_rows()),
        ShowTarget::TransactionStatus => {
            let text = match session.block.state() {
                Block::None => "NoTxn",
                Block::Active => "Open",
                Block::Failed => "Aborted",
                Block::Released => "CommitWait",
            };
            Ok(VecDeque::from([vec![Datum::text(text)]]))
        }
        _ => Err(Error::unsupported(show::command(target))),
    }
}

pub(crate) async fn run_discard(session: &mut Session, kind: DiscardKind) -> Result<String> {
    match kind {
        DiscardKind::Plans => return Ok("DISCARD PLANS".to_owned()),
        DiscardKind::Temp => {
            discard_temporary(session).await?;
            return Ok("DISCARD TEMP".to_owned());
        }
        DiscardKind::Sequences => {
            session.shared.sequences.lock().clear();
            return Ok("DISCARD SEQUENCES".to_owned());
        }
        DiscardKind::All => {}
    }
    if session.block != Block::None || session.in_simple_list {
        return Err(Error::new(
            SqlState::ActiveSqlTransaction,
            "DISCARD ALL cannot run inside a transaction block",
        ));
    }
    session.portals.clear();
    forget_cursors(session);
    discard_temporary(session).await?;
    discard_prepared(session);
    session.shared.sequences.lock().clear();
    session.shared.advisory.discard();
    session.engine.hub.leave(&session.shared.inbox);
    let mut state = session.shared.state.lock();
    for name in ["role", "session_authorization", "is_superuser"] {
        state.settings.set_identity(name, None, false);
    }
    state.settings.reset_all();
    Ok("DISCARD ALL".to_owned())
}
