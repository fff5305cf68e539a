//! Keys as CREATE INDEX, CREATE TABLE and EXCLUDE write them.

use std::sync::Arc;

use braid_catalog::{
    ExcludedKey, Exclusion, ExclusionOperator, IndexKey as StoredKey, StoredExpr, Table, TermClass,
};
use braid_plan::stored_collation;
use braid_sql::ast::{self, Expr, Ident, IndexKey, KeyColumn, UniqueRules};
use braid_sql::fold;
use braid_types::{Error, Result, SqlState, SqlType};

use crate::context::DdlContext;
use crate::names::lookup::{folded, system_key};
use crate::table::descriptor::wanted_name;
use crate::table::exprs::{check_written, index_key_expr, index_predicate};
use crate::table::key_classes::{key_class, key_collation, key_terms};

/// A column of a key to be made.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpecKey {
    /// Its name; for an expression the name that the index shows.
    pub(crate) column: String,
    /// The expression and its type, if it is one.
    pub(crate) expr: Option<(StoredExpr, SqlType)>,
    /// `DESC`
    pub(crate) descending: bool,
    /// `NULLS FIRST` or `NULLS LAST` against the direction.
    pub(crate) nulls_opposed: bool,
    /// An operator class other than the default.
    pub(crate) operator_class: Option<u32>,
    /// A collation other than the column's.
    pub(crate) collation: Option<String>,
}

/// A key to be made: of a constraint or an index.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeySpec {
    /// Its name, if one was given.
    pub(crate) name: Option<String>,
    /// PRIMARY KEY
    pub(crate) primary: bool,
    /// No equal keys.
    pub(crate) unique: bool,
    /// What equal keys are, and when they are looked for.
    pub(crate) rules: UniqueRules,
    /// Where its constraint stands in the text.
    pub(crate) place: u32,
    /// From a constraint rather than CREATE INDEX.
    pub(crate) constraint: bool,
    /// Columns and their order.
    pub(crate) keys: Vec<SpecKey>,
    /// INCLUDE, STORING
    pub(crate) storing: Vec<String>,
    /// `WHERE`
    pub(crate) predicate: Option<StoredExpr>,
    /// Of an exclusion constraint its operators, in the order of `keys`.
    pub(crate) exclusion: Option<Exclusion>,
    /// `USING hash`
    pub(crate) is_hash: bool,
    /// `USING gin`: what the terms of each key are.
    pub(crate) inverted: Vec<TermClass>,
    /// `WITH (…)`, as the catalog shows it.
    pub(crate) options: Vec<String>,
}

impl KeySpec {
    /// A key constraint over plain columns.
    pub(crate) fn constraint(name: Option<String>, primary: bool, columns: Vec<String>) -> Self {
        let keys = columns.into_iter();
        let keys = keys.map(|column| SpecKey { column, ..SpecKey::default() }).collect();
        KeySpec { name, primary, unique: true, constraint: true, keys, ..KeySpec::default() }
    }

    /// A key constraint as written beside the columns.
    pub(crate) fn written(
        name: Option<String>,
        primary: bool,
        columns: &[KeyColumn],
        storing: &[braid_sql::ast::Ident],
    ) -> Self {
        let key = |key: &KeyColumn| SpecKey {
            column: fold(&key.name),
            descending: key.descending,
            ..SpecKey::default()
        };
        let keys = columns.iter().map(key).collect();
        let storing = folded(storing);
        KeySpec { name, primary, unique: true, constraint: true, keys, storing, ..Self::default() }
    }

    /// Whether it is the key under which the rows are stored. Two rows may have the same deferrable
    /// key for a while, so it cannot be.
    pub(crate) fn stores_rows(&self) -> bool {
        self.primary && !self.rules.deferrable
    }

    /// What messages call it.
    pub(crate) fn what(&self) -> &'static str {
        match (self.primary, self.constraint) {
            _ if self.exclusion.is_some() => "exclusion constraint",
            (true, _) => "primary key constraint",
            (false, true) => "unique constraint",
            (false, false) => "index",
        }
    }
}

