//! Cursors of DECLARE: FETCH, MOVE, CLOSE, and those that outlive their transaction.
//!
//! A cursor is a portal whose rows are counted: position 0 is before the first row, n the n-th.
//! One that scrolls keeps its rows, and one that does not say so keeps a few. Others keep none, and
//! can only go forward.

use std::collections::VecDeque;
use std::sync::Arc;

use braid_exec::{CursorStep, RowPages};
use braid_sql::ast::{CursorTarget, DeclareCursor, FetchCursor, FetchDirection, Statement};
use braid_types::{Datum, Error, Result, Row, SqlState};

use crate::client::{Client, Formats, ResultColumn};
use crate::clock::now_micros;
use crate::session::Session;
use crate::statement::cursor_rows::{
    Rows, cursor_columns, forget_cursor, forget_cursors, note_cursor, plain_state,
};
use crate::statement::describe::describe_prepared;
use crate::statement::execute::{deliver, start_statement};
use crate::statement::plans::current_of::with_row_key;
use crate::statement::portal::{
    CursorState, Ended, Portal, RowKey, Run, Source, Wanted, hide_columns,
};
use crate::statement::prepared::Prepared;
use crate::transaction::open::{ensure_open, require_block};

/// `DECLARE`
pub(crate) async fn declare_cursor(
    session: &mut Session,
    declare: &DeclareCursor,
    outer: &Prepared,
    params: &Arc<Vec<Datum>>,
) -> Result<()> {
    if !declare.hold {
        require_block(session, "DECLARE CURSOR")?;
    }
    let name = braid_sql::fold(&declare.name);
    if session.portals.contains_key(&name) {
        return Err(Error::new(
            SqlState::DuplicateCursor,
            format!("cursor \"{name}\" already exists"),
        ));
    }
    let text = outer.parsed.text.get(declare.text.clone()).unwrap_or_default();
    let start = outer.parsed.characters_before(declare.text.start);
    let query = prepare_query(session, &name, text, outer).await;
    let (mut prepared, row_key) = query.map_err(|error| error.moved(start))?;
    if prepared.parameters() > params.len() {
        return Err(prepared.no_parameter());
    }
    let open = ensure_open(session);
    open.statements += 1;
    let seq = open.txn.next_statement();
    let mut running = start_statement(session, &prepared, params, seq).await?;
    if let Some(key) = &row_key {
        running.columns = without_key(&running.columns, key);
        prepared.columns = Some(running.columns.clone());
    }
    let formats = if declare.binary { Formats::all_binary() } else { Formats::TEXT };
    let mut portal = Portal::new(Arc::new(prepared), params.clone(), formats);
    portal.run = Run::Open(running);
    portal.cursor = Some(Box::new(CursorState {
        hold: declare.hold,
        scroll: declare.scroll,
        kept_bytes: 0,
        binary: declare.binary,
        text: outer.text().to_owned(),
        time: now_micros(),
        savepoints: session.block_state.savepoints.len(),
        position: 0,
        rows: RowPages::new(&session.shared.temp),
        at_end: false,
        row_key,
    }));
    session.portals.insert(name.clone(), portal);
    note_cursor(session, &name);
    session.replay.blocked = true;
    Ok(())
}

/// The query of a cursor, with the key of its rows where they have one.
async fn prepare_query(
    session: &mut Session,
    name: &str,
    text: &str,
    outer: &Prepared,
) -> Result<(Prepared, Option<RowKey>)> {
    let parsed = session.engine.plans.parse(text)?;
    if let Some((keyed, key)) = with_row_key(session, &parsed).await? {
        let prepared = Prepared::new(name, Arc::new(keyed), Some(0), outer.params.clone());
        // An aggregate has no row of the table. Another error comes again without the key.
        if let Ok(prepared) = Box::pin(describe_prepared(session, prepared)).await {
            return Ok((prepared, Some(key)));
        }
    }
    let prepared = Prepared::new(name, parsed, Some(0), outer.params.clone());
    Ok((Box::pin(describe_prepared(session, prepared)).await?, None))
}

/// The columns that the client sees.
fn without_key(columns: &[ResultColumn], key: &RowKey) -> Arc<[ResultColumn]> {
    let shown = columns.len().saturating_sub(key.columns.len());
    columns.iter().take(shown).cloned().collect()
}

/// `FETCH` and `MOVE`: the rows, and the tag.
pub(crate) async fn fetch_cursor(
    session: &mut Session,
    fetch: &FetchCursor,
) -> Result<(VecDeque<Row>, String)> {
    let name = braid_sql::fold(&fetch.name);
    if is_of_routine(session, &name) {
        return fetch_from_routine(session, &name, fetch).await;
    }
    let mut portal = session.portals.remove(&name).ok_or_else(|| unknown_cursor(&name))?;
    session.replay.blocked = true;
    let result = fetch_from(session, &mut portal, fetch.direction).await;
    let hidden = portal.hidden_columns();
    session.portals.insert(name, portal);
    let mut rows = result?;
    hide_columns(&mut rows, hidden);
    let word = if fetch.is_move { "MOVE" } else { "FETCH" };
    let tag = format!("{word} {}", rows.len());
    Ok((rows, tag))
}

/// Whether a routine has opened the cursor of that name.
fn is_of_routine(session: &Session, name: &str) -> bool {
    !session.portals.contains_key(name) && session.shared.cursors.has(name)
}

