//! Statements that the planner does not take, each to its own module.

use std::collections::VecDeque;
use std::sync::Arc;

use braid_ddl as ddl;
use braid_sql::ast::Statement;
use braid_types::{Datum, Error, Result, Row};

use crate::client::Client;
use crate::notify::commit::run_notification;
use crate::protocol::copy::run::run_copy;
use crate::protocol::cursors::{close_cursor, declare_cursor, fetch_cursor, send_fetched};
use crate::routines::run_routine;
use crate::session::Session;
use crate::statement::commands::check_table::check_named_table;
use crate::statement::commands::ddl::run_ddl;
use crate::statement::commands::lock_table::run_lock_table;
use crate::statement::commands::prepared_transactions::{finish_prepared, prepare_transaction};
use crate::statement::commands::savepoints::{release_savepoint, rollback_to, set_savepoint};
use crate::statement::commands::settings::{
    run_discard, run_reset, run_set, set_characteristics, show_rows,
};
use crate::statement::commands::transaction_control::{
    begin_block, begin_tag, commit_block, import_snapshot, rollback_block, set_transaction,
    warn_outside_block,
};
use crate::statement::context::send_notices;
use crate::statement::execute::deliver;
use crate::statement::portal::{Ended, Portal, Run, Running, Source, Wanted};
use crate::statement::prepare::{deallocate, prepare_sql};
use crate::statement::prepared::Prepared;
use crate::statistics::note::note_rows;
use crate::transaction::deferred_constraints::set_constraints;

/// Runs a statement that the planner does not take.
pub(crate) async fn run_command(
    session: &mut Session,
    portal: &mut Portal,
    wanted: Wanted,
    client: &mut dyn Client,
) -> Result<Ended> {
    let prepared = portal.prepared.clone();
    let statement =
        prepared.statement().ok_or_else(|| Error::internal("an empty statement cannot be run"))?;
    if matches!(portal.run, Run::Open(_)) {
        return deliver(session, portal, wanted.rows_max, client).await;
    }
    match statement {
        Statement::Copy(copy) => {
            let tag = run_copy(session, copy, &prepared, client).await?;
            return Ok(complete_command(session, client, &tag));
        }
        Statement::Show(target) => {
            let rows = show_rows(session, target)?;
            return send_rows(session, portal, (rows, "SHOW"), wanted, client).await;
        }
        Statement::CheckTable(name) => {
            let rows = check_named_table(session, name).await?;
            return send_rows(session, portal, (rows, "CHECK TABLE"), wanted, client).await;
        }
        Statement::Fetch(fetch) => {
            let (rows, tag) = fetch_cursor(session, fetch).await?;
            if fetch.is_move {
                return Ok(complete_command(session, client, &tag));
            }
            return send_fetched(session, portal, fetch, (rows, tag), wanted, client).await;
        }
        _ => {}
    }
    let tag = if let Statement::Do(_) | Statement::Call(_) = statement {
        let (tag, row) = run_routine(session, &prepared, statement, &portal.params).await?;
        if let Datum::Record(row) = row {
            let rows = VecDeque::from([row.to_vec()]);
            return send_rows(session, portal, (rows, tag), wanted, client).await;
        }
        tag.to_owned()
    } else if ddl::is_ddl(statement) {
        run_ddl(session, &prepared, statement, &portal.params).await?
    } else {
        run_tagged_command(session, &prepared, statement, &portal.params).await?
    };
    Ok(complete_command(session, client, &tag))
}

fn complete_command(session: &mut Session, client: &mut dyn Client, tag: &str) -> Ended {
    send_notices(session, client);
    session.tag_mark = client.mark();
    note_rows(session, tag);
    client.command_complete(tag);
    Ended::Complete
}

/// Sends rows that are there already.
async fn send_rows(
    session: &mut Session,
    portal: &mut Portal,
    (rows, tag): (VecDeque<Row>, &str),
    wanted: Wanted,
    client: &mut dyn Client,
) -> Result<Ended> {
    let columns = portal.prepared.columns.clone().unwrap_or_else(|| Arc::from([]));
    if wanted.describe {
        client.row_description(&columns, &portal.formats);
    }
    let source = Source::Rows(rows, tag.to_owned());
    portal.run = Run::Open(Running { columns, source, standing: None });
    deliver(session, portal, wanted.rows_max, client).await
}

async fn run_tagged_command(
    session: &mut Session,
    prepared: &Prepared,
    statement: &Statement,
    params: &Arc<Vec<Datum>>,
) -> Result<String> {
    let tag = match statement {
        Statement::Begin(modes) => {
            begin_block(session, modes)?;
            begin_tag(prepared.text())
        }
        Statement::Commit { and_chain } => commit_block(session, *and_chain).await?,
        Statement::Rollback { to_savepoint: Some(name), .. } => {
            rollback_to(session, &braid_sql::fold(name)).await?;
            "ROLLBACK"
        }
        Statement::Rollback { and_chain, to_savepoint: None } => {
            rollback_block(session, *and_chain).await?;
            "ROLLBACK"
        }
        Statement::Savepoint(name) => {
            set_savepoint(session, braid_sql::fold(name))?;
            "SAVEPOINT"
        }
        Statement::Release(name) => {
            release_savepoint(session, &braid_sql::fold(name)).await?;
            "RELEASE"
        }
        Statement::SetTransaction(modes) => {
            set_transaction(session, modes)?;
            "SET"
        }
        Statement::SetSessionCharacteristics(modes) => {
            set_characteristics(session, modes)?;
            "SET"
        }
        Statement::SetConstraints { names, deferred } => {
            warn_outside_block(session, "SET CONSTRAINTS");
            set_constraints(session, names.as_deref(), *deferred).await?;
            "SET CONSTRAINTS"
        }
        Statement::Set(set) => {
            run_set(session, set).await?;
            "SET"
        }
        Statement::Reset(reset) => {
            run_reset(session, reset).await?;
            "RESET"
        }
        Statement::Prepare(prepare) => {
            prepare_sql(session, prepare, prepared).await?;
            "PREPARE"
        }
        Statement::Deallocate(name) => return deallocate(session, name.as_ref()),
        Statement::Discard(kind) => return run_discard(session, *kind).await,
        Statement::DeclareCursor(declare) => {
            declare_cursor(session, declare, prepared, params).await?;
            "DECLARE CURSOR"
        }
        Statement::Close(target) => return close_cursor(session, target),
        other => return run_rare(session, other).await,
    };
    Ok(tag.to_owned())
}

/// Commands that few programs use.
async fn run_rare(session: &mut Session, statement: &Statement) -> Result<String> {
    let tag = match statement {
        Statement::SetTransactionSnapshot(name) => {
            import_snapshot(session, name)?;
            "SET"
        }
        Statement::LockTable(lock) => {
            run_lock_table(session, lock).await?;
            "LOCK TABLE"
        }
        Statement::Listen(_) | Statement::Unlisten(_) | Statement::Notify { .. } => {
            run_notification(session, statement)?
        }
        Statement::PrepareTransaction(gid) => prepare_transaction(session, gid).await?,
        Statement::FinishPrepared { commit, name } => {
            finish_prepared(session, *commit, name).await?
        }
        Statement::NoOp(command) => command,
        _ => return Err(Error::unsupported("this statement")),
    };
    Ok(tag.to_owned())
}
