//! Queries: WITH, set operations, the clauses of a select, ORDER BY and LIMIT.

use braid_types::Result;
use sqlparser::ast::{
    CteAsMaterialized, Distinct, Expr, GroupByExpr, LimitClause, LockType, NamedWindowExpr,
    OrderByExpr, OrderByKind, OrderBySort, Query, Select, SelectItem, SetExpr, SetOperator,
    SetQuantifier, Values, With,
};

use super::calls::{print_sort_expr, print_window_spec};
use super::expr::{print_expr, print_row_type, shown_column_name};
use super::items::{print_from, print_name, print_name_list};
use super::printer::{INDENT_ITEM, INDENT_STEP, Printer, unprintable};
use super::range::{cte_names, enter_from, output_names};
use crate::rewrite::grouping::grouping_items;
use crate::rewrite::recursion::RecursionClauses;

/// A query inside the ones around it. `columns` are the names that its columns must have;
/// `visible` says whether anybody sees their names.
pub(crate) fn print_query(
    printer: &mut Printer<'_>,
    query: &Query,
    columns: Option<&[String]>,
    visible: bool,
) -> Result<()> {
    let (indent, known) = (printer.indent, printer.ctes.len());
    printer.levels.push(Vec::new());
    let result = print_query_here(printer, query, columns, visible);
    printer.levels.pop();
    printer.ctes.truncate(known);
    printer.indent = indent;
    result
}

fn print_query_here(
    printer: &mut Printer<'_>,
    query: &Query,
    columns: Option<&[String]>,
    visible: bool,
) -> Result<()> {
    if let Some(with) = &query.with {
        let entries = with.cte_tables.iter();
        let known = entries.map(|cte| Ok((cte.alias.name.value.clone(), cte_names(cte)?)));
        let known = known.collect::<Result<Vec<_>>>()?;
        printer.ctes.extend(known);
    }
    if let SetExpr::Select(select) = &*query.body {
        enter_from(printer, select)?;
    }
    if let Some(with) = &query.with {
        print_with(printer, with)?;
    }
    let is_set = matches!(&*query.body, SetExpr::SetOperation { .. });
    let mut items: &[SelectItem] = &[];
    match &*query.body {
        SetExpr::Select(select) => {
            items = &select.projection;
            print_select(printer, select, columns, visible)?;
        }
        SetExpr::SetOperation { .. } => {
            print_set_operation(printer, &query.body, columns, visible)?
        }
        SetExpr::Values(values) => print_values_query(printer, values, columns)?,
        other => return Err(unprintable(other)),
    }
    print_order_by(printer, query, items, is_set)?;
    print_limit(printer, query)?;
    for lock in &query.locks {
        if lock.of.is_some() || lock.nonblock.is_some() {
            return Err(unprintable(lock));
        }
        let text = match lock.lock_type {
            LockType::Share => " FOR SHARE",
            LockType::Update => " FOR UPDATE",
        };
        printer.clause(text, -INDENT_STEP, INDENT_STEP, 0);
    }
    Ok(())
}

fn print_with(printer: &mut Printer<'_>, with: &With) -> Result<()> {
    if !printer.is_stored() {
        printer.indent += INDENT_STEP;
        printer.push(" ");
    }
    printer.push(if with.recursive { "WITH RECURSIVE " } else { "WITH " });
    for (place, cte) in with.cte_tables.iter().enumerate() {
        if place > 0 {
            printer.push(", ");
        }
        print_name(printer, &cte.alias.name.value);
        if !cte.alias.columns.is_empty() {
            let names: Vec<String> =
                cte.alias.columns.iter().map(|column| column.name.value.clone()).collect();
            print_name_list(printer, &names);
        }
        printer.push(" AS ");
        match cte.materialized {
            Some(CteAsMaterialized::Materialized) => printer.push("MATERIALIZED "),
            Some(CteAsMaterialized::NotMaterialized) => printer.push("NOT MATERIALIZED "),
            None => {}
        }
        printer.push("(");
        printer.clause("", 0, 0, 0);
        print_query(printer, &cte.query, None, true)?;
        printer.clause("", 0, 0, 0);
        printer.push(")");
        match (&cte.from, printer.is_stored()) {
            (Some(from), true) => {
                printer.push(" FROM ");
                print_name(printer, &from.value);
            }
            (from, _) => print_recursion(printer, &RecursionClauses::of(from.as_ref())?),
        }
    }
    if printer.is_stored() {
        printer.push(" ");
    } else {
        printer.indent -= INDENT_STEP;
        printer.clause("", 0, 0, 0);
    }
    Ok(())
}

