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
    /// What names of the body of a routine may mean besides columns.
    pub variables: Option<&'a Variables>,
}

/// The parameters and variables of a routine's body, which its statements have as parameters.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    /// The variables; of several with one name the last is meant.
    pub list: Vec<Variable>,
    /// A name that also means a column is an error. Otherwise it means the column.
    pub refuse_ambiguous: bool,
    /// The transition tables of a trigger's function.
    pub tables: Vec<TransitionTable>,
    /// The body is not run but looked at: nobody needs privileges on what it names.
    pub is_only_checked: bool,
}

/// Rows that a statement has changed, as a table that its trigger's function can read.
#[derive(Clone, Debug)]
pub struct TransitionTable {
    /// Its name.
    pub name: String,
    /// The number of the statement's parameter that has its rows as an array, from 0.
    pub param: usize,
}

/// A parameter or a variable of a routine.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The label of its block, or the name of the routine.
    pub label: Option<String>,
    /// Its name.
    pub name: String,
    /// The number of the statement's parameter that has its value, from 0.
    pub param: usize,
}

impl Variables {
    /// The variable that the first parts of a name mean, and how many parts that are.
    pub fn find(&self, parts: &[String]) -> Option<(usize, usize)> {
        let newest = || self.list.iter().rev();
        let [first, rest @ ..] = parts else { return None };
        if let Some(found) = newest().find(|variable| variable.name == *first) {
            return Some((found.param, 1));
        }
        let second = rest.first()?;
        let mut labelled = newest().filter(|v| v.label.as_ref() == Some(first));
        labelled.find(|variable| variable.name == *second).map(|found| (found.param, 2))
    }
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
    /// The modifier of a type of times: of the table's column, or of the cast that it is.
    pub modifier: Option<i32>,
    /// The domain of the table's column, or of the cast that it is; the type is then the one below.
    pub domain: Option<Id>,
    /// Its collation as columns keep it, if it is not that of the database.
    pub collation: Option<String>,
    /// It has two collations, so that nothing can keep one for it.
    pub is_undecided: bool,
}

impl OutputColumn {
    /// A column that comes from no table and whose type has no modifier of times.
    pub fn computed(name: impl Into<String>, ty: SqlType) -> Self {
        let (table_oid, column_number) = (0, 0);
        let (name, modifier, domain, collation) = (name.into(), None, None, None);
        let is_undecided = false;
        OutputColumn {
            name,
            ty,
            table_oid,
            column_number,
            modifier,
            domain,
            collation,
            is_undecided,
        }
    }
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
