//! Expressions kept as text in descriptors: defaults, checks, generated columns, predicates.

use std::sync::Arc;

use braid_catalog::{Column, Identity, Index, StoredExpr, Table};
use braid_sql::TABLE_ROW;
use braid_sql::ast::Expr as Ast;
use braid_types::cast::CastContext;
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use super::Binder;
use super::context::ExprCx;
use super::query::plain_column;
use super::scope::{Scope, ScopeTable, Scopes};
use super::system_columns::table_source;
use crate::expr::{Expr, Slot};
use crate::layout;
use crate::planned::PlanContext;
use crate::row_change::IndexPart;

/// An expression over no columns (a SET value), cast to `ty` as an assignment.
pub fn bind_scalar(cx: &PlanContext<'_>, text: &str, ty: &SqlType) -> Result<Expr> {
    bind_default(cx, &StoredExpr::Written(text.to_owned()), ty)
}

/// A DEFAULT, cast to `ty` as an assignment.
pub fn bind_default(cx: &PlanContext<'_>, expr: &StoredExpr, ty: &SqlType) -> Result<Expr> {
    let mut binder = Binder::new(cx);
    let expr = binder.stored_expr(expr, &Scope::default(), "DEFAULT expressions");
    let expr = expr.map_err(|error| match error.state() {
        SqlState::UndefinedColumn => Error::new(
            SqlState::FeatureNotSupported,
            "cannot use column reference in DEFAULT expression",
        ),
        _ => error,
    })?;
    let mut expr = binder.stored(|this| this.assign(expr, ty, ""))?;
    layout::layout_expr(&mut expr, &[]);
    Ok(expr)
}

/// An expression over a table's columns, in their order ([`Expr::Input`]); with `ty` it is cast
/// to that type as an assignment. `clause` names its place in messages.
pub fn bind_table_expr(
    cx: &PlanContext<'_>,
    table: &Arc<Table>,
    expr: &StoredExpr,
    ty: Option<&SqlType>,
    clause: &'static str,
) -> Result<Expr> {
    let mut binder = Binder::new(cx);
    let slots: Vec<Slot> = table.columns.iter().map(|_| binder.slot()).collect();
    let mut expr = binder.table_expr(table, &slots, expr, clause)?;
    if let Some(ty) = ty {
        expr = binder.assign(expr, ty, "")?;
    }
    layout::layout_expr(&mut expr, &slots);
    Ok(expr)
}

/// The assignment cast from one type to another over an input of one column; 42804 if there is
/// none. For COPY and ALTER COLUMN TYPE.
pub fn bind_assignment_cast(
    cx: &PlanContext<'_>,
    from: &SqlType,
    to: &SqlType,
    column: &str,
) -> Result<Expr> {
    Binder::new(cx).assign(Expr::Input(0, from.clone()), to, column)
}

/// The expressions that a table's row gives to an index, in the order of its columns
/// ([`Expr::Input`]).
pub fn bind_index_exprs(
    cx: &PlanContext<'_>,
    table: &Arc<Table>,
    index: &Index,
) -> Result<Vec<(IndexPart, Expr)>> {
    let mut binder = Binder::new(cx);
    let slots: Vec<Slot> = table.columns.iter().map(|_| binder.slot()).collect();
    let mut exprs = binder.index_exprs(table, &slots)?;
    exprs.retain(|(part, _)| match part {
        IndexPart::Predicate(number) => *number == index.number,
        IndexPart::Key(place) => {
            index.keys.iter().any(|key| key.column == table.columns[*place].id)
        }
    });
    exprs.iter_mut().for_each(|(_, e)| layout::layout_expr(e, &slots));
    Ok(exprs)
}

