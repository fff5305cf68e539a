//! Names: how identifiers are written, which object a name means, how objects are printed.

mod collations;
mod identifier;
mod index_keys;
mod key_names;
mod named;
mod object_names;
mod relation;
mod resolve;
mod row_types;
mod sort_keys;
mod statistics;
mod view_text;

pub use collations::Collations;
pub(crate) use identifier::names_built_in_type;
pub use identifier::{
    choose_name, index_labels, make_object_name, qualified, split_name, truncate_name,
};
pub use index_keys::{column_label, index_column_text, index_key_names};
pub use key_names::CatalogKeyNames;
pub use named::Named;
pub(crate) use object_names::{NameKind, ObjectNames, Place};
pub use relation::Relation;
pub(crate) use resolve::searched;
pub use resolve::{Names, SearchPath, undefined_relation};
pub use row_types::RowTypes;
pub use sort_keys::{SortedText, shown_column, shown_key_columns};
pub use statistics::StatisticsObjects;
pub use view_text::{CatalogNames, view_text};
