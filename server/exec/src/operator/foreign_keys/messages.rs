//! The errors of foreign keys, as PostgreSQL words them.

use braid_types::{Datum, Error, SqlState};

use super::link::Link;
use crate::operator::Run;
use crate::operator::change::columns_text;

fn key_text(run: &Run, table: &braid_catalog::Table, places: &[usize], key: &[Datum]) -> String {
    let mut row = vec![Datum::Null; table.columns.len()];
    for (place, value) in places.iter().zip(key) {
        row[*place] = value.clone();
    }
    columns_text(table, places, &row, run.cx.env.settings())
}

fn violated(run: &Run, link: &Link) -> Error {
    let message = format!(
        "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
        link.child.name, link.key.name
    );
    of_constraint(run, link, message)
}

fn of_constraint(run: &Run, link: &Link, message: String) -> Error {
    let schema = run.cx.catalog.schema_name(link.child.schema);
    Error::new(SqlState::ForeignKeyViolation, message)
        .table(&schema, &link.child.name)
        .constraint(&link.key.name)
}

/// A row that has no parent.
pub fn no_parent(run: &Run, link: &Link, values: &[Datum]) -> Error {
    violated(run, link).detail(format!(
        "Key {} is not present in table \"{}\".",
        key_text(run, &link.child, &link.child_places, values),
        link.parent.name
    ))
}

/// MATCH FULL with some NULLs.
pub fn mixed_nulls(run: &Run, link: &Link) -> Error {
    violated(run, link).detail("MATCH FULL does not allow mixing of null and nonnull key values.")
}

/// A key that children point at is gone.
pub fn still_referenced(run: &Run, link: &Link, values: &[Datum]) -> Error {
    let message = format!(
        "update or delete on table \"{}\" violates foreign key constraint \"{}\" on table \"{}\"",
        link.parent.name, link.key.name, link.child.name
    );
    of_constraint(run, link, message).detail(format!(
        "Key {} is still referenced from table \"{}\".",
        key_text(run, &link.parent, &link.parent_places, values),
        link.child.name
    ))
}
