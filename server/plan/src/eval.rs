//! Evaluation of bound expressions on one row, at once.
//!
//! What it does not do: subqueries and functions that wait ([`Expr::waits`]); `exec` evaluates
//! those step by step and calls this for everything else.
//!
//! Rules that must always hold: AND, OR, CASE and COALESCE evaluate no more than they need, from
//! left to right; NULL follows SQL's three-valued logic.

use std::borrow::Cow;
use std::collections::HashSet;

use braid_builtins::{Call, Environment, Eval};
use braid_types::array::{ArrayOfArrays, UnlikeArrays};
use braid_types::cast::CastEnv;
use braid_types::{Datum, Error, Json, Result, SqlState, SqlType, work};

use crate::tree::expr::{
    CallExpr, CastExpr, CompareOp, DomainExpr, DomainPart, DomainRules, Expr, QuantifiedExpr,
};

/// Bytes of arguments from which on a function may run for long enough to delay others.
const LARGE_BYTES: usize = 256 << 10;

/// What an expression can read besides its row.
#[derive(Clone, Copy)]
pub struct EvalContext<'a> {
    /// The session.
    pub env: &'a dyn Environment,
    /// The statement's parameters.
    pub params: &'a [Datum],
    /// The values handed in by the enclosing query's row.
    pub outer: &'a [Datum],
}

/// Evaluates `expr` on `row`.
pub fn eval(expr: &Expr, row: &[Datum], cx: &EvalContext<'_>) -> Result<Datum> {
    match expr {
        Expr::Const(datum, _) => Ok(datum.clone()),
        Expr::Input(place, _) => Ok(row[*place].clone()),
        Expr::Compare(op, left, right) => compare(*op, (left, right), row, cx),
        Expr::Call(call) => eval_call(call, row, cx),
        Expr::Outer(place, _) => Ok(cx.outer[*place].clone()),
        Expr::Param(place, _) => param(*place, cx),
        Expr::Cast(cast) => {
            let value = eval_ref(&cast.expr, row, cx)?;
            cast_datum(&value, cast, cx.env)
        }
        Expr::Domain(domain) => checked(domain, row, cx),
        Expr::And(list) => connect(list, false, row, cx),
        Expr::Or(list) => connect(list, true, row, cx),
        Expr::Not(e) => Ok(match eval_ref(e, row, cx)?.as_bool() {
            Some(value) => Datum::Bool(!value),
            None => Datum::Null,
        }),
        Expr::IsNull(e) => Ok(Datum::Bool(eval_ref(e, row, cx)?.is_null())),
        Expr::IsNullRow(e, wanted) => {
            Ok(Datum::Bool(is_null_row(&*eval_ref(e, row, cx)?, *wanted)))
        }
        Expr::IsBool(e, wanted) => Ok(Datum::Bool(eval_ref(e, row, cx)?.as_bool() == *wanted)),
        Expr::IsDistinct(left, right) => {
            let left = eval_ref(left, row, cx)?;
            let right = eval_ref(right, row, cx)?;
            Ok(Datum::Bool(is_distinct(&left, &right)))
        }
        Expr::Case(case) => {
            for (when, then) in &case.whens {
                if eval_ref(when, row, cx)?.as_bool() == Some(true) {
                    return eval(then, row, cx);
                }
            }
            eval(&case.otherwise, row, cx)
        }
        Expr::Coalesce(list) => {
            let values = list.iter().map(|e| eval(e, row, cx));
            let mut known = values.filter(|value| !matches!(value, Ok(Datum::Null)));
            known.next().unwrap_or(Ok(Datum::Null))
        }
        Expr::Extreme(greatest, list) => {
            let values = list.iter().map(|e| eval(e, row, cx)).collect::<Result<Vec<_>>>()?;
            Ok(extreme(*greatest, values, &expr.ty()))
        }
        Expr::InList(e, list) => {
            let value = eval_ref(e, row, cx)?;
            in_list(&value, list, row, cx)
        }
        Expr::InSet(e, set, has_null) => {
            let value = eval_ref(e, row, cx)?;
            Ok(in_set(&value, set, *has_null))
        }
        Expr::Quantified(q) => {
            let left = eval(&q.left, row, cx)?;
            let array = eval_ref(&q.array, row, cx)?;
            quantified_array(q, left, &array, cx)
        }
        Expr::Array(items, element) => {
            let items = items.iter().map(|e| eval(e, row, cx)).collect::<Result<Vec<_>>>()?;
            make_array(items, element)
        }
        Expr::Subscript(part) => {
            let children = part.children().map(|e| eval(e, row, cx));
            part.value(&children.collect::<Result<Vec<_>>>()?)
        }
        Expr::Row(items, _) => {
            let items = items.iter().map(|e| eval(e, row, cx)).collect::<Result<Vec<_>>>()?;
            Ok(Datum::Record(items.into()))
        }
        Expr::Field(record, place, _) => field(&*eval_ref(record, row, cx)?, *place),
        Expr::Column(slot, _) | Expr::Local(slot, _) => {
            Err(Error::internal(format!("column slot {slot} was not laid out")))
        }
        Expr::Let(once) => eval(&once.with(&*eval_ref(&once.value, row, cx)?), row, cx),
        Expr::Subquery(_) | Expr::Routine(_) => Err(Error::internal("an expression waits")),
    }
}

