//! The triggers of TRUNCATE, which fire once for each table.

use std::sync::Arc;

use braid_catalog::{Routine, Table, Trigger, TriggerEvent, TriggerState, TriggerTiming};
use braid_exec::TriggerCall;
use braid_types::{Error, Result};

use crate::context::DdlContext;

/// A trigger with its table and its function.
struct Fired {
    table: Arc<Table>,
    trigger: Trigger,
    function: Arc<Routine>,
}

/// The triggers of tables that are emptied.
pub(crate) struct TruncateTriggers(Vec<Fired>);

impl TruncateTriggers {
    /// Those that may fire now, table by table.
    pub(crate) fn of(cx: &DdlContext<'_>, tables: &[Arc<Table>]) -> Result<Self> {
        let catalog = cx.catalog();
        let role = cx.exec.env.setting("session_replication_role").unwrap_or_default();
        let fires = |trigger: &&Trigger| {
            trigger.is_for(TriggerEvent::Truncate)
                && trigger.state != TriggerState::Disabled
                && trigger.state.fires(&role)
        };
        let mut found = Vec::new();
        for table in tables {
            for trigger in table.triggers.iter().filter(fires) {
                let function = catalog.names().routines().of_trigger(trigger.function).cloned();
                let function = function.ok_or_else(|| {
                    let name = &trigger.name;
                    Error::broken(format!("the function of trigger \"{name}\" is missing"))
                })?;
                let (table, trigger) = (table.clone(), trigger.clone());
                found.push(Fired { table, trigger, function });
            }
        }
        Ok(Self(found))
    }
}

/// Fires the triggers before or after TRUNCATE. Their statements see the catalog as it is now.
pub(crate) async fn fire_truncate(
    cx: &DdlContext<'_>,
    triggers: &TruncateTriggers,
    timing: TriggerTiming,
) -> Result<()> {
    let now = triggers.0.iter().filter(|fired| fired.trigger.timing == timing);
    for fired in now {
        let exec = cx.exec;
        let mut inner = exec.renumbered(exec.seq, exec.cancel.clone());
        inner.catalog = cx.catalog();
        let call = TriggerCall {
            trigger: &fired.trigger,
            function: &fired.function,
            table: &fired.table,
            event: TriggerEvent::Truncate,
            old: None,
            new: None,
            tables: Vec::new(),
        };
        exec.services.call_trigger(&Arc::new(inner), call).await?;
    }
    Ok(())
}
