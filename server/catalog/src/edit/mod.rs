//! Changes of a catalog that nobody else can see yet, and what they keep in step.

mod catalog_edit;
mod mentioned;

pub(crate) use catalog_edit::CatalogEdit;
