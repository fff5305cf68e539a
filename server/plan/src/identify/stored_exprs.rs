//! Expressions of a table's definition with ids in place of names.

use braid_catalog::{ColumnId, Id, IdentifiedExpr, PolicyExpr, ROOT, StoredExpr, Table};
use braid_sql::TABLE_ROW;
use braid_sql::ast::{Expr as Ast, Value};
use braid_types::{Result, SqlType};

use super::exprs::{identify_condition, identify_known, identify_value, unnested};
use super::identifier::{Identifier, unstorable};
use super::literals::null;
use crate::bind::{
    Binder, ConditionReads, TriggerRows, bind_policy_to_store, bind_to_store, check_policy,
    condition_reads, defining, stored_type,
};
use crate::context::PlanContext;

/// The stored form of an expression over the row of a table, or over nothing. A literal without a
/// type gets `ty`; a cast to that type is not written, since binding makes it. 0A000 if the
/// expression has a form that cannot be stored so.
pub fn identify_expr(
    ast: &Ast,
    table: Option<&Table>,
    ty: Option<&SqlType>,
    cx: &PlanContext<'_>,
) -> Result<StoredExpr> {
    braid_sql::deep_stack(|| {
        let clause = "stored expressions";
        let mut binder = Binder::new(cx).noting(None);
        let bound = bind_to_store(&mut binder, ast, table, clause)?.ty();
        let notes = binder.take_notes();
        let mut identifier = Identifier::new(cx, &notes);
        // No relation has the id 0: the table itself is not one of those that are named.
        identifier.relations.insert(TABLE_ROW, 0);
        let syntax = typed(&mut identifier, ast, &bound, ty)?;
        let mut uses = identifier.uses;
        let columns = uses.remove(&0).unwrap_or_default().into_iter().collect();
        let relations = uses.into_keys().collect();
        let sql = braid_sql::stored_expr_text(&syntax)?;
        let is_cast = ty.is_some_and(|ty| *ty != bound) && bound != SqlType::Unknown;
        let stored = StoredExpr::Identified(IdentifiedExpr { sql, columns, relations, is_cast });
        let wanted = if bound == SqlType::Unknown { ty.unwrap_or(&SqlType::Text) } else { &bound };
        let again = stored_type(&mut Binder::new(cx), &stored, table, clause);
        match again {
            Ok(again) if again.same_base(wanted) => Ok(stored),
            _ => Err(unstorable("an expression whose type depends on its names")),
        }
    })
}

/// The stored form of a trigger's condition over the old and the new row of a table, and what it
/// reads. 0A000 if it has a form that cannot be stored so.
pub fn identify_when(
    ast: &Ast,
    table: &Table,
    cx: &PlanContext<'_>,
) -> Result<(StoredExpr, ConditionReads)> {
    braid_sql::deep_stack(|| {
        let ast = &braid_sql::rows_by_name(ast);
        let mut binder = Binder::new(cx).noting(None);
        let rows = TriggerRows::new(&mut binder, table, false)?;
        let bound = rows.bind(&mut binder, ast)?;
        let reads = condition_reads(&rows, &bound);
        let notes = binder.take_notes();
        let mut identifier = Identifier::new(cx, &notes);
        // The rows are not among the relations that are named.
        identifier.relations.insert(TABLE_ROW, 0);
        identifier.relations.insert(TABLE_ROW + 1, 0);
        let syntax = identify_condition(&mut identifier, ast)?;
        let mut uses = identifier.uses;
        let columns = uses.remove(&0).unwrap_or_default().into_iter().collect();
        let relations = uses.into_keys().collect();
        let sql = braid_sql::stored_expr_text(&syntax)?;
        let stored = IdentifiedExpr { sql, columns, relations, is_cast: false };
        Ok((StoredExpr::Identified(stored), reads))
    })
}

/// The stored form of a policy's condition over the row of a table, and what its subqueries and
/// calls name. 0A000 if it has a form that cannot be stored so.
pub fn identify_policy(ast: &Ast, table: &Table, cx: &PlanContext<'_>) -> Result<PolicyExpr> {
    braid_sql::deep_stack(|| {
        let ast = &braid_sql::rows_by_name(ast);
        // What the condition reads is looked at when a query is bound, with its user's privileges.
        let mut binder = Binder::new(cx).noting(Some(ROOT));
        bind_policy_to_store(&mut binder, ast, table)?;
        let notes = binder.take_notes();
        let mut identifier = Identifier::new(cx, &notes);
        // The table's row is not among the relations that are named.
        identifier.relations.insert(TABLE_ROW, 0);
        let syntax = identify_condition(&mut identifier, ast)?;
        let mut uses = identifier.uses;
        let columns = uses.remove(&0).unwrap_or_default().into_iter().collect();
        let sql = braid_sql::stored_expr_text(&syntax)?;
        let uses = uses.into_iter().map(|(id, columns)| (id, columns.into_iter().collect()));
        let uses: Vec<(Id, Vec<ColumnId>)> = uses.collect();
        let relations = uses.iter().map(|(id, _)| *id).collect();
        let expr =
            StoredExpr::Identified(IdentifiedExpr { sql, columns, relations, is_cast: false });
        let expr = PolicyExpr { expr, uses };
        check_policy(&mut defining(Binder::of_stored(cx, Some(ROOT))), table, &expr.expr)?;
        Ok(expr)
    })
}

fn typed(
    identifier: &mut Identifier<'_, '_>,
    ast: &Ast,
    own: &SqlType,
    ty: Option<&SqlType>,
) -> Result<Ast> {
    match (unnested(ast), ty) {
        (Ast::Value(value), Some(ty)) if value.value == Value::Null => null(&ty.bare()),
        (e, Some(ty)) if *own == SqlType::Unknown => identify_value(identifier, e, &ty.bare()),
        (e, _) => identify_known(identifier, e),
    }
}