/// An index as CREATE INDEX, an inline INDEX or an exclusion constraint writes it.
pub(crate) struct WrittenIndex<'a> {
    pub(crate) name: Option<&'a Ident>,
    pub(crate) method: Option<&'a Ident>,
    pub(crate) unique: bool,
    pub(crate) keys: &'a [IndexKey],
    pub(crate) storing: &'a [Ident],
    pub(crate) predicate: Option<&'a Expr>,
    /// Whether it is an exclusion constraint.
    pub(crate) is_exclusion: bool,
}

impl WrittenIndex<'_> {
    /// 0A000 or 42704 for an access method that is not known, or cannot have such an index.
    fn check_supported(&self) -> Result<()> {
        let method = self.method.map(fold);
        match method.as_deref() {
            None | Some("btree") => Ok(()),
            Some("hash") => self.check_plain("hash", true),
            Some("gin") => self.check_plain("gin", false),
            Some(method @ ("gist" | "spgist" | "brin")) => {
                Err(Error::unsupported(format_args!("access method {method}")))
            }
            Some(other) => {
                let message = format!("access method \"{other}\" does not exist");
                Err(Error::new(SqlState::UndefinedObject, message))
            }
        }
    }

    /// Whether its entries are in the order of its keys' collations. The entries of a unique index
    /// are in the order of bytes, since only equal texts are equal.
    fn has_order(&self) -> bool {
        let is_tree = self.method.map(fold).is_none_or(|method| method == "btree");
        is_tree && !self.unique && !self.is_exclusion
    }

    /// 0A000 for what only an index with an order has.
    fn check_plain(&self, method: &str, has_one_key: bool) -> Result<()> {
        let mut keys = self.keys.iter();
        let refused = if self.unique {
            "unique indexes"
        } else if has_one_key && self.keys.len() > 1 {
            "multicolumn indexes"
        } else if !self.storing.is_empty() {
            "included columns"
        } else if keys.clone().any(|key| key.is_descending()) {
            "ASC/DESC options"
        } else if keys.any(|key| key.nulls_first.is_some()) {
            "NULLS FIRST/LAST options"
        } else {
            return Ok(());
        };
        let message = format!("access method \"{method}\" does not support {refused}");
        Err(Error::new(SqlState::FeatureNotSupported, message))
    }
}

/// A key as it is written, apart from the rules of a unique one.
pub(crate) fn index_spec(
    cx: &DdlContext<'_>,
    table: &Table,
    written: &WrittenIndex<'_>,
) -> Result<KeySpec> {
    written.check_supported()?;
    let method = written.method.map(fold);
    let is_inverted = method.as_deref() == Some("gin");
    let mut columns: Vec<SpecKey> = Vec::with_capacity(written.keys.len());
    let mut inverted = Vec::new();
    let shape = Arc::new(table.clone());
    for key in written.keys {
        let (column, expr) = match key.column() {
            Some(column) => (fold(column), None),
            None => {
                check_written(cx, Some(&shape), &key.expr, ("index expressions", None))?;
                let expr = index_key_expr(cx, &shape, &key.expr.to_string())?;
                let label = match braid_plan::column_name(&key.expr) {
                    name if name == "?column?" => "expr".to_owned(),
                    name => name,
                };
                let taken = |name: &str| columns.iter().any(|other| other.column == name);
                (free_label(&label, taken), Some(expr))
            }
        };
        let of_table = table.visible_columns().find(|known| known.name == column);
        let (ty, own) = match (&expr, of_table) {
            (Some((stored, ty)), _) => {
                (ty, cx.plan(|context| braid_plan::expr_collation(context, &shape, stored))?)
            }
            (None, Some(known)) => (&known.ty, known.collation.clone()),
            (None, None) => return Err(unusable_column(&column)),
        };
        let collation = key_collation(cx, key.collation.as_ref(), ty, own.as_deref())?;
        let operator_class = match is_inverted {
            false => key_class(key.opclass.as_ref(), ty)?,
            true => {
                let (terms, class) = key_terms(cx, key.opclass.as_ref(), ty)?;
                inverted.push(terms);
                class
            }
        };
        let name = collation.as_deref().or(own.as_deref()).filter(|_| operator_class.is_none());
        let sorted = name.map(|name| sorted_key(cx, &shape, written, key, name)).transpose()?;
        let expr = sorted.flatten().or(expr);
        columns.push(SpecKey {
            column,
            expr,
            descending: key.is_descending(),
            // NULLs come last in ascending and first in descending order.
            nulls_opposed: key.nulls_first.is_some_and(|first| first != key.is_descending()),
            operator_class,
            collation,
        });
    }
    let predicate = match written.predicate {
        Some(expr) => index_predicate(cx, &Arc::new(table.clone()), expr)?,
        None => None,
    };
    Ok(KeySpec {
        name: wanted_name(written.name),
        unique: written.unique,
        keys: columns,
        storing: folded(written.storing),
        predicate,
        is_hash: method.as_deref() == Some("hash"),
        inverted,
        ..KeySpec::default()
    })
}

