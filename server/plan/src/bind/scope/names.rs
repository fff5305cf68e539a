//! Aliases, the length of FROM, and the names of result columns whose expressions have no alias.

use std::collections::HashMap;

use braid_sql::ast::{
    BinaryOperator, Expr as Ast, Ident, Query, SelectItem, SetExpr, TableFactor, TableWithJoins,
};
use braid_types::{Error, Result, SqlState};

use crate::bind::binder::FROM_ITEMS_MAX;
use crate::bind::expr::data_type::{built_in_type, own_name};

/// An alias, folded; 42601 if a string constant stands in its place, which the parser lets pass.
pub(crate) fn alias_name(alias: &Ident) -> Result<String> {
    if alias.quote_style == Some('\'') {
        return Err(Error::new(
            SqlState::SyntaxError,
            format!("syntax error at or near \"'{}'\"", alias.value),
        )
        .position(braid_sql::offset_of(alias.span)));
    }
    Ok(braid_sql::fold(alias))
}

/// 42601 for a table that is named by a string constant or by a reserved word, and for hints of
/// other dialects.
fn check_table(text: &str, factor: &TableFactor) -> Result<()> {
    let TableFactor::Table { name, with_hints, .. } = factor else { return Ok(()) };
    let Some(first) = name.0.first().and_then(|part| part.as_ident()) else { return Ok(()) };
    let start = braid_sql::offset_of(first.span);
    let wrong = |shown: &str, place: u32| {
        let message = format!("syntax error at or near \"{shown}\"");
        Err(Error::new(SqlState::SyntaxError, message).position(place))
    };
    if !with_hints.is_empty() {
        return wrong("WITH", braid_sql::find_token(text, start, u32::MAX, &["with"]));
    }
    // `FROM current_user` and the like are calls.
    let is_call = |word: &str| {
        word.starts_with("current_") || word.starts_with("local") || word.ends_with("user")
    };
    match first.quote_style {
        Some('\'') => wrong(&format!("'{}'", first.value), start),
        None if braid_sql::is_reserved(&first.value) && !is_call(&first.value) => {
            wrong(&first.value, start)
        }
        _ => Ok(()),
    }
}

