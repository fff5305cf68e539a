//! Policies of row-level security on rows that are written or about to change.
//!
//! The planner has put the conditions among the checks of the table. They are looked at before
//! NOT NULL and CHECK, so that these say nothing of a row that the user may not write.

use braid_exec::Evaluator;
use braid_plan::{Expr, Insert, PolicyUse, RowCheck};
use braid_types::{Datum, Error, Result, SqlState};

/// Whether policies hold for the rows of an INSERT. Then errors of keys are those of the writer,
/// which shows no values.
pub(crate) fn has_policies(plan: &Insert) -> bool {
    plan.checks.iter().any(|(check, _)| check.is_policy())
}

/// 42501 for a row that does not meet the policies of this use.
pub(crate) async fn check_policies(
    evaluator: &Evaluator,
    checks: &[(RowCheck, Expr)],
    wanted: PolicyUse,
    row: &[Datum],
) -> Result<()> {
    for (check, e) in checks {
        let RowCheck::Policy { table, name, when } = check else { continue };
        if *when == wanted && evaluator.eval(e, row).await?.as_bool() != Some(true) {
            return Err(violated(table, name.as_deref(), wanted));
        }
    }
    Ok(())
}

fn violated(table: &str, policy: Option<&str>, when: PolicyUse) -> Error {
    let (which, by_using) = match when {
        PolicyUse::Insert | PolicyUse::Update => ("new", ""),
        PolicyUse::Conflict => ("new", " (USING expression)"),
        PolicyUse::MergeUpdate | PolicyUse::MergeDelete => ("target", " (USING expression)"),
    };
    let policy = policy.map_or_else(String::new, |name| format!(" \"{name}\""));
    let message = format!(
        "{which} row violates row-level security policy{policy}{by_using} for table \"{table}\""
    );
    Error::new(SqlState::InsufficientPrivilege, message)
}
