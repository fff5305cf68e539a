//! Queries, their clauses and the items of FROM.

use braid_sql::ast::{
    AccessExpr, Distinct, Expr as Ast, GroupByExpr, Ident, LimitClause, NamedWindowExpr,
    OrderByExpr, OrderByKind, Query, Select, SelectItem, SetExpr, TableAlias, Value, Values,
    WindowFrameBound, WindowFrameUnits, WindowSpec,
};
use braid_sql::{DELETED_BY_COLUMN, FrameEnd, ItemColumn};
use braid_types::sql_type::RowType;
use braid_types::{Error, Result, SqlType};
use std::borrow::Cow;

use super::exprs::{
    bound_type, identify_access, identify_bare, identify_condition, identify_expr, identify_value,
};
use super::from::identify_joins;
use super::identifier::{Identifier, unstorable};
use super::literals::{number, take_limit};
use crate::bind::{common_type, item_name, range_offset_type};

/// An identifier in quotes.
pub(super) fn quoted(name: impl Into<String>) -> Ident {
    Ident::with_quote('"', name)
}

/// A column of an item of FROM.
pub(super) fn column(column: ItemColumn) -> Ast {
    Ast::CompoundIdentifier(vec![quoted(column.0.to_string()), quoted(column.1.to_string())])
}

pub(crate) fn identify_query(identifier: &mut Identifier<'_, '_>, query: &Query) -> Result<Query> {
    let is_bare = query.with.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none()
        && query.locks.is_empty();
    if let (SetExpr::Query(inner), true) = (&*query.body, is_bare) {
        return identify_query(identifier, inner);
    }
    let mut result = query.clone();
    if let Some(with) = &mut result.with {
        for cte in &mut with.cte_tables {
            cte.alias = plain_alias(&cte.alias);
        }
        let entries = query.with.iter().flat_map(|with| &with.cte_tables);
        for (cte, original) in with.cte_tables.iter_mut().zip(entries) {
            *cte.query = identify_query(identifier, &original.query)?;
        }
    }
    let mut body = &*query.body;
    while let SetExpr::Query(inner) = body {
        if inner.with.is_some() || inner.order_by.is_some() || inner.limit_clause.is_some() {
            return Err(unstorable("a query in parentheses with clauses behind it"));
        }
        body = &inner.body;
    }
    *result.body = match body {
        SetExpr::SetOperation { .. } => {
            let types = branch_types(identifier, body)?;
            identify_branch(identifier, body, &types)?
        }
        other => identify_body(identifier, other, &[])?,
    };
    if let (Some(order), Some(original)) = (&mut result.order_by, &query.order_by)
        && let (OrderByKind::Expressions(list), OrderByKind::Expressions(original)) =
            (&mut order.kind, &original.kind)
    {
        let is_select = matches!(body, SetExpr::Select(_));
        for (key, original) in list.iter_mut().zip(original) {
            if !is_select && identifier.notes.place(&original.expr).is_none() {
                return Err(unstorable("ORDER BY of an expression over several queries"));
            }
            key.expr = identify_key(identifier, &original.expr)?;
        }
    }
    if let Some(LimitClause::LimitOffset { limit, offset, .. }) = &query.limit_clause {
        let limit = limit.as_ref().filter(|limit| !is_all(limit));
        let limit = limit.map(|e| identify_bare(identifier, e)).transpose()?;
        let mut offset = offset.clone();
        if let Some(offset) = &mut offset {
            let Some(LimitClause::LimitOffset { offset: Some(original), .. }) = &query.limit_clause
            else {
                return Err(Error::internal("an OFFSET that is gone"));
            };
            offset.value = identify_bare(identifier, &original.value)?;
        }
        result.limit_clause = (limit.is_some() || offset.is_some())
            .then_some(LimitClause::LimitOffset { limit, offset, limit_by: Vec::new() });
    }
    if let (Some(fetch), Some(original)) = (&mut result.fetch, &query.fetch) {
        let limit = take_limit(&mut result.limit_clause);
        fetch.quantity = Some(match &original.quantity {
            Some(e) => identify_bare(identifier, e)?,
            None => limit.unwrap_or_else(|| number("1")),
        });
    }
    Ok(result)
}

