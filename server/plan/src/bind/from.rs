//! FROM: tables, views, catalog views, functions, subqueries and joins, as written.

use std::sync::Arc;

use braid_catalog::{Object, Relation, Table, VirtualTable, undefined_relation};
use braid_sql::UsingColumn;
use braid_sql::ast::{
    Expr as Ast, Join as AstJoin, JoinConstraint, JoinOperator, ObjectName, TableAlias,
    TableFactor, TableWithJoins,
};
use braid_types::{Error, Result, SqlState};

use super::aliases::rename_columns;
use super::arguments::{arguments, listed};
use super::context::ExprCx;
use super::notes::NamedItem;
use super::places::first_part;
use super::query::{BoundQuery, plain_column};
use super::scope::{Scope, ScopeColumn, ScopeTable, Scopes};
use super::system_columns::{table_source, virtual_source};
use super::{Binder, names};
use crate::expr::Expr;
use crate::memo::Memo;
use crate::node::{Access, Join, JoinKind, JoinMethod, Node, Scan, VirtualScan};
use crate::planned::OutputColumn;
use crate::rules::walk;

impl Binder<'_> {
    /// All of FROM; without one it is a single row.
    pub(super) fn bind_from(
        &mut self,
        from: &[TableWithJoins],
        parent: Option<&Scopes<'_>>,
    ) -> Result<(Node, Scope)> {
        names::check_length(from)?;
        let mut result: Option<(Node, Scope)> = None;
        for item in from {
            let left = result.as_ref().map(|(_, scope)| scope.clone()).unwrap_or_default();
            let (node, scope) = self.table_with_joins(item, &left, parent)?;
            result = Some(match result {
                None => (node, scope),
                Some((left_node, mut left_scope)) => {
                    left_scope.merge(scope)?;
                    (cross_join(left_node, node), left_scope)
                }
            });
        }
        Ok(result.unwrap_or_else(|| (Node::one_row(), Scope::default())))
    }

    /// A relation and its joins; `before` is what LATERAL can see of earlier items.
    fn table_with_joins(
        &mut self,
        item: &TableWithJoins,
        before: &Scope,
        parent: Option<&Scopes<'_>>,
    ) -> Result<(Node, Scope)> {
        let (mut node, mut scope) = self.factor(&item.relation, before, parent)?;
        for join in &item.joins {
            (node, scope) = self.join(node, scope, join, before, parent)?;
        }
        Ok((node, scope))
    }

    fn join(
        &mut self,
        left: Node,
        left_scope: Scope,
        join: &AstJoin,
        before: &Scope,
        parent: Option<&Scopes<'_>>,
    ) -> Result<(Node, Scope)> {
        let (kind, constraint) = match &join.join_operator {
            JoinOperator::Join(c) | JoinOperator::Inner(c) => (JoinKind::Inner, c),
            JoinOperator::Left(c) | JoinOperator::LeftOuter(c) => (JoinKind::Left, c),
            JoinOperator::Right(c) | JoinOperator::RightOuter(c) => (JoinKind::Right, c),
            JoinOperator::FullOuter(c) => (JoinKind::Full, c),
            JoinOperator::CrossJoin(c) => (JoinKind::Inner, c),
            other => return Err(Error::unsupported(format!("{other:?} join"))),
        };
        let mut visible = before.clone();
        visible.columns.extend(left_scope.columns.iter().cloned());
        visible.tables.extend(left_scope.tables.iter().cloned());
        let (mut right, right_scope) = self.factor(&join.relation, &visible, parent)?;
        if matches!(kind, JoinKind::Right | JoinKind::Full) && reads(&mut right, &left) {
            return Err(Error::new(
                SqlState::InvalidColumnReference,
                "invalid reference to FROM-clause entry",
            )
            .detail("The combining JOIN type must be INNER or LEFT for a LATERAL reference."));
        }
        if matches!(constraint, JoinConstraint::Using(_) | JoinConstraint::Natural) {
            let mut using = self.using(constraint, &left_scope, &right_scope)?;
            if kind == JoinKind::Full && self.notes.is_some() {
                let label = self.label();
                for (column, number) in using.iter_mut().zip(1..) {
                    column.merged = (label, number);
                }
            }
            let noted = using.iter().map(|column| UsingColumn {
                merged: column.merged,
                left: column.left.item,
                right: column.right.item,
                name: column.name.clone(),
            });
            if self.notes.is_some() {
                let noted = noted.collect();
                self.note_join(join, noted);
            }
            return self.join_using(left, left_scope, right, right_scope, kind, using);
        }
        let mut scope = left_scope;
        scope.merge(right_scope)?;
        let on = match constraint {
            JoinConstraint::On(ast) => {
                let scopes = Scopes { scope: &scope, parent };
                vec![self.condition(ast, &mut ExprCx::plain(scopes, "JOIN/ON"), "JOIN/ON")?]
            }
            _ => Vec::new(),
        };
        scope.join_sources();
        Ok((join_node(kind, left, right, on), scope))
    }

    fn factor(
        &mut self,
        factor: &TableFactor,
        before: &Scope,
        parent: Option<&Scopes<'_>>,
    ) -> Result<(Node, Scope)> {
        let (node, mut scope, relation) = self.factor_inner(factor, before, parent)?;
        if !matches!(factor, TableFactor::NestedJoin { .. }) {
            self.label_item(factor, &mut scope, relation);
        }
        self.enter_range(&scope);
        Ok((node, scope))
    }

    fn factor_inner(
        &mut self,
        factor: &TableFactor,
        before: &Scope,
        parent: Option<&Scopes<'_>>,
    ) -> Result<(Node, Scope, Option<NamedItem>)> {
        let around = Scopes { scope: before, parent };
        names::check_aliases(factor)?;
        let (node, scope) = match factor {
            TableFactor::Table {
                name, alias, args: None, with_ordinality: false, sample, ..
            } => {
                if sample.is_some() {
                    return Err(Error::unsupported("TABLESAMPLE"));
                }
                return self.named_relation(name, alias.as_ref());
            }
            TableFactor::Table { name, alias, args, with_ordinality, .. } => {
                let args = listed(args.as_ref().map_or(&[][..], |args| &args.args))?;
                let calls = vec![self.table_function(name, args, alias.as_ref(), around)?];
                self.function_factor(calls, *with_ordinality, alias.as_ref(), Some(name))?
            }
            TableFactor::Function { name, args, alias, with_ordinality, .. } => {
                let args = listed(args)?;
                let calls = vec![self.table_function(name, args, alias.as_ref(), around)?];
                self.function_factor(calls, *with_ordinality, alias.as_ref(), Some(name))?
            }
            TableFactor::TableFunction { expr: Ast::Function(function), alias } => {
                let args = arguments(&function.args)?;
                let name = &function.name;
                let calls = vec![self.table_function(name, args, alias.as_ref(), around)?];
                self.function_factor(calls, false, alias.as_ref(), Some(name))?
            }
            TableFactor::UNNEST { alias, array_exprs, with_ordinality, .. } => {
                let mut calls = Vec::with_capacity(array_exprs.len());
                for ast in array_exprs {
                    let arg = self.expr(ast, &mut ExprCx::plain(around, "FROM"))?;
                    let types = [arg.ty()];
                    let resolved = braid_builtins::resolve_set_function("unnest", &types)?;
                    let Some(resolved) = resolved else {
                        return Err(Error::internal("unnest is missing"));
                    };
                    calls.push((self.set_call(resolved, vec![arg])?, vec!["unnest".to_owned()]));
                }
                self.function_factor(calls, *with_ordinality, alias.as_ref(), None)?
            }
            TableFactor::Derived { lateral, subquery, alias, .. } => {
                let scopes = if *lateral { Some(&around) } else { parent };
                let name = alias.as_ref().map(|alias| self.shown(alias));
                self.push_locks(name.as_deref().unwrap_or_default());
                let query = self.bind_query(subquery, scopes)?;
                let mut scope = derived_scope(&query, name.as_deref());
                if let Some(alias) = alias {
                    self.rename_columns(&mut scope, alias)?;
                }
                (query.node, scope)
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                let (node, mut scope) = self.table_with_joins(table_with_joins, before, parent)?;
                if let Some(alias) = alias {
                    self.refuse_lock(&braid_sql::fold(&alias.name), "a join")?;
                    name_join(&mut scope, alias)?;
                }
                (node, scope)
            }
            other => return Err(Error::unsupported(format!("{other} in FROM"))),
        };
        Ok((node, scope, None))
    }

    /// A table, view, WITH entry or catalog view by name.
    fn named_relation(
        &mut self,
        name: &ObjectName,
        alias: Option<&TableAlias>,
    ) -> Result<(Node, Scope, Option<NamedItem>)> {
        let parts = name_parts(name);
        let last = parts.last().cloned().unwrap_or_default();
        let shown = alias.map_or_else(|| last.clone(), |alias| self.shown(alias));
        let mut item = None;
        let (node, mut scope) = if parts.len() == 1
            && let Some(found) = self.cte_scan(&last, &shown)?
        {
            self.refuse_lock(&shown, "a WITH query")?;
            found
        } else {
            let relation = self.relation(name)?;
            item = Some(match &relation {
                Relation::Virtual(table) => NamedItem::Catalog(table.schema, table.name),
                relation => NamedItem::Stored(relation.oid()),
            });
            match relation {
                Relation::Table(table) => {
                    self.check(Object::Table(&table), "SELECT")?;
                    let lock = self.lock_of(&shown);
                    if lock.is_some() {
                        self.check(Object::Table(&table), "UPDATE")?;
                    }
                    let (mut node, scope) = self.table_scan(&table, &shown);
                    let schema = self.cx.catalog.schema_name(table.schema);
                    let scope = scope.of_relation(&schema, &table.name, alias.is_some());
                    if let Node::Scan(scan) = &mut node {
                        scan.lock = lock;
                    }
                    (node, scope)
                }
                Relation::View(view) => {
                    self.check(Object::View(&view), "SELECT")?;
                    if self.push_locks(&shown).is_some() {
                        self.check(Object::View(&view), "UPDATE")?;
                    }
                    let (node, scope) = self.view(&view, &shown)?;
                    let schema = self.cx.catalog.schema_name(view.schema);
                    (node, scope.of_relation(&schema, &view.name, alias.is_some()))
                }
                Relation::Virtual(table) => {
                    // Catalog rows are never locked.
                    self.lock_of(&shown);
                    let (node, scope) = self.virtual_scan(table, &shown);
                    (node, scope.of_relation(table.schema, table.name, alias.is_some()))
                }
                Relation::Sequence(sequence) if self.lock_of(&shown).is_some() => {
                    let message = format!("cannot lock rows in sequence \"{}\"", sequence.name);
                    return Err(Error::new(SqlState::WrongObjectType, message));
                }
                Relation::Sequence(sequence) => {
                    let (node, scope) = self.sequence_scan(&sequence, &shown)?;
                    let schema = self.cx.catalog.schema_name(sequence.schema);
                    (node, scope.of_relation(&schema, &sequence.name, alias.is_some()))
                }
                Relation::Index(..) => return Err(cannot_open(&last)),
            }
        };
        let is_catalog = matches!(item, Some(NamedItem::Catalog(..)));
        if let Some(alias) = alias.filter(|_| !(is_catalog && self.is_stored)) {
            self.rename_columns(&mut scope, alias)?;
        }
        Ok((node, scope, item))
    }

    /// The relation of that name; 42P01 if there is none.
    pub(super) fn relation(&self, name: &ObjectName) -> Result<Relation> {
        let parts = name_parts(name);
        let found = match braid_sql::relation_id(name).filter(|_| self.is_stored) {
            Some(id) => self.cx.catalog.relation(id),
            None => self.cx.catalog.resolve(self.cx.path, &parts)?,
        };
        found.ok_or_else(|| undefined_relation(&parts).position(first_part(name)))
    }

    /// 42501 unless the session's user has the privilege.
    pub(super) fn check(&self, object: Object<'_>, privilege: &str) -> Result<()> {
        let catalog = self.cx.catalog;
        let user = self.cx.env.current_user();
        let role = catalog.role_by_name(user).map_or(0, |role| role.id);
        // A view reads its tables with its owner's privileges.
        let role = self.view_owner.unwrap_or(role);
        catalog.check(role, object, privilege)
    }

    /// A scan of all of a table's columns by its primary key.
    pub(super) fn table_scan(&mut self, table: &Arc<Table>, alias: &str) -> (Node, Scope) {
        self.tables.insert(table.id);
        let mut scope = Scope { tables: vec![ScopeTable::plain(alias)], ..Scope::default() };
        let mut columns = Vec::with_capacity(table.columns.len());
        for (place, column) in table.columns.iter().enumerate() {
            let slot = self.slot();
            columns.push((slot, place));
            scope.columns.push(ScopeColumn {
                table: alias.to_owned(),
                schema: None,
                name: column.name.clone(),
                slot,
                ty: column.ty.clone(),
                hidden: column.hidden,
                merged: false,
                is_row: false,
                origin: (table.id, column.id),
                item: (0, 0),
            });
        }
        let slots: Vec<_> = columns.iter().map(|(slot, _)| *slot).collect();
        scope.sources.push(table_source(table, alias, &slots));
        let access = Access { index: 1, bounds: Vec::new(), reverse: false, limit: None };
        let scan = Scan {
            table: table.clone(),
            alias: alias.to_owned(),
            columns,
            key_exprs: self.key_exprs(table),
            filter: Vec::new(),
            access,
            lock: None,
            implicit_lock: false,
            families: None,
            unrecorded: false,
            rows: 0.0,
            gap_keys: None,
            memo: Memo::default(),
        };
        (Node::Scan(Box::new(scan)), scope)
    }

    fn virtual_scan(&mut self, table: &'static VirtualTable, alias: &str) -> (Node, Scope) {
        let mut scope = Scope { tables: vec![ScopeTable::plain(alias)], ..Scope::default() };
        let mut columns = Vec::with_capacity(table.columns.len());
        for (place, (name, ty)) in table.columns.iter().enumerate() {
            let slot = self.slot();
            columns.push((slot, place));
            scope.columns.push(ScopeColumn {
                origin: (table.oid, place as u16 + 1),
                ..plain_column(alias, name, slot, ty.clone())
            });
        }
        scope.sources.extend(virtual_source(table, alias, &columns));
        (Node::Virtual(VirtualScan { table, columns, filter: Vec::new() }), scope)
    }

    /// A sequence read as a table has its state as one row.
    fn sequence_scan(
        &mut self,
        sequence: &braid_catalog::Sequence,
        alias: &str,
    ) -> Result<(Node, Scope)> {
        self.check(Object::Sequence(sequence), "SELECT")?;
        let query = braid_sql::parse_query(&format!(
            "SELECT state[1] AS last_value, 0::int8 AS log_cnt, state[2] = 1 AS is_called \
             FROM pg_catalog.braid_sequence_state({}::oid::regclass) AS s (state)",
            sequence.id
        ))?;
        let notes = self.notes.take();
        let is_stored = std::mem::replace(&mut self.is_stored, false);
        let query = self.bind_query(&query, None);
        self.notes = notes;
        self.is_stored = is_stored;
        let query = query?;
        let scope = derived_scope(&query, Some(alias));
        Ok((query.node, scope))
    }

    fn view(&mut self, view: &braid_catalog::View, alias: &str) -> Result<(Node, Scope)> {
        self.tables.insert(view.id);
        if self.views.contains(&view.id) {
            let name = &view.name;
            let message = format!("infinite recursion detected in rules for relation \"{name}\"");
            return Err(Error::new(SqlState::InvalidObjectDefinition, message));
        }
        // The view's query sees neither our WITH entries nor, if it has names, our search path.
        let path = view.path(self.cx.path);
        let (query, mut inner) = match &view.stored {
            Some(stored) => {
                let cx = crate::PlanContext { text: "", ..self.cx };
                (braid_sql::parse_query(&stored.query)?, Binder::of_stored(&cx, None))
            }
            None => {
                let cx = crate::PlanContext { path: &path, text: "", ..self.cx };
                (braid_sql::parse_query(&view.query)?, Binder::new(&cx))
            }
        };
        inner.next_slot = self.next_slot;
        inner.next_id = self.next_id;
        inner.depth = self.depth;
        inner.view_owner = Some(view.owner);
        inner.views.clone_from(&self.views);
        inner.views.push(view.id);
        inner.pushed_locks = std::mem::take(&mut self.pushed_locks);
        let bound = inner.bind_query(&query, None)?;
        self.next_slot = inner.next_slot;
        self.next_id = inner.next_id;
        self.tables.append(&mut inner.tables);
        let mut scope = Scope { tables: vec![ScopeTable::plain(alias)], ..Scope::default() };
        for (slot, (place, (name, ty))) in
            bound.node.slots().into_iter().zip(view.columns.iter().enumerate())
        {
            scope.columns.push(ScopeColumn {
                origin: (view.id, place as u16 + 1),
                ..plain_column(alias, name, slot, ty.clone())
            });
        }
        Ok((bound.node, scope))
    }
}

