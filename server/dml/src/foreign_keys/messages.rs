//! The errors of foreign keys, as PostgreSQL words them.

use braid_catalog::partitions::origin_of_key;
use braid_catalog::{Catalog, ForeignKey, Table};
use braid_exec::ExecutionState;
use braid_rows::{Violation, show};
use braid_types::{Datum, Error, FormatSettings, SqlState};

use crate::foreign_keys::link::Link;

/// What messages are made with.
#[derive(Clone, Copy)]
pub(crate) struct Words<'a> {
    /// Knows the names of schemas.
    pub catalog: &'a Catalog,
    /// How values look.
    pub settings: &'a FormatSettings,
    /// The user, from whom policies may hide values; none: nobody in particular.
    pub user: Option<&'a str>,
}

impl Words<'_> {
    /// Whether policies hide rows of a table from the user.
    fn hides(&self, table: &Table) -> bool {
        let role = self.user.and_then(|user| self.catalog.names().role(user));
        role.is_some_and(|role| self.catalog.privileges().are_policies_for(role.id, table))
    }
}

impl<'a> From<&'a ExecutionState> for Words<'a> {
    fn from(run: &'a ExecutionState) -> Self {
        let (catalog, settings) = (&run.cx.catalog, run.cx.env.settings());
        Words { catalog, settings, user: Some(run.cx.env.current_user()) }
    }
}

/// `Key (a)=(1)`, without columns and values where policies may hide them.
fn key_text(words: Words<'_>, table: &Table, places: &[usize], key: &[Datum]) -> String {
    if words.hides(table) {
        return "Key".to_owned();
    }
    let mut row = vec![Datum::Null; table.columns.len()];
    for (place, value) in places.iter().zip(key) {
        row[*place] = value.clone();
    }
    format!("Key {}", columns_text(table, places, &row, words.settings))
}

fn violated(words: Words<'_>, link: &Link) -> Error {
    let message = format!(
        "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
        link.child.name, link.key.name
    );
    of_constraint(words, link, message)
}

fn of_constraint(words: Words<'_>, link: &Link, message: String) -> Error {
    let schema = words.catalog.schema_name(link.child.schema);
    Error::new(SqlState::ForeignKeyViolation, message)
        .table(&schema, &link.child.name)
        .constraint(&link.key.name)
        .caused_by(Violation::ForeignKey)
}

/// A row that has no parent.
pub(crate) fn no_parent<'a>(words: impl Into<Words<'a>>, link: &Link, values: &[Datum]) -> Error {
    let words = words.into();
    violated(words, link).detail(format!(
        "{} is not present in table \"{}\".",
        key_text(words, &link.child, &link.child_places, values),
        link.parent.name
    ))
}

/// MATCH FULL with some NULLs.
pub(crate) fn mixed_nulls<'a>(words: impl Into<Words<'a>>, link: &Link) -> Error {
    violated(words.into(), link)
        .detail("MATCH FULL does not allow mixing of null and nonnull key values.")
}

/// A key that children point at is gone.
pub(crate) fn still_referenced<'a>(
    words: impl Into<Words<'a>>,
    link: &Link,
    values: &[Datum],
) -> Error {
    let words = words.into();
    let named = ForeignKey { parent: link.named, ..link.key.clone() };
    let child = origin_of_key(words.catalog, &link.child, &named);
    let message = format!(
        "update or delete on table \"{}\" violates foreign key constraint \"{}\" on table \"{}\"",
        link.parent.name, link.key.name, child.name
    );
    of_constraint(words, link, message).detail(format!(
        "{} is still referenced from table \"{}\".",
        key_text(words, &link.parent, &link.parent_places, values),
        child.name
    ))
}

/// `(a, b)=(1, x)` of columns.
fn columns_text(
    table: &Table,
    places: &[usize],
    row: &[Datum],
    settings: &FormatSettings,
) -> String {
    let names: Vec<&str> = places.iter().map(|p| table.columns[*p].name.as_str()).collect();
    let values: Vec<String> =
        places.iter().map(|p| show(&row[*p], &table.columns[*p].ty, settings)).collect();
    format!("({})=({})", names.join(", "), values.join(", "))
}
