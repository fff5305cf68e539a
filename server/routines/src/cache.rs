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
pub struct RoutineCache(Mutex<HashMap<Id, Kept>>);

struct Kept {
    version: u64,
    settings: u64,
    compiled: Compiled,
}

impl RoutineCache {
    /// The routine, compiled.
    pub(crate) fn compiled(&self, cx: &ExecContext, routine: &Routine) -> Result<Compiled> {
        let (version, settings) = (cx.catalog.version(), cx.services.settings_changes());
        if let Some(kept) = self.0.lock().get(&routine.id)
            && (kept.version, kept.settings) == (version, settings)
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
        kept.insert(routine.id, Kept { version, settings, compiled: compiled.clone() });
        Ok(compiled)
    }
}
