//! What a routine with SECURITY DEFINER or SET has around it: another user, other settings.
//!
//! The settings of the session do not change: the routine sees another environment. So an error
//! leaves nothing to take back. After a definition or SET a routine has another environment as
//! well: one that looks names up in the new catalog, or has the new settings.

use std::sync::Arc;

use braid_builtins::{Environment, Lookup};
use braid_catalog::{Catalog, Routine, SearchPath};
use braid_exec::{ExecContext, SessionSettings};
use braid_system_views::CatalogLookup;
use braid_types::{FormatSettings, Result};

use crate::settings::Active;

/// The environment of a routine.
struct RoutineEnvironment {
    outer: Arc<dyn Environment>,
    user: String,
    /// Formats, if the routine's settings change them.
    active: Option<Arc<Active>>,
    lookup: Arc<CatalogLookup>,
    settings: Vec<(String, String)>,
}

/// What the statements of a routine may use; `None` if that is what its caller may use.
/// `active_with` gives what the session's settings are with others in their places.
pub(crate) fn surroundings(
    cx: &ExecContext,
    routine: &Routine,
    active_with: impl FnOnce(&[(String, String)]) -> Result<Active>,
) -> Result<Option<Arc<ExecContext>>> {
    if !routine.security_definer && routine.settings.is_empty() {
        return Ok(None);
    }
    let user = match routine.security_definer {
        true => cx.catalog.role_name(routine.owner),
        false => cx.env.current_user().to_owned(),
    };
    let active = match routine.settings.is_empty() {
        true => None,
        false => Some(Arc::new(active_with(&routine.settings)?)),
    };
    let sets_path = routine.settings.iter().any(|(name, _)| name == "search_path");
    let schemas = match &active {
        Some(active) if sets_path => active.search_path.clone(),
        _ => cx.path.schemas.clone(),
    };
    let path = SearchPath { schemas, user: user.clone(), ..SearchPath::clone(&cx.path) };
    let path = Arc::new(path);
    let mut inner = cx.renumbered(cx.seq, cx.cancel.clone());
    inner.memory = cx.memory.clone();
    inner.path = path.clone();
    inner.settings = match &mut inner.settings {
        Some(seen) if routine.settings.is_empty() => {
            let has_own_user = seen.has_own_user || routine.security_definer;
            Some(SessionSettings { has_own_user, ..*seen })
        }
        _ => None,
    };
    inner.env = Arc::new(RoutineEnvironment {
        outer: cx.env.clone(),
        user,
        active,
        lookup: Arc::new(CatalogLookup::new(cx.catalog.clone(), path)),
        settings: routine.settings.clone(),
    });
    Ok(Some(Arc::new(inner)))
}

/// The same context over another catalog, with the session's settings as they are now: `now` gives
/// these, and the session's user.
pub(super) fn renewed(
    cx: &ExecContext,
    catalog: Arc<Catalog>,
    now: impl FnOnce() -> (Arc<Active>, String),
) -> ExecContext {
    let mut inner = cx.renumbered(cx.seq, cx.cancel.clone());
    inner.memory = cx.memory.clone();
    let mut user = cx.env.current_user().to_owned();
    let mut active = None;
    let changes = cx.services.settings_changes();
    if let Some(seen) = cx.settings.filter(|seen| seen.changes != changes) {
        let (current, current_user) = now();
        if !seen.has_own_user {
            user = current_user;
        }
        let (schemas, user) = (current.search_path.clone(), user.clone());
        inner.path = Arc::new(SearchPath { schemas, user, ..SearchPath::clone(&cx.path) });
        inner.settings = Some(SessionSettings { changes, ..seen });
        (inner.implicit_locks, inner.range_delete) = (current.implicit_locks, current.range_delete);
        inner.parallelism = current.parallelism;
        active = Some(current);
    }
    inner.env = Arc::new(RoutineEnvironment {
        outer: cx.env.clone(),
        user,
        active,
        lookup: Arc::new(CatalogLookup::new(catalog.clone(), inner.path.clone())),
        settings: Vec::new(),
    });
    inner.catalog = catalog;
    inner
}

impl Environment for RoutineEnvironment {
    fn settings(&self) -> &FormatSettings {
        match &self.active {
            Some(active) => &active.format,
            None => self.outer.settings(),
        }
    }

    fn transaction_micros(&self) -> i64 {
        self.outer.transaction_micros()
    }

    fn statement_micros(&self) -> i64 {
        self.outer.statement_micros()
    }

    fn current_user(&self) -> &str {
        &self.user
    }

    fn session_user(&self) -> &str {
        self.outer.session_user()
    }

    fn database(&self) -> &str {
        self.outer.database()
    }

    fn search_path(&self, implicit: bool) -> Vec<String> {
        self.lookup.schemas(implicit)
    }

    fn setting(&self, name: &str) -> Option<String> {
        let own = self.settings.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        own.map(|(_, value)| value.clone()).or_else(|| self.outer.setting(name))
    }

    fn backend_pid(&self) -> i32 {
        self.outer.backend_pid()
    }

    fn client_addr(&self) -> Option<String> {
        self.outer.client_addr()
    }

    fn listening_channels(&self) -> Vec<String> {
        self.outer.listening_channels()
    }

    fn notification_queue_usage(&self) -> f64 {
        self.outer.notification_queue_usage()
    }

    fn lookup(&self) -> &dyn Lookup {
        &*self.lookup
    }
}
