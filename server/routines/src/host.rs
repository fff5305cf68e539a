//! What a running body asks of what is around it.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use braid_catalog::{Draft, Routine};
use braid_exec::{ExecContext, NewKeys, NoticeLevel, RoutineCommand};
use braid_kv::{SavepointId, Seq};
use braid_types::{Datum, Error, Result, SqlState};
use futures_util::future::BoxFuture;

use crate::plpgsql::TransactionEnd;

/// A position to which the transaction can be taken back.
pub type Mark = usize;

/// What a running body asks of what is around it: a statement, or the session itself.
pub trait Host: Send {
    /// What the next statement may use: a number of its own, unless the routine is not volatile.
    fn next(&mut self) -> BoxFuture<'_, Result<Arc<ExecContext>>>;

    /// What expressions without queries may use.
    fn current(&mut self) -> BoxFuture<'_, Result<Arc<ExecContext>>>;

    /// Carries out a statement that is no query and changes no rows.
    fn command<'a>(&'a mut self, command: RoutineCommand<'a>) -> BoxFuture<'a, Result<()>>;

    /// A position to come back to.
    fn savepoint(&mut self) -> Result<Mark>;

    /// Takes back what came after a position.
    fn rollback_to(&mut self, mark: Mark) -> Result<()>;

    /// Forgets a position.
    fn release(&mut self, mark: Mark);

    /// Sends a message to the client.
    fn notice(&mut self, level: NoticeLevel, fields: Error);

    /// Whether a routine may change rows.
    fn is_volatile(&self) -> bool;

    /// Ends the transaction, and begins the next one. 2D000 where a body may not do that.
    fn end_transaction(&mut self, end: TransactionEnd) -> BoxFuture<'_, Result<()>>;

    /// Calls a procedure; the row of its OUT parameters, if it has any.
    fn call<'a>(
        &'a mut self,
        cx: &'a Arc<ExecContext>,
        routine: &'a Arc<Routine>,
        args: Vec<Datum>,
    ) -> BoxFuture<'a, Result<Datum>>;
}

/// 2D000: the body runs in a transaction that is not its own to end.
pub fn not_its_transaction() -> Error {
    Error::new(SqlState::InvalidTransactionTermination, "invalid transaction termination").hint(
        "COMMIT and ROLLBACK work in DO and in procedures that CALL runs outside of a \
         transaction block, without SECURITY DEFINER and SET.",
    )
}

/// The cause of 0A000: a body inside of a statement has a command that only the session runs, such
/// as SET CONSTRAINTS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandRefused;

impl fmt::Display for CommandRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a command that only the session runs")
    }
}

impl std::error::Error for CommandRefused {}

/// A body inside of a statement.
pub(crate) struct Nested {
    /// The statement that calls it.
    caller: Arc<ExecContext>,
    /// The same with the catalog and the settings that commands have left, as far as the body has
    /// got.
    newest: Arc<ExecContext>,
    is_volatile: bool,
    marks: Vec<Position>,
}

/// A position in the transaction of the caller.
struct Position {
    kv: SavepointId,
    draft: Option<Draft>,
    settings: Box<dyn Any + Send + Sync>,
}

impl Nested {
    /// A routine that a statement calls. 54001 if too many run inside each other.
    pub(crate) fn new(caller: &Arc<ExecContext>, is_volatile: bool) -> Result<Self> {
        Self::with_triggers(caller, is_volatile, 0)
    }

    /// The function of a trigger that a statement fires.
    pub(crate) fn of_trigger(caller: &Arc<ExecContext>, is_volatile: bool) -> Result<Self> {
        Self::with_triggers(caller, is_volatile, 1)
    }

    fn with_triggers(caller: &ExecContext, is_volatile: bool, triggers: usize) -> Result<Self> {
        let mut inner = caller.renumbered(caller.seq, caller.cancel.clone());
        inner.new_keys = NewKeys::Now;
        inner.routine_depth += 1;
        inner.trigger_depth += triggers;
        inner.enter_routine();
        check_depth(inner.routine_depth)?;
        let caller = Arc::new(inner);
        let newest = caller.clone();
        let mut nested = Self { caller, newest, is_volatile, marks: Vec::new() };
        nested.catch_up();
        Ok(nested)
    }

    /// Looks at what has been defined and set since the statement began.
    fn catch_up(&mut self) -> &Arc<ExecContext> {
        if self.newest.is_outdated() {
            self.start_over();
        }
        &self.newest
    }

