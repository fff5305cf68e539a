//! Names of constraints.

use braid_catalog::{Table, names};
use braid_types::{Error, Result, SqlState};

/// 42710 if a constraint of the table has that name.
pub(crate) fn check_constraint_name(table: &Table, name: &str) -> Result<()> {
    let taken = table.checks.iter().any(|check| check.name == name)
        || table.foreign_keys.iter().any(|key| key.name == name)
        || table.all_indexes().any(|index| index.constraint.is_some() && index.name == name);
    if taken {
        let message =
            format!("constraint \"{name}\" for relation \"{}\" already exists", table.name);
        return Err(Error::new(SqlState::DuplicateObject, message));
    }
    Ok(())
}

/// A constraint name that the table does not have: `name1_name2_label`.
pub(crate) fn choose_constraint_name(table: &Table, column: Option<&str>, label: &str) -> String {
    names::choose_name(&table.name, column, label, |name| {
        check_constraint_name(table, name).is_err()
    })
}

/// 42P16: there is a primary key already.
pub(crate) fn multiple_primary_keys(table: &str) -> Error {
    let message = format!("multiple primary keys for table \"{table}\" are not allowed");
    Error::new(SqlState::InvalidTableDefinition, message)
}
