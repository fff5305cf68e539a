//! The compiled routines of a session.

use std::collections::HashMap;
use std::sync::Arc;

use braid_catalog::{Id, Routine, SearchPath};
use braid_exec::ExecContext;
use braid_types::{Error, Result, SqlType};
use parking_lot::Mutex;

use crate::body::Code;
use crate::sql_body::SqlBody;

/// The most routines that a session keeps compiled.
const ROUTINES_MAX: usize = 200;

/// A routine that is ready to run.
#[derive(Clone)]
pub(crate) enum Compiled {
    Sql(Arc<SqlBody>),
    Plpgsql(Arc<Code>),
}

/// The compiled routines of a session, each for one version of the catalog.
#[derive(Default)]
pub struct RoutineCache(Mutex<HashMap<Key, Kept>>);

/// What a routine is compiled for.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Key {
    routine: Id,
    /// The trigger that calls it.
    trigger: Option<Id>,
    /// The types that its polymorphic parameters and its result have in a call.
    types: Vec<SqlType>,
}

impl Key {
    /// The function of a trigger.
    pub(crate) fn of_trigger(routine: Id, trigger: Id) -> Key {
        Key { routine, trigger: Some(trigger), types: Vec::new() }
    }

    fn of_call(routine: &Routine) -> Key {
        let types = routine.parameters.iter().map(|parameter| parameter.ty.clone());
        let types = types.chain([routine.result_type().clone()]);
        let types = if routine.is_of_call { types.collect() } else { Vec::new() };
        Key { routine: routine.id, trigger: None, types }
    }
}

struct Kept {
    version: u64,
    settings: u64,
    /// Where names were looked up.
    path: Arc<SearchPath>,
    /// The user whose privileges were checked.
    user: String,
    /// `row_security`, which a routine around may have set.
    row_security: Option<String>,
    compiled: Compiled,
}

impl RoutineCache {
    /// The routine, compiled.
    pub(crate) fn compiled(&self, cx: &ExecContext, routine: &Routine) -> Result<Compiled> {
        self.kept(cx, Key::of_call(routine), || match routine.language {
            braid_catalog::Language::Sql => {
                let body = SqlBody::parse(routine, &cx.catalog);
                Ok(Compiled::Sql(Arc::new(body.map_err(Error::without_position)?)))
            }
            braid_catalog::Language::Internal => {
                Err(Error::internal("a function that is built in has no body"))
            }
            braid_catalog::Language::Plpgsql => {
                let code = Code::of_routine(routine, &cx.catalog, &cx.path)?;
                Ok(Compiled::Plpgsql(Arc::new(code)))
            }
        })
    }

    /// What is kept for this key; else it is made.
    pub(crate) fn kept(
        &self,
        cx: &ExecContext,
        key: Key,
        make: impl FnOnce() -> Result<Compiled>,
    ) -> Result<Compiled> {
        let (version, settings) = (cx.catalog.version(), cx.services.settings_changes());
        let (user, row_security) = (cx.env.current_user(), cx.env.setting("row_security"));
        if let Some(kept) = self.0.lock().get(&key)
            && (kept.version, kept.settings) == (version, settings)
            && kept.path == cx.path
            && kept.user == user
            && kept.row_security == row_security
        {
            return Ok(kept.compiled.clone());
        }
        let compiled = make()?;
        let mut kept = self.0.lock();
        if kept.len() >= ROUTINES_MAX {
            kept.clear();
        }
        let (path, user, compiled) = (cx.path.clone(), user.to_owned(), compiled);
        let made = compiled.clone();
        kept.insert(key, Kept { version, settings, path, user, row_security, compiled });
        Ok(made)
    }
}
