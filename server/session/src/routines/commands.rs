//! What routines may ask of the session inside of a running statement: definitions, SET, RESET.
//!
//! A definition changes the draft of the transaction, and SET the settings of the session, as
//! statements of the client do. The statements around go on with the catalog and the settings
//! that they began with; what runs inside of them from now on has the new ones.

use braid_ddl::is_ddl;
use braid_exec::{ExecContext, RoutineCommand, SessionServices};
use braid_sql::ast::{Reset, Set, SetScope, SetValue, Statement};
use braid_types::{Error, Result, SqlState};

use super::definitions::{carry_out, check_definition, schema_changed};
use crate::settings::is_identity;
use crate::shared::Shared;

/// Carries out a command; false if it is one that only the session itself can carry out.
pub(crate) async fn run_command_inside(
    shared: &Shared,
    cx: &ExecContext,
    command: RoutineCommand<'_>,
) -> Result<bool> {
    match command.statement {
        Statement::Set(set) => return set_inside(shared, cx, set),
        Statement::Reset(Reset::All) => shared.state.lock().settings.reset_all(),
        Statement::Reset(Reset::Name(name)) if is_identity(name) => {
            set_user(shared, cx, name, None, false)?;
        }
        Statement::Reset(Reset::Name(name)) => shared.state.lock().settings.reset(name, false)?,
        statement if is_ddl(statement) => define(shared, cx, &command).await?,
        _ => return Ok(false),
    }
    Ok(true)
}

async fn define(shared: &Shared, cx: &ExecContext, definition: &RoutineCommand<'_>) -> Result<()> {
    check_definition(shared, definition.statement)?;
    let done = carry_out(shared, cx, definition, false).await?;
    for (level, fields) in done.notices {
        shared.notice(level, fields);
    }
    // Also after an error: the routine may go on after it, and would not see what has caused it.
    if done.is_stale {
        return Err(schema_changed());
    }
    done.result.map(drop)
}

/// SET, but for the modes of the transaction and the seed of random numbers.
fn set_inside(shared: &Shared, cx: &ExecContext, set: &Set) -> Result<bool> {
    let local = set.scope == SetScope::Local;
    let values = match &set.value {
        SetValue::Default => None,
        SetValue::Values(values) => Some(values.as_slice()),
    };
    match set.name.as_str() {
        "transaction_isolation" | "transaction_read_only" | "transaction_deferrable" | "seed" => {
            return Ok(false);
        }
        name if is_identity(name) => {
            let wanted = values.and_then(<[String]>::first).map(String::as_str);
            set_user(shared, cx, name, wanted, local)?;
        }
        name => {
            let settings = &mut shared.state.lock().settings;
            match values {
                None => settings.reset(name, local)?,
                Some(values) => settings.set(name, values, local).map(drop)?,
            }
        }
    }
    Ok(true)
}

/// `SET ROLE` and `SET SESSION AUTHORIZATION`. 42501 where the user is that of a routine.
fn set_user(
    shared: &Shared,
    cx: &ExecContext,
    name: &str,
    wanted: Option<&str>,
    local: bool,
) -> Result<()> {
    if cx.settings.is_some_and(|settings| settings.has_own_user) {
        let message = format!("cannot set parameter \"{name}\" within security-definer function");
        return Err(Error::new(SqlState::InsufficientPrivilege, message));
    }
    shared.set_identity(&cx.catalog, name, wanted, local)
}
