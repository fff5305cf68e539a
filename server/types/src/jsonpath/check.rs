//! Where `@` and `last` may stand.

use super::{Expr, Head, Predicate, Step};
use crate::{Error, Result, SqlState};

/// What is around an expression.
#[derive(Clone, Copy, Default)]
pub(super) struct Place {
    in_filter: bool,
    in_subscript: bool,
}

impl Place {
    /// 42601 for `@` outside of a filter and for `last` outside of a subscript.
    pub(super) fn check(self, expr: &Expr) -> Result<()> {
        match &expr.head {
            Head::Current if !self.in_filter => {
                let message = "@ is not allowed in root expressions";
                return Err(Error::new(SqlState::SyntaxError, message));
            }
            Head::Last if !self.in_subscript => {
                let message = "LAST is allowed only in array subscripts";
                return Err(Error::new(SqlState::SyntaxError, message));
            }
            Head::Unary(_, operand) => self.check(operand)?,
            Head::Arithmetic(_, operands) => {
                self.check(&operands.0)?;
                self.check(&operands.1)?;
            }
            Head::Predicate(predicate) => self.check_predicate(predicate)?,
            _ => {}
        }
        for step in &expr.steps {
            match step {
                Step::Filter(predicate) => {
                    Place { in_filter: true, ..self }.check_predicate(predicate)?;
                }
                Step::Elements(subscripts) => {
                    let place = Place { in_subscript: true, ..self };
                    for subscript in subscripts {
                        place.check(&subscript.from)?;
                        subscript.to.as_ref().map_or(Ok(()), |to| place.check(to))?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn check_predicate(self, predicate: &Predicate) -> Result<()> {
        match predicate {
            Predicate::And(both) | Predicate::Or(both) => {
                self.check_predicate(&both.0)?;
                self.check_predicate(&both.1)
            }
            Predicate::Not(inner) | Predicate::IsUnknown(inner) => self.check_predicate(inner),
            Predicate::Compare(_, both) => {
                self.check(&both.0)?;
                self.check(&both.1)
            }
            Predicate::StartsWith(expr, _)
            | Predicate::LikeRegex(expr, _)
            | Predicate::Exists(expr) => self.check(expr),
        }
    }
}
