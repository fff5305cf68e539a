//! Expressions as SQL text, close to PostgreSQL's own: every operator in parentheses, implicit
//! casts left out, constants with their type where the text alone does not tell it.

use braid_builtins::WindowKind;
use braid_sql::{quote_ident, quote_literal};
use braid_types::{Datum, SqlType};

use crate::tree::expr::{CallExpr, CaseExpr, Expr, SubqueryExpr, SubqueryKind};
use crate::tree::node::{AggregateCall, FunctionCall, SortKey, WindowCall, WindowFunction};
use crate::tree::subscript::Place;

use super::describe::{Describer, describe_subplan};

/// What a column of a row is called.
#[derive(Clone)]
pub(crate) enum Name {
    /// A column of a relation.
    Column(String, String),
    /// An expression as text.
    Expr(String),
    /// Text that stands as it is.
    Bare(String),
}

/// The rows that an expression reads.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'n> {
    /// Its input row.
    pub input: &'n [Name],
    /// What the enclosing query hands in.
    pub outer: &'n [Name],
}

/// A name where an expression reads it.
pub(crate) fn shown_name(describer: &Describer<'_>, name: Option<&Name>) -> String {
    match name {
        Some(Name::Column(relation, column)) if describer.qualifies && !relation.is_empty() => {
            format!("{}.{}", quote_ident(relation), quote_ident(column))
        }
        Some(Name::Column(_, column)) => quote_ident(column),
        Some(Name::Expr(text)) => format!("({text})"),
        Some(Name::Bare(text)) => text.clone(),
        None => "?column?".to_owned(),
    }
}

/// A name where it is put out as it is.
pub(crate) fn shown_output(describer: &Describer<'_>, names: &[Name]) -> Vec<String> {
    let one = |name: &Name| match name {
        Name::Expr(text) => text.clone(),
        name => shown_name(describer, Some(name)),
    };
    names.iter().map(one).collect()
}

/// What an expression's result is called in the rows above it.
pub(crate) fn name_of<'a>(describer: &mut Describer<'a>, e: &'a Expr, rows: Rows<'_>) -> Name {
    match e {
        Expr::Input(place, _) if *place < rows.input.len() => rows.input[*place].clone(),
        Expr::Outer(place, _) if *place < rows.outer.len() => rows.outer[*place].clone(),
        Expr::Cast(cast) if !cast.explicit => name_of(describer, &cast.expr, rows),
        Expr::Const(..) | Expr::Param(..) => Name::Bare(show_expr(describer, e, rows)),
        _ => Name::Expr(show_expr(describer, e, rows)),
    }
}

/// An expression as text.
pub(crate) fn show_expr<'a>(describer: &mut Describer<'a>, e: &'a Expr, rows: Rows<'_>) -> String {
    match e {
        Expr::Const(datum, ty) => show_constant(describer, datum, ty),
        Expr::Column(slot, _) => format!("slot{slot}"),
        Expr::Input(place, _) => shown_name(describer, rows.input.get(*place)),
        Expr::Outer(place, _) => shown_name(describer, rows.outer.get(*place)),
        Expr::Param(place, _) => format!("${}", place + 1),
        Expr::Local(level, _) => {
            let mut known = describer.locals.iter().rev();
            known.find(|(at, _)| at == level).map(|(_, text)| text.clone()).unwrap_or_default()
        }
        Expr::Compare(op, a, b) => {
            format!(
                "({} {} {})",
                show_expr(describer, a, rows),
                op.symbol(),
                show_expr(describer, b, rows)
            )
        }
        Expr::Call(call) => show_call(describer, call, rows),
        Expr::Cast(cast) if !cast.explicit => show_expr(describer, &cast.expr, rows),
        Expr::Cast(cast) => {
            format!("({})::{}", show_expr(describer, &cast.expr, rows), cast.to.display_name())
        }
        Expr::Domain(domain) => {
            format!("({})::{}", show_expr(describer, &domain.expr, rows), domain.rules.shown)
        }
        Expr::And(list) => show_joined(describer, list, " AND ", rows),
        Expr::Or(list) => show_joined(describer, list, " OR ", rows),
        Expr::Not(e) => show_not(describer, e, rows),
        Expr::IsNull(e) | Expr::IsNullRow(e, true) => {
            format!("({} IS NULL)", show_expr(describer, e, rows))
        }
        Expr::IsNullRow(e, false) => format!("({} IS NOT NULL)", show_expr(describer, e, rows)),
        Expr::IsBool(e, wanted) => {
            format!("({} IS {})", show_expr(describer, e, rows), truth(*wanted))
        }
        Expr::IsDistinct(a, b) => {
            format!(
                "({} IS DISTINCT FROM {})",
                show_expr(describer, a, rows),
                show_expr(describer, b, rows)
            )
        }
        Expr::Coalesce(list) => format!("COALESCE({})", show_list(describer, list, rows)),
        Expr::Extreme(true, list) => format!("GREATEST({})", show_list(describer, list, rows)),
        Expr::Extreme(false, list) => format!("LEAST({})", show_list(describer, list, rows)),
        Expr::Array(list, _) => format!("ARRAY[{}]", show_list(describer, list, rows)),
        Expr::Row(list, _) => format!("ROW({})", show_list(describer, list, rows)),
        Expr::Field(record, place, _) => {
            let field = match record.ty() {
                SqlType::Record(fields) => fields.get(*place).map(|(name, _)| name.clone()),
                _ => None,
            };
            let field = field.unwrap_or_else(|| format!("f{}", place + 1));
            format!("({}).{}", show_expr(describer, record, rows), quote_ident(&field))
        }
        other => show_longer(describer, other, rows),
    }
}