fn identify_body(
    identifier: &mut Identifier<'_, '_>,
    body: &SetExpr,
    types: &[SqlType],
) -> Result<SetExpr> {
    Ok(match body {
        SetExpr::Select(select) => {
            SetExpr::Select(Box::new(identify_select(identifier, select, types)?))
        }
        SetExpr::Values(values) => SetExpr::Values(identify_values(identifier, values)?),
        SetExpr::Query(query) => SetExpr::Query(Box::new(identify_query(identifier, query)?)),
        other => return Err(unstorable(other)),
    })
}

fn identify_branch(
    identifier: &mut Identifier<'_, '_>,
    body: &SetExpr,
    types: &[SqlType],
) -> Result<SetExpr> {
    let SetExpr::SetOperation { left, op, set_quantifier, right } = body else {
        return identify_body(identifier, body, types);
    };
    Ok(SetExpr::SetOperation {
        left: Box::new(identify_branch(identifier, left, types)?),
        op: *op,
        set_quantifier: *set_quantifier,
        right: Box::new(identify_branch(identifier, right, types)?),
    })
}

/// The types that the branches of a set operation share.
fn branch_types(identifier: &Identifier<'_, '_>, body: &SetExpr) -> Result<Vec<SqlType>> {
    match body {
        SetExpr::SetOperation { left, right, .. } => {
            let (left, right) = (branch_types(identifier, left)?, branch_types(identifier, right)?);
            if left.is_empty() || right.is_empty() {
                return Ok(if left.is_empty() { right } else { left });
            }
            let common = |(a, b)| common_type(&[a, b], "UNION").map(|ty| ty.bare());
            left.into_iter().zip(right).map(common).collect()
        }
        SetExpr::Query(query) => branch_types(identifier, &query.body),
        SetExpr::Select(select) => {
            let mut types = Vec::new();
            for item in &select.projection {
                match item {
                    SelectItem::UnnamedExpr(e) if braid_sql::row_expansion(e).is_some() => {
                        let (_, fields) = expanded(identifier, e)?;
                        types.extend(fields.into_iter().map(|(_, ty)| ty));
                    }
                    SelectItem::UnnamedExpr(e) | SelectItem::ExprWithAlias { expr: e, .. } => {
                        types.push(bound_type(identifier, e)?);
                    }
                    other => {
                        let star = identifier.notes.star(other).ok_or_else(|| unstorable(other))?;
                        types.extend(star.iter().map(|column| column.ty.clone()));
                    }
                }
            }
            Ok(types)
        }
        _ => Ok(Vec::new()),
    }
}

fn identify_values(identifier: &mut Identifier<'_, '_>, values: &Values) -> Result<Values> {
    let mut result = values.clone();
    let width = values.rows.first().map_or(0, |row| row.content.len());
    for place in 0..width {
        let types = values.rows.iter().filter_map(|row| row.content.get(place));
        let types = types.map(|e| bound_type(identifier, e)).collect::<Result<Vec<_>>>()?;
        let common = common_type(&types, "VALUES")?;
        for (row, original) in result.rows.iter_mut().zip(&values.rows) {
            if let (Some(e), Some(original)) =
                (row.content.get_mut(place), original.content.get(place))
            {
                *e = identify_value(identifier, original, &common.bare())?;
            }
        }
    }
    Ok(result)
}

fn identify_select(
    identifier: &mut Identifier<'_, '_>,
    select: &Select,
    types: &[SqlType],
) -> Result<Select> {
    let mut result = select.clone();
    for (item, original) in result.from.iter_mut().zip(&select.from) {
        *item = identify_joins(identifier, original)?;
    }
    result.projection = identify_items(identifier, &select.projection, types)?;
    result.selection =
        select.selection.as_ref().map(|e| identify_condition(identifier, e)).transpose()?;
    result.having =
        select.having.as_ref().map(|e| identify_condition(identifier, e)).transpose()?;
    if let Some(Distinct::On(list)) = &select.distinct {
        result.distinct = Some(Distinct::On(identify_keys(identifier, list)?));
    }
    if let GroupByExpr::Expressions(list, modifiers) = &select.group_by {
        let (is_distinct, items) = braid_sql::grouping_items(list);
        let mut keys: Vec<Ast> =
            is_distinct.then(braid_sql::distinct_grouping).into_iter().collect();
        keys.extend(identify_keys(identifier, items)?);
        result.group_by = GroupByExpr::Expressions(keys, modifiers.clone());
    }
    for (window, original) in result.named_window.iter_mut().zip(&select.named_window) {
        if let (NamedWindowExpr::WindowSpec(spec), Some(bound)) =
            (&mut window.1, identifier.notes.window(original))
        {
            *spec = identify_window(identifier, bound)?;
            if let NamedWindowExpr::WindowSpec(written) = &original.1
                && let Some(base) = &written.window_name
            {
                // What the window takes from another one is not written again.
                spec.window_name = Some(quoted(braid_sql::fold(base)));
                spec.partition_by.clear();
                if written.order_by.is_empty() {
                    spec.order_by.clear();
                }
            }
        } else {
            return Err(unstorable("a window that is another one"));
        }
    }
    Ok(result)
}

