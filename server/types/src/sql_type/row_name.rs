//! The names and numbers of the row types of relations, composite types included.

use std::hash::{Hash, Hasher};

/// What a row type is called.
#[derive(Clone, Debug, Default)]
pub struct RowName {
    /// Its oid.
    pub oid: u32,
    /// The oid of the type of its arrays.
    pub array_oid: u32,
    /// Its name, as `pg_type` has it.
    pub name: String,
    /// The name of the type of its arrays.
    pub array_name: String,
    /// Its name as messages show it.
    pub display: String,
    /// The name of the type of its arrays as messages show it.
    pub array_display: String,
    /// What it knows of its columns besides their names and types, in their order.
    pub attributes: Vec<RowAttribute>,
}

/// A column of a row type with a name.
#[derive(Clone, Copy, Debug, Default)]
pub struct RowAttribute {
    /// Its number, which never changes and is never used again. Stored rows name it, so that they
    /// can be read when columns have been added or dropped.
    pub number: u16,
    /// The domain that its values belong to.
    pub domain: Option<u32>,
    /// What its type keeps of a time, a timestamp or an interval.
    pub modifier: Option<i32>,
}

impl PartialEq for RowName {
    fn eq(&self, other: &Self) -> bool {
        self.oid == other.oid
    }
}
impl Eq for RowName {}
impl Hash for RowName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.oid.hash(state);
    }
}

/// Set in the number of a relation's row type, and in no number of a relation.
const ROW_TYPE: u32 = 1 << 28;
/// Set in the number of the arrays of a relation's row type.
const ROW_ARRAY_TYPE: u32 = 1 << 29;

/// Numbers from here on belong to no relation, not even to temporary ones.
const NO_RELATION: u32 = 1 << 31;

/// The number of a relation's row type.
pub const fn row_type_oid(relation: u32) -> u32 {
    relation | ROW_TYPE
}

/// The number of the arrays of a relation's row type.
pub const fn row_array_type_oid(relation: u32) -> u32 {
    relation | ROW_ARRAY_TYPE
}

/// The relation of such a number, and whether it stands for arrays.
pub const fn relation_of_row_type(oid: u32) -> Option<(u32, bool)> {
    match oid & (ROW_TYPE | ROW_ARRAY_TYPE) {
        _ if oid >= NO_RELATION => None,
        ROW_TYPE => Some((oid ^ ROW_TYPE, false)),
        ROW_ARRAY_TYPE => Some((oid ^ ROW_ARRAY_TYPE, true)),
        _ => None,
    }
}
