//! Queries: WITH, set operations, the clauses of a select, ORDER BY and LIMIT.

use braid_types::Result;
use sqlparser::ast::{
    CteAsMaterialized, Distinct, Expr, GroupByExpr, LimitClause, LockType, NamedWindowExpr,
    OrderByExpr, OrderByKind, OrderBySort, Query, Select, SelectItem, SetExpr, SetOperator,
    SetQuantifier, Values, With,
};

use super::range::{cte_names, output_names};
use super::{INDENT_ITEM, INDENT_STEP, Printer, unprintable};

impl Printer<'_> {
    /// A query inside the ones around it. `columns` are the names that its columns must have;
    /// `visible` says whether anybody sees their names.
    pub(super) fn query(
        &mut self,
        query: &Query,
        columns: Option<&[String]>,
        visible: bool,
    ) -> Result<()> {
        let (indent, known) = (self.indent, self.ctes.len());
        self.levels.push(Vec::new());
        let result = self.query_here(query, columns, visible);
        self.levels.pop();
        self.ctes.truncate(known);
        self.indent = indent;
        result
    }

    fn query_here(
        &mut self,
        query: &Query,
        columns: Option<&[String]>,
        visible: bool,
    ) -> Result<()> {
        if let Some(with) = &query.with {
            let entries = with.cte_tables.iter();
            let named = entries.map(|cte| (cte.alias.name.value.clone(), &cte.alias, &cte.query));
            let known: Vec<_> =
                named.map(|(name, alias, query)| (name, cte_names(alias, query))).collect();
            self.ctes.extend(known);
        }
        if let SetExpr::Select(select) = &*query.body {
            self.enter_from(select)?;
        }
        if let Some(with) = &query.with {
            self.with(with)?;
        }
        let is_set = matches!(&*query.body, SetExpr::SetOperation { .. });
        let mut items: &[SelectItem] = &[];
        match &*query.body {
            SetExpr::Select(select) => {
                items = &select.projection;
                self.select(select, columns, visible)?;
            }
            SetExpr::SetOperation { .. } => self.set_operation(&query.body, columns, visible)?,
            SetExpr::Values(values) => self.values_query(values, columns)?,
            other => return Err(unprintable(other)),
        }
        self.order_by(query, items, is_set)?;
        self.limit(query)?;
        for lock in &query.locks {
            if lock.of.is_some() || lock.nonblock.is_some() {
                return Err(unprintable(lock));
            }
            let text = match lock.lock_type {
                LockType::Share => " FOR SHARE",
                LockType::Update => " FOR UPDATE",
            };
            self.clause(text, -INDENT_STEP, INDENT_STEP, 0);
        }
        Ok(())
    }

    fn with(&mut self, with: &With) -> Result<()> {
        if !self.is_stored() {
            self.indent += INDENT_STEP;
            self.push(" ");
        }
        self.push(if with.recursive { "WITH RECURSIVE " } else { "WITH " });
        for (place, cte) in with.cte_tables.iter().enumerate() {
            if place > 0 {
                self.push(", ");
            }
            self.name(&cte.alias.name.value);
            if !cte.alias.columns.is_empty() {
                let names: Vec<String> =
                    cte.alias.columns.iter().map(|column| column.name.value.clone()).collect();
                self.name_list(&names);
            }
            self.push(" AS ");
            match cte.materialized {
                Some(CteAsMaterialized::Materialized) => self.push("MATERIALIZED "),
                Some(CteAsMaterialized::NotMaterialized) => self.push("NOT MATERIALIZED "),
                None => {}
            }
            self.push("(");
            self.clause("", 0, 0, 0);
            self.query(&cte.query, None, true)?;
            self.clause("", 0, 0, 0);
            self.push(")");
        }
        if self.is_stored() {
            self.push(" ");
        } else {
            self.indent -= INDENT_STEP;
            self.clause("", 0, 0, 0);
        }
        Ok(())
    }

    fn set_operation(
        &mut self,
        body: &SetExpr,
        columns: Option<&[String]>,
        visible: bool,
    ) -> Result<()> {
        let SetExpr::SetOperation { left, op, set_quantifier, right } = body else {
            return self.branch(body, columns, visible);
        };
        let (left, right) = (plain(left), plain(right));
        let same = match left {
            SetExpr::SetOperation { op: inner, set_quantifier: quantifier, .. } => {
                Some(inner == op && is_all(*quantifier) == is_all(*set_quantifier))
            }
            _ => None,
        };
        if same == Some(false) {
            self.push("(");
            self.clause("", INDENT_STEP, 0, 0);
            self.set_operation(left, columns, visible)?;
            self.clause(") ", -INDENT_STEP, 0, 0);
        } else {
            self.set_operation(left, columns, visible)?;
            if self.is_stored() {
                self.push(" ");
            } else {
                self.clause("", 0, 0, 0);
            }
        }
        self.push(match op {
            SetOperator::Union => "UNION ",
            SetOperator::Intersect => "INTERSECT ",
            SetOperator::Except | SetOperator::Minus => "EXCEPT ",
        });
        if is_all(*set_quantifier) {
            self.push("ALL ");
        }
        let nested = matches!(right, SetExpr::SetOperation { .. });
        let step = if nested { INDENT_STEP } else { 0 };
        if nested {
            self.push("(");
        }
        self.clause("", step, 0, 0);
        // Nobody sees the names of the right side.
        self.set_operation(right, columns, false)?;
        self.indent -= step;
        if nested {
            self.clause(")", 0, 0, 0);
        }
        Ok(())
    }

    /// A branch of a set operation that is none itself.
    fn branch(&mut self, body: &SetExpr, columns: Option<&[String]>, visible: bool) -> Result<()> {
        match body {
            SetExpr::Query(query) => {
                self.push("(");
                self.query(query, columns, visible)?;
                self.push(")");
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
                self.query(&query, columns, visible)
            }
        }
    }

    fn values_query(&mut self, values: &Values, columns: Option<&[String]>) -> Result<()> {
        let own = output_names(&SetExpr::Values(values.clone()));
        let renamed = columns.filter(|columns| *columns != own);
        if self.is_stored() {
            return self.values(values);
        }
        self.indent += INDENT_STEP;
        self.push(" ");
        let Some(columns) = renamed else { return self.values(values) };
        self.push("SELECT ");
        for (place, (name, own)) in columns.iter().zip(own).enumerate() {
            if place > 0 {
                self.push(", ");
            }
            let item = self.aside(|printer| {
                printer.push(&format!("\"*VALUES*\".{own} AS "));
                printer.name(name);
                Ok(())
            })?;
            self.wrapped(&item, false, place == 0);
        }
        self.clause(" FROM ", -INDENT_STEP, INDENT_STEP, 2);
        self.push("(");
        self.values(values)?;
        self.push(") \"*VALUES*\"");
        Ok(())
    }

    fn values(&mut self, values: &Values) -> Result<()> {
        self.push("VALUES ");
        for (place, row) in values.rows.iter().enumerate() {
            self.push(if place > 0 { ", (" } else { "(" });
            for (place, value) in row.content.iter().enumerate() {
                if place > 0 {
                    self.push(",");
                }
                self.expr(value)?;
            }
            self.push(")");
        }
        Ok(())
    }

    fn select(&mut self, select: &Select, columns: Option<&[String]>, visible: bool) -> Result<()> {
        if !self.is_stored() {
            self.indent += INDENT_STEP;
            self.push(" ");
        }
        self.push("SELECT");
        match &select.distinct {
            None | Some(Distinct::All) => {}
            Some(Distinct::Distinct) => self.push(" DISTINCT"),
            Some(Distinct::On(list)) => {
                self.push(" DISTINCT ON (");
                self.keys(list, &select.projection)?;
                self.push(")");
            }
        }
        self.select_list(&select.projection, columns, visible)?;
        self.from(select)?;
        if let Some(condition) = &select.selection {
            self.clause(" WHERE ", -INDENT_STEP, INDENT_STEP, 1);
            self.expr(condition)?;
        }
        if let GroupByExpr::Expressions(list, _) = &select.group_by
            && !list.is_empty()
        {
            self.clause(" GROUP BY ", -INDENT_STEP, INDENT_STEP, 1);
            self.keys(list, &select.projection)?;
        }
        if let Some(condition) = &select.having {
            self.clause(" HAVING ", -INDENT_STEP, INDENT_STEP, 0);
            self.expr(condition)?;
        }
        for (place, window) in select.named_window.iter().enumerate() {
            if place == 0 {
                self.clause(" WINDOW ", -INDENT_STEP, INDENT_STEP, 1);
            } else {
                self.push(", ");
            }
            self.name(&window.0.value);
            self.push(" AS ");
            match &window.1 {
                NamedWindowExpr::WindowSpec(spec) => self.window_spec(spec)?,
                NamedWindowExpr::NamedWindow(name) => {
                    self.push("(");
                    self.name(&name.value);
                    self.push(")");
                }
            }
        }
        Ok(())
    }

    fn select_list(
        &mut self,
        items: &[SelectItem],
        columns: Option<&[String]>,
        visible: bool,
    ) -> Result<()> {
        let mut was_long = false;
        for (place, item) in items.iter().enumerate() {
            self.push(if place == 0 { " " } else { ", " });
            let SelectItem::ExprWithAlias { expr, alias } = item else {
                return Err(unprintable(item));
            };
            let name = columns.and_then(|columns| columns.get(place)).unwrap_or(&alias.value);
            let text = self.aside(|printer| {
                printer.expr(expr)?;
                printer.row_type(expr);
                let own = match printer.column_name(expr) {
                    Some(name) => Some(name),
                    None => (!visible).then(|| "?column?".to_owned()),
                };
                if printer.is_stored() || own.as_ref() != Some(name) {
                    printer.push(" AS ");
                    printer.name(name);
                }
                Ok(())
            })?;
            self.wrapped(&text, was_long, place == 0);
            was_long = text.trim_start_matches('\n').contains('\n');
        }
        Ok(())
    }

    /// Expressions of GROUP BY or DISTINCT ON.
    fn keys(&mut self, list: &[Expr], items: &[SelectItem]) -> Result<()> {
        for (place, key) in list.iter().enumerate() {
            if place > 0 {
                self.push(", ");
            }
            match key {
                Expr::Rollup(sets) => self.key_sets("ROLLUP(", sets, items)?,
                Expr::Cube(sets) => self.key_sets("CUBE(", sets, items)?,
                Expr::GroupingSets(sets) => self.key_sets("GROUPING SETS (", sets, items)?,
                Expr::Tuple(list) => {
                    self.push("(");
                    self.keys(list, items)?;
                    self.push(")");
                }
                key => self.key(key, items)?,
            }
        }
        Ok(())
    }

    fn key_sets(&mut self, word: &str, sets: &[Vec<Expr>], items: &[SelectItem]) -> Result<()> {
        self.push(word);
        let grouping = word.starts_with('G');
        for (place, set) in sets.iter().enumerate() {
            if place > 0 {
                self.push(", ");
            }
            let bare = set.len() == 1 && !grouping;
            if !bare {
                self.push("(");
            }
            self.keys(set, items)?;
            if !bare {
                self.push(")");
            }
        }
        self.push(")");
        Ok(())
    }

    /// A key of ORDER BY, GROUP BY or DISTINCT ON; a number stands for an item of the select list.
    fn key(&mut self, key: &Expr, items: &[SelectItem]) -> Result<()> {
        let mut key = key;
        while let Expr::Nested(inner) = key {
            key = inner;
        }
        if !self.is_stored()
            && let Expr::Value(value) = key
            && let sqlparser::ast::Value::Number(number, _) = &value.value
            && let Some(place) = number.parse::<usize>().ok().and_then(|n| n.checked_sub(1))
            && let Some(SelectItem::ExprWithAlias { expr, .. }) = items.get(place)
        {
            return self.sort_expr(expr);
        }
        self.sort_expr(key)
    }

    fn order_by(&mut self, query: &Query, items: &[SelectItem], is_set: bool) -> Result<()> {
        let Some(order) = &query.order_by else { return Ok(()) };
        let OrderByKind::Expressions(list) = &order.kind else {
            return Err(unprintable("ORDER BY ALL"));
        };
        if list.is_empty() {
            return Ok(());
        }
        self.clause(" ORDER BY ", -INDENT_STEP, INDENT_STEP, 1);
        self.sort_keys(list, if is_set { &[] } else { items })
    }

    pub(super) fn sort_keys(&mut self, list: &[OrderByExpr], items: &[SelectItem]) -> Result<()> {
        for (place, key) in list.iter().enumerate() {
            if place > 0 {
                self.push(", ");
            }
            self.key(&key.expr, items)?;
            let descending = match &key.options.sort {
                Some(OrderBySort::Desc) => true,
                Some(OrderBySort::Using(operator)) => operator.to_string().contains('>'),
                _ => false,
            };
            if descending {
                self.push(" DESC");
            }
            let nulls_first = key.options.nulls_first.unwrap_or(descending);
            if nulls_first != descending {
                self.push(if nulls_first { " NULLS FIRST" } else { " NULLS LAST" });
            }
        }
        Ok(())
    }

    fn limit(&mut self, query: &Query) -> Result<()> {
        let (limit, offset) = match &query.limit_clause {
            None => (None, None),
            Some(LimitClause::LimitOffset { limit, offset, limit_by }) if limit_by.is_empty() => {
                (limit.as_ref(), offset.as_ref().map(|offset| &offset.value))
            }
            Some(other) => return Err(unprintable(other)),
        };
        if let Some(offset) = offset {
            self.clause(" OFFSET ", -INDENT_STEP, INDENT_STEP, 0);
            self.expr(offset)?;
        }
        if let Some(fetch) = &query.fetch {
            let Some(quantity) = fetch.quantity.as_ref().filter(|_| !fetch.percent) else {
                return Err(unprintable(fetch));
            };
            if fetch.with_ties {
                self.clause(" FETCH FIRST ", -INDENT_STEP, INDENT_STEP, 0);
                self.expr(quantity)?;
                self.push(" ROWS WITH TIES");
                return Ok(());
            }
            self.clause(" LIMIT ", -INDENT_STEP, INDENT_STEP, 0);
            return self.expr(quantity);
        }
        if let Some(limit) = limit {
            self.clause(" LIMIT ", -INDENT_STEP, INDENT_STEP, 0);
            self.expr(limit)?;
        }
        Ok(())
    }
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