fn show_not<'a>(describer: &mut Describer<'a>, e: &'a Expr, rows: Rows<'_>) -> String {
    match e {
        Expr::IsNull(e) => format!("({} IS NOT NULL)", show_expr(describer, e, rows)),
        Expr::IsBool(e, wanted) => {
            format!("({} IS NOT {})", show_expr(describer, e, rows), truth(*wanted))
        }
        e => format!("(NOT {})", show_expr(describer, e, rows)),
    }
}

fn show_longer<'a>(describer: &mut Describer<'a>, e: &'a Expr, rows: Rows<'_>) -> String {
    match e {
        Expr::Case(case) => show_case(describer, case, rows),
        Expr::InList(e, list) => {
            format!(
                "({} = ANY (ARRAY[{}]))",
                show_expr(describer, e, rows),
                show_list(describer, list, rows)
            )
        }
        Expr::InSet(inner, set, has_null) => {
            let mut items: Vec<Datum> = set.iter().cloned().collect();
            items.sort_by(Datum::compare);
            items.extend(has_null.then_some(Datum::Null));
            let ty = inner.ty();
            let array = Datum::array(ty.bare(), items);
            let array = show_constant(describer, &array, &SqlType::Array(Box::new(ty.bare())));
            format!("({} = ANY ({array}))", show_expr(describer, inner, rows))
        }
        Expr::Quantified(q) => {
            let word = if q.all { "ALL" } else { "ANY" };
            let left = Name::Bare(show_expr(describer, &q.left, rows));
            let array = Name::Bare(format!("{word} ({})", show_expr(describer, &q.array, rows)));
            show_expr(describer, &q.compare, Rows { input: &[left, array], outer: rows.outer })
        }
        Expr::Subscript(part) => {
            let mut out = show_expr(describer, &part.array, rows);
            for place in &part.places {
                out.push('[');
                match place {
                    Place::Element(index) => out.push_str(&show_expr(describer, index, rows)),
                    Place::Slice(lower, upper) => {
                        let mut end = |e: &'a Option<Expr>| {
                            e.as_ref().map(|e| show_expr(describer, e, rows)).unwrap_or_default()
                        };
                        let (lower, upper) = (end(lower), end(upper));
                        out.push_str(&format!("{lower}:{upper}"));
                    }
                }
                out.push(']');
            }
            if let Some(assigned) = &part.assigned {
                out = format!("{out} := {}", show_expr(describer, assigned, rows));
            }
            out
        }
        Expr::Subquery(subquery) => show_subquery(describer, subquery, rows),
        Expr::Let(once) => {
            let value = show_expr(describer, &once.value, rows);
            describer.locals.push((once.level, value));
            let text = show_expr(describer, &once.body, rows);
            describer.locals.pop();
            text
        }
        Expr::Routine(call) => {
            let args: Vec<String> =
                call.args.iter().map(|arg| show_expr(describer, arg, rows)).collect();
            format!("{}({})", call.routine.name, args.join(", "))
        }
        // Everything else is in `expr`.
        _ => String::new(),
    }
}

