//! Which extensions the objects of a database use, whether they were created or not.

use braid_codec::terms::TermClass;
use braid_types::SqlType;

use crate::{
    Catalog, Column, ExclusionOperator, Extension, Id, Index, OperatorClass, Routine, StoredExpr,
    Table,
};

/// Whether an object of the database has a type, an operator class or a call of the extension.
pub fn uses_extension(catalog: &Catalog, database: Id, extension: &Extension) -> bool {
    let is_own = |ty: &SqlType| match ty.innermost() {
        SqlType::Citext => extension.name == "citext",
        SqlType::Hstore => extension.name == "hstore",
        _ => false,
    };
    let column = |column: &Column| {
        let exprs = column.default.iter().chain(&column.generated);
        is_own(&column.ty) || exprs.map(StoredExpr::sql).any(|text| calls(extension, text))
    };
    let table = |table: &Table| {
        let predicates = table.all_indexes().filter_map(|index| index.predicate.as_ref());
        let mut exprs = table.checks.iter().map(|check| &check.expr).chain(predicates);
        table.columns.iter().any(column)
            || exprs.any(|expr| calls(extension, expr.sql()))
            || table.all_indexes().any(|index| indexes(extension, index))
            || table.as_view().is_some_and(|view| {
                view.stored.as_ref().is_some_and(|stored| calls(extension, &stored.query))
            })
    };
    let routine = |routine: &Routine| {
        routine.parameters.iter().any(|parameter| is_own(&parameter.ty))
            || is_own(routine.result_type())
            || calls(extension, &routine.body)
    };
    catalog.tables().in_database(database).any(|found| table(found))
        || catalog.views().in_database(database).any(|view| {
            view.columns.iter().any(|(_, ty)| is_own(ty))
                || view.stored.as_ref().is_some_and(|stored| calls(extension, &stored.query))
        })
        || catalog.domains().in_database(database).any(|domain| is_own(&domain.base))
        || catalog
            .names()
            .composites()
            .in_database(database)
            .any(|found| found.columns.iter().any(|column| is_own(&column.ty)))
        || catalog.names().routines().in_database(database).any(|found| routine(found))
}

/// Whether a text calls a function that the extension alone has.
fn calls(extension: &Extension, text: &str) -> bool {
    let text = text.to_lowercase();
    let is_call = |(place, name): (usize, &str)| {
        let before = text[..place].chars().next_back();
        let after = text[place + name.len()..].trim_start_matches('"').trim_start();
        after.starts_with('(') && !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    };
    extension.own_functions().any(|name| text.match_indices(name).any(is_call))
}

/// Whether an index needs the extension in PostgreSQL.
fn indexes(extension: &Extension, index: &Index) -> bool {
    let classes = index.keys.iter().filter_map(|key| OperatorClass::by_oid(key.operator_class?));
    let has_class = classes.into_iter().any(|class| class.extension() == Some(extension.name));
    let is_equality = extension.name == "btree_gist"
        && index.exclusion.as_ref().is_some_and(|exclusion| {
            let mut keys = exclusion.keys.iter();
            exclusion.method == "gist" && keys.any(|key| key.operator == ExclusionOperator::Equal)
        });
    let is_scalar = extension.name == "btree_gin" && index.inverted.contains(&TermClass::Scalar);
    has_class || is_equality || is_scalar
}