/// FETCH and MOVE of a cursor that a routine has opened.
async fn fetch_from_routine(
    session: &mut Session,
    name: &str,
    fetch: &FetchCursor,
) -> Result<(VecDeque<Row>, String)> {
    session.replay.blocked = true;
    let step = match fetch.direction {
        FetchDirection::Forward(count) => CursorStep::By(count),
        FetchDirection::Backward(0) => CursorStep::By(0),
        FetchDirection::Backward(count) => CursorStep::By(count.saturating_neg()),
        FetchDirection::First => CursorStep::To(1),
        FetchDirection::Last => CursorStep::To(-1),
        FetchDirection::Absolute(place) => CursorStep::To(place),
        FetchDirection::Relative(count) => CursorStep::Relative(count),
    };
    let cursor = session.shared.cursors.get(name)?;
    let rows = cursor.lock().await.fetch(step).await?;
    let word = if fetch.is_move { "MOVE" } else { "FETCH" };
    let tag = format!("{word} {}", rows.len());
    Ok((rows.into(), tag))
}

async fn fetch_from(
    session: &mut Session,
    portal: &mut Portal,
    direction: FetchDirection,
) -> Result<VecDeque<Row>> {
    let cancel = session.shared.entry.cancel.clone();
    if portal.cursor.is_none() {
        // A portal of the protocol can be fetched from as well, forward.
        portal.cursor = Some(Box::new(plain_state(&session.shared.temp)));
    }
    let Portal { run, cursor, .. } = portal;
    let Some(state) = cursor.as_deref_mut() else { return Ok(VecDeque::new()) };
    let mut rows = Rows { run, state, cancel: &cancel };
    let at = rows.state.position;
    match direction {
        FetchDirection::Forward(0) | FetchDirection::Relative(0) => rows.current().await,
        FetchDirection::Forward(n) if n > 0 => rows.forward(n).await,
        FetchDirection::Forward(n) => rows.backward(n.saturating_neg()).await,
        FetchDirection::Backward(0) => rows.current().await,
        FetchDirection::Backward(n) if n > 0 => rows.backward(n).await,
        FetchDirection::Backward(n) => rows.forward(n.saturating_neg()).await,
        FetchDirection::First => rows.single(1).await,
        FetchDirection::Last => {
            rows.read_to(i64::MAX).await?;
            let last = rows.state.last_known();
            rows.single(last).await
        }
        FetchDirection::Absolute(n) if n >= 0 => rows.single(n).await,
        FetchDirection::Absolute(n) => {
            rows.read_to(i64::MAX).await?;
            let position = (rows.state.last_known() + 1 + n).max(0);
            rows.single(position).await
        }
        FetchDirection::Relative(n) => rows.single(at.saturating_add(n).max(0)).await,
    }
}

/// A FETCH has the columns that its cursor has now: it may have been prepared before.
pub(crate) fn with_cursor_columns(session: &Session, prepared: Arc<Prepared>) -> Arc<Prepared> {
    let Some(Statement::Fetch(fetch)) = prepared.statement() else { return prepared };
    let columns = cursor_columns(session, &braid_sql::fold(&fetch.name));
    if fetch.is_move || columns.is_none() {
        return prepared;
    }
    let (parsed, hints) = (prepared.parsed.clone(), prepared.hints.clone());
    let mut fetched = Prepared::new(&prepared.name, parsed, prepared.index, hints);
    fetched.params = prepared.params.clone();
    fetched.columns = columns;
    fetched.trace = prepared.trace;
    Arc::new(fetched)
}

/// Sends what FETCH found.
pub(crate) async fn send_fetched(
    session: &mut Session,
    portal: &mut Portal,
    fetch: &FetchCursor,
    (rows, tag): (VecDeque<Row>, String),
    wanted: Wanted,
    client: &mut dyn Client,
) -> Result<Ended> {
    let name = braid_sql::fold(&fetch.name);
    let columns = cursor_columns(session, &name).unwrap_or_else(|| Arc::from([]));
    let source = session.portals.get(&name).and_then(|source| source.cursor.as_ref());
    let binary = source.is_some_and(|cursor| cursor.binary);
    if binary {
        portal.formats = Formats::all_binary();
    }
    if wanted.describe {
        client.row_description(&columns, &portal.formats);
    }
    let source = Source::Rows(rows, tag);
    portal.run = Run::Open(crate::statement::portal::Running { columns, source, standing: None });
    deliver(session, portal, 0, client).await
}

/// `CLOSE`
pub(crate) fn close_cursor(session: &mut Session, target: &CursorTarget) -> Result<String> {
    let tag = match target {
        CursorTarget::All => {
            session.portals.retain(|_, portal| portal.cursor.is_none());
            session.shared.cursors.close_all();
            forget_cursors(session);
            "CLOSE CURSOR ALL"
        }
        CursorTarget::Name(name) => {
            let name = braid_sql::fold(name);
            match is_of_routine(session, &name) {
                true => session.shared.cursors.close(&name)?,
                false => {
                    session.portals.remove(&name).ok_or_else(|| unknown_cursor(&name))?;
                    forget_cursor(session, &name);
                }
            }
            "CLOSE CURSOR"
        }
    };
    Ok(tag.to_owned())
}

fn unknown_cursor(name: &str) -> Error {
    Error::new(SqlState::InvalidCursorName, format!("cursor \"{name}\" does not exist"))
}
