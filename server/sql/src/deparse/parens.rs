//! Which operands need parentheses where spare ones are left out.

use sqlparser::ast::{BinaryOperator, CastKind, DataType, Expr, UnaryOperator, Value};

/// Whether an operand needs no parentheses inside of `parent`: PostgreSQL's `isSimpleNode`.
pub(super) fn is_simple(e: &Expr, parent: &Expr) -> bool {
    match e {
        Expr::BinaryOp { op: op @ (BinaryOperator::And | BinaryOperator::Or), .. } => {
            match unnested(parent) {
                Expr::BinaryOp { op: BinaryOperator::Or, .. } => true,
                Expr::BinaryOp { op: BinaryOperator::And, .. } => *op == BinaryOperator::And,
                parent => is_list(parent),
            }
        }
        Expr::UnaryOp { op: UnaryOperator::Not, .. } => match unnested(parent) {
            Expr::BinaryOp { op: BinaryOperator::And | BinaryOperator::Or, .. } => true,
            parent => is_list(parent),
        },
        Expr::BinaryOp { op, left: _, .. } => match parent {
            Expr::BinaryOp { op: BinaryOperator::And | BinaryOperator::Or, .. } => true,
            Expr::UnaryOp { op: UnaryOperator::Not, .. } => true,
            Expr::BinaryOp { op: outer, left, .. } => {
                let (Some(own), Some(outer)) = (priority(op), priority(outer)) else {
                    return false;
                };
                own > outer || (own == outer && std::ptr::eq(unnested(left), e))
            }
            parent => is_list(parent),
        },
        Expr::AnyOp { .. } | Expr::AllOp { .. } => is_list(unnested(parent)),
        Expr::UnaryOp { .. }
        | Expr::IsDistinctFrom(..)
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsTrue(_)
        | Expr::IsNotTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsNotFalse(_)
        | Expr::IsUnknown(_)
        | Expr::IsNotUnknown(_)
        | Expr::InSubquery { .. }
        | Expr::Exists { .. }
        | Expr::Subquery(_) => match unnested(parent) {
            Expr::BinaryOp { op: BinaryOperator::And | BinaryOperator::Or, .. }
            | Expr::UnaryOp { op: UnaryOperator::Not, .. } => true,
            parent => is_list(parent),
        },
        _ => true,
    }
}

/// Whether an operand of a cast needs no parentheses.
pub(super) fn is_cast_simple(e: &Expr) -> bool {
    let kind = CastKind::DoubleColon;
    let expr = Box::new(Expr::value(Value::Null));
    let parent = Expr::Cast { kind, expr, data_type: DataType::Text, format: None };
    is_simple(e, &parent)
}

/// Whether an expression has its parts in parentheses or between words of its own.
fn is_list(e: &Expr) -> bool {
    matches!(
        e,
        Expr::Function(_)
            | Expr::Array(_)
            | Expr::Tuple(_)
            | Expr::Case { .. }
            | Expr::CompoundFieldAccess { .. }
    )
}

/// How strongly one of the basic operators binds.
fn priority(op: &BinaryOperator) -> Option<u8> {
    match op {
        BinaryOperator::Plus | BinaryOperator::Minus => Some(1),
        BinaryOperator::Multiply | BinaryOperator::Divide | BinaryOperator::Modulo => Some(2),
        _ => None,
    }
}

/// An expression without the parentheses around it.
pub(super) fn unnested(e: &Expr) -> &Expr {
    match e {
        Expr::Nested(inner) => unnested(inner),
        e => e,
    }
}
