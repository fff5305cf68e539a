//! What a routine with SECURITY DEFINER or SET has around it: another user, other settings.
//!
//! The settings of the session do not change: the routine sees another environment. So an error
//! leaves nothing to take back.

use std::sync::Arc;

use braid_builtins::{Environment, Lookup};
use braid_catalog::{Routine, SearchPath};
use braid_exec::ExecContext;
use braid_system_views::CatalogLookup;
use braid_types::{FormatSettings, Result};

use crate::settings::Active;

/// The environment of a routine.
struct RoutineEnvironment {
    outer: Arc<dyn Environment>,
    user: String,
    /// Formats, if the routine's settings change them.
    active: Option<Active>,
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
        false => Some(active_with(&routine.settings)?),
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
    inner.env = Arc::new(RoutineEnvironment {
        outer: cx.env.clone(),
        user,
        active,
        lookup: Arc::new(CatalogLookup::new(cx.catalog.clone(), path)),
        settings: routine.settings.clone(),
    });
    Ok(Some(Arc::new(inner)))
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
