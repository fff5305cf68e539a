//! The simple protocol: one text, any number of statements, one implicit transaction.
//!
//! ```text
//! run_text ─► one statement with a shared plan: run_shared ─┐
//!    │                                                        ├─► run_portal ─► commit ─► tag
//!    └──────► a list: run_listed for each statement ──────────┘
//!    ▲                              │ 40001 or 40P01, and nothing has left
//!    └── the text is parsed ────────┘
//! ```
//!
//! Rules: every result comes before the next statement runs; the last command tag is sent only
//! after the commit; a conflict runs the statements of the implicit transaction again as long as
//! nothing of them has left.

use std::sync::Arc;

use braid_sql::ast::Statement;
use braid_types::{Error, Result};

use crate::client::{Client, Formats, Mark, Severity};
use crate::groups::ParallelStatements;
use crate::observe::running::Subject;
use crate::observe::statements::{begin_statement, end_statement, resume_statement};
use crate::observe::traceparent::split_comment;
use crate::protocol::between::note_idle;
use crate::protocol::sync::finish_batch;
use crate::protocol::text::as_standard;
use crate::retry::driver::{Repeat, run_until_done};
use crate::retry::limits::Limits;
use crate::retry::pause::pause;
use crate::retry::reason::is_injected;
use crate::session::Session;
use crate::statement::context::send_notices;
use crate::statement::deadline::{StatementGuard, begin_request, end_request, guard_statement};
use crate::statement::describe::describe_prepared;
use crate::statement::kinds::is_planned;
use crate::statement::plans::cache::ParsedText;
use crate::statement::plans::sizes::with_sizes;
use crate::statement::portal::{Portal, Wanted};
use crate::statement::prepared::Prepared;
use crate::statement::runner::run_portal;
use crate::statement::skeleton::insert::shared_query;
use crate::transaction::commit::commit_before_tag;
use crate::transaction::commit_attempt::{end_block, take_back_open};
use crate::transaction::machine::Block;

impl Session {
    /// Runs a query text. The error is to be sent; results before it have been written.
    pub async fn simple(&mut self, sql: &str, client: &mut dyn Client) -> Result<()> {
        begin_request(self);
        self.portals.remove("");
        // An implicit transaction of the extended protocol ends here, as in PostgreSQL.
        let mut result = Ok(());
        if self.block == Block::None && self.open.is_some() {
            resume_statement(self);
            result = finish_batch(self, client).await;
        }
        end_statement(self, result.as_ref().err());
        self.replay.clear();
        if result.is_ok() {
            result = run_text(self, sql, client).await;
        }
        end_request(self);
        if let Err(error) = result {
            result = Err(self.error_after_group(error).await);
        }
        end_statement(self, result.as_ref().err());
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
    let sql = as_standard(session, sql)?;
    let (sql, comment) = split_comment(&sql);
    session.observer.comment = comment;
    send_notices(session, client);
    let list = match shared_query(session, sql).await {
        Some(prepared) => List::Shared(Box::new(prepared)),
        None => List::Parsed(session.engine.plans.parse(sql)?),
    };
    if list.count() == 0 {
        client.empty_query();
        return Ok(());
    }
    session.in_simple_list = list.count() > 1;
    let time = StatementTime { current: None, guard: None };
    let mark = client.mark();
    // A transaction that began in an earlier text cannot be run again from this one.
    let whole = session.block == Block::None;
    let mut segment = Segment { session, sql, list, first: 0, mark, whole, time, client };
    loop {
        let next = run_until_done(&mut segment).await?;
        if next == segment.list.count() {
            return Ok(());
        }
        segment.begin_at(next);
    }
}

/// The statements of a text.
enum List {
    /// One statement, by the plan that it shares with others. Its first attempt takes it, so that
    /// the commit of many rows does not keep their values in memory.
    Shared(Box<Prepared>),
    /// A shared statement that has been taken. Another attempt parses the text.
    Taken,
    Parsed(Arc<ParsedText>),
}

impl List {
    fn count(&self) -> usize {
        match self {
            List::Shared(_) | List::Taken => 1,
            List::Parsed(parsed) => parsed.statements.len(),
        }
    }
}

/// The statement whose time runs, whatever has to run again before it.
struct StatementTime {
    current: Option<usize>,
    guard: Option<StatementGuard>,
}

impl StatementTime {
    /// The time of a statement begins, unless it runs already or a later one's does.
    fn begin(&mut self, session: &mut Session, parsed: &Arc<ParsedText>, index: usize) {
        if self.current.is_some_and(|current| index <= current) {
            return;
        }
        if self.current.replace(index).is_some() {
            end_statement(session, None);
            end_request(session);
            begin_request(session);
        }
        drop(self.guard.take());
        self.guard = guard_statement(session, &parsed.text);
        let (statement, comment) = (&parsed.statements[index].statement, session.observer.comment);
        begin_statement(session, statement, comment, || Subject::Listed(parsed.clone(), index));
    }

