//! The simple protocol: one text, any number of statements, one implicit transaction.
//!
//! Rules: every result comes before the next statement runs; the last command tag is sent only
//! after the commit; a conflict runs the statements of the implicit transaction again as long as
//! nothing of them has left.

use std::sync::Arc;

use braid_sql::ast::Statement;
use braid_types::Result;

use crate::client::{Client, Formats};
use crate::deadline::Reruns;
use crate::errors::{is_injected, is_retryable};
use crate::plan_cache::ParsedText;
use crate::portal::Portal;
use crate::prepared::{Prepared, is_planned};
use crate::session::Session;
use crate::transaction::Block;

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
        self.begin_request();
        self.portals.remove("");
        // An implicit transaction of the extended protocol ends here, as in PostgreSQL.
        let mut result = Ok(());
        if self.block == Block::None && self.open.is_some() {
            result = self.finish_batch(client).await;
        }
        self.replay.clear();
        if result.is_ok() {
            result = self.run_text(sql, client).await;
        }
        self.end_request();
        if let Err(error) = result {
            result = Err(self.behind_group(error).await);
        }
        self.in_simple_list = false;
        if let Err(error) = &result {
            self.fail(error).await;
        }
        self.send_notices(client);
        self.note_idle();
        result
    }

    async fn run_text(&mut self, sql: &str, client: &mut dyn Client) -> Result<()> {
        if let Some(prepared) = self.shared_query(sql).await
            && self.run_shared(prepared, client).await?
        {
            return Ok(());
        }
        let parsed = self.server.plans.parse(sql)?;
        let count = parsed.statements.len();
        if count == 0 {
            client.empty_query();
            return Ok(());
        }
        self.in_simple_list = count > 1;
        let mut segment = Segment::new(0, client);
        // A transaction that began in an earlier text cannot be run again from this one.
        let mut whole = self.block == Block::None;
        // The statement whose time runs, whatever has to run again before it.
        let mut current = None;
        let mut guard = None;
        let mut index = 0;
        while index < count {
            if self.block == Block::None && self.open.is_none() && segment.index != index {
                segment = Segment::new(index, client);
                self.replay.clear();
                whole = true;
            }
            if current.is_none_or(|current| index > current) {
                if current.replace(index).is_some() {
                    self.end_request();
                    self.begin_request();
                }
                drop(guard.take());
                guard = self.guard_statement(&parsed.text);
            }
            let result = self.run_listed(&parsed, index, index + 1 == count, client).await;
            match result {
                Ok(()) => index += 1,
                Err(error) => {
                    // A block counts as well, if it began in this text.
                    let may_run_again = whole
                        && matches!(self.block, Block::None | Block::Active)
                        && is_retryable(&error)
                        && !is_injected(&error)
                        && !self.replay.blocked
                        && self.shared.advisory.may_run_again(None, &error);
                    let attempt = segment.reruns.next().filter(|_| may_run_again);
                    let Some(attempt) = attempt.filter(|_| client.rewind(segment.position)) else {
                        return Err(error);
                    };
                    self.server.counters.server_retries.add(&error);
                    self.take_back_open().await;
                    self.end_block();
                    self.pause(attempt).await?;
                    index = segment.index;
                }
            }
        }
        Ok(())
    }

    /// Runs a statement by its skeleton that is the whole text; false if it is to run again, which
    /// it does the ordinary way.
    async fn run_shared(&mut self, prepared: Prepared, client: &mut dyn Client) -> Result<bool> {
        self.in_simple_list = false;
        let is_alone = self.block == Block::None;
        let start = client.position();
        let mut portal = Portal::new(Arc::new(prepared), Arc::default(), Formats::TEXT);
        let mut result = self.run_portal(&mut portal, 0, client, true).await.map(drop);
        // The commit of many rows does not need their values any more.
        drop(portal);
        if result.is_ok() && is_alone {
            result = self.commit_before_tag(client).await;
        }
        let Err(error) = result else { return Ok(true) };
        let may_run_again = is_alone
            && is_retryable(&error)
            && !is_injected(&error)
            && self.shared.advisory.may_run_again(None, &error);
        if !(may_run_again && client.rewind(start)) {
            return Err(error);
        }
        self.server.counters.server_retries.add(&error);
        self.take_back_open().await;
        Ok(false)
    }

    /// Runs one statement of a list; the last one commits what is implicit.
    async fn run_listed(
        &mut self,
        parsed: &Arc<ParsedText>,
        index: usize,
        last: bool,
        client: &mut dyn Client,
    ) -> Result<()> {
        let prepared = Prepared::new("", parsed.clone(), Some(index), Vec::new());
        let prepared = self.complete_simple(prepared).await?;
        let mut portal = Portal::new(Arc::new(prepared), Arc::default(), Formats::TEXT);
        self.run_portal(&mut portal, 0, client, true).await?;
        if last && self.block == Block::None {
            self.commit_before_tag(client).await?;
        }
        Ok(())
    }

    /// What the simple protocol needs to know of a statement: less than a Parse, because its
    /// plan is made when it runs.
    async fn complete_simple(&mut self, prepared: Prepared) -> Result<Prepared> {
        let Some(statement) = prepared.statement() else { return Ok(prepared) };
        // PREPARE has parameters of its own.
        if prepared.parameters() > 0 && !matches!(statement, Statement::Prepare(_)) {
            return Err(prepared.no_parameter());
        }
        if is_planned(statement) { Ok(prepared) } else { self.describe_new(prepared).await }
    }

    /// Commits before the last message, the command tag, can leave: it must not be sent if the
    /// commit fails.
    pub(crate) async fn commit_before_tag(&mut self, client: &mut dyn Client) -> Result<()> {
        let tag = client.take_after(self.tag_position);
        self.commit_open().await?;
        if let Some(tag) = tag {
            client.put_back(&tag);
        }
        Ok(())
    }

    pub(crate) fn note_idle(&mut self) {
        let state = match self.block {
            Block::None => "idle",
            Block::Failed => "idle in transaction (aborted)",
            Block::Active | Block::Released => "idle in transaction",
        };
        let mut activity = self.shared.entry.activity.lock();
        activity.state = state;
        activity.state_change = Some(crate::clock::now_micros());
    }
}
