//! One definition in an open transaction, be it of the client or of a routine.

use braid_catalog::version_key;
use braid_ddl as ddl;
use braid_ddl::DdlContext;
use braid_exec::{ExecContext, NoticeLevel, RoutineCommand, from_kv};
use braid_kv::{LockRequest, RetryReason, Transaction};
use braid_sql::ast::{RoutineOption, Set, SetValue, SettingChange, Statement};
use braid_types::{Error, Result, SqlState};

use crate::shared::Shared;

/// Locks the stored catalog for a transaction that is going to change it.
pub(crate) async fn lock_catalog(txn: &Transaction) -> Result<()> {
    let request = LockRequest::keys(vec![version_key()]);
    txn.lock(txn.next_statement(), request).await.map(drop).map_err(from_kv)
}

/// 25006 in a transaction that is READ ONLY, and the errors of a setting that is to be stored.
pub(crate) fn check_definition(shared: &Shared, statement: &Statement) -> Result<()> {
    if shared.modes().read_only {
        let message = "cannot execute DDL in a read-only transaction";
        return Err(Error::new(SqlState::ReadOnlySqlTransaction, message));
    }
    check_stored_setting(shared, statement)
}

/// Whether the setting that a statement keeps for later sessions is one, and its value fits.
fn check_stored_setting(shared: &Shared, statement: &Statement) -> Result<()> {
    let sets: Vec<&Set> = match statement {
        Statement::AlterUser(alter) => alter.set.iter().collect(),
        Statement::AlterDatabase(alter) => match &alter.change {
            SettingChange::Set(set) => vec![set],
            SettingChange::Reset(_) | SettingChange::Options(_) => Vec::new(),
        },
        Statement::CreateRoutine(create) => sets_of(&create.options),
        Statement::AlterRoutine(alter) => sets_of(&alter.options),
        _ => Vec::new(),
    };
    let state = shared.state.lock();
    sets.into_iter().try_for_each(|set| match &set.value {
        SetValue::Values(values) => state.settings.check_stored(&set.name, values),
        SetValue::Default => Ok(()),
    })
}

/// The settings of a routine.
fn sets_of(options: &[RoutineOption]) -> Vec<&Set> {
    let mut sets = Vec::new();
    for option in options {
        if let RoutineOption::Set(set) = option {
            sets.push(set);
        }
    }
    sets
}

/// The retry error of a transaction that reads an older catalog than the one that it has locked:
/// its commit would fail, when the client cannot be spared any more.
pub(crate) fn schema_changed() -> Error {
    from_kv(braid_kv::Error::retry(RetryReason::SchemaChanged, Some(version_key())))
}

/// What a definition has done.
pub(crate) struct CarriedOut {
    /// Its command tag.
    pub result: Result<String>,
    /// It has locked a newer catalog than the transaction's only statement has read.
    pub is_stale: bool,
    /// Messages for the client.
    pub notices: Vec<(NoticeLevel, Error)>,
}

/// Carries out a definition in the transaction of `exec`, whose draft it changes. 0A000 while
/// another one runs there.
pub(crate) async fn carry_out(
    shared: &Shared,
    exec: &ExecContext,
    definition: &RoutineCommand<'_>,
    implicit: bool,
) -> Result<CarriedOut> {
    let Some(mut lent) = exec.draft.lend() else {
        return Err(Error::unsupported("a definition inside of another one"));
    };
    let mut notices = Vec::new();
    let mut cx = DdlContext {
        exec,
        text: definition.text,
        param_types: &definition.types,
        params: &definition.values,
        variables: definition.variables,
        cache: &shared.engine.catalog,
        draft: &mut lent.draft,
        implicit,
        notices: &mut notices,
        scattered: Vec::new(),
    };
    let result = ddl::run(definition.statement, &mut cx).await;
    let is_stale = lent.give_back();
    let level = |fields: &Error| match fields.state() {
        SqlState::Warning
        | SqlState::PrivilegeNotGranted
        | SqlState::PrivilegeNotRevoked
        | SqlState::InvalidGrantOperation => NoticeLevel::Warning,
        _ => NoticeLevel::Notice,
    };
    let notices = notices.into_iter().map(|fields| (level(&fields), fields)).collect();
    Ok(CarriedOut { result, is_stale, notices })
}
