//! The numbers of objects and of their parts.

/// The number of a database, schema, table, view, sequence, role, constraint or index.
pub type Id = u32;
/// The number of a column within its table; never used twice, starts at 1 (`attnum`).
pub type ColumnId = u16;
/// The number of an index within its table's keys; the primary key is 1; never used twice.
pub type IndexNumber = u16;
/// The number of a column family within its table; 0 always exists.
pub type FamilyId = u16;
