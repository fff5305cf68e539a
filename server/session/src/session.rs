//! A session: its parts, its beginning and end, and what a connection asks of it between
//! messages.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Weak};
use std::time::Duration;

use braid_catalog::{Catalog, Database, Id, ROOT, Role, SearchPath, SequenceValues};
use braid_exec::{AdvisoryLocks, RoutineCursors, TempSpace};
use braid_routines::RoutineCache;
use braid_types::encoding::Encoding;
use braid_types::{Error, Result, SqlState};
use parking_lot::Mutex;
use ring::rand::{SecureRandom, SystemRandom};
use rustc_hash::FxHashMap;
use tokio::time::Instant;

use crate::client::{Client, Mark};
use crate::compute::SessionTerminator;
use crate::engine::Engine;
use crate::entry::{SessionEntry, SessionView};
use crate::groups::{GroupState, ParallelStatements};
use crate::identity::check_start;
use crate::notices::Notices;
use crate::notify::Inbox;
use crate::observe::running::Observer;
use crate::options::SessionOptions;
use crate::retry::steps::Replay;
use crate::settings::{Active, Settings, check_value, is_identity, settings};
use crate::shared::{Shared, State, default_modes};
use crate::statement::plans::cache::PlanKey;
use crate::statement::portal::Portal;
use crate::statement::prepared::Prepared;
use crate::timer::StatementTimer;
use crate::transaction::machine::{Block, BlockMachine};
use crate::transaction::state::{BlockState, Open};
use crate::transaction::temporary::Temporary;

/// The state of a session as ReadyForQuery reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Not in a transaction block.
    Idle,
    /// In a transaction block.
    InTransaction,
    /// In a failed transaction block.
    Failed,
}

impl Status {
    /// The byte of the protocol.
    pub fn as_byte(self) -> u8 {
        match self {
            Status::Idle => b'I',
            Status::InTransaction => b'T',
            Status::Failed => b'E',
        }
    }
}

/// What a cancel request has to know.
#[derive(Clone, Copy, Debug)]
pub struct BackendKey {
    /// The session's number.
    pub pid: i32,
    /// What only its client knows.
    pub secret: i32,
}

/// How long a session may wait for its client, and what it is then told.
#[derive(Debug)]
pub struct IdleLimit {
    /// How long.
    pub after: Duration,
    /// What it is told.
    pub error: Error,
}

/// What follows from settings and the user, kept until they change.
pub(crate) struct Derived {
    pub changes: u64,
    pub active: Arc<Active>,
    pub path: Arc<SearchPath>,
    pub user: Arc<str>,
    pub session_user: Arc<str>,
    pub key: Arc<PlanKey>,
}

/// One client's session.
pub struct Session {
    pub(crate) engine: Arc<Engine>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) database: u32,
    pub(crate) block: BlockMachine,
    pub(crate) block_state: BlockState,
    pub(crate) open: Option<Open>,
    /// Several statements of one simple query run as one transaction.
    pub(crate) in_simple_list: bool,
    /// When the client asked for what runs now.
    pub(crate) requested: Option<Instant>,
    /// Stops the running statement when its time is over.
    pub(crate) timer: Arc<StatementTimer>,
    /// Where the last command tag begins.
    pub(crate) tag_mark: Mark,
    pub(crate) prepared: FxHashMap<String, Arc<Prepared>>,
    pub(crate) portals: FxHashMap<String, Portal>,
    pub(crate) replay: Replay,
    pub(crate) group: GroupState,
    pub(crate) notices: Notices,
    pub(crate) temporary: Temporary,
    pub(crate) observer: Observer,
    /// Rows that the running statement has given or changed, once it ends.
    pub(crate) rows_noted: u64,
    /// The role that the session acts as, by its name.
    pub(crate) user_noted: Option<(Arc<str>, Id)>,
    derived: Derived,
    reported: Vec<String>,
    reported_changes: u64,
    /// The place among `max_connections`, given back with the session.
    _place: Box<dyn Any + Send + Sync>,
}

/// Whose session it is, and where.
#[derive(Clone, Copy)]
pub struct Login<'c> {
    /// The catalog that the others are part of.
    pub catalog: &'c Catalog,
    /// Who has proved who it is.
    pub role: &'c Role,
    /// Where its names are looked up.
    pub database: &'c Database,
}

/// Disk space of a session in a database; its files are counted there.
fn temp_space(engine: &Arc<Engine>, database: Id) -> Arc<TempSpace> {
    // Sessions hold the engine, so this is no circle.
    let counted = engine.clone();
    Arc::new(TempSpace::new(engine.temp.clone(), move |bytes| {
        counted.statistics.activity.count(database, |counts| {
            counts.temp_files += 1;
            counts.temp_bytes += bytes;
        });
    }))
}

