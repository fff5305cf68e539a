//! A session: its parts, its beginning and end, and what a connection asks of it between
//! messages.

use std::sync::Arc;
use std::time::Duration;

use braid_catalog::{Database, Role, SearchPath, SequenceValues};
use braid_exec::AdvisoryLocks;
use braid_types::{Error, Result, SqlState};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::time::Instant;

use crate::client::{Client, Notice, Severity};
use crate::entry::{Ender, SessionEntry};
use crate::group::GroupState;
use crate::identity::may_start_with;
use crate::notify::Inbox;
use crate::options::SessionOptions;
use crate::plan_cache::PlanKey;
use crate::portal::Portal;
use crate::prepared::Prepared;
use crate::replay::Replay;
use crate::server::{Permit, Server};
use crate::settings::{Active, Settings, is_identity, settings};
use crate::shared::{Modes, Shared, State};
use crate::temporary::Temporary;
use crate::transaction::{Block, BlockState, Open};

/// The state of a session as ReadyForQuery tells it.
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
    pub(crate) server: Arc<Server>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) database: u32,
    pub(crate) block: Block,
    pub(crate) block_state: BlockState,
    pub(crate) open: Option<Open>,
    /// Several statements of one simple query run as one transaction.
    pub(crate) in_simple_list: bool,
    /// When the client asked for what runs now.
    pub(crate) requested: Option<Instant>,
    /// Where the last command tag began, as a position of the connection.
    pub(crate) tag_position: u64,
    pub(crate) prepared: FxHashMap<String, Arc<Prepared>>,
    pub(crate) portals: FxHashMap<String, Portal>,
    pub(crate) replay: Replay,
    pub(crate) group: GroupState,
    pub(crate) notices: Vec<Notice>,
    pub(crate) temporary: Temporary,
    derived: Derived,
    reported: Vec<String>,
    reported_changes: u64,
    _permit: Permit,
}

/// The settings that clients are told of.
fn reported_names() -> impl Iterator<Item = &'static str> {
    settings().iter().filter(|setting| setting.report).map(|setting| setting.name)
}

/// The settings that a session of a role in a database begins with, the strongest first: those of
/// the role there, those of the role, those of the database.
fn defaults_of<'d>(role: &'d Role, database: &'d Database) -> Vec<(&'d String, &'d String)> {
    let of = |id| {
        let settings = database.settings.iter().filter(move |setting| setting.role == id);
        settings.map(|setting| (&setting.name, &setting.value))
    };
    let own = role.settings.iter().map(|(name, value)| (name, value));
    of(role.id).chain(own).chain(of(braid_catalog::PUBLIC)).collect()
}

impl Session {
    pub(crate) fn new(
        server: Arc<Server>,
        permit: Permit,
        entry: Arc<SessionEntry>,
        options: SessionOptions,
        role: &Role,
        database: &Database,
    ) -> Session {
        let mut start = options.settings;
        let defaults = defaults_of(role, database);
        let own = defaults.into_iter().filter(|(name, _)| may_start_with(name, role).is_ok());
        for (name, value) in own.filter(|(name, _)| !is_identity(&name.to_ascii_lowercase())) {
            // A default that is no longer valid must not keep its user out.
            if let Ok(value) = Settings::check(name, std::slice::from_ref(value)) {
                start.entry(name.to_ascii_lowercase()).or_insert(value);
            }
        }
        start.insert("session_authorization".to_owned(), role.name.clone());
        let superuser = if role.superuser { "on" } else { "off" };
        start.entry("is_superuser".to_owned()).or_insert_with(|| superuser.to_owned());
        let settings = Settings::new(start);
        let modes = default_modes(settings.active());
        let state =
            State { settings, modes, prepared: Vec::new(), cursors: Vec::new(), round_trips: 0 };
        let group = GroupState::new(entry.queue.clone());
        let shared = Arc::new(Shared {
            server: server.clone(),
            inbox: Inbox::new(entry.clone(), database.id),
            entry,
            role: role.id,
            superuser: role.superuser,
            state: Mutex::new(state),
            sequences: Mutex::new(SequenceValues::default()),
            advisory: AdvisoryLocks::new(server.kv.clone()),
            exports: Mutex::default(),
        });
        shared.entry.attach(&shared);
        let derived = derive(&shared, database.id, &database.name);
        let mut session = Session {
            server,
            shared,
            database: database.id,
            block: Block::None,
            block_state: BlockState::default(),
            open: None,
            in_simple_list: false,
            requested: None,
            tag_position: 0,
            prepared: FxHashMap::default(),
            portals: FxHashMap::default(),
            replay: Replay::default(),
            group,
            notices: Vec::new(),
            temporary: Temporary::new(),
            derived,
            reported: Vec::new(),
            reported_changes: 0,
            _permit: permit,
        };
        session.note_application_name();
        session.reported = session.reported_settings().into_iter().map(|(_, v)| v).collect();
        session
    }