/// 42809 for an index in FROM.
fn cannot_open(index: &str) -> Error {
    let message = format!("cannot open relation \"{index}\"");
    Error::new(SqlState::WrongObjectType, message)
        .detail("This operation is not supported for indexes.")
}

/// A query in FROM as a scope under its alias.
fn derived_scope(query: &BoundQuery, name: Option<&str>) -> Scope {
    let table = name.unwrap_or("");
    let slots = query.node.slots();
    let columns = slots
        .iter()
        .zip(&query.columns)
        .map(|(slot, c): (_, &OutputColumn)| ScopeColumn {
            origin: (c.table_oid, c.column_number),
            ..plain_column(table, &c.name, *slot, c.ty.clone())
        })
        .collect();
    let tables = name.map(ScopeTable::plain).into_iter().collect();
    Scope { columns, tables, ..Scope::default() }
}

/// `(a JOIN b …) AS t`
fn name_join(scope: &mut Scope, alias: &TableAlias) -> Result<()> {
    let name = braid_sql::fold(&alias.name);
    scope.tables = vec![ScopeTable::plain(&name)];
    scope.sources.clear();
    scope.columns.retain(|column| !column.merged);
    for column in &mut scope.columns {
        column.table.clone_from(&name);
        column.schema = None;
        column.is_row = false;
    }
    rename_columns(scope, alias)
}

/// A name's parts, folded.
pub(super) fn name_parts(name: &ObjectName) -> Vec<String> {
    name.0.iter().filter_map(|part| part.as_ident()).map(braid_sql::fold).collect()
}

/// Whether a FROM item reads columns of the items before it.
fn reads(item: &mut Node, before: &Node) -> bool {
    let mut read = Vec::new();
    walk::slots_read(item, &mut read);
    let given = before.slots();
    read.iter().any(|slot| given.contains(slot))
}

pub(super) fn join_node(kind: JoinKind, left: Node, mut right: Node, on: Vec<Expr>) -> Node {
    // What does not read the left row runs once, however it is written.
    let lateral = reads(&mut right, &left);
    Node::Join(Box::new(Join {
        kind,
        left,
        right,
        on,
        lateral,
        outer: Vec::new(),
        method: JoinMethod::Loop,
        rows: 0.0,
    }))
}

/// Every pair of rows.
pub(super) fn cross_join(left: Node, right: Node) -> Node {
    join_node(JoinKind::Inner, left, right, Vec::new())
}