impl Drop for Session {
    fn drop(&mut self) {
        self.abort_group();
        self.shared.count_end();
        self.temporary.forget(&self.engine.catalog);
        self.shared.advisory.end_session();
        self.engine.hub.leave(&self.shared.inbox);
        self.engine.sessions.remove(self.shared.entry.pid);
    }
}

impl Session {
    /// Begins a session. 22023, 42501 or 42704 for a setting or a role that the options ask for and
    /// the user may not have.
    pub fn open(
        engine: &Arc<Engine>,
        mut options: SessionOptions,
        login: Login<'_>,
        place: Box<dyn Any + Send + Sync>,
    ) -> Result<Session> {
        let Login { catalog, role, database } = login;
        check_start(&mut options.settings, role, catalog)?;
        let mut secret = [0u8; 4];
        SystemRandom::new()
            .fill(&mut secret)
            .map_err(|_| Error::internal("could not generate random bytes"))?;
        let group = GroupState::new();
        let (pid, secret) = (engine.sessions.next_pid(), i32::from_be_bytes(secret));
        let entry = Arc::new(SessionEntry::new(pid, secret, &options, group.queued()));
        engine.sessions.add(&entry);
        let state = initial_state(engine, options.settings, &login);
        let shared = Arc::new(Shared {
            engine: engine.clone(),
            inbox: Inbox::new(entry.clone(), database.id),
            entry,
            database: database.id,
            role: role.id,
            superuser: role.superuser,
            state: Mutex::new(state),
            sequences: Mutex::new(SequenceValues::default()),
            advisory: AdvisoryLocks::new(engine.kv.clone()),
            raised: Mutex::default(),
            retries: AtomicU32::new(0),
            cursors: RoutineCursors::default(),
            routines: RoutineCache::default(),
            temp: temp_space(engine, database.id),
            exports: Mutex::default(),
        });
        let view: Weak<dyn SessionView> = Arc::downgrade(&(shared.clone() as Arc<dyn SessionView>));
        shared.entry.attach(view);
        let derived = derive(&shared, database.id, &database.name);
        let timed = (shared.entry.clone(), engine.clone());
        let stop = move || timed.0.cancel.stop(timed.1.statement_timeout());
        let timer = Arc::new(StatementTimer::new(stop));
        let mut session = Session {
            engine: engine.clone(),
            shared,
            database: database.id,
            block: BlockMachine::default(),
            block_state: BlockState::default(),
            open: None,
            in_simple_list: false,
            requested: None,
            timer,
            tag_mark: Mark::default(),
            prepared: FxHashMap::default(),
            portals: FxHashMap::default(),
            replay: Replay::default(),
            group,
            notices: Notices::default(),
            temporary: Temporary::new(),
            observer: Observer::default(),
            rows_noted: 0,
            user_noted: None,
            derived,
            reported: Vec::new(),
            reported_changes: 0,
            _place: place,
        };
        note_application_name(&session);
        session.shared.count_session();
        session.reported = session.reported_settings().into_iter().map(|(_, v)| v).collect();
        Ok(session)
    }

    /// What a cancel request has to know.
    pub fn backend_key(&self) -> BackendKey {
        let entry = &self.shared.entry;
        BackendKey { pid: entry.pid, secret: entry.secret }
    }

    /// Its state.
    pub fn status(&self) -> Status {
        match self.block.state() {
            Block::None => Status::Idle,
            Block::Active | Block::Released => Status::InTransaction,
            Block::Failed => Status::Failed,
        }
    }

    /// Names and values that a client is told at the start and at each change.
    pub fn reported_settings(&self) -> Vec<(&'static str, String)> {
        reported_names().map(|name| (name, self.shared.setting(name).unwrap_or_default())).collect()
    }

    /// Reports settings to the client that have changed since the last report.
    pub fn report_settings(&mut self, client: &mut dyn Client) {
        let changes = self.shared.state.lock().settings.changes();
        if changes == self.reported_changes {
            return;
        }
        self.reported_changes = changes;
        note_application_name(self);
        for ((name, value), old) in self.reported_settings().into_iter().zip(&mut self.reported) {
            if *old != value {
                client.parameter_status(name, &value);
                *old = value;
            }
        }
    }

    /// 57P01, or another reason, if the session has been asked to end.
    pub fn check_end(&self) -> Result<()> {
        let entry = &self.shared.entry;
        if entry.is_ending() { Err(entry.end_error()) } else { Ok(()) }
    }

    /// Ends this session from outside, while it works.
    pub fn terminator(&self) -> SessionTerminator {
        SessionTerminator::new(self.shared.entry.clone(), self.engine.compute.clone())
    }

    /// Waits until the session is asked to end.
    pub async fn end_signal(&self) {
        self.shared.entry.end_signal().await;
    }