/// SEARCH and CYCLE behind an entry of WITH.
fn print_recursion(printer: &mut Printer<'_>, clauses: &RecursionClauses) {
    let print_list = |printer: &mut Printer<'_>, names: &[String]| {
        for (place, name) in names.iter().enumerate() {
            printer.push(if place > 0 { ", " } else { " " });
            print_name(printer, name);
        }
    };
    if let Some(search) = &clauses.search {
        printer.push(" SEARCH ");
        printer.push(if search.depth_first { "DEPTH" } else { "BREADTH" });
        printer.push(" FIRST BY");
        print_list(printer, &search.by);
        printer.push(" SET ");
        print_name(printer, &search.set);
    }
    if let Some(cycle) = &clauses.cycle {
        printer.push(" CYCLE");
        print_list(printer, &cycle.by);
        printer.push(" SET ");
        print_name(printer, &cycle.set);
        if let Some((to, default)) = &cycle.values {
            printer.push(&format!(" TO {to} DEFAULT {default}"));
        }
        printer.push(" USING ");
        print_name(printer, &cycle.using);
    }
}

fn print_set_operation(
    printer: &mut Printer<'_>,
    body: &SetExpr,
    columns: Option<&[String]>,
    visible: bool,
) -> Result<()> {
    let SetExpr::SetOperation { left, op, set_quantifier, right } = body else {
        return print_branch(printer, body, columns, visible);
    };
    let (left, right) = (plain(left), plain(right));
    let same = match left {
        SetExpr::SetOperation { op: inner, set_quantifier: quantifier, .. } => {
            Some(inner == op && is_all(*quantifier) == is_all(*set_quantifier))
        }
        _ => None,
    };
    if same == Some(false) {
        printer.push("(");
        printer.clause("", INDENT_STEP, 0, 0);
        print_set_operation(printer, left, columns, visible)?;
        printer.clause(") ", -INDENT_STEP, 0, 0);
    } else {
        print_set_operation(printer, left, columns, visible)?;
        if printer.is_stored() {
            printer.push(" ");
        } else {
            printer.clause("", 0, 0, 0);
        }
    }
    printer.push(match op {
        SetOperator::Union => "UNION ",
        SetOperator::Intersect => "INTERSECT ",
        SetOperator::Except | SetOperator::Minus => "EXCEPT ",
    });
    if is_all(*set_quantifier) {
        printer.push("ALL ");
    }
    let nested = matches!(right, SetExpr::SetOperation { .. });
    let step = if nested { INDENT_STEP } else { 0 };
    if nested {
        printer.push("(");
    }
    printer.clause("", step, 0, 0);
    // Nobody sees the names of the right side.
    print_set_operation(printer, right, columns, false)?;
    printer.indent -= step;
    if nested {
        printer.clause(")", 0, 0, 0);
    }
    Ok(())
}

/// A branch of a set operation that is none itself.
fn print_branch(
    printer: &mut Printer<'_>,
    body: &SetExpr,
    columns: Option<&[String]>,
    visible: bool,
) -> Result<()> {
    match body {
        SetExpr::Query(query) => {
            printer.push("(");
            print_query(printer, query, columns, visible)?;
            printer.push(")");
            Ok(())
        }
        other => {
            let query = Query {
                with: None,
                body: Box::new(other.clone()),
                order_by: None,
                limit_clause: None,
                fetch: None,
                locks: Vec::new(),
                for_clause: None,
                settings: None,
                format_clause: None,
                pipe_operators: Vec::new(),
            };
            print_query(printer, &query, columns, visible)
        }
    }
}

fn print_values_query(
    printer: &mut Printer<'_>,
    values: &Values,
    columns: Option<&[String]>,
) -> Result<()> {
    let own = output_names(&SetExpr::Values(values.clone()));
    let renamed = columns.filter(|columns| *columns != own);
    if printer.is_stored() {
        return print_values(printer, values);
    }
    printer.indent += INDENT_STEP;
    printer.push(" ");
    let Some(columns) = renamed else { return print_values(printer, values) };
    printer.push("SELECT ");
    for (place, (name, own)) in columns.iter().zip(own).enumerate() {
        if place > 0 {
            printer.push(", ");
        }
        let item = printer.aside(|printer| {
            printer.push(&format!("\"*VALUES*\".{own} AS "));
            print_name(printer, name);
            Ok(())
        })?;
        printer.wrapped(&item, false, place == 0);
    }
    printer.clause(" FROM ", -INDENT_STEP, INDENT_STEP, 2);
    printer.push("(");
    print_values(printer, values)?;
    printer.push(") \"*VALUES*\"");
    Ok(())
}

