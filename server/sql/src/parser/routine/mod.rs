//! Functions, procedures and aggregates of users: `CREATE`, `ALTER`, names with argument types,
//! `DO`, `CALL`.
//! Triggers, which call them, are here as well.

mod aggregate;
mod create;
mod names;
mod run;
mod trigger;

pub(crate) use aggregate::parse_create_aggregate;
pub(crate) use create::{parse_alter_routine, parse_create_routine};
pub(crate) use names::{parse_routine_kind, parse_routine_name};
pub(crate) use run::{parse_call, parse_do};
pub(crate) use trigger::{parse_alter_trigger, parse_create_trigger, parse_trigger_action};