    /// The same for the statement that is the whole text.
    fn begin_shared(&mut self, session: &mut Session, prepared: &Arc<Prepared>) {
        self.current = Some(0);
        self.guard = guard_statement(session, prepared.whole_text());
        if let Some(statement) = prepared.statement() {
            let comment = session.observer.comment;
            begin_statement(session, statement, comment, || Subject::Prepared(prepared.clone()));
        }
    }
}

/// The part of a list of statements that runs again as a whole: an implicit transaction, or a
/// block with what comes before it.
struct Segment<'a> {
    session: &'a mut Session,
    sql: &'a str,
    list: List,
    /// The first of its statements.
    first: usize,
    /// Where its output begins.
    mark: Mark,
    /// Its transaction began in this text.
    whole: bool,
    time: StatementTime,
    client: &'a mut dyn Client,
}

impl Segment<'_> {
    /// Goes on to the next part of the list.
    fn begin_at(&mut self, first: usize) {
        self.first = first;
        self.mark = self.client.mark();
        self.session.replay.clear();
        self.whole = true;
    }
}

impl Repeat for Segment<'_> {
    /// The statement that follows.
    type Output = usize;
    const LIMITS: Limits = Limits::TRANSACTION;

    async fn attempt(&mut self) -> Result<usize> {
        let Segment { session, sql, list, first, whole, time, client, .. } = self;
        let parsed = match std::mem::replace(list, List::Taken) {
            List::Shared(prepared) => {
                run_shared(session, Arc::new(*prepared), time, *client).await?;
                return Ok(1);
            }
            List::Parsed(parsed) => parsed,
            List::Taken => session.engine.plans.parse(sql)?,
        };
        *list = List::Parsed(parsed.clone());
        let count = parsed.statements.len();
        for index in *first..count {
            let is_between = session.block == Block::None && session.open.is_none();
            if is_between && index > *first {
                return Ok(index);
            }
            time.begin(session, &parsed, index);
            warn(session, &parsed, index, *client);
            run_listed(session, &parsed, index, index + 1 == count, *client).await?;
            // What is committed must not run again, although the next block follows at once.
            let statement = &parsed.statements[index].statement;
            if matches!(statement, Statement::Commit { and_chain: true, .. }) {
                *whole = false;
            }
        }
        Ok(count)
    }

    fn may_repeat(&mut self, error: &Error) -> bool {
        // A block counts as well, if it began in this text.
        self.whole
            && matches!(self.session.block.state(), Block::None | Block::Active)
            && !is_injected(error)
            && !self.session.replay.blocked
            && self.session.shared.advisory.may_run_again(None, error)
    }

    async fn begin_again(&mut self, error: Error, attempt: u32) -> Result<()> {
        if !self.client.rewind(self.mark) {
            return Err(error);
        }
        self.session.shared.count_server_retry(&error);
        take_back_open(self.session).await;
        end_block(self.session);
        pause(self.session, attempt).await
    }
}

/// Warns the client about precisions before it gets the rows.
fn warn(session: &mut Session, parsed: &ParsedText, index: usize, client: &mut dyn Client) {
    let warnings = parsed.warnings(index);
    if warnings.is_empty() {
        return;
    }
    for warning in warnings {
        session.notices.add(Severity::Warning, warning);
    }
    send_notices(session, client);
}

/// Runs the statement that is the whole text, and commits what is implicit.
async fn run_shared(
    session: &mut Session,
    prepared: Arc<Prepared>,
    time: &mut StatementTime,
    client: &mut dyn Client,
) -> Result<()> {
    time.begin_shared(session, &prepared);
    let mut portal = Portal::new(prepared, Arc::default(), Formats::TEXT);
    run_portal(session, &mut portal, Wanted::DESCRIBED, client).await?;
    drop(portal);
    if session.block == Block::None {
        commit_before_tag(session, client).await?;
    }
    Ok(())
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
    let prepared = with_sizes(session, prepared).await?;
    let Some(statement) = prepared.statement() else { return Ok(prepared) };
    // PREPARE has parameters of its own.
    if prepared.parameters() > 0 && !matches!(statement, Statement::Prepare(_)) {
        return Err(prepared.no_parameter());
    }
    if is_planned(statement) { Ok(prepared) } else { describe_prepared(session, prepared).await }
}