fn print_values(printer: &mut Printer<'_>, values: &Values) -> Result<()> {
    printer.push("VALUES ");
    for (place, row) in values.rows.iter().enumerate() {
        printer.push(if place > 0 { ", (" } else { "(" });
        for (place, value) in row.content.iter().enumerate() {
            if place > 0 {
                printer.push(",");
            }
            print_expr(printer, value)?;
        }
        printer.push(")");
    }
    Ok(())
}

fn print_select(
    printer: &mut Printer<'_>,
    select: &Select,
    columns: Option<&[String]>,
    visible: bool,
) -> Result<()> {
    if !printer.is_stored() {
        printer.indent += INDENT_STEP;
        printer.push(" ");
    }
    printer.push("SELECT");
    match &select.distinct {
        None | Some(Distinct::All) => {}
        Some(Distinct::Distinct) => printer.push(" DISTINCT"),
        Some(Distinct::On(list)) => {
            printer.push(" DISTINCT ON (");
            print_keys(printer, list, &select.projection)?;
            printer.push(")");
        }
    }
    print_select_list(printer, &select.projection, columns, visible)?;
    print_from(printer, select)?;
    if let Some(condition) = &select.selection {
        printer.clause(" WHERE ", -INDENT_STEP, INDENT_STEP, 1);
        print_expr(printer, condition)?;
    }
    if let GroupByExpr::Expressions(list, _) = &select.group_by
        && !list.is_empty()
    {
        printer.clause(" GROUP BY ", -INDENT_STEP, INDENT_STEP, 1);
        let (is_distinct, list) = grouping_items(list);
        if is_distinct {
            printer.push("DISTINCT ");
        }
        print_keys(printer, list, &select.projection)?;
    }
    if let Some(condition) = &select.having {
        printer.clause(" HAVING ", -INDENT_STEP, INDENT_STEP, 0);
        print_expr(printer, condition)?;
    }
    for (place, window) in select.named_window.iter().enumerate() {
        if place == 0 {
            printer.clause(" WINDOW ", -INDENT_STEP, INDENT_STEP, 1);
        } else {
            printer.push(", ");
        }
        print_name(printer, &window.0.value);
        printer.push(" AS ");
        match &window.1 {
            NamedWindowExpr::WindowSpec(spec) => print_window_spec(printer, spec)?,
            NamedWindowExpr::NamedWindow(name) => {
                printer.push("(");
                print_name(printer, &name.value);
                printer.push(")");
            }
        }
    }
    Ok(())
}

fn print_select_list(
    printer: &mut Printer<'_>,
    items: &[SelectItem],
    columns: Option<&[String]>,
    visible: bool,
) -> Result<()> {
    let mut was_long = false;
    for (place, item) in items.iter().enumerate() {
        printer.push(if place == 0 { " " } else { ", " });
        let SelectItem::ExprWithAlias { expr, alias } = item else {
            return Err(unprintable(item));
        };
        let name = columns.and_then(|columns| columns.get(place)).unwrap_or(&alias.value);
        let text = printer.aside(|printer| {
            print_expr(printer, expr)?;
            print_row_type(printer, expr);
            let own = match shown_column_name(printer, expr) {
                Some(name) => Some(name),
                None => (!visible).then(|| "?column?".to_owned()),
            };
            if printer.is_stored() || own.as_ref() != Some(name) {
                printer.push(" AS ");
                print_name(printer, name);
            }
            Ok(())
        })?;
        printer.wrapped(&text, was_long, place == 0);
        was_long = text.trim_start_matches('\n').contains('\n');
    }
    Ok(())
}

/// Expressions of GROUP BY or DISTINCT ON.
fn print_keys(printer: &mut Printer<'_>, list: &[Expr], items: &[SelectItem]) -> Result<()> {
    for (place, key) in list.iter().enumerate() {
        if place > 0 {
            printer.push(", ");
        }
        match key {
            Expr::Rollup(sets) => print_key_sets(printer, "ROLLUP(", sets, items)?,
            Expr::Cube(sets) => print_key_sets(printer, "CUBE(", sets, items)?,
            Expr::GroupingSets(sets) => print_key_sets(printer, "GROUPING SETS (", sets, items)?,
            Expr::Tuple(list) => {
                printer.push("(");
                print_keys(printer, list, items)?;
                printer.push(")");
            }
            key => print_key(printer, key, items)?,
        }
    }
    Ok(())
}