    /// The encoding in which its client writes and reads.
    pub fn client_encoding(&self) -> &'static Encoding {
        self.shared.state.lock().settings.active().client_encoding
    }

    /// How long it may wait for its client now.
    pub fn idle_limit(&self) -> Option<IdleLimit> {
        let state = self.shared.state.lock();
        let active = state.settings.active();
        let (after, state, message) = match self.block.state() {
            Block::None => (
                active.idle_session_timeout?,
                SqlState::IdleSessionTimeout,
                "terminating connection due to idle-session timeout",
            ),
            _ => (
                active.idle_in_transaction_timeout?,
                SqlState::IdleInTransactionSessionTimeout,
                "terminating connection due to idle-in-transaction timeout",
            ),
        };
        Some(IdleLimit { after, error: Error::new(state, message) })
    }

    /// Ends the session: an open transaction is rolled back.
    pub async fn close(mut self) {
        self.portals.clear();
        self.stop_group().await;
        if let Some(open) = self.open.take() {
            open.txn.rollback().await;
        }
        self.shared.advisory.end_session();
    }

    /// What follows from the settings as they are now.
    pub(crate) fn derived(&mut self) -> &Derived {
        let changes = self.shared.state.lock().settings.changes();
        if changes != self.derived.changes {
            let name = self.derived.path.database_name.clone();
            self.derived = derive(&self.shared, self.database, &name);
        }
        &self.derived
    }

    pub(crate) fn active(&mut self) -> Arc<Active> {
        self.derived().active.clone()
    }
}

fn note_application_name(session: &Session) {
    let name = session.shared.setting("application_name").unwrap_or_default();
    session.shared.entry.activity.lock().application_name = name;
}

/// The settings that clients are told of.
fn reported_names() -> impl Iterator<Item = &'static str> {
    settings().iter().filter(|setting| setting.report).map(|setting| setting.name)
}

/// The settings that a session of a role in a database begins with, the strongest first: those of
/// the role there, those of the role, those of the database, those of everybody.
fn defaults_of<'c>(login: &Login<'c>) -> Vec<(&'c String, &'c String)> {
    let Login { catalog, role, database } = *login;
    let everyone = catalog.role(ROOT).map_or(&[][..], |root| &root.everyone);
    let everyone = everyone.iter().map(|(name, value)| (name, value));
    let of = |id| {
        let settings = database.settings.iter().filter(move |setting| setting.role == id);
        settings.map(|setting| (&setting.name, &setting.value))
    };
    let own = role.settings.iter().map(|(name, value)| (name, value));
    of(role.id).chain(own).chain(of(braid_catalog::PUBLIC)).chain(everyone).collect()
}

/// The setting of which a flag of the server has the default.
const LOG_MIN_DURATION: &str = "log_min_duration_statement";

/// The state that a session begins with: the options of its client, then the defaults.
fn initial_state(engine: &Engine, mut start: BTreeMap<String, String>, login: &Login<'_>) -> State {
    let role = login.role;
    // The right to store one was checked then: a superuser may store what its user may not set.
    let defaults = defaults_of(login).into_iter();
    for (name, value) in defaults.filter(|(name, _)| !is_identity(&name.to_ascii_lowercase())) {
        // A default that is no longer valid must not keep its user out.
        if let Ok(value) = check_value(name, std::slice::from_ref(value)) {
            start.entry(name.to_ascii_lowercase()).or_insert(value);
        }
    }
    if let Some(after) = engine.limits.log_min_duration {
        let millis = after.as_micros().div_ceil(1000).to_string();
        if let Ok(value) = check_value(LOG_MIN_DURATION, &[millis]) {
            start.entry(LOG_MIN_DURATION.to_owned()).or_insert(value);
        }
    }
    start.insert("session_authorization".to_owned(), role.name.clone());
    let superuser = if role.superuser { "on" } else { "off" };
    start.entry("is_superuser".to_owned()).or_insert_with(|| superuser.to_owned());
    let settings = Settings::new(start);
    let modes = default_modes(settings.active());
    let (prepared, cursors) = Default::default();
    State { settings, modes, prepared, cursors, round_trips: 0 }
}

/// The settings that planning reads: a plan is shared by sessions in which they are equal.
const PLANNING_SETTINGS: [&str; 5] =
    ["search_path", "timezone", "datestyle", "intervalstyle", "row_security"];

fn derive(shared: &Shared, database: u32, name: &str) -> Derived {
    let user: Arc<str> = shared.current_user().into();
    let state = shared.state.lock();
    let settings = &state.settings;
    let active = settings.active().clone();
    let get = |name: &str| settings.get(name).unwrap_or_default();
    let session_user: Arc<str> = get("session_authorization").into();
    let path = SearchPath {
        database,
        database_name: name.to_owned(),
        schemas: active.search_path.clone(),
        user: user.to_string(),
        is_stored: false,
    };
    let key =
        PlanKey { database, user: user.clone(), settings: PLANNING_SETTINGS.map(get).join("\n") };
    let changes = settings.changes();
    let path = Arc::new(path);
    Derived { changes, active, path, user, session_user, key: Arc::new(key) }
}