impl Binder<'_> {
    /// The keys of a table's indexes that are expressions: their places, and expressions over the
    /// table's columns in order. One that cannot be bound is left out, so that no query uses it.
    pub(super) fn key_exprs(&mut self, table: &Table) -> Arc<[(usize, Expr)]> {
        if table.key_exprs().next().is_none() {
            return Arc::default();
        }
        let notes = self.notes.take();
        let slots: Vec<Slot> = table.columns.iter().map(|_| self.slot()).collect();
        let mut found = Vec::new();
        for (place, column) in table.key_exprs() {
            let Some(expr) = &column.generated else { continue };
            if let Ok(mut e) = self.table_expr(table, &slots, expr, "index expressions") {
                layout::layout_expr(&mut e, &slots);
                found.push((place, e));
            }
        }
        self.notes = notes;
        found.into()
    }

    /// A row of the table that a statement changes, as a scope, system columns included. An alias
    /// hides the table's name.
    pub(super) fn target_row(&self, table: &Table, alias: Option<&str>, slots: &[Slot]) -> Scope {
        let schema = self.cx.catalog.schema_name(table.schema);
        let shown = alias.unwrap_or(&table.name);
        let mut scope = row_scope(table, shown, slots);
        scope.sources.push(table_source(table, shown, slots));
        scope.of_relation(&schema, &table.name, alias.is_some())
    }

    /// A stored expression over a table's row.
    pub(super) fn table_expr(
        &mut self,
        table: &Table,
        slots: &[Slot],
        expr: &StoredExpr,
        clause: &'static str,
    ) -> Result<Expr> {
        let scope = match expr.is_identified() {
            true => numbered_row(table, slots),
            false => self.target_row(table, None, slots),
        };
        self.stored_expr(expr, &scope, clause)
    }

    /// A stored expression; names mean what `scope` says.
    fn stored_expr(
        &mut self,
        expr: &StoredExpr,
        scope: &Scope,
        clause: &'static str,
    ) -> Result<Expr> {
        let ast = braid_sql::parse_expr(expr.sql())?;
        let scopes = Scopes { scope, parent: None };
        let before = std::mem::replace(&mut self.is_stored, expr.is_identified());
        let bound = self.stored(|this| this.expr(&ast, &mut ExprCx::plain(scopes, clause)));
        self.is_stored = before;
        bound
    }

    /// Binds an expression that is to be stored, whose columns get the numbers of the stored form.
    pub(crate) fn bind_to_store(
        &mut self,
        ast: &Ast,
        table: Option<&Table>,
        clause: &'static str,
    ) -> Result<Expr> {
        let mut scope = Scope::default();
        if let Some(table) = table {
            let slots: Vec<Slot> = table.columns.iter().map(|_| self.slot()).collect();
            scope = self.target_row(table, None, &slots);
            for (entry, column) in scope.columns.iter_mut().zip(&table.columns) {
                entry.item = (TABLE_ROW, column.id);
            }
        }
        let scopes = Scopes { scope: &scope, parent: None };
        self.stored(|this| this.expr(ast, &mut ExprCx::plain(scopes, clause)))
    }

    /// The type of an expression in its stored form.
    pub(crate) fn stored_type(
        &mut self,
        expr: &StoredExpr,
        table: Option<&Table>,
        clause: &'static str,
    ) -> Result<SqlType> {
        let bound = match table {
            None => self.stored_expr(expr, &Scope::default(), clause)?,
            Some(table) => {
                let slots: Vec<Slot> = table.columns.iter().map(|_| self.slot()).collect();
                self.table_expr(table, &slots, expr, clause)?
            }
        };
        Ok(bound.ty())
    }

    /// Casts a value to a column's type as an assignment; 42804 names the column.
    pub(super) fn assign(&mut self, expr: Expr, to: &SqlType, column: &str) -> Result<Expr> {
        self.assign_modified(expr, to, None, column)
    }

    /// The assignment cast to a column's type, with its modifier.
    pub(super) fn assign_to(&mut self, expr: Expr, column: &Column) -> Result<Expr> {
        self.assign_modified(expr, &column.ty, column.modifier, &column.name)
    }

    fn assign_modified(
        &mut self,
        expr: Expr,
        to: &SqlType,
        modifier: Option<i32>,
        column: &str,
    ) -> Result<Expr> {
        let from = expr.ty();
        match self.coerce_modified(expr, to, modifier, CastContext::Assignment) {
            Err(error) if error.state() == SqlState::CannotCoerce => Err(Error::new(
                SqlState::DatatypeMismatch,
                if column.is_empty() {
                    error.message().to_owned()
                } else {
                    format!(
                        "column \"{column}\" is of type {} but expression is of type {}",
                        to.bare().display_name(),
                        from.bare().display_name()
                    )
                },
            )
            .hint("You will need to rewrite or cast the expression.")
            .routine("transformAssignedExpr")),
            other => other,
        }
    }

    /// A column's default: the expression, the next value of its sequence, or NULL.
    pub(super) fn default_of(&mut self, column: &Column) -> Result<Expr> {
        if let (Some(_), Some(sequence)) = (&column.identity, column.owned_sequence) {
            let oid = Expr::Const(Datum::Int(i64::from(sequence)), SqlType::Regclass);
            let value = self.call("nextval", vec![oid])?;
            return self.assign_to(value, column);
        }
        let Some(expr) = &column.default else { return Ok(Expr::null(column.ty.clone())) };
        let value = self.stored_expr(expr, &Scope::default(), "DEFAULT expressions")?;
        self.stored(|this| this.assign_to(value, column))
    }

    /// Generated columns over the row written: place and expression.
    pub(super) fn generated(
        &mut self,
        table: &Table,
        slots: &[Slot],
    ) -> Result<Vec<(usize, Expr)>> {
        let mut result = Vec::new();
        let columns = table.columns.iter().enumerate();
        for (place, column) in columns.filter(|(_, column)| !column.is_key_expr) {
            if let Some(expr) = &column.generated {
                let value = self.table_expr(table, slots, expr, "column generation expressions")?;
                result.push((place, self.assign_to(value, column)?));
            }
        }
        Ok(result)
    }

    /// CHECK constraints over the row written: name and condition.
    pub(super) fn checks(&mut self, table: &Table, slots: &[Slot]) -> Result<Vec<(String, Expr)>> {
        let mut result = Vec::with_capacity(table.checks.len());
        for check in &table.checks {
            let e = self.table_expr(table, slots, &check.expr, "check constraints")?;
            result.push((check.name.clone(), self.coerce_bool(e, "CHECK")?));
        }
        Ok(result)
    }

    /// Predicates of partial indexes and keys that are expressions, over the row written.
    pub(super) fn index_exprs(
        &mut self,
        table: &Table,
        slots: &[Slot],
    ) -> Result<Vec<(IndexPart, Expr)>> {
        let mut result = Vec::new();
        for (place, column) in table.key_exprs() {
            if let Some(expr) = &column.generated {
                let e = self.table_expr(table, slots, expr, "index expressions")?;
                let e = self.coerce(e, &column.ty, CastContext::Implicit)?;
                result.push((IndexPart::Key(place), e));
            }
        }
        for index in &table.indexes {
            if let Some(predicate) = &index.predicate {
                let e = self.table_expr(table, slots, predicate, "index predicates")?;
                let e = self.coerce_bool(e, "WHERE")?;
                result.push((IndexPart::Predicate(index.number), e));
            }
        }
        Ok(result)
    }
}

