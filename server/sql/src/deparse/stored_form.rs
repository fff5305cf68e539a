//! The names of the stored form: relations, items of FROM, and the columns of USING.

use sqlparser::ast::{Ident, TableAlias, TableAliasColumnDef};

/// The schema that stands before the id of a relation in the stored form.
pub const RELATION_MARK: &str = "#";

/// The number of the table whose row a stored expression reads.
pub const TABLE_ROW: u32 = 1;

/// The number of the system column `tableoid`. Tables have fewer columns than this.
pub const TABLE_OID_COLUMN: u16 = u16::MAX;

/// The number of the system column `ctid`.
pub const PLACE_COLUMN: u16 = u16::MAX - 1;

/// The number of the system column `xmin`.
pub const VERSION_COLUMN: u16 = u16::MAX - 2;

/// The number of the system column `xmax`, the least of those of system columns.
pub const DELETED_BY_COLUMN: u16 = u16::MAX - 3;

/// The name of a field of a row type with a name in the stored form: the relation's id and the
/// column's number.
pub fn field_mark(relation: u32, column: u16) -> String {
    format!("{RELATION_MARK}{relation}.{column}")
}

/// Reads the name of a field in the stored form.
pub fn split_field(name: &str) -> Option<(u32, u16)> {
    let (relation, column) = name.strip_prefix(RELATION_MARK)?.split_once('.')?;
    Some((relation.parse().ok()?, column.parse().ok()?))
}

/// What the number of an item of FROM is followed by if the user wrote an alias.
const ALIAS_MARK: &str = " as";

/// The name of an item of FROM in the stored form, and the names behind it: the alias that the
/// user wrote, then `columns`.
pub fn label(number: u32, alias: Option<String>, columns: Vec<String>) -> TableAlias {
    let mark = if alias.is_some() { ALIAS_MARK } else { "" };
    let column =
        |name: String| TableAliasColumnDef { name: Ident::with_quote('"', name), data_type: None };
    TableAlias {
        explicit: true,
        name: Ident::with_quote('"', format!("{number}{mark}")),
        columns: alias.into_iter().chain(columns).map(column).collect(),
        at: None,
    }
}

/// Reads the name of an item of FROM in the stored form: its number, whether there is an alias.
pub fn split_label(label: &str) -> Option<(u32, bool)> {
    match label.strip_suffix(ALIAS_MARK) {
        Some(number) => Some((number.parse().ok()?, true)),
        None => Some((label.parse().ok()?, false)),
    }
}

/// The names of columns behind the name of an item of FROM in the stored form.
pub fn listed_columns(alias: &TableAlias) -> Vec<String> {
    let has_alias = split_label(&alias.name.value).is_some_and(|(_, has_alias)| has_alias);
    let names = alias.columns.iter().map(|column| column.name.value.clone());
    names.skip(usize::from(has_alias)).collect()
}

/// A column of an item of FROM: both numbers.
pub type ItemColumn = (u32, u16);

/// A column of USING in the stored form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsingColumn {
    /// The column of the join itself; (0, 0) if it is that of one side.
    pub merged: ItemColumn,
    /// The left column.
    pub left: ItemColumn,
    /// The right column.
    pub right: ItemColumn,
    /// Its name when the view was made.
    pub name: String,
}

impl UsingColumn {
    /// Its names in the stored form.
    pub fn to_names(&self) -> [String; 2] {
        let part = |(item, column): ItemColumn| format!("{item}.{column}");
        let (merged, left, right) = (part(self.merged), part(self.left), part(self.right));
        [format!("{merged}={left}={right}"), self.name.clone()]
    }

    /// Reads the names of the stored form.
    pub fn parse(places: &str, name: &str) -> Option<Self> {
        let mut parts = places.splitn(3, '=');
        let mut column = || -> Option<ItemColumn> {
            let (item, column) = parts.next()?.split_once('.')?;
            Some((item.parse().ok()?, column.parse().ok()?))
        };
        let (merged, left, right) = (column()?, column()?, column()?);
        Some(Self { merged, left, right, name: name.to_owned() })
    }
}