/// Evaluates without cloning where the value exists already.
pub fn eval_ref<'v>(
    expr: &'v Expr,
    row: &'v [Datum],
    cx: &EvalContext<'v>,
) -> Result<Cow<'v, Datum>> {
    match expr {
        Expr::Const(datum, _) => Ok(Cow::Borrowed(datum)),
        Expr::Input(place, _) => Ok(Cow::Borrowed(&row[*place])),
        Expr::Outer(place, _) => Ok(Cow::Borrowed(&cx.outer[*place])),
        Expr::Param(place, _) if *place < cx.params.len() => Ok(Cow::Borrowed(&cx.params[*place])),
        other => eval(other, row, cx).map(Cow::Owned),
    }
}

fn compare(
    op: CompareOp,
    (left, right): (&Expr, &Expr),
    row: &[Datum],
    cx: &EvalContext<'_>,
) -> Result<Datum> {
    if let (Some(left), Some(right)) = (text_of(left, row), text_of(right, row)) {
        return Ok(Datum::Bool(op.holds(left.as_bytes().cmp(right.as_bytes()))));
    }
    let left = eval_ref(left, row, cx)?;
    let right = eval_ref(right, row, cx)?;
    if left.is_null() || right.is_null() {
        return Ok(Datum::Null);
    }
    Ok(Datum::Bool(op.holds(left.compare(&right))))
}

/// The text that an expression is, without a copy, if it is simple: `char(n)` as text is what
/// stands before its blanks.
fn text_of<'v>(e: &'v Expr, row: &'v [Datum]) -> Option<&'v str> {
    match e {
        Expr::Const(Datum::Text(text), _) => Some(text),
        Expr::Cast(cast) if cast.to == SqlType::Text && matches!(cast.from, SqlType::Char(_)) => {
            match &cast.expr {
                Expr::Input(place, _) => match &row[*place] {
                    Datum::Text(text) => Some(text.trim_end_matches(' ')),
                    _ => None,
                },
                _ => None,
            }
        }
        _ => None,
    }
}

/// A value that its domain has.
fn checked(domain: &DomainExpr, row: &[Datum], cx: &EvalContext<'_>) -> Result<Datum> {
    let value = eval(&domain.expr, row, cx)?;
    check_rules(&domain.rules, &value, cx)?;
    Ok(value)
}

/// 23502 or 23514 unless a domain has the value. A condition that is NULL is satisfied.
fn check_rules(rules: &DomainRules, value: &Datum, cx: &EvalContext<'_>) -> Result<()> {
    for (part, inner) in &rules.parts {
        match (part, value) {
            (DomainPart::Elements, Datum::Array(array)) => {
                for item in &array.items {
                    work::tick()?;
                    check_rules(inner, item, cx)?;
                }
            }
            (DomainPart::Field(place), Datum::Record(fields)) => {
                let field = fields.get(*place);
                field.map_or(Ok(()), |field| check_rules(inner, field, cx))?;
            }
            _ => {}
        }
    }
    let name = &rules.shown;
    if rules.not_null && value.is_null() {
        let message = format!("domain {name} does not allow null values");
        return Err(
            Error::new(SqlState::NotNullViolation, message).data_type(&rules.schema, &rules.name)
        );
    }
    let row = std::slice::from_ref(value);
    for (check, condition) in &rules.checks {
        if eval_ref(condition, row, cx)?.as_bool() == Some(false) {
            let message = format!("value for domain {name} violates check constraint \"{check}\"");
            return Err(Error::new(SqlState::CheckViolation, message)
                .data_type(&rules.schema, &rules.name)
                .constraint(check));
        }
    }
    Ok(())
}

/// Whether a condition holds: NULL does not.
pub fn holds(expr: &Expr, row: &[Datum], cx: &EvalContext<'_>) -> Result<bool> {
    Ok(eval_ref(expr, row, cx)?.as_bool() == Some(true))
}

fn param(place: usize, cx: &EvalContext<'_>) -> Result<Datum> {
    cx.params.get(place).cloned().ok_or_else(|| {
        Error::new(SqlState::UndefinedParameter, format!("there is no parameter ${}", place + 1))
    })
}

