//! Expressions without queries: bound once, then evaluated on the variables of a call.
//!
//! ```text
//!   s := s + i % 7      evaluates  Call(+, Param 0, Call(%, Param 1, 7))  over the frame's values
//!   n := n || x         appends    x to the value of n in place (`Append`)
//! ```

use std::sync::{Arc, OnceLock};

use braid_catalog::Id;
use braid_exec::ExecContext;
use braid_plan::eval::{EvalContext, call_with, eval};
use braid_plan::{CallExpr, Expr, bind_assignment_cast, bind_domain_check};
use braid_types::{Datum, Result, SqlType};

use crate::plpgsql::Slot;
use crate::values::plan_context;

/// An expression that waits for nothing.
pub(crate) struct Simple {
    pub(crate) expr: Expr,
    pub(crate) ty: SqlType,
    /// The variables that it reads.
    pub(crate) reads: Box<[Slot]>,
    /// What it appends to its first variable, if it is no more than that.
    pub(crate) append: Option<Append>,
    /// Its way into the target of the assignment whose value it is.
    conversion: OnceLock<Conversion>,
}

impl Simple {
    /// A bound expression of a type.
    pub(crate) fn new(expr: Expr, ty: SqlType) -> Self {
        let mut reads: Vec<Slot> = Vec::new();
        expr.any(&mut |part| {
            if let Expr::Param(slot, _) = part
                && !reads.contains(slot)
            {
                reads.push(*slot);
            }
            false
        });
        let append = Append::of(&expr);
        Self { expr, ty, reads: reads.into(), append, conversion: OnceLock::new() }
    }

    /// The value of a variable.
    pub(crate) fn variable(slot: Slot, ty: SqlType) -> Self {
        Self::new(Expr::Param(slot, ty.clone()), ty)
    }

    /// Its value over those of the variables.
    pub(crate) fn value(&self, cx: &ExecContext, variables: &[Datum]) -> Result<Datum> {
        eval(&self.expr, &[], &EvalContext { env: &*cx.env, params: variables, outer: &[] })
    }

    /// The way of its value into a target of a type and a domain, which are always the same.
    pub(crate) fn conversion(
        &self,
        cx: &ExecContext,
        to: &SqlType,
        domain: Option<Id>,
    ) -> &Conversion {
        self.conversion.get_or_init(|| Conversion::new(cx, &self.ty, to, domain))
    }
}

/// An expression as a running body has bound it.
pub(crate) struct Prepared {
    /// `None` if its value has to be waited for.
    pub(crate) simple: Option<Arc<Simple>>,
    /// How often variables had become of other types by then.
    pub(crate) type_changes: u64,
}

/// The way of a value into a variable.
pub(crate) enum Conversion {
    /// It is of the variable's type.
    Same,
    /// A cast, and the check of a domain.
    Bound(Option<Expr>, Option<Expr>),
    /// Another one, which depends on the value.
    General,
}

impl Conversion {
    fn new(cx: &ExecContext, from: &SqlType, to: &SqlType, domain: Option<Id>) -> Self {
        let is_row = |ty: &SqlType| matches!(ty, SqlType::Record(_));
        if is_row(from) || is_row(to) {
            return Conversion::General;
        }
        let plan = plan_context(cx);
        let is_same = from == to || matches!(to, SqlType::Void);
        let cast = match is_same {
            true => None,
            false => match bind_assignment_cast(&plan, from, to, "") {
                Ok(cast) => Some(cast),
                Err(_) => return Conversion::General,
            },
        };
        let check = match domain.and_then(|id| cx.catalog.domains().get(id)) {
            Some(domain) => match bind_domain_check(&plan, domain) {
                Ok(check) => Some(check),
                Err(_) => return Conversion::General,
            },
            None => None,
        };
        match (cast, check) {
            (None, None) => Conversion::Same,
            (cast, check) => Conversion::Bound(cast, check),
        }
    }

    /// The value for the variable; it comes back as `Err` where the way depends on it.
    pub(crate) fn apply(
        &self,
        cx: &ExecContext,
        value: Datum,
    ) -> std::result::Result<Result<Datum>, Datum> {
        let over = |expr: &Expr, value: Datum| {
            let eval_cx = EvalContext { env: &*cx.env, params: &[], outer: &[] };
            eval(expr, &[value], &eval_cx)
        };
        match self {
            Conversion::Same => Ok(Ok(value)),
            Conversion::General => Err(value),
            Conversion::Bound(cast, check) => {
                let value = match cast {
                    Some(cast) if !value.is_null() => over(cast, value),
                    _ => Ok(value),
                };
                Ok(match check {
                    Some(check) => value.and_then(|value| over(check, value)),
                    None => value,
                })
            }
        }
    }
}

/// `variable || a || b`, where `a` and `b` do not read the variable.
pub(crate) struct Append {
    pub(crate) slot: Slot,
    /// The calls from the left to the right. The last argument of each is appended.
    pub(crate) calls: Box<[CallExpr]>,
}

impl Append {
    fn of(expr: &Expr) -> Option<Append> {
        let mut calls = Vec::new();
        let mut left = expr;
        let slot = loop {
            match left {
                Expr::Param(slot, _) => break *slot,
                Expr::Call(call) if is_append(call) => {
                    calls.push((**call).clone());
                    left = call.args.first()?;
                }
                _ => return None,
            }
        };
        let reads = |e: &Expr| e.any(&mut |part| matches!(part, Expr::Param(at, _) if *at == slot));
        if calls.is_empty() || calls.iter().any(|call| reads(&call.args[1])) {
            return None;
        }
        calls.reverse();
        Some(Append { slot, calls: calls.into() })
    }

    /// The values that are appended.
    pub(crate) fn values(&self, cx: &ExecContext, variables: &[Datum]) -> Result<Vec<Datum>> {
        let eval_cx = EvalContext { env: &*cx.env, params: variables, outer: &[] };
        self.calls.iter().map(|call| eval(&call.args[1], &[], &eval_cx)).collect()
    }

    /// The whole value, by the calls themselves.
    pub(crate) fn by_calls(
        &self,
        cx: &ExecContext,
        first: Datum,
        values: Vec<Datum>,
    ) -> Result<Datum> {
        let mut pairs = self.calls.iter().zip(values);
        pairs.try_fold(first, |left, (call, right)| call_with(call, &[left, right], &*cx.env))
    }

    /// What one call adds to a text; `None` for NULL.
    pub(crate) fn added_text(
        cx: &ExecContext,
        call: &CallExpr,
        value: Datum,
    ) -> Result<Option<Datum>> {
        let added = match value {
            Datum::Text(_) if call.types[1] == SqlType::Text => value,
            value => call_with(call, &[Datum::text(""), value], &*cx.env)?,
        };
        Ok(Some(added).filter(|added| !added.is_null()))
    }
}

/// Whether a call gives its first argument with something after it, of the same type.
fn is_append(call: &CallExpr) -> bool {
    let is_named = matches!(call.function.name, "||" | "array_append" | "array_cat");
    let [left, _] = call.types.as_slice() else { return false };
    let is_growing = matches!(left, SqlType::Text | SqlType::Jsonb) || left.element().is_some();
    is_named && !call.spread && is_growing && *left == call.returns && !left.is_vector()
}