    /// The session's number.
    pub fn pid(&self) -> i32 {
        self.shared.entry.pid
    }

    /// What a cancel request has to know.
    pub fn secret(&self) -> i32 {
        self.shared.entry.secret
    }

    /// Its state.
    pub fn status(&self) -> Status {
        match self.block {
            Block::None => Status::Idle,
            Block::Active | Block::Released => Status::InTransaction,
            Block::Failed => Status::Failed,
        }
    }

    /// Names and values that a client is told at the start and at each change.
    pub fn reported_settings(&self) -> Vec<(&'static str, String)> {
        reported_names().map(|name| (name, self.shared.setting(name).unwrap_or_default())).collect()
    }

    /// Tells the client of settings that have changed since it was last told.
    pub fn report_settings(&mut self, client: &mut dyn Client) {
        let changes = self.shared.state.lock().settings.changes();
        if changes == self.reported_changes {
            return;
        }
        self.reported_changes = changes;
        self.note_application_name();
        for ((name, value), old) in self.reported_settings().into_iter().zip(&mut self.reported) {
            if *old != value {
                client.parameter_status(name, &value);
                *old = value;
            }
        }
    }

    fn note_application_name(&self) {
        let name = self.shared.setting("application_name").unwrap_or_default();
        self.shared.entry.activity.lock().application_name = name;
    }

    /// 57P01, or another reason, if the session has been asked to end.
    pub fn check_end(&self) -> Result<()> {
        let entry = &self.shared.entry;
        if entry.is_ending() { Err(entry.end_error()) } else { Ok(()) }
    }

    /// Ends this session from outside, while it works.
    pub fn ender(&self) -> Ender {
        Ender::new(self.shared.entry.clone(), self.server.compute.clone())
    }

    /// Waits until the session is asked to end.
    pub async fn end_signal(&self) {
        self.shared.entry.end_signal().await;
    }

    /// How long it may wait for its client now.
    pub fn idle_limit(&self) -> Option<IdleLimit> {
        let state = self.shared.state.lock();
        let active = state.settings.active();
        let (after, state, message) = match self.block {
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

    /// Keeps a notice until the client can be told.
    pub(crate) fn note(&mut self, severity: Severity, fields: Error) {
        self.notices.push(Notice { severity, fields });
    }

    /// A warning with a SQLSTATE.
    pub(crate) fn warn(&mut self, state: SqlState, message: &str) {
        self.note(Severity::Warning, Error::new(state, message));
    }

    /// Tells the client what functions warn of, before the rows that they are part of.
    pub(crate) fn send_warnings(&mut self, client: &mut dyn Client) {
        let least = self.active().notices;
        for fields in self.shared.advisory.take_warnings() {
            if least.is_some_and(|least| Severity::Warning >= least) {
                client.notice(&Notice { severity: Severity::Warning, fields });
            }
        }
    }

    /// Tells the client what was noted.
    pub(crate) fn send_notices(&mut self, client: &mut dyn Client) {
        for fields in self.shared.advisory.take_warnings() {
            self.note(Severity::Warning, fields);
        }
        if self.notices.is_empty() {
            return;
        }
        let least = self.active().notices;
        for notice in std::mem::take(&mut self.notices) {
            let loud = least.is_some_and(|least| notice.severity >= least);
            if loud || notice.severity == Severity::Info {
                client.notice(&notice);
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.shared.entry.queue.abort();
        self.forget_temporary();
        self.shared.advisory.end_session();
        self.server.hub.leave(&self.shared.inbox);
        self.server.forget(self.shared.entry.pid);
    }
}

/// The modes that a transaction has unless it says otherwise.
pub(crate) fn default_modes(active: &Active) -> Modes {
    Modes {
        isolation: active.default_isolation,
        read_only: active.default_read_only,
        deferrable: active.default_deferrable,
    }
}

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
    };
    let key = PlanKey {
        database,
        user: user.clone(),
        settings: ["search_path", "timezone", "datestyle", "intervalstyle"].map(get).join("\n"),
    };
    let changes = settings.changes();
    let path = Arc::new(path);
    Derived { changes, active, path, user, session_user, key: Arc::new(key) }
}
