//! Triggers: CREATE, DROP, RENAME, COMMENT, ENABLE and DISABLE, what they depend on, and those of
//! TRUNCATE.

mod change;
mod create;
mod dependents;
mod find;
mod truncate;

pub(crate) use change::{comment, rename, set_state, set_state_of_copies};
pub(crate) use create::create;
pub(crate) use dependents::{
    drop_triggers_calling, refuse_drop_of_function, triggers_reading, without_triggers,
};
pub(crate) use find::drop_trigger;
pub(crate) use truncate::{TruncateTriggers, fire_truncate};
