//! Functions and procedures of users: `CREATE`, `ALTER`, names with argument types, `DO`, `CALL`.
//! Triggers, which call them, are here as well.

mod create;
mod names;
mod run;
mod trigger;

pub(crate) use create::{parse_alter_routine, parse_create_routine};
pub(crate) use names::{parse_routine_name, parse_routine_types};
pub(crate) use run::{parse_call, parse_do};
pub(crate) use trigger::{parse_alter_trigger, parse_create_trigger, parse_trigger_action};