/// A table's row as a scope; its schema is not known there.
pub(super) fn row_scope(table: &Table, alias: &str, slots: &[Slot]) -> Scope {
    let mut scope = Scope { tables: vec![ScopeTable::plain(alias)], ..Scope::default() };
    for (slot, column) in slots.iter().zip(&table.columns) {
        let mut entry = plain_column(alias, &column.name, *slot, column.ty.clone());
        entry.hidden = column.hidden;
        entry.origin = (table.id, column.id);
        scope.columns.push(entry);
    }
    scope
}

/// A table's row as stored expressions name it: by numbers.
pub(crate) fn numbered_row(table: &Table, slots: &[Slot]) -> Scope {
    let mut scope = row_scope(table, &TABLE_ROW.to_string(), slots);
    for (entry, column) in scope.columns.iter_mut().zip(&table.columns) {
        entry.item = (TABLE_ROW, column.id);
    }
    scope
}

/// 428C9 for a value given to a column that does not take one.
pub(super) fn refuse_generated(column: &Column, updating: bool) -> Result<()> {
    let always = column.identity == Some(Identity::Always);
    if column.generated.is_none() && !always {
        return Ok(());
    }
    let name = &column.name;
    let error = if updating {
        Error::new(
            SqlState::GeneratedAlways,
            format!("column \"{name}\" can only be updated to DEFAULT"),
        )
    } else {
        Error::new(
            SqlState::GeneratedAlways,
            format!("cannot insert a non-DEFAULT value into column \"{name}\""),
        )
    };
    if always {
        let error = error.detail(format!(
            "Column \"{name}\" is an identity column defined as GENERATED ALWAYS."
        ));
        return Err(if updating {
            error
        } else {
            error.hint("Use OVERRIDING SYSTEM VALUE to override.")
        });
    }
    Err(error.detail(format!("Column \"{name}\" is a generated column.")))
}
