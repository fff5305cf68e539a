//! A value that is computed once and read several times: the operand of a simple CASE, for one.

use braid_types::Datum;

use super::expr::Expr;

/// A value, and an expression that reads it as [`Expr::Local`].
#[derive(Clone)]
pub struct LetExpr {
    /// How many of these are around it where it was written. An inner one of the same number hides
    /// the outer one.
    pub level: u32,
    /// The value.
    pub value: Expr,
    /// What is computed from it.
    pub body: Expr,
}

impl LetExpr {
    /// The body with the value in its place.
    pub fn with(&self, value: &Datum) -> Expr {
        let mut body = self.body.clone();
        put(&mut body, self.level, value);
        body
    }
}

fn put(e: &mut Expr, level: u32, value: &Datum) {
    match e {
        Expr::Local(at, ty) if *at == level => *e = Expr::Const(value.clone(), ty.clone()),
        Expr::Let(inner) if inner.level == level => put(&mut inner.value, level, value),
        e => e.for_each_child_mut(&mut |child| put(child, level, value)),
    }
}
