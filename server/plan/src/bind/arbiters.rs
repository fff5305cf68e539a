//! The unique indexes that ON CONFLICT means.
//!
//! A partial index counts if the clause's condition implies its predicate: each part of the
//! predicate is a part of the condition, or follows from one.

use std::sync::Arc;

use braid_catalog::{ColumnId, Index, IndexNumber, Table};
use braid_sql::ast::{ConflictTarget, Expr as Ast, IndexKey};
use braid_types::{Error, Result, SqlState};

use super::Binder;
use super::context::ExprCx;
use super::scope::Scopes;
use crate::expr::{CompareOp, Expr, Slot, conjuncts};
use crate::row_change::IndexPart;

impl Binder<'_> {
    /// The unique indexes that a clause means; empty: all. `slots` are the row's columns.
    pub(super) fn arbiters(
        &mut self,
        target: &ConflictTarget,
        table: &Arc<Table>,
        alias: Option<&str>,
        slots: &[Slot],
    ) -> Result<Vec<IndexNumber>> {
        let (keys, predicate) = match target {
            ConflictTarget::Any => return Ok(Vec::new()),
            ConflictTarget::Constraint(ident) => {
                let name = braid_sql::fold(ident);
                let index = table.all_indexes().find(|index| index.unique && index.name == name);
                return index.map(|index| vec![index.number]).ok_or_else(|| {
                    Error::new(
                        SqlState::UndefinedObject,
                        format!(
                            "constraint \"{name}\" for table \"{}\" does not exist",
                            table.name
                        ),
                    )
                });
            }
            ConflictTarget::Columns { keys, predicate } => (keys, predicate),
        };
        let wanted = self.wanted(keys, predicate.as_ref(), table, alias, slots)?;
        let exprs = match wanted.given.is_some() || !wanted.computed.is_empty() {
            true => self.index_exprs(table, slots)?,
            false => Vec::new(),
        };
        let fits = |index: &&Index| index.unique && wanted.is(table, index, &exprs);
        let found: Vec<IndexNumber> =
            table.all_indexes().filter(fits).map(|index| index.number).collect();
        if found.is_empty() {
            return Err(Error::new(
                SqlState::InvalidColumnReference,
                "there is no unique or exclusion constraint matching the ON CONFLICT \
                 specification",
            ));
        }
        Ok(found)
    }

    /// What the columns, expressions and condition of a clause mean.
    fn wanted(
        &mut self,
        keys: &[IndexKey],
        predicate: Option<&Ast>,
        table: &Table,
        alias: Option<&str>,
        slots: &[Slot],
    ) -> Result<Wanted> {
        let mut columns = Vec::with_capacity(keys.len());
        let mut computed: Vec<Expr> = Vec::new();
        for key in keys {
            let Some(ident) = key.column() else {
                computed.push(self.conflict_key(&key.expr, table, alias, slots)?);
                continue;
            };
            let name = braid_sql::fold(ident);
            let place = table.column_by_name(&name).ok_or_else(|| {
                Error::new(SqlState::UndefinedColumn, format!("column \"{name}\" does not exist"))
                    .position(braid_sql::offset_of(ident.span))
            })?;
            columns.push(table.columns[place].id);
        }
        columns.sort_unstable();
        columns.dedup();
        let given = match predicate {
            Some(ast) => Some(self.conflict_condition(ast, table, alias, slots)?),
            None => None,
        };
        Ok(Wanted { columns, computed, given })
    }

    /// An expression among the keys of ON CONFLICT.
    fn conflict_key(
        &mut self,
        ast: &Ast,
        table: &Table,
        alias: Option<&str>,
        slots: &[Slot],
    ) -> Result<Expr> {
        let scope = self.target_row(table, alias, slots);
        let scopes = Scopes { scope: &scope, parent: None };
        self.expr(ast, &mut ExprCx::plain(scopes, "index expressions"))
    }

    /// The parts of the condition behind ON CONFLICT's columns.
    fn conflict_condition(
        &mut self,
        ast: &Ast,
        table: &Table,
        alias: Option<&str>,
        slots: &[Slot],
    ) -> Result<Vec<Expr>> {
        let scope = self.target_row(table, alias, slots);
        let scopes = Scopes { scope: &scope, parent: None };
        let e = self.expr(ast, &mut ExprCx::plain(scopes, "index predicates"))?;
        let mut given = Vec::new();
        conjuncts(self.coerce_bool(e, "WHERE")?, &mut given);
        Ok(given)
    }
}