fn eval_call(call: &CallExpr, row: &[Datum], cx: &EvalContext<'_>) -> Result<Datum> {
    // Most calls have one or two arguments; a fixed array spares an allocation.
    match call.args.as_slice() {
        [a] => call_with(call, &[eval(a, row, cx)?], cx.env),
        [a, b] => call_with(call, &[eval(a, row, cx)?, eval(b, row, cx)?], cx.env),
        args => {
            let args = args.iter().map(|a| eval(a, row, cx)).collect::<Result<Vec<_>>>()?;
            call_with(call, &args, cx.env)
        }
    }
}

/// Calls a function that does not wait on arguments that are evaluated.
pub fn call_with(call: &CallExpr, args: &[Datum], env: &dyn Environment) -> Result<Datum> {
    if call.spread {
        return call_spread(call, args, env);
    }
    call_plain(call, args, &call.types, env)
}

/// Calls with the elements of the last argument, an array, as the last arguments.
///
/// The call is NULL for a NULL array; only `format` takes it for an empty one.
fn call_spread(call: &CallExpr, args: &[Datum], env: &dyn Environment) -> Result<Datum> {
    let (Some((last, first)), Some((last_type, first_types))) =
        (args.split_last(), call.types.split_last())
    else {
        return Err(Error::internal("VARIADIC without an argument"));
    };
    let items = match last {
        Datum::Array(array) => array.items.as_slice(),
        Datum::Null if call.function.name == "format" => &[],
        Datum::Null => return Ok(Datum::Null),
        _ => return Err(Error::internal("VARIADIC of a value that is no array")),
    };
    let element = last_type.element().cloned().unwrap_or(SqlType::Unknown);
    let mut all = first.to_vec();
    all.extend_from_slice(items);
    let mut types = first_types.to_vec();
    types.resize(all.len(), element);
    call_plain(call, &all, &types, env)
}

fn call_plain(
    call: &CallExpr,
    args: &[Datum],
    types: &[SqlType],
    env: &dyn Environment,
) -> Result<Datum> {
    if call.function.strict && args.iter().any(Datum::is_null) {
        return Ok(Datum::Null);
    }
    match call.function.eval {
        Eval::Pure(function) => {
            let bytes = args.iter().map(shallow_bytes).sum();
            work::spend_bytes(bytes)?;
            let call = Call { env, types, returns: &call.returns, args };
            counted(if bytes < LARGE_BYTES {
                function(&call)
            } else {
                work::aside(|| function(&call))
            })
        }
        Eval::Special(_) => Err(Error::internal("a waiting function reached the plain evaluator")),
    }
}

/// A large result counts as work, and must fit into the statement's memory.
fn counted(result: Result<Datum>) -> Result<Datum> {
    let value = result?;
    let bytes = shallow_bytes(&value);
    if bytes >= LARGE_BYTES {
        work::spend_bytes(bytes)?;
        work::afford(bytes)?;
    }
    Ok(value)
}

/// About as many bytes as a function goes over, as far as that is known without a look inside.
fn shallow_bytes(value: &Datum) -> usize {
    match value {
        Datum::Text(text) | Datum::Citext(text) => text.len(),
        Datum::Bytes(bytes) => bytes.len(),
        Datum::Array(array) => array.items.len() * size_of::<Datum>(),
        Datum::Json(json) => match &**json {
            Json::Raw(text) | Json::String(text) => text.len(),
            _ => 0,
        },
        _ => 0,
    }
}

/// Casts a value as the expression says.
pub fn cast_datum(value: &Datum, cast: &CastExpr, env: &dyn Environment) -> Result<Datum> {
    if value.is_null() {
        return Ok(Datum::Null);
    }
    if braid_builtins::is_reg_cast(&cast.from, &cast.to) {
        return braid_builtins::cast_reg(value, &cast.from, &cast.to, env);
    }
    let bytes = shallow_bytes(value);
    work::spend_bytes(bytes)?;
    let cast_env = CastEnv { settings: env.settings(), now_micros: env.transaction_micros() };
    let run = || braid_types::cast::cast(value, &cast.from, &cast.to, cast.explicit, &cast_env);
    counted(if bytes < LARGE_BYTES { run() } else { work::aside(run) })
}

/// AND (`stop` false) and OR (`stop` true).
fn connect(list: &[Expr], stop: bool, row: &[Datum], cx: &EvalContext<'_>) -> Result<Datum> {
    let mut unknown = false;
    for e in list {
        match eval_ref(e, row, cx)?.as_bool() {
            Some(value) if value == stop => return Ok(Datum::Bool(stop)),
            Some(_) => {}
            None => unknown = true,
        }
    }
    Ok(if unknown { Datum::Null } else { Datum::Bool(!stop) })
}