/// The sort key of a text, which is the key of an index with a collation of ICU. Where equality
/// alone counts, a deterministic collation needs none.
fn sorted_key(
    cx: &DdlContext<'_>,
    table: &Arc<Table>,
    written: &WrittenIndex<'_>,
    key: &IndexKey,
    collation: &str,
) -> Result<Option<(StoredExpr, SqlType)>> {
    let found = stored_collation(&cx.catalog(), collation);
    let Some(icu) = found.icu else { return Ok(None) };
    if icu.is_deterministic && !written.has_order() {
        return Ok(None);
    }
    if !icu.is_deterministic && written.is_exclusion {
        let what = format!("an exclusion constraint with collation \"{}\"", found.name);
        return Err(Error::unsupported(what));
    }
    let function = if icu.is_deterministic { "braid_sort_key" } else { "braid_equality_key" };
    let locale = braid_sql::quote_literal(&icu.locale);
    index_key_expr(cx, table, &format!("{function}({}, {locale})", key.expr)).map(Some)
}

/// An exclusion constraint.
pub(crate) fn exclusion_spec(
    cx: &DdlContext<'_>,
    table: &Table,
    name: Option<&Ident>,
    written: &ast::Exclusion,
) -> Result<KeySpec> {
    if table.partitioning.is_some() {
        let message = "exclusion constraints are not supported on partitioned tables";
        return Err(Error::new(SqlState::FeatureNotSupported, message));
    }
    let method = written.method.as_ref().map_or_else(|| "btree".to_owned(), fold);
    check_method(&method)?;
    for column in written.keys.iter().filter_map(IndexKey::column).map(fold) {
        if !table.visible_columns().any(|known| known.name == column) {
            if let Some(error) = system_key(&column, &method) {
                return Err(error);
            }
            let message = format!("column \"{column}\" named in key does not exist");
            return Err(Error::new(SqlState::UndefinedColumn, message));
        }
    }
    let (keys, storing) = (&written.keys, &written.storing);
    let predicate = written.predicate.as_ref();
    let (unique, is_exclusion) = (false, true);
    let index = WrittenIndex { name, method: None, unique, keys, storing, predicate, is_exclusion };
    let spec = index_spec(cx, table, &index)?;
    let mut excluded = Vec::with_capacity(spec.keys.len());
    for (place, (key, symbol)) in spec.keys.iter().zip(&written.operators).enumerate() {
        let of_table = table.visible_columns().find(|known| known.name == key.column);
        let ty = key.expr.as_ref().map(|(_, ty)| ty).or(of_table.map(|known| &known.ty));
        let operator = exclusion_operator(&method, symbol, ty.unwrap_or(&SqlType::Unknown))?;
        excluded.push(ExcludedKey { operator, place });
    }
    let exclusion = Some(Exclusion { method, keys: excluded });
    Ok(KeySpec { constraint: true, rules: written.rules, exclusion, ..spec })
}

