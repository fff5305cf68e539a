//! Functions and procedures of users: `CREATE`, `ALTER`, names with argument types, `DO`, `CALL`.

mod create;
mod names;
mod run;

pub(crate) use create::{parse_alter_routine, parse_create_routine};
pub(crate) use names::{parse_routine_name, parse_routine_types};
pub(crate) use run::{parse_call, parse_do};
