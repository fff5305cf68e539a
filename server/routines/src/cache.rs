//! The compiled routines of a session.

use std::collections::HashMap;
use std::sync::Arc;

use braid_catalog::{Id, Routine};
use braid_exec::ExecContext;
use braid_types::Result;
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
pub struct RoutineCache(Mutex<HashMap<(Id, Id), Kept>>);

struct Kept {
    version: u64,
    settings: u64,
    compiled: Compiled,
}

impl RoutineCache {
    /// The routine, compiled.
    pub(crate) fn compiled(&self, cx: &ExecContext, routine: &Routine) -> Result<Compiled> {
        self.kept(cx, (routine.id, 0), || match routine.language {
            braid_catalog::Language::Sql => {
                Ok(Compiled::Sql(Arc::new(SqlBody::parse(routine, &cx.catalog)?)))
            }
            braid_catalog::Language::Plpgsql => {
                let code = Code::of_routine(routine, &cx.catalog, &cx.path)?;
                Ok(Compiled::Plpgsql(Arc::new(code)))
            }
        })
    }

    /// What is kept for a routine and, of a trigger's function, its trigger; else it is made.
    pub(crate) fn kept(
        &self,
        cx: &ExecContext,
        key: (Id, Id),
        make: impl FnOnce() -> Result<Compiled>,
    ) -> Result<Compiled> {
        let (version, settings) = (cx.catalog.version(), cx.services.settings_changes());
        if let Some(kept) = self.0.lock().get(&key)
            && (kept.version, kept.settings) == (version, settings)
        {
            return Ok(kept.compiled.clone());
        }
        let compiled = make()?;
        let mut kept = self.0.lock();
        if kept.len() >= ROUTINES_MAX {
            kept.clear();
        }
        kept.insert(key, Kept { version, settings, compiled: compiled.clone() });
        Ok(compiled)
    }
}