/// 0A000 or 42704 for an access method that exclusion constraints cannot have.
fn check_method(method: &str) -> Result<()> {
    match method {
        "btree" | "hash" | "gist" | "spgist" => Ok(()),
        "gin" | "brin" => {
            let message =
                format!("access method \"{method}\" does not support exclusion constraints");
            Err(Error::new(SqlState::FeatureNotSupported, message))
        }
        _ => {
            let message = format!("access method \"{method}\" does not exist");
            Err(Error::new(SqlState::UndefinedObject, message))
        }
    }
}

/// The operator of a key of that type; 42883 if there is none, 42809 for one that is not symmetric.
fn exclusion_operator(method: &str, symbol: &str, ty: &SqlType) -> Result<ExclusionOperator> {
    let resolved = braid_builtins::resolve_operator(symbol, Some(ty), ty)?;
    let name = match ty {
        SqlType::Range(_) => "anyrange",
        SqlType::Multirange(_) => "anymultirange",
        ty => ty.plain_name(),
    };
    let wrong = |message: String| Error::new(SqlState::WrongObjectType, message);
    if matches!(symbol, "<" | "<=" | ">" | ">=" | "<<" | ">>" | "&<" | "&>" | "@>" | "<@") {
        return Err(wrong(format!("operator {symbol}({name},{name}) is not commutative"))
            .detail("Only commutative operators can be used in exclusion constraints."));
    }
    let is_range = matches!(ty, SqlType::Range(_) | SqlType::Multirange(_));
    let found = ExclusionOperator::from_symbol(symbol).filter(|operator| match operator {
        ExclusionOperator::Equal | ExclusionOperator::NotEqual => true,
        ExclusionOperator::Overlaps | ExclusionOperator::Adjoins => is_range,
    });
    let Some(operator) = found.filter(|_| resolved.returns == SqlType::Bool) else {
        let what = format!("EXCLUDE with operator {symbol} of type {name}");
        return Err(Error::unsupported(what));
    };
    if matches!(method, "btree" | "hash") && operator != ExclusionOperator::Equal {
        let family = braid_catalog::OperatorClass::default_of(ty).map_or("", |class| class.name);
        let message = format!(
            "operator {symbol}({name},{name}) is not a member of operator family \"{family}\""
        );
        return Err(wrong(message).detail(
            "The exclusion operator must be related to the index operator class for the \
             constraint.",
        ));
    }
    Ok(operator)
}

/// Keys as an index has them: those that an exclusion constraint compares by `=` come first.
pub(crate) fn equal_keys_first(
    keys: Vec<StoredKey>,
    exclusion: Option<&Exclusion>,
) -> (Vec<StoredKey>, Option<Exclusion>) {
    let Some(exclusion) = exclusion else { return (keys, None) };
    let mut parts: Vec<(StoredKey, ExcludedKey)> =
        keys.into_iter().zip(exclusion.keys.iter().cloned()).collect();
    parts.sort_by_key(|(_, excluded)| excluded.operator != ExclusionOperator::Equal);
    let (keys, excluded) = parts.into_iter().unzip();
    (keys, Some(Exclusion { keys: excluded, ..exclusion.clone() }))
}

/// 42703 for a column of an index that the table lacks, or the error for a system column.
fn unusable_column(name: &str) -> Error {
    system_key(name, "btree").unwrap_or_else(|| undefined_column(name))
}

fn undefined_column(name: &str) -> Error {
    let message = format!("column \"{name}\" does not exist");
    Error::new(SqlState::UndefinedColumn, message)
}

/// A name for a column of an index that no other column of it has: `expr`, `expr1`, …
fn free_label(label: &str, taken: impl Fn(&str) -> bool) -> String {
    let numbered = (1..).map(|number: u32| format!("{label}{number}"));
    let mut names = std::iter::once(label.to_owned()).chain(numbered);
    names.find(|name| !taken(name)).unwrap_or_default()
}