fn show_case<'a>(describer: &mut Describer<'a>, case: &'a CaseExpr, rows: Rows<'_>) -> String {
    // A whole row.
    if case.whens.is_empty() {
        return show_expr(describer, &case.otherwise, rows);
    }
    let mut text = String::from("CASE");
    for (when, then) in &case.whens {
        let when = show_expr(describer, when, rows);
        text.push_str(&format!(" WHEN {when} THEN {}", show_expr(describer, then, rows)));
    }
    format!("{text} ELSE {} END", show_expr(describer, &case.otherwise, rows))
}

fn show_subquery<'a>(
    describer: &mut Describer<'a>,
    subquery: &'a SubqueryExpr,
    rows: Rows<'_>,
) -> String {
    let outer: Vec<Name> = subquery.outer.iter().map(|e| name_of(describer, e, rows)).collect();
    let label = describe_subplan(describer, subquery, outer);
    match &subquery.kind {
        SubqueryKind::Scalar | SubqueryKind::Row => format!("({label})"),
        SubqueryKind::Array(_) => format!("ARRAY({label})"),
        SubqueryKind::Exists => format!("EXISTS({label})"),
        SubqueryKind::Quantified { all, left, compare, hashable } => {
            let mut names: Vec<Name> =
                left.iter().map(|e| Name::Bare(show_expr(describer, e, rows))).collect();
            let width = names.len();
            let hashed = if *hashable { "hashed " } else { "" };
            names.extend((1..=width).map(|n| Name::Bare(format!("({hashed}{label}).col{n}"))));
            let word = if *all { "ALL" } else { "ANY" };
            let compare = show_expr(describer, compare, Rows { input: &names, outer: rows.outer });
            format!("({word} {compare})")
        }
    }
}

/// Expressions with commas.
pub(crate) fn show_list<'a>(
    describer: &mut Describer<'a>,
    list: &'a [Expr],
    rows: Rows<'_>,
) -> String {
    let list: Vec<String> = list.iter().map(|e| show_expr(describer, e, rows)).collect();
    list.join(", ")
}

fn show_joined<'a>(
    describer: &mut Describer<'a>,
    list: &'a [Expr],
    word: &str,
    rows: Rows<'_>,
) -> String {
    let list: Vec<String> = list.iter().map(|e| show_expr(describer, e, rows)).collect();
    format!("({})", list.join(word))
}

/// Conditions as one.
pub(crate) fn show_condition<'a>(
    describer: &mut Describer<'a>,
    list: &'a [Expr],
    rows: Rows<'_>,
) -> String {
    match list {
        [one] => show_expr(describer, one, rows),
        list => show_joined(describer, list, " AND ", rows),
    }
}

fn show_call<'a>(describer: &mut Describer<'a>, call: &'a CallExpr, rows: Rows<'_>) -> String {
    let name = call.function.name;
    let is_operator = name.starts_with(|c: char| !c.is_alphanumeric() && c != '_');
    match &call.args[..] {
        [one] if is_operator => format!("({name} {})", show_expr(describer, one, rows)),
        [left, right] if is_operator => {
            format!(
                "({} {name} {})",
                show_expr(describer, left, rows),
                show_expr(describer, right, rows)
            )
        }
        [first @ .., array] if call.spread => {
            let mut args: Vec<String> =
                first.iter().map(|e| show_expr(describer, e, rows)).collect();
            args.push(format!("VARIADIC {}", show_expr(describer, array, rows)));
            format!("{name}({})", args.join(", "))
        }
        args => format!("{name}({})", show_list(describer, args, rows)),
    }
}