fn identify_items(
    identifier: &mut Identifier<'_, '_>,
    items: &[SelectItem],
    types: &[SqlType],
) -> Result<Vec<SelectItem>> {
    let mut result = Vec::with_capacity(items.len());
    for item in items {
        let (expr, alias) = match item {
            SelectItem::UnnamedExpr(e) if braid_sql::row_expansion(e).is_some() => {
                let (row, fields) = expanded(identifier, e)?;
                for (name, _) in fields {
                    let alias = quoted(&name);
                    let field = AccessExpr::Dot(Ast::Identifier(quoted(name)));
                    let expr = identify_access(identifier, row, std::slice::from_ref(&field))?;
                    result.push(SelectItem::ExprWithAlias { expr, alias });
                }
                continue;
            }
            SelectItem::UnnamedExpr(e) => (e, item_name(e, &identifier.notes.star_names)),
            SelectItem::ExprWithAlias { expr, alias } => (expr, braid_sql::fold(alias)),
            star => {
                let columns = identifier.notes.star(star).ok_or_else(|| unstorable(star))?;
                for star in columns {
                    use_column(identifier, star.column);
                    let alias = quoted(&star.name);
                    let expr = match star.field {
                        Some(field) => stored_part(identifier, column(star.column), field),
                        None => column(star.column),
                    };
                    result.push(SelectItem::ExprWithAlias { expr, alias });
                }
                continue;
            }
        };
        let ty = bound_type(identifier, expr)?;
        let known = match (ty, types.get(result.len())) {
            (SqlType::Unknown, Some(SqlType::Unknown) | None) => SqlType::Text,
            (SqlType::Unknown, Some(ty)) => ty.clone(),
            (ty, _) => ty,
        };
        let expr = identify_value(identifier, expr, &known)?;
        result.push(SelectItem::ExprWithAlias { expr, alias: quoted(alias) });
    }
    Ok(result)
}

/// A field of a row, by its number.
fn stored_part(identifier: &mut Identifier<'_, '_>, row: Ast, field: (u32, u16)) -> Ast {
    let (relation, number) = field;
    identifier.uses.entry(relation).or_default().insert(number);
    let name = Ast::Identifier(quoted(braid_sql::field_mark(relation, number)));
    Ast::CompoundFieldAccess { root: Box::new(row), access_chain: vec![AccessExpr::Dot(name)] }
}

/// The row of `(row).*` and its fields.
fn expanded<'e>(identifier: &Identifier<'_, '_>, e: &'e Ast) -> Result<(&'e Ast, RowType)> {
    let Some(Cow::Borrowed(row)) = braid_sql::row_expansion(e) else {
        return Err(unstorable("the expansion of a part of a row"));
    };
    match bound_type(identifier, row)? {
        SqlType::Record(fields) => Ok((row, fields)),
        _ => Err(unstorable("the expansion of what is no row")),
    }
}

/// Keys of GROUP BY or DISTINCT ON.
fn identify_keys(identifier: &mut Identifier<'_, '_>, list: &[Ast]) -> Result<Vec<Ast>> {
    list.iter().map(|key| identify_key(identifier, key)).collect()
}

