//! Columns of tables.

use braid_types::datetime::typmod::{apply_typmod, type_name};
use braid_types::{Datum, SqlType};
use serde::{Deserialize, Serialize};

use super::{ColumnId, FamilyId, Grant, Id, StoredExpr};

/// A column.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Column {
    /// Its number.
    pub id: ColumnId,
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: SqlType,
    /// What its type keeps of a time, a timestamp or an interval, by
    /// [`braid_types::datetime::typmod`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modifier: Option<i32>,
    /// The domain that it was declared with; the type is then the one below the domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<Id>,
    /// How many dimensions the declaration of an array has beyond the first. They limit nothing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_dimensions: u8,
    /// `COLLATE "C"` or `"POSIX"`, which both compare bytes as the default collation does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collation: Option<String>,
    /// Whether NULL is allowed.
    pub nullable: bool,
    /// The DEFAULT expression.
    pub default: Option<StoredExpr>,
    /// `GENERATED ALWAYS AS (expr) STORED`.
    pub generated: Option<StoredExpr>,
    /// `GENERATED … AS IDENTITY`.
    pub identity: Option<Identity>,
    /// The sequence that this column owns (SERIAL, IDENTITY).
    pub owned_sequence: Option<Id>,
    /// The family that holds it (key columns have one too, for `SHOW CREATE TABLE`).
    pub family: FamilyId,
    /// Not shown by `*` (`rowid`).
    pub hidden: bool,
    /// The value of `generated` is the key of an index and nothing else: it is computed when an
    /// entry is made, and no row has it. Such a column is hidden, no name means it, and it goes
    /// with its index.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_key_expr: bool,
    /// For rows stored before the column was added: its value there.
    pub missing: Option<StoredDatum>,
    /// `SET STATISTICS`: how many common values and bounds PostgreSQL would keep of the column.
    /// BraidDB shows it, and its own statistics do not follow it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statistics_target: Option<i16>,
    /// `SET STORAGE`: the letter in `pg_attribute`. It is shown, and has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<char>,
    /// Privileges granted on it alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<Grant>,
    /// COMMENT ON COLUMN.
    pub comment: Option<String>,
}

fn is_zero(number: &u8) -> bool {
    *number == 0
}

impl Column {
    /// A column of that number, name and type, which may be NULL.
    pub fn plain(id: ColumnId, name: &str, ty: SqlType) -> Self {
        Column {
            id,
            name: name.to_owned(),
            ty,
            modifier: None,
            domain: None,
            more_dimensions: 0,
            collation: None,
            nullable: true,
            default: None,
            generated: None,
            identity: None,
            owned_sequence: None,
            family: 0,
            hidden: false,
            is_key_expr: false,
            missing: None,
            statistics_target: None,
            storage: None,
            grants: Vec::new(),
            comment: None,
        }
    }

    /// The name of the column for the key of an index that is an expression. No client can write
    /// it. `label` is what the index shows for it.
    pub fn key_expr_name(id: ColumnId, label: &str) -> String {
        format!("\0{id}\0{label}")
    }

    /// Its name as an index shows it.
    pub fn label(&self) -> &str {
        self.name.rsplit('\0').next().unwrap_or_default()
    }

    /// The modifier of its type as `pg_attribute.atttypmod` has it; -1 without one.
    pub fn typmod(&self) -> i32 {
        self.modifier.unwrap_or_else(|| self.ty.typmod())
    }

    /// Its type with modifiers, as `format_type` prints it.
    pub fn type_name(&self) -> String {
        self.modifier.map_or_else(|| self.ty.display_name(), |typmod| type_name(&self.ty, typmod))
    }

    /// A value of its type as the type's modifier has it.
    pub fn modified(&self, value: Datum) -> Datum {
        match self.modifier {
            Some(typmod) => apply_typmod(&value, typmod),
            None => value,
        }
    }
}

/// A datum kept in a descriptor as its type's text form; `None` is NULL.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredDatum(pub Option<String>);

/// The two kinds of identity column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Identity {
    /// A value may not be given without OVERRIDING SYSTEM VALUE.
    Always,
    /// A value may be given.
    ByDefault,
}
