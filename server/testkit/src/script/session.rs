//! Runs the commands of a script in their sessions.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use goldenscript::{Command, Context};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::{Client, Notification};

use crate::script::print;
use crate::target::{Database, Target};

/// How long a statement must be without an answer to count as blocked. A slow machine only makes
/// it longer.
const BLOCKED_AFTER: Duration = Duration::from_millis(300);
/// A statement that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

type Outcome = Result<String, String>;

/// Runs one script on a database of its own.
#[derive(Debug)]
pub struct ScriptRunner {
    runtime: Runtime,
    database: Option<Database>,
    sessions: BTreeMap<String, Session>,
}

#[derive(Debug)]
struct Session {
    client: Arc<Client>,
    notifications: UnboundedReceiver<Notification>,
    /// The statement that is blocked.
    pending: Option<JoinHandle<Outcome>>,
}

/// Runs the script at that path against the target; panics if its output is another one.
/// `UPDATE_GOLDENFILES=1` writes the output into the file instead.
///
/// # Panics
/// If the script is malformed or a statement fails that should not.
pub fn run(target: &Target, path: &Path) {
    let name = path.file_stem().map(|name| name.to_string_lossy()).unwrap_or_default();
    let mut runner = ScriptRunner::new(target, &name);
    if let Err(error) = goldenscript::run(&mut runner, path) {
        panic!("{}: {error}", path.display());
    }
}

impl ScriptRunner {
    /// A runner with an empty database on the target.
    ///
    /// # Panics
    /// If the target refuses.
    pub fn new(target: &Target, name: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let database = runtime.block_on(target.create_database(&format!("script_{name}")));
        ScriptRunner { runtime, database: Some(database), sessions: BTreeMap::new() }
    }

    fn session(&mut self, name: &str) -> Result<&mut Session, Box<dyn Error>> {
        if !self.sessions.contains_key(name) {
            let database = self.database.as_ref().ok_or("the script has ended")?;
            let (client, notifications) = self.runtime.block_on(database.connect_listening());
            let session = Session { client: Arc::new(client), notifications, pending: None };
            self.sessions.insert(name.to_owned(), session);
        }
        self.sessions.get_mut(name).ok_or_else(|| "no session".into())
    }

    fn start(&mut self, name: &str, sql: &str, tags: &BTreeSet<String>) -> Outcome {
        let session = self.session(name).map_err(|error| error.to_string())?;
        if session.pending.is_some() {
            return Err("the session is blocked: wait first".to_owned());
        }
        let (client, sql, tags) = (Arc::clone(&session.client), sql.to_owned(), tags.clone());
        let blocks = tags.contains("blocks");
        let mut task = self.runtime.spawn(async move { send(&client, &sql, &tags).await });
        let bound = if blocks { BLOCKED_AFTER } else { PATIENCE };
        match self.runtime.block_on(async { timeout(bound, &mut task).await }) {
            Ok(outcome) => outcome.map_err(|error| error.to_string())?,
            Err(_) if blocks => {
                self.session(name).map_err(|error| error.to_string())?.pending = Some(task);
                Ok("blocked\n".to_owned())
            }
            Err(_) => panic!("no answer within {PATIENCE:?}"),
        }
    }

    /// What the session has received by NOTIFY since it was last asked, an empty query included:
    /// before its answer a session outside of a transaction gets what waits for it.
    fn notified(&mut self, name: &str) -> Outcome {
        let session = self.session(name).map_err(|error| error.to_string())?;
        let client = Arc::clone(&session.client);
        let asked = self.runtime.block_on(async move { client.simple_query("").await });
        asked.map_err(|error| print::error(&error, false, false))?;
        let session = self.session(name).map_err(|error| error.to_string())?;
        let mut out = String::new();
        while let Ok(one) = session.notifications.try_recv() {
            out.push_str(&format!("{} {:?}\n", one.channel(), one.payload()));
        }
        Ok(if out.is_empty() { "(none)\n".to_owned() } else { out })
    }

    fn wait(&mut self, name: &str) -> Outcome {
        let session = self.session(name).map_err(|error| error.to_string())?;
        let Some(task) = session.pending.take() else {
            return Err("the session is not blocked".to_owned());
        };
        match self.runtime.block_on(async { timeout(PATIENCE, task).await }) {
            Ok(outcome) => outcome.map_err(|error| error.to_string())?,
            Err(_) => panic!("still blocked after {PATIENCE:?}"),
        }
    }
}

async fn send(client: &Client, sql: &str, tags: &BTreeSet<String>) -> Outcome {
    let (detailed, place) = (tags.contains("message"), tags.contains("where"));
    let mut out = String::new();
    if tags.contains("types") {
        let statement =
            client.prepare(sql).await.map_err(|error| print::error(&error, detailed, place))?;
        let types: Vec<&str> = statement.columns().iter().map(|c| c.type_().name()).collect();
        out.push_str(&format!("({})\n", types.join(" | ")));
    }
    let messages = client.simple_query(sql).await;
    let messages = messages.map_err(|error| print::error(&error, detailed, place))?;
    out.push_str(&print::results(&messages, tags.contains("sorted")));
    Ok(out)
}

impl goldenscript::Runner for ScriptRunner {
    type Command = Command;

    fn run(&mut self, command: &Command, context: &Context) -> Result<String, Box<dyn Error>> {
        const KNOWN: [&str; 5] = ["blocks", "message", "sorted", "types", "where"];
        if let Some(tag) = context.tags.iter().find(|tag| !KNOWN.contains(&tag.as_str())) {
            panic!("unknown tag {tag}");
        }
        let name = context.prefix.clone().unwrap_or_default();
        let outcome = match command.name.as_str() {
            "wait" => self.wait(&name),
            "notified" => self.notified(&name),
            "disconnect" => {
                self.sessions.remove(&name);
                Ok("ok\n".to_owned())
            }
            sql => self.start(&name, sql, &context.tags),
        };
        outcome.map_err(Into::into)
    }

    fn end_script(&mut self) -> Result<(), Box<dyn Error>> {
        let blocked = self.sessions.iter().find(|(_, session)| session.pending.is_some());
        if let Some((name, _)) = blocked {
            return Err(format!("session {name:?} is still blocked").into());
        }
        self.sessions.clear();
        if let Some(database) = self.database.take() {
            self.runtime.block_on(database.drop());
        }
        Ok(())
    }
}
