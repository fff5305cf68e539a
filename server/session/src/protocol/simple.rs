//! The simple protocol: one text, any number of statements, one implicit transaction.
//!
//! Rules: every result comes before the next statement runs; the last command tag is sent only
//! after the commit; a conflict runs the statements of the implicit transaction again as long as
//! nothing of them has left.

use std::sync::Arc;

use braid_sql::ast::Statement;
use braid_types::Result;

use crate::client::{Client, Formats};
use crate::groups::barrier::error_after_group;
use crate::protocol::between::note_idle;
use crate::retry::batch::finish_batch;
use crate::retry::commit::commit_before_tag;
use crate::retry::deadline::{begin_request, end_request, pause};
use crate::retry::reason::{is_injected, is_retryable};
use crate::retry::reruns::Reruns;
use crate::session::Session;
use crate::statement::context::{guard_statement, send_notices};
use crate::statement::describe::describe_prepared;
use crate::statement::kinds::is_planned;
use crate::statement::plans::cache::ParsedText;
use crate::statement::portal::{Portal, Wanted};
use crate::statement::prepared::Prepared;
use crate::statement::runner::run_portal;
use crate::statement::skeleton::insert::shared_query;
use crate::transaction::commit::{end_block, take_back_open};
use crate::transaction::machine::Block;

/// Where an implicit transaction of a list of statements began.
struct Segment {
    /// The first of its statements.
    index: usize,
    /// Where its output begins.
    position: u64,
    /// How often it is run again.
    reruns: Reruns,
}

impl Segment {
    fn new(index: usize, client: &dyn Client) -> Segment {
        Segment { index, position: client.position(), reruns: Reruns::new() }
    }
}

impl Session {
    /// Runs a query text. The error is to be sent; results before it have been written.
    pub async fn simple(&mut self, sql: &str, client: &mut dyn Client) -> Result<()> {
        begin_request(self);
        self.portals.remove("");
        // An implicit transaction of the extended protocol ends here, as in PostgreSQL.
        let mut result = Ok(());
        if self.block == Block::None && self.open.is_some() {
            result = finish_batch(self, client).await;
        }
        self.replay.clear();
        if result.is_ok() {
            result = run_text(self, sql, client).await;
        }
        end_request(self);
        if let Err(error) = result {
            result = Err(error_after_group(self, error).await);
        }
        self.in_simple_list = false;
        if let Err(error) = &result {
            self.fail(error).await;
        }
        send_notices(self, client);
        note_idle(self);
        result
    }
}

async fn run_text(session: &mut Session, sql: &str, client: &mut dyn Client) -> Result<()> {
    if let Some(prepared) = shared_query(session, sql).await
        && run_shared(session, prepared, client).await?
    {
        return Ok(());
    }
    let parsed = session.engine.plans.parse(sql)?;
    let count = parsed.statements.len();
    if count == 0 {
        client.empty_query();
        return Ok(());
    }
    session.in_simple_list = count > 1;
    let mut segment = Segment::new(0, client);
    // A transaction that began in an earlier text cannot be run again from this one.
    let mut whole = session.block == Block::None;
    // The statement whose time runs, whatever has to run again before it.
    let mut current = None;
    let mut guard = None;
    let mut index = 0;
    while index < count {
        if session.block == Block::None && session.open.is_none() && segment.index != index {
            segment = Segment::new(index, client);
            session.replay.clear();
            whole = true;
        }
        if current.is_none_or(|current| index > current) {
            if current.replace(index).is_some() {
                end_request(session);
                begin_request(session);
            }
            drop(guard.take());
            guard = guard_statement(session, &parsed.text);
        }
        let result = run_listed(session, &parsed, index, index + 1 == count, client).await;
        match result {
            Ok(()) => index += 1,
            Err(error) => {
                // A block counts as well, if it began in this text.
                let may_run_again = whole
                    && matches!(session.block.state(), Block::None | Block::Active)
                    && is_retryable(&error)
                    && !is_injected(&error)
                    && !session.replay.blocked
                    && session.shared.advisory.may_run_again(None, &error);
                let attempt = segment.reruns.next().filter(|_| may_run_again);
                let Some(attempt) = attempt.filter(|_| client.rewind(segment.position)) else {
                    return Err(error);
                };
                session.shared.count_server_retry(&error);
                take_back_open(session).await;
                end_block(session);
                pause(session, attempt).await?;
                index = segment.index;
            }
        }
    }
    Ok(())
}

/// Runs a statement by its skeleton that is the whole text; false if it is to run again, which
/// it does the ordinary way.
async fn run_shared(
    session: &mut Session,
    prepared: Prepared,
    client: &mut dyn Client,
) -> Result<bool> {
    session.in_simple_list = false;
    let is_alone = session.block == Block::None;
    let start = client.position();
    let mut portal = Portal::new(Arc::new(prepared), Arc::default(), Formats::TEXT);
    let mut result = run_portal(session, &mut portal, Wanted::DESCRIBED, client).await.map(drop);
    // The commit of many rows does not need their values any more.
    drop(portal);
    if result.is_ok() && is_alone {
        result = commit_before_tag(session, client).await;
    }
    let Err(error) = result else { return Ok(true) };
    let may_run_again = is_alone
        && is_retryable(&error)
        && !is_injected(&error)
        && session.shared.advisory.may_run_again(None, &error);
    if !(may_run_again && client.rewind(start)) {
        return Err(error);
    }
    session.shared.count_server_retry(&error);
    take_back_open(session).await;
    Ok(false)
}

/// Runs one statement of a list; the last one commits what is implicit.
async fn run_listed(
    session: &mut Session,
    parsed: &Arc<ParsedText>,
    index: usize,
    last: bool,
    client: &mut dyn Client,
) -> Result<()> {
    let prepared = Prepared::new("", parsed.clone(), Some(index), Vec::new());
    let prepared = complete_simple(session, prepared).await?;
    let mut portal = Portal::new(Arc::new(prepared), Arc::default(), Formats::TEXT);
    run_portal(session, &mut portal, Wanted::DESCRIBED, client).await?;
    if last && session.block == Block::None {
        commit_before_tag(session, client).await?;
    }
    Ok(())
}

/// What the simple protocol needs to know of a statement: less than a Parse, because its
/// plan is made when it runs.
async fn complete_simple(session: &mut Session, prepared: Prepared) -> Result<Prepared> {
    let Some(statement) = prepared.statement() else { return Ok(prepared) };
    // PREPARE has parameters of its own.
    if prepared.parameters() > 0 && !matches!(statement, Statement::Prepare(_)) {
        return Err(prepared.no_parameter());
    }
    if is_planned(statement) { Ok(prepared) } else { describe_prepared(session, prepared).await }
}
