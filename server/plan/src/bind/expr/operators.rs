//! Coercions, common types, comparisons and operators.

use braid_builtins::Resolved;
use braid_catalog::{Id, is_temporary};
use braid_types::cast::{CastContext, NoCast, context};
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use super::common_type::{common_record, common_type, comparison_class};
use super::data_type::compared_type;
use super::literal::{depends_on_now, depends_on_zone, is_zoned_range};
use super::modified::coerce_modified;
use crate::bind::Binder;
use crate::bind::domain::check_parts;
use crate::bind::from::system_columns::keys_of_places;
use crate::eval::{EvalContext, cast_datum, eval};
use crate::rules::{null_operands, walk};
use crate::tree::expr::{CallExpr, CastExpr, CompareOp, Expr, LetExpr, conjunction};

/// 42883 for a type whose values have no order.
pub(crate) fn check_order(ty: &SqlType) -> Result<()> {
    match lacking(ty, true) {
        None => Ok(()),
        Some(Lacking::Own(ty)) => Err(unidentified("an ordering operator", ty)
            .hint("Use an explicit ordering operator or modify the query.")),
        Some(Lacking::Field(ty)) => Err(unidentified("a comparison function", ty)),
    }
}

/// 42883 for a type whose values cannot be compared.
pub(crate) fn check_equality(ty: &SqlType) -> Result<()> {
    match lacking(ty, false) {
        None => Ok(()),
        Some(Lacking::Own(ty)) => Err(unidentified("an equality operator", ty)),
        Some(Lacking::Field(ty)) => Err(unidentified("a comparison function", ty)),
    }
}

/// The type without an operator that keeps values from being compared.
enum Lacking<'t> {
    /// That of the values.
    Own(&'t SqlType),
    /// That of a field of an anonymous row. PostgreSQL finds it when it compares two rows.
    Field(&'t SqlType),
}

fn lacking(ty: &SqlType, ordering: bool) -> Option<Lacking<'_>> {
    match ty {
        SqlType::Json | SqlType::Jsonpath | SqlType::Refcursor | SqlType::Geometry(_) => {
            Some(Lacking::Own(ty))
        }
        SqlType::Snapshot(_) => Some(Lacking::Own(ty)),
        SqlType::Xid | SqlType::Cid | SqlType::Aclitem if ordering => Some(Lacking::Own(ty)),
        SqlType::Array(element) => match lacking(element, ordering)? {
            Lacking::Own(_) => Some(Lacking::Own(ty)),
            field => Some(field),
        },
        SqlType::Record(row) => {
            let found = row.iter().find_map(|(_, field)| lacking(field, ordering))?;
            Some(match found {
                _ if row.name().is_some() => Lacking::Own(ty),
                Lacking::Own(field) | Lacking::Field(field) => Lacking::Field(field),
            })
        }
        _ => None,
    }
}

/// 42883 for rows as values with a field that has no such operator. NULL needs none.
fn check_fields(op: CompareOp, operands: [&Expr; 2]) -> Result<()> {
    if operands.into_iter().any(null_operands::is_null) {
        return Ok(());
    }
    let ordering = !matches!(op, CompareOp::Eq | CompareOp::Ne);
    let what = if ordering { "a comparison function" } else { "an equality operator" };
    for operand in operands {
        if let Some(Lacking::Field(ty)) = lacking(&operand.ty(), ordering) {
            return Err(unidentified(what, ty));
        }
    }
    Ok(())
}

fn unidentified(what: &str, ty: &SqlType) -> Error {
    let message = format!("could not identify {what} for type {}", ty.plain_name());
    Error::new(SqlState::UndefinedFunction, message)
}

/// The most records inside each other: as text, each level doubles the quotes of the ones inside.
const RECORD_DEPTH_MAX: usize = 20;