/// A call of a set-returning function.
pub(crate) fn show_function<'a>(
    describer: &mut Describer<'a>,
    call: &'a FunctionCall,
    rows: Rows<'_>,
) -> String {
    let args = show_list(describer, &call.args, rows);
    match call.function {
        Some(function) => format!("{}({args})", function.name),
        None => match &call.routine {
            Some(call) => format!("{}({args})", call.routine.name),
            None => args,
        },
    }
}

/// A sort key.
fn show_key<'a>(describer: &mut Describer<'a>, key: &'a SortKey, rows: Rows<'_>) -> String {
    let mut text = show_expr(describer, &key.expr, rows);
    if key.descending {
        text.push_str(" DESC");
    }
    // What the direction implies is not said.
    match (key.descending, key.nulls_first) {
        (false, true) => text.push_str(" NULLS FIRST"),
        (true, false) => text.push_str(" NULLS LAST"),
        _ => {}
    }
    text
}

/// Sort keys.
pub(crate) fn show_keys<'a>(
    describer: &mut Describer<'a>,
    keys: &'a [SortKey],
    rows: Rows<'_>,
) -> Vec<String> {
    keys.iter().map(|key| show_key(describer, key, rows)).collect()
}

/// A call of an aggregate.
pub(crate) fn show_aggregate<'a>(
    describer: &mut Describer<'a>,
    call: &'a AggregateCall,
    rows: Rows<'_>,
) -> String {
    let mut inner = show_aggregate_args(describer, &call.args, rows);
    if call.distinct {
        inner = format!("DISTINCT {inner}");
    }
    if !call.order.is_empty() {
        inner
            .push_str(&format!(" ORDER BY {}", show_keys(describer, &call.order, rows).join(", ")));
    }
    let mut text = format!("{}({inner})", call.aggregate.name());
    if let Some(filter) = &call.filter {
        text.push_str(&format!(" FILTER (WHERE {})", show_expr(describer, filter, rows)));
    }
    text
}

fn show_aggregate_args<'a>(
    describer: &mut Describer<'a>,
    args: &'a [Expr],
    rows: Rows<'_>,
) -> String {
    if args.is_empty() {
        return "*".to_owned();
    }
    show_list(describer, args, rows)
}

/// A call of a window function.
pub(crate) fn show_window<'a>(
    describer: &mut Describer<'a>,
    call: &'a WindowCall,
    rows: Rows<'_>,
) -> String {
    match &call.function {
        WindowFunction::Aggregate(aggregate, _) => {
            let args = show_aggregate_args(describer, &call.args, rows);
            format!("{}({args}) OVER (?)", aggregate.name())
        }
        WindowFunction::Named(kind) => {
            format!("{}({}) OVER (?)", window_name(*kind), show_list(describer, &call.args, rows))
        }
    }
}

/// A constant with its type, where that is needed.
fn show_constant(describer: &Describer<'_>, datum: &Datum, ty: &SqlType) -> String {
    let ty = ty.bare();
    let text = match datum {
        Datum::Null => return format!("NULL::{}", ty.display_name()),
        Datum::Bool(value) => return value.to_string(),
        _ => braid_types::text::to_string(&ty, datum, describer.cx.settings),
    };
    let is_number = ty.is_integer() || matches!(ty, SqlType::Numeric(_));
    if is_number && text.starts_with(|c: char| c.is_ascii_digit()) {
        return text;
    }
    format!("{}::{}", quote_literal(&text), ty.display_name())
}

fn truth(wanted: Option<bool>) -> &'static str {
    match wanted {
        Some(true) => "TRUE",
        Some(false) => "FALSE",
        None => "UNKNOWN",
    }
}

fn window_name(kind: WindowKind) -> &'static str {
    match kind {
        WindowKind::RowNumber => "row_number",
        WindowKind::Rank => "rank",
        WindowKind::DenseRank => "dense_rank",
        WindowKind::PercentRank => "percent_rank",
        WindowKind::CumeDist => "cume_dist",
        WindowKind::Ntile => "ntile",
        WindowKind::Lag => "lag",
        WindowKind::Lead => "lead",
        WindowKind::FirstValue => "first_value",
        WindowKind::LastValue => "last_value",
        WindowKind::NthValue => "nth_value",
    }
}
