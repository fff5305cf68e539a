//! The depth of expressions: chains of operators measured without recursion, and long chains of
//! `AND` and `OR` made into balanced trees, so that walking them takes little stack.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, Query, SelectItem, SetExpr, Value, ValueWithSpan, VisitMut, VisitorMut,
};

use crate::limits;

/// Chains of `AND` or `OR` from this length on are balanced.
const BALANCE_FROM: usize = 32;

/// The operand that an operator's expression continues to the left.
fn left_operand(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::BinaryOp { left, .. } => Some(left),
        Expr::IsNull(expr)
        | Expr::IsNotNull(expr)
        | Expr::IsTrue(expr)
        | Expr::IsNotTrue(expr)
        | Expr::IsFalse(expr)
        | Expr::IsNotFalse(expr)
        | Expr::IsUnknown(expr)
        | Expr::IsNotUnknown(expr)
        | Expr::IsDistinctFrom(expr, _)
        | Expr::IsNotDistinctFrom(expr, _)
        | Expr::InList { expr, .. }
        | Expr::InSubquery { expr, .. }
        | Expr::InUnnest { expr, .. }
        | Expr::IsNormalized { expr, .. }
        | Expr::Between { expr, .. }
        | Expr::Like { expr, .. }
        | Expr::ILike { expr, .. }
        | Expr::SimilarTo { expr, .. }
        | Expr::RLike { expr, .. }
        | Expr::Cast { expr, .. }
        | Expr::Collate { expr, .. }
        | Expr::UnaryOp { expr, .. } => Some(expr),
        Expr::AnyOp { left, .. } | Expr::AllOp { left, .. } => Some(left),
        Expr::AtTimeZone { timestamp, .. } => Some(timestamp),
        Expr::JsonAccess { value, .. } => Some(value),
        Expr::CompoundFieldAccess { root, .. } => Some(root),
        _ => None,
    }
}

/// Whether a chain of operators is longer than [`limits::CHAIN_MAX`], or with `AND` and `OR`
/// counted longer than [`limits::LOGIC_CHAIN_MAX`].
pub(crate) fn is_chain_too_long(expr: &Expr) -> bool {
    let (mut length, mut logic) = (0, 0);
    let mut at = expr;
    while let Some(left) = left_operand(at) {
        match chain_operator(at) {
            Some(_) => logic += 1,
            None => length += 1,
        }
        if length > limits::CHAIN_MAX || logic > limits::LOGIC_CHAIN_MAX {
            return true;
        }
        at = left;
    }
    false
}

/// `AND` or `OR`, when the expression is one.
fn chain_operator(expr: &Expr) -> Option<&BinaryOperator> {
    match expr {
        Expr::BinaryOp { op: op @ (BinaryOperator::And | BinaryOperator::Or), .. } => Some(op),
        _ => None,
    }
}

fn placeholder() -> Expr {
    Expr::Value(ValueWithSpan { value: Value::Null, span: sqlparser::tokenizer::Span::empty() })
}

/// Balances the chain at the top of `expr`, when it is long.
fn balance_chain(expr: &mut Expr) {
    let Some(op) = chain_operator(expr).cloned() else {
        return;
    };
    let mut length = 0;
    let mut at = &*expr;
    while let Expr::BinaryOp { left, op: this, .. } = at
        && *this == op
    {
        length += 1;
        at = left;
    }
    if length < BALANCE_FROM {
        return;
    }
    let mut terms = Vec::with_capacity(length + 1);
    let mut rest = std::mem::replace(expr, placeholder());
    loop {
        match rest {
            Expr::BinaryOp { left, op: this, right } if this == op => {
                terms.push(*right);
                rest = *left;
            }
            first => {
                terms.push(first);
                break;
            }
        }
    }
    // The terms were taken from the right end; pairs are joined level by level.
    terms.reverse();
    while terms.len() > 1 {
        let mut joined = Vec::with_capacity(terms.len().div_ceil(2));
        let mut terms_left = terms.into_iter();
        while let Some(left) = terms_left.next() {
            joined.push(match terms_left.next() {
                Some(right) => {
                    Expr::BinaryOp { left: Box::new(left), op: op.clone(), right: Box::new(right) }
                }
                None => left,
            });
        }
        terms = joined;
    }
    if let Some(balanced) = terms.pop() {
        *expr = balanced;
    }
}

struct Balancer;

impl VisitorMut for Balancer {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        balance_chain(expr);
        ControlFlow::Continue(())
    }
}

/// Balances every long chain of `AND` and `OR` in a query or expression.
pub(crate) fn balance<T: VisitMut>(tree: &mut T) {
    let _ = tree.visit(&mut Balancer);
}

struct Unmarker;

impl VisitorMut for Unmarker {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        unmark(&mut query.body);
        ControlFlow::Continue(())
    }
}

fn unmark(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => select.projection.retain(|item| {
            !matches!(item, SelectItem::UnnamedExpr(Expr::Identifier(name)) if name.value == MARK)
        }),
        SetExpr::SetOperation { left, right, .. } => {
            unmark(left);
            unmark(right);
        }
        _ => {}
    }
}

/// Takes the columns away that were given to each `SELECT` without columns.
pub(crate) fn drop_marks<T: VisitMut>(tree: &mut T) {
    let visited = tree.visit(&mut Unmarker);
    debug_assert!(visited.is_continue(), "nothing ends the visit early");
}

/// The column of a `SELECT` without columns: a name that no user can write.
pub(crate) const MARK: &str = "\u{1}";
