//! The compiled routines of a session.

use std::collections::HashMap;
use std::sync::Arc;

use braid_catalog::{Id, Routine, SearchPath};
use braid_exec::ExecContext;
use braid_types::{Result, SqlType};
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

/// A routine, with the types that its polymorphic parameters and its result have in a call.
type Key = (Id, Vec<SqlType>);

struct Kept {
    version: u64,
    settings: u64,
    /// Where names were looked up.
    path: Arc<SearchPath>,
    /// The user whose privileges were checked.
    user: String,
    compiled: Compiled,
}

impl RoutineCache {
    /// The routine, compiled.
    pub(crate) fn compiled(&self, cx: &ExecContext, routine: &Routine) -> Result<Compiled> {
        let (version, settings) = (cx.catalog.version(), cx.services.settings_changes());
        let types = routine.parameters.iter().map(|parameter| parameter.ty.clone());
        let types = types.chain([routine.result_type().clone()]);
        let key = (routine.id, if routine.is_of_call { types.collect() } else { Vec::new() });
        let user = cx.env.current_user();
        if let Some(kept) = self.0.lock().get(&key)
            && (kept.version, kept.settings) == (version, settings)
            && kept.path == cx.path
            && kept.user == user
        {
            return Ok(kept.compiled.clone());
        }
        let compiled = match routine.language {
            braid_catalog::Language::Sql => {
                Compiled::Sql(Arc::new(SqlBody::parse(routine, &cx.catalog)?))
            }
            braid_catalog::Language::Plpgsql => {
                Compiled::Plpgsql(Arc::new(Code::of_routine(routine, &cx.catalog, &cx.path)?))
            }
        };
        let mut kept = self.0.lock();
        if kept.len() >= ROUTINES_MAX {
            kept.clear();
        }
        let (path, user, compiled) = (cx.path.clone(), user.to_owned(), compiled);
        let entry = Kept { version, settings, path, user, compiled: compiled.clone() };
        kept.insert(key, entry);
        Ok(compiled)
    }
}