fn print_key_sets(
    printer: &mut Printer<'_>,
    word: &str,
    sets: &[Vec<Expr>],
    items: &[SelectItem],
) -> Result<()> {
    printer.push(word);
    let grouping = word.starts_with('G');
    for (place, set) in sets.iter().enumerate() {
        if place > 0 {
            printer.push(", ");
        }
        let is_list = matches!(&set[..], [Expr::Rollup(_) | Expr::Cube(_) | Expr::GroupingSets(_)]);
        let bare = set.len() == 1 && (!grouping || is_list);
        if !bare {
            printer.push("(");
        }
        print_keys(printer, set, items)?;
        if !bare {
            printer.push(")");
        }
    }
    printer.push(")");
    Ok(())
}

/// A key of ORDER BY, GROUP BY or DISTINCT ON; a number stands for an item of the select list.
fn print_key(printer: &mut Printer<'_>, key: &Expr, items: &[SelectItem]) -> Result<()> {
    let mut key = key;
    while let Expr::Nested(inner) = key {
        key = inner;
    }
    if !printer.is_stored()
        && let Expr::Value(value) = key
        && let sqlparser::ast::Value::Number(number, _) = &value.value
        && let Some(place) = number.parse::<usize>().ok().and_then(|n| n.checked_sub(1))
        && let Some(SelectItem::ExprWithAlias { expr, .. }) = items.get(place)
    {
        return print_sort_expr(printer, expr);
    }
    print_sort_expr(printer, key)
}

fn print_order_by(
    printer: &mut Printer<'_>,
    query: &Query,
    items: &[SelectItem],
    is_set: bool,
) -> Result<()> {
    let Some(order) = &query.order_by else { return Ok(()) };
    let OrderByKind::Expressions(list) = &order.kind else {
        return Err(unprintable("ORDER BY ALL"));
    };
    if list.is_empty() {
        return Ok(());
    }
    printer.clause(" ORDER BY ", -INDENT_STEP, INDENT_STEP, 1);
    print_sort_keys(printer, list, if is_set { &[] } else { items })
}

pub(crate) fn print_sort_keys(
    printer: &mut Printer<'_>,
    list: &[OrderByExpr],
    items: &[SelectItem],
) -> Result<()> {
    for (place, key) in list.iter().enumerate() {
        if place > 0 {
            printer.push(", ");
        }
        print_key(printer, &key.expr, items)?;
        let descending = match &key.options.sort {
            Some(OrderBySort::Desc) => true,
            Some(OrderBySort::Using(operator)) => operator.to_string().contains('>'),
            _ => false,
        };
        if descending {
            printer.push(" DESC");
        }
        let nulls_first = key.options.nulls_first.unwrap_or(descending);
        if nulls_first != descending {
            printer.push(if nulls_first { " NULLS FIRST" } else { " NULLS LAST" });
        }
    }
    Ok(())
}

fn print_limit(printer: &mut Printer<'_>, query: &Query) -> Result<()> {
    let (limit, offset) = match &query.limit_clause {
        None => (None, None),
        Some(LimitClause::LimitOffset { limit, offset, limit_by }) if limit_by.is_empty() => {
            (limit.as_ref(), offset.as_ref().map(|offset| &offset.value))
        }
        Some(other) => return Err(unprintable(other)),
    };
    if let Some(offset) = offset {
        printer.clause(" OFFSET ", -INDENT_STEP, INDENT_STEP, 0);
        print_expr(printer, offset)?;
    }
    if let Some(fetch) = &query.fetch {
        let Some(quantity) = fetch.quantity.as_ref().filter(|_| !fetch.percent) else {
            return Err(unprintable(fetch));
        };
        if fetch.with_ties {
            printer.clause(" FETCH FIRST ", -INDENT_STEP, INDENT_STEP, 0);
            print_expr(printer, quantity)?;
            printer.push(" ROWS WITH TIES");
            return Ok(());
        }
        printer.clause(" LIMIT ", -INDENT_STEP, INDENT_STEP, 0);
        return print_expr(printer, quantity);
    }
    if let Some(limit) = limit {
        printer.clause(" LIMIT ", -INDENT_STEP, INDENT_STEP, 0);
        print_expr(printer, limit)?;
    }
    Ok(())
}

/// The kind of line that an item of FROM begins with a join.
pub(super) const JOIN_INDENT: i32 = INDENT_ITEM;

fn is_all(quantifier: SetQuantifier) -> bool {
    quantifier == SetQuantifier::All
}

/// A branch without parentheses around a query that has no clauses of its own.
fn plain(body: &SetExpr) -> &SetExpr {
    match body {
        SetExpr::Query(query)
            if query.with.is_none()
                && query.order_by.is_none()
                && query.limit_clause.is_none()
                && query.fetch.is_none()
                && query.locks.is_empty() =>
        {
            plain(&query.body)
        }
        other => other,
    }
}
