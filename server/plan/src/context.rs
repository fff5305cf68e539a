//! What planning needs to know, and what a statement is and gives.

use std::sync::Arc;

use braid_builtins::Environment;
use braid_catalog::{Catalog, Id, SearchPath};
use braid_types::SqlType;

use crate::bind::TypeNames;

/// What planning needs to know.
#[derive(Clone, Copy)]
pub struct PlanContext<'a> {
    /// The catalog at the transaction's snapshot (or the transaction's own draft).
    pub catalog: &'a Arc<Catalog>,
    /// Where unqualified names are looked up, and for whom.
    pub path: &'a SearchPath,
    /// The session, for folding constants.
    pub env: &'a dyn Environment,
    /// The text that the places of the statement's parts refer to, for those of operators; empty
    /// if there is none.
    pub text: &'a str,
    /// The types of parameters as far as the client said; `Unknown` is inferred.
    pub param_types: &'a [SqlType],
}

impl<'a> PlanContext<'a> {
    /// Where the names of types are looked up.
    pub fn types(&self) -> TypeNames<'a> {
        TypeNames { catalog: self.catalog, path: self.path }
    }

    /// The types of the parameters, with the labels that their enums have now.
    pub(crate) fn known_params(&self) -> Vec<SqlType> {
        let mut types = self.param_types.to_vec();
        types.iter_mut().for_each(|ty| self.catalog.enums().refresh(ty));
        types
    }
}

/// A column of a statement's result.
#[derive(Clone, Debug)]
pub struct OutputColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: SqlType,
    /// The table it comes from, 0 if it is an expression.
    pub table_oid: Id,
    /// The column's number there, 0 if it is an expression or the table's whole row.
    pub column_number: u16,
}

/// What kind of statement a plan is, for its command tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementKind {
    /// `SELECT n`
    Select,
    /// `INSERT 0 n`
    Insert,
    /// `UPDATE n`
    Update,
    /// `DELETE n`
    Delete,
    /// `MERGE n`
    Merge,
}