/// 42601 for an item of FROM whose alias is a string constant, or whose name cannot be one.
pub(crate) fn check_names(text: &str, factor: &TableFactor) -> Result<()> {
    check_table(text, factor)?;
    let alias = match factor {
        TableFactor::Table { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::TableFunction { alias, .. }
        | TableFactor::UNNEST { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::NestedJoin { alias, .. } => alias.as_ref(),
        _ => None,
    };
    let names = alias.iter().flat_map(|alias| &alias.columns).map(|column| &column.name);
    alias
        .iter()
        .map(|alias| &alias.name)
        .chain(names)
        .try_for_each(|name| alias_name(name).map(drop))
}

/// 54001 for a FROM clause of too many items.
pub(crate) fn check_length(from: &[TableWithJoins]) -> Result<()> {
    let items: usize = from.iter().map(|item| 1 + item.joins.len()).sum();
    if items <= FROM_ITEMS_MAX {
        return Ok(());
    }
    let message = format!("a FROM clause can have at most {FROM_ITEMS_MAX} items");
    Err(Error::new(SqlState::StatementTooComplex, message)
        .hint("Join parts of them in subqueries or WITH queries."))
}

/// The name that an expression without an alias gets.
pub fn column_name(ast: &Ast) -> String {
    let last = |parts: &[Ident]| parts.last().map(braid_sql::fold).unwrap_or_default();
    match ast {
        Ast::Identifier(ident) => braid_sql::fold(ident),
        Ast::CompoundIdentifier(parts) => last(parts),
        Ast::QualifiedWildcard(name, _) => {
            name.0.last().and_then(|part| part.as_ident()).map(braid_sql::fold).unwrap_or_default()
        }
        Ast::Nested(inner) | Ast::Collate { expr: inner, .. } => column_name(inner),
        Ast::Cast { expr, data_type, .. } => match column_name(expr) {
            name if is_weak_name(expr) => match built_in_type(data_type) {
                Ok(ty) => ty.short_name().trim_start_matches('_').to_owned(),
                Err(_) => own_name(data_type).unwrap_or(name),
            },
            name => name,
        },
        Ast::TypedString(typed) => match built_in_type(&typed.data_type) {
            Ok(ty) => ty.short_name().to_owned(),
            Err(_) => own_name(&typed.data_type).unwrap_or_else(|| "?column?".to_owned()),
        },
        Ast::Function(function) => function
            .name
            .0
            .last()
            .and_then(|p| p.as_ident())
            .map(braid_sql::fold)
            .unwrap_or_default(),
        Ast::Case { else_result, .. } => match else_result.as_deref() {
            Some(e) if is_weak_name(e) => "case".to_owned(),
            Some(e) => column_name(e),
            None => "case".to_owned(),
        },
        Ast::Array(_) => "array".to_owned(),
        Ast::Exists { .. } => "exists".to_owned(),
        Ast::BinaryOp { op: BinaryOperator::Overlaps, .. } => "overlaps".to_owned(),
        Ast::Tuple(_) => "row".to_owned(),
        Ast::Interval(_) => "interval".to_owned(),
        Ast::Extract { .. } => "extract".to_owned(),
        Ast::AtTimeZone { .. } => "timezone".to_owned(),
        Ast::Ceil { .. } => "ceil".to_owned(),
        Ast::Floor { .. } => "floor".to_owned(),
        Ast::Position { .. } => "position".to_owned(),
        Ast::Substring { .. } => "substring".to_owned(),
        Ast::Trim { trim_where, .. } => match trim_where {
            Some(braid_sql::ast::TrimWhereField::Leading) => "ltrim".to_owned(),
            Some(braid_sql::ast::TrimWhereField::Trailing) => "rtrim".to_owned(),
            _ => "btrim".to_owned(),
        },
        Ast::Overlay { .. } => "overlay".to_owned(),
        Ast::CompoundFieldAccess { root, access_chain } => {
            let field = access_chain.iter().rev().find_map(|access| match access {
                braid_sql::ast::AccessExpr::Dot(Ast::Identifier(name)) => {
                    Some(braid_sql::fold(name))
                }
                _ => None,
            });
            field.unwrap_or_else(|| column_name(root))
        }
        Ast::Subquery(query) => first_name(&query.body),
        _ => "?column?".to_owned(),
    }
}

/// The name of an item of a select list without an alias. `stars` are the names that `*` gives to
/// subqueries, by their text.
pub(crate) fn item_name(ast: &Ast, stars: &HashMap<String, String>) -> String {
    fn inner(ast: &Ast) -> Option<&Query> {
        match ast {
            Ast::Nested(e) | Ast::Collate { expr: e, .. } | Ast::Cast { expr: e, .. } => inner(e),
            Ast::Subquery(query) if begins_with_star(&query.body) => Some(&**query),
            _ => None,
        }
    }
    let named = inner(ast).and_then(|query| stars.get(&query.to_string()).cloned());
    named.unwrap_or_else(|| column_name(ast))
}

/// Whether the first item of a query's select list is a `*`.
pub(crate) fn begins_with_star(body: &SetExpr) -> bool {
    match body {
        SetExpr::Select(select) => matches!(
            select.projection.first(),
            Some(SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
        ),
        SetExpr::SetOperation { left, .. } => begins_with_star(left),
        SetExpr::Query(query) => begins_with_star(&query.body),
        _ => false,
    }
}

/// The name of a query's first column.
fn first_name(body: &SetExpr) -> String {
    match body {
        SetExpr::Select(select) => match select.projection.first() {
            Some(SelectItem::UnnamedExpr(e)) => column_name(e),
            Some(SelectItem::ExprWithAlias { alias, .. }) => braid_sql::fold(alias),
            _ => "?column?".to_owned(),
        },
        SetExpr::Values(_) => "column1".to_owned(),
        SetExpr::SetOperation { left, .. } => first_name(left),
        SetExpr::Query(query) => first_name(&query.body),
        _ => "?column?".to_owned(),
    }
}

/// Whether an expression's name comes from a type or from CASE: a cast around it gives a new one.
fn is_weak_name(ast: &Ast) -> bool {
    match ast {
        Ast::Cast { expr, .. } => is_weak_name(expr),
        Ast::Case { else_result, .. } => else_result.as_deref().is_none_or(is_weak_name),
        Ast::Nested(inner) | Ast::Collate { expr: inner, .. } => is_weak_name(inner),
        Ast::TypedString(_) | Ast::Interval(_) => true,
        _ => column_name(ast) == "?column?",
    }
}