/// A record of expressions; 54001 for too many records inside each other.
pub(crate) fn record(items: Vec<Expr>, fields: Vec<(String, SqlType)>) -> Result<Expr> {
    fn depth(ty: &SqlType) -> usize {
        match ty {
            SqlType::Record(fields) => 1 + fields.iter().map(|f| depth(&f.1)).max().unwrap_or(0),
            _ => 0,
        }
    }
    let ty = SqlType::Record(fields.into());
    if depth(&ty) > RECORD_DEPTH_MAX {
        return Err(Error::new(SqlState::StatementTooComplex, "stack depth limit exceeded")
            .hint(format!("Records may nest up to {RECORD_DEPTH_MAX} levels.")));
    }
    Ok(Expr::Row(items, ty))
}

/// What `body` makes of an expression that it may read several times. What waits or is volatile is
/// computed once.
pub(crate) fn once(
    binder: &mut Binder<'_>,
    value: Expr,
    body: impl FnOnce(&mut Binder<'_>, Expr) -> Result<Expr>,
) -> Result<Expr> {
    if !value.waits() && !value.is_volatile() {
        return body(binder, value);
    }
    let level = binder.locals;
    let local = Expr::Local(level, value.ty());
    binder.locals += 1;
    let body = body(binder, local);
    binder.locals -= 1;
    Ok(Expr::Let(Box::new(LetExpr { level, value, body: body? })))
}

/// Whether a row stays as it is because any row may stand there.
fn takes_any_row(from: &SqlType, to: &SqlType) -> bool {
    matches!((from, to), (SqlType::Record(_), SqlType::Record(row)) if row.is_any_row())
}

/// Casts implicitly or as an assignment; 42804 if that is not allowed. What becomes a row whose
/// type has domains inside is checked by these.
pub(crate) fn coerce(
    binder: &mut Binder<'_>,
    expr: Expr,
    to: &SqlType,
    allowed: CastContext,
) -> Result<Expr> {
    // The value of a parameter comes from outside, whatever its type.
    let is_known = expr.ty() == *to && !matches!(expr, Expr::Param(..));
    let value = coerce_unchecked(binder, expr, to, allowed)?;
    if is_known { Ok(value) } else { check_parts(binder, value, to) }
}

fn coerce_unchecked(
    binder: &mut Binder<'_>,
    expr: Expr,
    to: &SqlType,
    allowed: CastContext,
) -> Result<Expr> {
    let from = expr.ty();
    if from == *to || takes_any_row(&from, to) {
        return Ok(expr);
    }
    match expr {
        Expr::Param(place, SqlType::Unknown) => {
            if binder.params[place] == SqlType::Unknown {
                binder.params[place] = to.bare();
            }
            let known = binder.params[place].clone();
            let expr = Expr::Param(place, known.clone());
            if known == to.bare() && *to == to.bare() {
                return Ok(expr);
            }
            return cast_expr(binder, expr, to, allowed == CastContext::Explicit);
        }
        Expr::Const(Datum::Null, SqlType::Unknown) => return Ok(Expr::null(to.clone())),
        Expr::Const(Datum::Text(text), SqlType::Unknown) => {
            let explicit = allowed == CastContext::Explicit;
            return parse_literal(binder, &text, to, explicit).map_err(|error| {
                // What does not fit into the type's modifier is found when it is computed.
                let bare = to.bare();
                let is_bare = *to == bare || parse_literal(binder, &text, &bare, false).is_err();
                error.position(if is_bare { binder.places.literal_place(&text) } else { 0 })
            });
        }
        _ => {}
    }
    let merges = common_record(&from, to).is_some_and(|record| record == *to);
    let allowed = if merges { CastContext::Explicit } else { allowed };
    if let (Expr::Row(items, _), SqlType::Record(fields)) = (&expr, to)
        && items.len() == fields.len()
    {
        return coerce_items(binder, items, to, allowed);
    }
    if from.bare() == to.bare() {
        // The same type with other modifiers.
        return if *to == to.bare() {
            Ok(expr)
        } else {
            cast_expr(binder, expr, to, allowed == CastContext::Explicit)
        };
    }
    match context(&from, to) {
        Some(needed) if needed <= allowed => {
            cast_expr(binder, expr, to, allowed == CastContext::Explicit)
        }
        _ if *to == SqlType::Text && allowed == CastContext::Explicit => {
            cast_expr(binder, expr, to, true)
        }
        _ => {
            let error = NoCast::error(from.plain_name(), to.plain_name());
            Err(match (&from, to) {
                (SqlType::Record(given), SqlType::Record(row)) if given.len() < row.len() => {
                    error.detail("Input has too few columns.")
                }
                (SqlType::Record(given), SqlType::Record(row)) if given.len() > row.len() => {
                    error.detail("Input has too many columns.")
                }
                _ => error,
            })
        }
    }
}

/// A row constructor as a row of that type, item by item.
fn coerce_items(
    binder: &mut Binder<'_>,
    items: &[Expr],
    to: &SqlType,
    allowed: CastContext,
) -> Result<Expr> {
    let SqlType::Record(fields) = to else { return Err(Error::internal("a row of no row type")) };
    let modifiers = fields.attributes().iter().map(|attribute| attribute.modifier);
    let items = items
        .iter()
        .zip(fields)
        .zip(modifiers.chain(std::iter::repeat(None)))
        .map(|((item, (_, ty)), modifier)| match ty {
            // What different types have become, see `common_record`.
            SqlType::Text => coerce(binder, item.clone(), ty, CastContext::Explicit),
            ty => coerce_modified(binder, item.clone(), ty, modifier, allowed),
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(Expr::Row(items, to.clone()))
}

fn parse_literal(
    binder: &mut Binder<'_>,
    text: &str,
    to: &SqlType,
    explicit: bool,
) -> Result<Expr> {
    if matches!(to, SqlType::Text | SqlType::Unknown) {
        return Ok(Expr::Const(Datum::text(text), SqlType::Text));
    }
    // What depends on the moment stays a cast, so that a plan can be kept, but has to exist now.
    if braid_builtins::is_reg_cast(&SqlType::Text, to) {
        let cast = CastExpr {
            expr: Expr::Const(Datum::text(text), SqlType::Text),
            from: SqlType::Text,
            to: to.clone(),
            explicit: true,
        };
        if binder.places.literal_place(text) > 0 {
            cast_datum(&Datum::text(text), &cast, binder.cx.env)?;
        }
        return Ok(Expr::Cast(Box::new(cast)));
    }
    let env = binder.cx.env;
    let read = |ty: &SqlType, later: i64| {
        let now = env.transaction_micros().saturating_add(later);
        braid_types::text::parse(ty, text, env.settings(), now)
    };
    let datum = if explicit {
        // An explicit cast of a literal truncates to the declared length.
        let bare = read(&to.bare(), 0)?;
        let cast =
            CastExpr { expr: Expr::bool(true), from: to.bare(), to: to.clone(), explicit: true };
        if *to == to.bare() { bare } else { cast_datum(&bare, &cast, env)? }
    } else {
        read(to, 0)?
    };
    if depends_on_zone(to, text) || depends_on_now(to, read)? {
        let cast = CastExpr {
            expr: Expr::Const(Datum::text(text), SqlType::Text),
            from: SqlType::Text,
            to: to.clone(),
            explicit,
        };
        return Ok(Expr::Cast(Box::new(cast)));
    }
    Ok(Expr::Const(datum, to.clone()))
}

/// A cast that is known to exist, folded if it is of a constant.
fn cast_expr(binder: &mut Binder<'_>, expr: Expr, to: &SqlType, explicit: bool) -> Result<Expr> {
    let from = expr.ty();
    let is_const = matches!(expr, Expr::Const(..));
    let stable =
        matches!((&from.bare(), to.bare()), (SqlType::Timestamptz, _) | (_, SqlType::Timestamptz))
            || braid_builtins::is_reg_cast(&from, to)
            || is_zoned_range(&from)
            || (from.is_string() && !to.is_string());
    let cast = CastExpr { expr, from, to: to.clone(), explicit };
    if is_const && !stable {
        let cx = EvalContext { env: binder.cx.env, params: &[], outer: &[] };
        let value = eval(&Expr::Cast(Box::new(cast)), &[], &cx)?;
        return Ok(Expr::Const(value, to.clone()));
    }
    Ok(Expr::Cast(Box::new(cast)))
}

/// Coerces to boolean; 42804 names the clause.
pub(crate) fn coerce_bool(binder: &mut Binder<'_>, expr: Expr, clause: &str) -> Result<Expr> {
    let ty = expr.ty();
    match coerce(binder, expr, &SqlType::Bool, CastContext::Implicit) {
        Ok(expr) => Ok(expr),
        Err(error) if NoCast::is_cause_of(&error) => Err(Error::new(
            SqlState::DatatypeMismatch,
            format!("argument of {clause} must be type boolean, not type {}", ty.display_name()),
        )),
        Err(error) => Err(error),
    }
}

/// Coerces all to their common type.
pub(crate) fn unify(
    binder: &mut Binder<'_>,
    exprs: Vec<Expr>,
    what: &str,
) -> Result<(Vec<Expr>, SqlType)> {
    let types: Vec<SqlType> = exprs.iter().map(Expr::ty).collect();
    let common = common_type(&types, what)?;
    let exprs = exprs.into_iter().map(|e| coerce(binder, e, &common, CastContext::Implicit));
    let exprs = exprs.collect::<Result<Vec<_>>>()?;
    Ok((exprs, common))
}

/// A binary operator.
pub(crate) fn call_operator(
    binder: &mut Binder<'_>,
    op: &str,
    left: Expr,
    right: Expr,
) -> Result<Expr> {
    let op = if op == "!=" { "<>" } else { op };
    if let Some(compare) = CompareOp::from_symbol(op) {
        return compare_exprs(binder, compare, left, right);
    }
    let resolved = braid_builtins::resolve_operator(op, Some(&left.ty()), &right.ty())?;
    call_resolved(binder, resolved, vec![left, right])
}

/// A prefix operator.
pub(crate) fn call_prefix_operator(
    binder: &mut Binder<'_>,
    op: &str,
    operand: Expr,
) -> Result<Expr> {
    let resolved = braid_builtins::resolve_operator(op, None, &operand.ty())?;
    call_resolved(binder, resolved, vec![operand])
}

/// A comparison, on values of one class where possible.
pub(crate) fn compare_exprs(
    binder: &mut Binder<'_>,
    op: CompareOp,
    left: Expr,
    right: Expr,
) -> Result<Expr> {
    // Rows of a type with a name are compared as values, in which NULLs are equal.
    if let (Expr::Row(a, SqlType::Record(x)), Expr::Row(b, SqlType::Record(y))) = (&left, &right)
        && x.name().is_none()
        && y.name().is_none()
    {
        return compare_rows(binder, op, a.clone(), b.clone());
    }
    let (mut left, mut right) = (left, right);
    let (lt, rt) = (left.ty(), right.ty());
    // Only the resolution of operators knows what a literal beside these is.
    let is_odd = |ty: &SqlType| matches!(ty, SqlType::Geometry(_) | SqlType::Json);
    match (&lt, &rt) {
        _ if is_odd(&lt) || is_odd(&rt) => {}
        (SqlType::Unknown, SqlType::Unknown) => {
            left = coerce(binder, left, &SqlType::Text, CastContext::Implicit)?;
            right = coerce(binder, right, &SqlType::Text, CastContext::Implicit)?;
        }
        (SqlType::Unknown, known) => {
            left = coerce(binder, left, &compared_type(known), CastContext::Implicit)?;
        }
        (known, SqlType::Unknown) => {
            right = coerce(binder, right, &compared_type(known), CastContext::Implicit)?;
        }
        _ => {}
    }
    // CHAR with VARCHAR compares as CHAR, with TEXT as text.
    for (side, other) in [(&mut left, &rt), (&mut right, &lt)] {
        if matches!((side.ty(), other), (SqlType::Varchar(_), SqlType::Char(_))) {
            let taken = std::mem::replace(side, Expr::bool(true));
            *side = cast_expr(binder, taken, &SqlType::Char(0), false)?;
        }
    }
    left = without_blanks(binder, left)?;
    right = without_blanks(binder, right)?;
    let (lt, rt) = (left.ty(), right.ty());
    if op == CompareOp::Eq
        && lt == SqlType::Tid
        && let Some(keys) = keys_of_places(binder, &left, &right)?
    {
        return Ok(conjunction(vec![fold_compare(op, left, right), keys]));
    }
    let class = comparison_class(&lt);
    if class.is_some() && class == comparison_class(&rt) {
        return Ok(fold_compare(op, left, right));
    }
    let resolved = braid_builtins::resolve_operator(op.symbol(), Some(&lt), &rt)?;
    if let [a, b] = resolved.arg_types.as_slice()
        && let Some(class) = comparison_class(a)
        && Some(&class) == comparison_class(b).as_ref()
    {
        let (a, b) = (a.clone(), b.clone());
        left = coerce(binder, left, &a, CastContext::Implicit)?;
        right = coerce(binder, right, &b, CastContext::Implicit)?;
        return Ok(fold_compare(op, left, right));
    }
    check_fields(op, [&left, &right])?;
    call_resolved(binder, resolved, vec![left, right])
}

/// A `char(n)` as text, which has no blanks at its end: they do not count in comparisons.
pub(crate) fn without_blanks(binder: &mut Binder<'_>, e: Expr) -> Result<Expr> {
    match e.ty() {
        SqlType::Char(_) => cast_expr(binder, e, &SqlType::Text, true),
        _ => Ok(e),
    }
}

fn compare_rows(
    binder: &mut Binder<'_>,
    op: CompareOp,
    a: Vec<Expr>,
    b: Vec<Expr>,
) -> Result<Expr> {
    if a.len() != b.len() {
        return Err(Error::new(
            SqlState::SyntaxError,
            "unequal number of entries in row expressions",
        ));
    }
    if a.is_empty() {
        let message = "cannot compare rows of zero length";
        return Err(Error::new(SqlState::FeatureNotSupported, message));
    }
    match op {
        CompareOp::Eq | CompareOp::Ne => {
            let equal = a
                .into_iter()
                .zip(b)
                .map(|(a, b)| compare_exprs(binder, CompareOp::Eq, a, b))
                .collect::<Result<Vec<_>>>()?;
            let all = conjunction(equal);
            Ok(if op == CompareOp::Eq { all } else { Expr::Not(Box::new(all)) })
        }
        _ => {
            // (a, b) < (c, d)  is  a < c OR (a = c AND b < d)
            let strict = match op {
                CompareOp::Le => CompareOp::Lt,
                CompareOp::Ge => CompareOp::Gt,
                other => other,
            };
            let last = a.len().saturating_sub(1);
            let mut result: Option<Expr> = None;
            for (i, (a, b)) in a.into_iter().zip(b).enumerate().rev() {
                result = Some(if i == last {
                    compare_exprs(binder, op, a, b)?
                } else {
                    let rest = result.unwrap_or_else(|| Expr::bool(true));
                    once(binder, a, |binder, a| {
                        once(binder, b, |binder, b| {
                            let less = compare_exprs(binder, strict, a.clone(), b.clone())?;
                            let equal = compare_exprs(binder, CompareOp::Eq, a, b)?;
                            Ok(Expr::Or(vec![less, Expr::And(vec![equal, rest])]))
                        })
                    })?
                });
            }
            result.ok_or_else(|| Error::unsupported("a comparison of empty rows"))
        }
    }
}

/// A resolved call: arguments cast, folded if it is immutable over constants.
pub(crate) fn call_resolved(
    binder: &mut Binder<'_>,
    resolved: Resolved,
    args: Vec<Expr>,
) -> Result<Expr> {
    let args = args
        .into_iter()
        .zip(&resolved.arg_types)
        .map(|(arg, ty)| coerce_argument(binder, arg, ty))
        .collect::<Result<Vec<_>>>()?;
    if matches!(
        resolved.function.eval,
        braid_builtins::Eval::Special(
            braid_builtins::Special::Nextval | braid_builtins::Special::Setval
        )
    ) {
        // A session may use its own sequences also in a READ ONLY transaction.
        let sequence = args.first().and_then(|arg| constant_relation(binder, arg));
        binder.has_sequence_calls |= !sequence.is_some_and(is_temporary);
    }
    let foldable = resolved.function.volatility == braid_builtins::Volatility::Immutable
        && args.iter().all(|arg| matches!(arg, Expr::Const(..)))
        && matches!(resolved.function.eval, braid_builtins::Eval::Pure(_));
    if null_operands::decide_call(resolved.function, &args) && !reads_column(&args) {
        return Ok(Expr::null(resolved.returns));
    }
    let types = args.iter().map(Expr::ty).collect();
    let returns = resolved.returns;
    let spread = false;
    let function = resolved.function;
    let call = CallExpr { function, args, types, spread, returns: returns.clone() };
    let expr = Expr::Call(Box::new(call));
    if foldable {
        let cx = EvalContext { env: binder.cx.env, params: &[], outer: &[] };
        // An error waits until the expression is really evaluated.
        if let Ok(value) = eval(&expr, &[], &cx) {
            return Ok(Expr::Const(value, returns));
        }
    }
    Ok(expr)
}

/// An argument of a resolved call.
pub(crate) fn coerce_argument(binder: &mut Binder<'_>, arg: Expr, ty: &SqlType) -> Result<Expr> {
    match (arg.ty(), ty) {
        // `"any"` takes what there is.
        (SqlType::Unknown, SqlType::Unknown) => {
            coerce(binder, arg, &SqlType::Text, CastContext::Implicit)
        }
        (_, SqlType::Unknown) => Ok(arg),
        (from, to) if from.bare() == to.bare() => Ok(arg),
        // A varchar or name and its text are the same bytes.
        (SqlType::Varchar(_) | SqlType::Name, SqlType::Text) => Ok(arg),
        _ => coerce(binder, arg, ty, CastContext::Implicit),
    }
}

/// Whether operands read columns. They stay in what a NULL decides until all is bound: columns say
/// to which query an aggregate belongs, and must be grouped.
fn reads_column(operands: &[Expr]) -> bool {
    operands.iter().any(|e| !walk::columns_read(e).is_empty())
}

fn fold_compare(op: CompareOp, left: Expr, right: Expr) -> Expr {
    if [&left, &right].into_iter().any(null_operands::is_null) {
        let operands = [left, right];
        if !reads_column(&operands) {
            return Expr::null(SqlType::Bool);
        }
        let [left, right] = operands;
        return Expr::Compare(op, Box::new(left), Box::new(right));
    }
    match (&left, &right) {
        (Expr::Const(a, ty), Expr::Const(b, _)) => {
            if *ty == SqlType::Unknown {
                Expr::Compare(op, Box::new(left), Box::new(right))
            } else {
                Expr::bool(op.holds(a.compare(b)))
            }
        }
        _ => Expr::Compare(op, Box::new(left), Box::new(right)),
    }
}

/// `IN` over constants becomes a set.
pub(crate) fn in_set(value: Expr, items: Vec<Expr>) -> Expr {
    if null_operands::is_null(&value) && !items.is_empty() && !reads_column(&items) {
        return Expr::null(SqlType::Bool);
    }
    if items.len() > 3 && items.iter().all(|item| matches!(item, Expr::Const(..))) {
        let mut has_null = false;
        let mut set = std::collections::HashSet::with_capacity(items.len());
        for item in items {
            match item {
                Expr::Const(Datum::Null, _) => has_null = true,
                Expr::Const(datum, _) => {
                    set.insert(datum);
                }
                _ => {}
            }
        }
        return Expr::InSet(Box::new(value), std::sync::Arc::new(set), has_null);
    }
    Expr::InList(Box::new(value), items)
}

/// The relation whose number or name is written out.
fn constant_relation(binder: &Binder<'_>, expr: &Expr) -> Option<Id> {
    match expr {
        Expr::Const(Datum::Int(id), _) => Id::try_from(*id).ok(),
        Expr::Const(Datum::Text(name), _) => {
            let named = || binder.cx.env.lookup().relation_oid(name).ok().flatten();
            name.parse().ok().or_else(named)
        }
        Expr::Cast(cast) => constant_relation(binder, &cast.expr),
        _ => None,
    }
}