fn identify_key(identifier: &mut Identifier<'_, '_>, key: &Ast) -> Result<Ast> {
    if let Some(place) = identifier.notes.place(key) {
        return Ok(number(&(place + 1).to_string()));
    }
    let mut sets = |sets: &[Vec<Ast>]| -> Result<Vec<Vec<Ast>>> {
        sets.iter().map(|set| identify_keys(identifier, set)).collect()
    };
    Ok(match key {
        Ast::Rollup(list) => Ast::Rollup(sets(list)?),
        Ast::Cube(list) => Ast::Cube(sets(list)?),
        Ast::GroupingSets(list) => Ast::GroupingSets(sets(list)?),
        Ast::Tuple(list) => Ast::Tuple(identify_keys(identifier, list)?),
        key => match bound_type(identifier, key)? {
            SqlType::Unknown => identify_value(identifier, key, &SqlType::Text)?,
            _ => identify_expr(identifier, key)?,
        },
    })
}

/// Sort keys of an aggregate or a window.
pub(crate) fn identify_sort_keys(
    identifier: &mut Identifier<'_, '_>,
    list: &[OrderByExpr],
) -> Result<Vec<OrderByExpr>> {
    let mut result = list.to_vec();
    for (key, original) in result.iter_mut().zip(list) {
        key.expr = identify_expr(identifier, &original.expr)?;
    }
    Ok(result)
}

pub(crate) fn identify_window(
    identifier: &mut Identifier<'_, '_>,
    spec: &WindowSpec,
) -> Result<WindowSpec> {
    let mut result = spec.clone();
    // The partition of a window that is named comes from there.
    result.partition_by =
        spec.partition_by.iter().map(|e| identify_expr(identifier, e)).collect::<Result<_>>()?;
    result.order_by = identify_sort_keys(identifier, &spec.order_by)?;
    if let (Some(frame), Some(original)) = (&mut result.window_frame, &spec.window_frame) {
        let key = match (original.units, &spec.order_by[..]) {
            (WindowFrameUnits::Range, [key]) => Some(bound_type(identifier, &key.expr)?),
            _ => None,
        };
        let parts = braid_sql::frame_parts(original);
        let start = identify_bound(identifier, parts.start, key.as_ref())?;
        let end = parts.end.map(|end| identify_bound(identifier, end, key.as_ref()));
        braid_sql::set_frame_parts(frame, start, end.transpose()?, parts.exclusion);
    }
    Ok(result)
}

/// An end of a frame. `key` is the type of the ordering column of a RANGE frame.
fn identify_bound(
    identifier: &mut Identifier<'_, '_>,
    bound: FrameEnd<'_>,
    key: Option<&SqlType>,
) -> Result<WindowFrameBound> {
    let mut offset = |e: &Ast| -> Result<Option<Box<Ast>>> {
        let offset = match key {
            Some(key) => {
                let ty = bound_type(identifier, e)?;
                identify_value(identifier, e, &range_offset_type(key, &ty)?)?
            }
            None => identify_bare(identifier, e)?,
        };
        Ok(Some(Box::new(offset)))
    };
    Ok(match bound {
        FrameEnd::CurrentRow => WindowFrameBound::CurrentRow,
        FrameEnd::Preceding(None) => WindowFrameBound::Preceding(None),
        FrameEnd::Following(None) => WindowFrameBound::Following(None),
        FrameEnd::Preceding(Some(e)) => WindowFrameBound::Preceding(offset(e)?),
        FrameEnd::Following(Some(e)) => WindowFrameBound::Following(offset(e)?),
    })
}

/// Notes that the query reads a column.
pub(crate) fn use_column(identifier: &mut Identifier<'_, '_>, column: ItemColumn) {
    let is_system = column.1 >= DELETED_BY_COLUMN;
    if let Some(id) = identifier.relations.get(&column.0) {
        let used = identifier.uses.entry(*id).or_default();
        if !is_system {
            used.insert(column.1);
        }
    }
}

/// `LIMIT ALL`
fn is_all(limit: &Ast) -> bool {
    match limit {
        Ast::Identifier(ident) => ident.value.eq_ignore_ascii_case("all"),
        Ast::Value(value) => value.value == Value::Null,
        _ => false,
    }
}

/// The alias of a WITH entry with its names as they are meant.
fn plain_alias(alias: &TableAlias) -> TableAlias {
    let mut result = alias.clone();
    result.name = quoted(braid_sql::fold(&alias.name));
    for column in &mut result.columns {
        column.name = quoted(braid_sql::fold(&column.name));
    }
    result
}