/// The index that ON CONFLICT describes.
struct Wanted {
    /// The columns among its keys, sorted.
    columns: Vec<ColumnId>,
    /// The expressions among its keys.
    computed: Vec<Expr>,
    /// The parts of the condition.
    given: Option<Vec<Expr>>,
}

impl Wanted {
    /// Whether an index is meant. `exprs` are those of all indexes of the table, if they matter.
    fn is(&self, table: &Table, index: &Index, exprs: &[(IndexPart, Expr)]) -> bool {
        let part = |wanted| exprs.iter().find(|(part, _)| *part == wanted).map(|(_, e)| e);
        let (own, mut columns): (Vec<ColumnId>, Vec<ColumnId>) =
            index.keys.iter().map(|key| key.column).partition(|id| table.is_key_expr(*id));
        columns.sort_unstable();
        let place = |id: &ColumnId| table.columns.iter().position(|column| column.id == *id);
        let own: Option<Vec<&Expr>> =
            own.iter().map(|id| part(IndexPart::Key(place(id)?))).collect();
        // Expressions of the index that nobody has bound are not among those that are wanted.
        let Some(own) = own else { return false };
        let named = self.computed.iter().all(|e| own.iter().any(|key| key.same_value(e)))
            && own.iter().all(|key| self.computed.iter().any(|e| key.same_value(e)));
        let predicate = part(IndexPart::Predicate(index.number));
        let covered = match (&index.predicate, &self.given, predicate) {
            (None, ..) => true,
            (Some(_), Some(given), Some(predicate)) => implies(given, predicate),
            _ => false,
        };
        named && columns == self.columns && covered
    }
}

/// Whether a predicate holds wherever all of these conditions do. `false` may mean anything.
fn implies(given: &[Expr], predicate: &Expr) -> bool {
    let mut parts = Vec::new();
    conjuncts(predicate.clone(), &mut parts);
    parts.iter().all(|part| given.iter().any(|known| follows(known, part)))
}

fn follows(known: &Expr, part: &Expr) -> bool {
    if known.same_value(part) {
        return true;
    }
    match (known, part) {
        (known, Expr::Or(list)) => list.iter().any(|part| follows(known, part)),
        // A comparison with NULL holds for nothing.
        (Expr::Compare(_, a, b), Expr::Not(inner)) => {
            matches!(&**inner, Expr::IsNull(e) if e.same_value(a) || e.same_value(b))
        }
        (Expr::Compare(op, a, x), Expr::Compare(wanted, b, y)) if a.same_value(b) => {
            bound_follows(*op, x, *wanted, y)
        }
        _ => false,
    }
}

/// Whether `e op x` implies `e wanted y`, of constants.
fn bound_follows(op: CompareOp, x: &Expr, wanted: CompareOp, y: &Expr) -> bool {
    use CompareOp::{Eq, Ge, Gt, Le, Lt, Ne};
    let (Expr::Const(x, _), Expr::Const(y, _)) = (x, y) else { return false };
    if x.is_null() || y.is_null() {
        return false;
    }
    let order = x.compare(y);
    match (op, wanted) {
        (Eq, wanted) => wanted.holds(order),
        (Gt, Gt | Ge | Ne) | (Ge, Ge) => order.is_ge(),
        (Ge, Gt | Ne) => order.is_gt(),
        (Lt, Lt | Le | Ne) | (Le, Le) => order.is_le(),
        (Le, Lt | Ne) => order.is_lt(),
        _ => false,
    }
}