/// A field of a record; of NULL it is NULL.
fn field(record: &Datum, place: usize) -> Result<Datum> {
    match record {
        Datum::Null => Ok(Datum::Null),
        Datum::Record(items) if place < items.len() => Ok(items[place].clone()),
        _ => Err(Error::broken(format!("a record without field {}", place + 1))),
    }
}

/// `x IN (…)` over constants, of which one may have been NULL.
fn in_set(value: &Datum, set: &HashSet<Datum>, has_null: bool) -> Datum {
    match set.contains(value) {
        _ if value.is_null() => Datum::Null,
        false if has_null => Datum::Null,
        found => Datum::Bool(found),
    }
}

/// Whether every field of a record is NULL (`wanted`), or none is. A record inside counts as a
/// value, whatever its own fields are.
fn is_null_row(value: &Datum, wanted: bool) -> bool {
    match value {
        Datum::Record(items) => items.iter().all(|item| item.is_null() == wanted),
        other => other.is_null() == wanted,
    }
}

/// `IS DISTINCT FROM`: NULLs are equal.
pub fn is_distinct(left: &Datum, right: &Datum) -> bool {
    match (left.is_null(), right.is_null()) {
        (true, true) => false,
        (false, false) => left.compare(right).is_ne(),
        _ => true,
    }
}

/// The greatest or least value; NULLs do not count.
pub fn extreme(greatest: bool, values: Vec<Datum>, ty: &SqlType) -> Datum {
    values
        .into_iter()
        .filter(|value| !value.is_null())
        .reduce(|best, value| {
            let ordering = value.compare_typed(&best, ty);
            let better = if greatest { ordering.is_gt() } else { ordering.is_lt() };
            if better { value } else { best }
        })
        .unwrap_or(Datum::Null)
}

fn in_list(value: &Datum, list: &[Expr], row: &[Datum], cx: &EvalContext<'_>) -> Result<Datum> {
    let mut unknown = value.is_null();
    for e in list {
        let item = eval_ref(e, row, cx)?;
        if item.is_null() || value.is_null() {
            unknown = true;
        } else if value.compare(&item).is_eq() {
            return Ok(Datum::Bool(true));
        }
    }
    Ok(if unknown && !list.is_empty() { Datum::Null } else { Datum::Bool(false) })
}

/// Whether it is `left = ANY (array)` of values that are compared as they are.
pub(crate) fn is_plain_any(q: &QuantifiedExpr) -> bool {
    let is_side = |e: &Expr, place| matches!(e, Expr::Input(at, _) if *at == place);
    !q.all
        && matches!(&q.compare, Expr::Compare(CompareOp::Eq, a, b)
            if is_side(a, 0) && is_side(b, 1))
}

/// `left op ANY (array)` or `ALL`, both sides evaluated.
pub fn quantified_array(
    q: &QuantifiedExpr,
    left: Datum,
    array: &Datum,
    cx: &EvalContext<'_>,
) -> Result<Datum> {
    let Datum::Array(array) = array else { return Ok(Datum::Null) };
    if is_plain_any(q)
        && let Some(members) = array.members()?
    {
        return Ok(in_set(&left, members, members.contains(&Datum::Null)));
    }
    let mut pair = [left, Datum::Null];
    let mut unknown = false;
    for item in &array.items {
        work::tick()?;
        pair[1] = item.clone();
        match eval(&q.compare, &pair, cx)?.as_bool() {
            Some(value) if value != q.all => return Ok(Datum::Bool(value)),
            Some(_) => {}
            None => unknown = true,
        }
    }
    Ok(if unknown { Datum::Null } else { Datum::Bool(q.all) })
}

/// `ARRAY[…]`: of arrays it has one dimension more than these. 2202E if theirs differ.
pub fn make_array(items: Vec<Datum>, element: &SqlType) -> Result<Datum> {
    let SqlType::Array(inner) = element else {
        return Ok(Datum::array(element.clone(), items));
    };
    let empty = |item: &Datum| item.as_array().is_none_or(|array| array.items.is_empty());
    if items.iter().all(empty) {
        return Ok(Datum::array((**inner).clone(), Vec::new()));
    }
    let mut all = ArrayOfArrays::new((**inner).clone());
    for item in &items {
        all.add(item).map_err(|error| match error.cause::<UnlikeArrays>() {
            None => error,
            Some(_) => Error::new(
                SqlState::ArraySubscriptError,
                "multidimensional arrays must have array expressions with matching dimensions",
            ),
        })?;
    }
    let array = all.to_array().ok_or_else(|| Error::internal("an array without elements"))?;
    Ok(array.into())
}