    fn start_over(&mut self) {
        self.newest = match self.caller.renewed() {
            Some(newest) => Arc::new(newest),
            None => self.caller.clone(),
        };
    }

    async fn run_command(&mut self, command: RoutineCommand<'_>) -> Result<()> {
        let text = command.text;
        if !self.is_volatile {
            let word = command_words(text);
            let message = format!("{word} is not allowed in a non-volatile function");
            return Err(Error::new(SqlState::FeatureNotSupported, message));
        }
        let cx = self.next().await?;
        if cx.services.command(&cx, command).await? {
            return Ok(());
        }
        Err(Error::unsupported(format!("{} in a function", command_words(text)))
            .hint("DO, procedures that CALL runs, and SELECT of one call may run this command.")
            .caused_by(CommandRefused))
    }
}

/// 54001 if too many routines run inside each other.
pub(crate) fn check_depth(depth: usize) -> Result<()> {
    const MAX: usize = crate::deep::ROUTINE_DEPTH_MAX;
    if depth <= MAX {
        return Ok(());
    }
    Err(Error::new(SqlState::StatementTooComplex, "stack depth limit exceeded")
        .detail(format!("Functions may call each other up to {MAX} levels deep.")))
}

/// The words by which messages name a statement.
fn command_words(text: &str) -> String {
    let mut words = text.split_whitespace().map(str::to_uppercase);
    let first = words.next().unwrap_or_default();
    let is_kind = |word: &String| {
        let before =
            ["OR", "REPLACE", "TEMP", "TEMPORARY", "GLOBAL", "LOCAL", "UNLOGGED", "UNIQUE"];
        !before.contains(&word.as_str())
    };
    match first.as_str() {
        "CREATE" | "ALTER" | "DROP" => match words.find(is_kind) {
            Some(kind) => format!("{first} {kind}"),
            None => first,
        },
        "TRUNCATE" => "TRUNCATE TABLE".to_owned(),
        _ => first,
    }
}

/// The context of another statement number.
pub(crate) fn numbered(cx: &ExecContext, seq: Seq) -> Arc<ExecContext> {
    Arc::new(cx.renumbered(seq, cx.cancel.clone()))
}

impl Host for Nested {
    fn next(&mut self) -> BoxFuture<'_, Result<Arc<ExecContext>>> {
        let cx = match self.is_volatile {
            true => {
                let newest = self.catch_up();
                numbered(newest, newest.txn.next_statement())
            }
            false => self.newest.clone(),
        };
        Box::pin(std::future::ready(Ok(cx)))
    }

    fn current(&mut self) -> BoxFuture<'_, Result<Arc<ExecContext>>> {
        if self.is_volatile {
            self.catch_up();
        }
        Box::pin(std::future::ready(Ok(self.newest.clone())))
    }

    fn command<'a>(&'a mut self, command: RoutineCommand<'a>) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.run_command(command))
    }

    fn savepoint(&mut self) -> Result<Mark> {
        let caller = &self.caller;
        let (kv, draft) = (caller.txn.savepoint(), caller.draft.get());
        self.marks.push(Position { kv, draft, settings: caller.services.mark_settings() });
        Ok(self.marks.len() - 1)
    }

    fn rollback_to(&mut self, mark: Mark) -> Result<()> {
        match self.marks.get(mark) {
            Some(position) => {
                self.caller.txn.rollback_to(position.kv);
                self.caller.draft.set(position.draft.clone());
                self.caller.services.take_settings_back(&*position.settings);
                self.start_over();
                Ok(())
            }
            None => Err(Error::internal("a savepoint of a block is missing")),
        }
    }

    fn release(&mut self, mark: Mark) {
        self.marks.truncate(mark);
    }

    fn notice(&mut self, level: NoticeLevel, fields: Error) {
        self.caller.services.notice(level, fields);
    }

    fn is_volatile(&self) -> bool {
        self.is_volatile
    }

    fn end_transaction(&mut self, _: TransactionEnd) -> BoxFuture<'_, Result<()>> {
        Box::pin(std::future::ready(Err(not_its_transaction())))
    }

    fn call<'a>(
        &'a mut self,
        cx: &'a Arc<ExecContext>,
        routine: &'a Arc<Routine>,
        args: Vec<Datum>,
    ) -> BoxFuture<'a, Result<Datum>> {
        cx.services.call_routine(cx, routine, args)
    }
}
