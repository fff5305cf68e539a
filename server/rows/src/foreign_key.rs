//! Where the rows of a foreign key are found, and how its values are compared with those that they
//! point at.

use std::borrow::Cow;

use braid_catalog::{ColumnId, ForeignKey, Index, IndexState, Table};
use braid_types::cast::{CastEnv, cast};
use braid_types::{Datum, FormatSettings, Result, SqlType};

/// How values of a column of a foreign key become values of the column that it points at.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Comparison {
    /// They are compared as they are.
    Same,
    /// Both are `char(n)`: the blanks at the end say nothing.
    Blanks,
    /// The child's is a text that points at a `char(n)`: texts with and without blanks at the end
    /// point at the same value.
    Trimmed,
    /// The child's value is cast to the parent's type, which loses nothing.
    Cast {
        child: SqlType,
        /// Without a length or precision.
        parent: SqlType,
    },
}

impl Comparison {
    fn of(child: &SqlType, parent: &SqlType) -> Option<Self> {
        use SqlType::{Char, Date, Float4, Float8, Name, Numeric, Text, Timestamp, Varchar};
        let is_text = |ty: &SqlType| matches!(ty, Text | Varchar(_) | Name);
        let is_alike = child.same_base(parent)
            || (child.is_integer() && parent.is_integer())
            || (is_text(child) && is_text(parent));
        let is_exact = match (child, parent) {
            (Char(_), Text | Varchar(_)) | (Float4, Float8) | (Date, Timestamp) => true,
            (_, Numeric(_)) => child.is_integer(),
            _ => false,
        };
        match (child, parent) {
            (Char(_), Char(_)) => Some(Self::Blanks),
            (Text | Varchar(_), Char(_)) => Some(Self::Trimmed),
            _ if is_alike => Some(Self::Same),
            _ if is_exact => Some(Self::Cast { child: child.clone(), parent: parent.bare() }),
            _ => None,
        }
    }
}

/// Whether a column of one type may point at a column of another one: each of its values is equal
/// to one value of that type.
pub fn may_refer(child: &SqlType, parent: &SqlType) -> bool {
    Comparison::of(child, parent).is_some()
}

/// The values of a foreign key: as its own columns have them, and as the columns that it points at
/// have them. They are compared in the latter form.
#[derive(Clone, Debug)]
pub struct ForeignKeyValues(Vec<Comparison>);

impl ForeignKeyValues {
    /// Of a foreign key of `child` that points at `parent`, or at a table whose partition that is.
    pub fn new(child: &Table, parent: &Table, key: &ForeignKey) -> Self {
        let comparison = |(own, other): (&ColumnId, &ColumnId)| {
            let (child, parent) = (child.column(*own)?, parent.column(*other)?);
            Some(Comparison::of(&child.ty, &parent.ty).unwrap_or(Comparison::Same))
        };
        Self(key.columns.iter().zip(&key.parent_columns).filter_map(comparison).collect())
    }

    /// Whether some column has another form in the parent.
    fn differ(&self) -> bool {
        self.0.iter().any(|column| *column != Comparison::Same)
    }

    /// The child's values as the parent would have them.
    ///
    /// # Errors
    ///
    /// 22008 for a date that no timestamp is equal to.
    pub fn of_child<'v>(&self, values: impl Into<Cow<'v, [Datum]>>) -> Result<Cow<'v, [Datum]>> {
        let mut values = values.into();
        if self.differ() {
            for (i, value) in values.to_mut().iter_mut().enumerate() {
                *value = self.value_of_child(i, value)?;
            }
        }
        Ok(values)
    }

    /// The same for the value of one column of the foreign key, by its place in it.
    ///
    /// # Errors
    ///
    /// Those of [`Self::of_child`].
    pub fn value_of_child(&self, i: usize, value: &Datum) -> Result<Datum> {
        match self.0.get(i) {
            None | Some(Comparison::Same) => Ok(value.clone()),
            Some(Comparison::Blanks | Comparison::Trimmed) => Ok(without_blanks(value)),
            Some(Comparison::Cast { child, parent }) => convert(value, child, parent),
        }
    }

    /// The parent's values as they are compared.
    pub fn of_parent<'v>(&self, values: impl Into<Cow<'v, [Datum]>>) -> Cow<'v, [Datum]> {
        let mut values = values.into();
        if self.differ() {
            for (value, column) in values.to_mut().iter_mut().zip(&self.0) {
                if matches!(column, Comparison::Blanks | Comparison::Trimmed) {
                    *value = without_blanks(value);
                }
            }
        }
        values
    }

    /// An index of the child by which the children of a parent are found: its first columns are the
    /// foreign key's, in any order. None if children of one parent may have several values.
    pub fn index<'t>(&self, child: &'t Table, key: &ForeignKey) -> Option<&'t Index> {
        if self.0.contains(&Comparison::Trimmed) {
            return None;
        }
        let columns = &key.columns;
        child.all_indexes().find(|index| {
            index.state == IndexState::Public
                && index.predicate.is_none()
                && !index.is_inverted()
                && index.keys.len() >= columns.len()
                && index.keys[..columns.len()].iter().all(|part| columns.contains(&part.column))
        })
    }

    /// The values that the children of a parent have; `None` if no child can point at that parent,
    /// or children of one parent may have several values.
    pub fn for_child<'v>(&self, values: &'v [Datum]) -> Option<Cow<'v, [Datum]>> {
        if !self.differ() {
            return Some(values.into());
        }
        values.iter().enumerate().map(|(i, value)| self.value_for_child(i, value)).collect()
    }

    /// The same for the value of one column of the foreign key, by its place in it.
    pub fn value_for_child(&self, i: usize, value: &Datum) -> Option<Datum> {
        match self.0.get(i)? {
            Comparison::Same | Comparison::Blanks => Some(value.clone()),
            Comparison::Trimmed => None,
            Comparison::Cast { child, parent } => {
                let own = convert(value, parent, child).ok()?;
                (convert(&own, child, parent).ok()? == *value).then_some(own)
            }
        }
    }
}

fn without_blanks(value: &Datum) -> Datum {
    match value {
        Datum::Text(text) if text.ends_with(' ') => Datum::Text(text.trim_end_matches(' ').into()),
        other => other.clone(),
    }
}

fn convert(value: &Datum, from: &SqlType, to: &SqlType) -> Result<Datum> {
    let settings = FormatSettings::default();
    cast(value, from, to, false, &CastEnv { settings: &settings, now_micros: 0 })
}
