//! Expressions, with the parentheses that PostgreSQL prints.

use braid_types::Result;
use sqlparser::ast::{
    AccessExpr, BinaryOperator, CaseWhen, DataType, Expr, Ident, Query, Subscript, UnaryOperator,
    Value,
};

use super::calls::print_function;
use super::extensions::{operator, shown_operator, type_prefix};
use super::items::print_name;
use super::parens::{is_cast_simple, is_simple, unnested};
use super::printer::{Entry, INDENT_ITEM, Printer, unprintable};
use super::query::print_query;
use super::stored_form::{
    DELETED_BY_COLUMN, PLACE_COLUMN, TABLE_OID_COLUMN, VERSION_COLUMN, split_field,
};
use super::syntax::print_special;
use crate::enum_marks::marked_enum;

/// An expression, in parentheses of its own if everything has them.
pub(crate) fn print_expr(printer: &mut Printer<'_>, e: &Expr) -> Result<()> {
    match e {
        Expr::Nested(inner) => print_expr(printer, inner),
        Expr::Identifier(ident) => {
            print_identifier(printer, ident);
            Ok(())
        }
        Expr::CompoundIdentifier(parts) => print_column(printer, e, parts),
        Expr::Value(value) => print_value(printer, &value.value),
        Expr::BinaryOp { left, op: op @ (BinaryOperator::And | BinaryOperator::Or), right } => {
            print_connective(printer, left, op, right, e)
        }
        Expr::BinaryOp { left, op: BinaryOperator::Overlaps, right } => {
            print_wrapped(printer, |p| {
                print_expr(p, left)?;
                p.push(" OVERLAPS ");
                print_expr(p, right)
            })
        }
        Expr::BinaryOp { left, op, right } if is_row(left) && is_row(right) => {
            printer.push("(");
            print_row(printer, left)?;
            printer.push(&format!(" {} ", operator(op)));
            print_row(printer, right)?;
            printer.push(")");
            Ok(())
        }
        Expr::BinaryOp { left, op, right } => print_wrapped(printer, |p| {
            print_arg(p, left, e)?;
            p.push(&format!(" {} ", shown_operator(p, left, op, right)));
            print_arg(p, right, e)
        }),
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => print_wrapped(printer, |p| {
            p.push("NOT ");
            print_arg(p, expr, e)
        }),
        Expr::UnaryOp { op, expr } => print_wrapped(printer, |p| {
            p.push(&format!("{op} "));
            print_arg(p, expr, e)
        }),
        Expr::AnyOp { left, compare_op, right, .. } => {
            print_quantified(printer, left, compare_op, "ANY", right, e)
        }
        Expr::AllOp { left, compare_op, right } => {
            print_quantified(printer, left, compare_op, "ALL", right, e)
        }
        Expr::InSubquery { expr, subquery, negated: false } => {
            printer.push("(");
            print_expr(printer, expr)?;
            printer.push(" IN (");
            print_query(printer, subquery, None, false)?;
            printer.push("))");
            Ok(())
        }
        Expr::Exists { subquery, negated: false } => {
            printer.push("(EXISTS (");
            print_query(printer, subquery, None, false)?;
            printer.push("))");
            Ok(())
        }
        other => print_primary(printer, other),
    }
}

/// An expression that is no operator.
fn print_primary(printer: &mut Printer<'_>, e: &Expr) -> Result<()> {
    match e {
        Expr::IsNull(x) => print_test(printer, x, "IS NULL", e),
        Expr::IsNotNull(x) => print_test(printer, x, "IS NOT NULL", e),
        Expr::IsTrue(x) => print_test(printer, x, "IS TRUE", e),
        Expr::IsNotTrue(x) => print_test(printer, x, "IS NOT TRUE", e),
        Expr::IsFalse(x) => print_test(printer, x, "IS FALSE", e),
        Expr::IsNotFalse(x) => print_test(printer, x, "IS NOT FALSE", e),
        Expr::IsUnknown(x) => print_test(printer, x, "IS UNKNOWN", e),
        Expr::IsNotUnknown(x) => print_test(printer, x, "IS NOT UNKNOWN", e),
        Expr::IsDistinctFrom(a, b) => print_wrapped(printer, |p| {
            print_arg(p, a, e)?;
            p.push(" IS DISTINCT FROM ");
            print_arg(p, b, e)
        }),
        Expr::Subquery(query) => print_subquery(printer, "(", query),
        Expr::Cast { expr, data_type, .. } => print_cast(printer, expr, data_type, e),
        Expr::Case { operand, conditions, else_result, .. } => {
            print_case(printer, operand.as_deref(), conditions, else_result.as_deref())
        }
        Expr::Function(function) => print_function(printer, function),
        Expr::Tuple(items) => {
            printer.push(if items.len() == 1 { "ROW(" } else { "(" });
            print_list(printer, items)?;
            printer.push(")");
            Ok(())
        }
        Expr::Array(array) => {
            printer.push("ARRAY[");
            print_list(printer, &array.elem)?;
            printer.push("]");
            Ok(())
        }
        Expr::CompoundFieldAccess { root, access_chain } => {
            print_access(printer, root, access_chain)
        }
        Expr::Prefixed { prefix, value } => {
            printer.push(&format!("{} ", prefix.value.to_uppercase()));
            print_expr(printer, value)
        }
        other => print_special(printer, other),
    }
}

/// An operand, in parentheses if it needs them inside of `parent`.
pub(crate) fn print_arg(printer: &mut Printer<'_>, e: &Expr, parent: &Expr) -> Result<()> {
    let e = unnested(e);
    let paren = printer.pretty() && !is_simple(e, parent);
    print_operand(printer, paren, e)
}

/// An expression, in parentheses if `paren`.
pub(crate) fn print_operand(printer: &mut Printer<'_>, paren: bool, e: &Expr) -> Result<()> {
    if paren {
        printer.push("(");
    }
    print_expr(printer, e)?;
    if paren {
        printer.push(")");
    }
    Ok(())
}

/// Parentheses where everything has them.
fn print_wrapped(
    printer: &mut Printer<'_>,
    print: impl FnOnce(&mut Printer<'_>) -> Result<()>,
) -> Result<()> {
    if printer.pretty() {
        return print(printer);
    }
    printer.push("(");
    print(printer)?;
    printer.push(")");
    Ok(())
}

fn print_list(printer: &mut Printer<'_>, items: &[Expr]) -> Result<()> {
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            printer.push(", ");
        }
        print_expr(printer, item)?;
    }
    Ok(())
}

fn print_row(printer: &mut Printer<'_>, row: &Expr) -> Result<()> {
    let Expr::Tuple(items) = unnested(row) else { return print_expr(printer, row) };
    printer.push("ROW(");
    print_list(printer, items)?;
    printer.push(")");
    Ok(())
}

/// An expression inside of a cast that is not shown.
pub(crate) fn print_cast_operand(printer: &mut Printer<'_>, e: &Expr) -> Result<()> {
    let paren = printer.pretty() && !is_cast_simple(unnested(e));
    print_operand(printer, paren, e)
}

fn print_test(printer: &mut Printer<'_>, operand: &Expr, what: &str, e: &Expr) -> Result<()> {
    print_wrapped(printer, |p| {
        print_arg(p, operand, e)?;
        p.push(&format!(" {what}"));
        Ok(())
    })
}

/// A whole row, or a value that is a keyword.
fn print_identifier(printer: &mut Printer<'_>, ident: &Ident) {
    if ident.quote_style.is_none() {
        printer.push(&ident.value.to_uppercase());
    } else if printer.is_stored() {
        print_name(printer, &ident.value);
    } else {
        let entry = ident.value.parse().ok().and_then(|label: u32| printer.entries.get(&label));
        match entry.map(|entry| (entry.name.clone(), entry.relation.clone())) {
            Some((Some(name), _)) => print_name(printer, &name),
            Some((None, relation)) => printer.push(&relation),
            None => {}
        }
        printer.push(".*");
    }
}

/// The type behind a whole row that is an item of the select list.
pub(crate) fn print_row_type(printer: &mut Printer<'_>, e: &Expr) {
    let Expr::Identifier(ident) = unnested(e) else { return };
    if printer.is_stored() || ident.quote_style.is_none() {
        return;
    }
    let entry = ident.value.parse().ok().and_then(|label: u32| printer.entries.get(&label));
    let relation = entry.map(|entry| entry.relation.clone()).unwrap_or_default();
    printer.push("::");
    printer.push(if relation.is_empty() { "record" } else { &relation });
}

fn print_column(printer: &mut Printer<'_>, e: &Expr, parts: &[Ident]) -> Result<()> {
    if printer.is_stored() {
        for (place, part) in parts.iter().enumerate() {
            if place > 0 {
                printer.push(".");
            }
            print_name(printer, &part.value);
        }
        return Ok(());
    }
    let name = shown_column_name(printer, e).ok_or_else(|| unprintable(e))?;
    let is_inside = printer.levels.len() > 1;
    let item = item_of(printer, parts).and_then(|entry| {
        let inside = entry.name_inside.as_ref().filter(|_| is_inside);
        entry.name.as_ref().or(inside).cloned()
    });
    if let Some(item) = item {
        print_name(printer, &item);
        printer.push(".");
    }
    print_name(printer, &name);
    Ok(())
}

fn item_of<'p>(printer: &'p Printer<'_>, parts: &[Ident]) -> Option<&'p Entry> {
    printer.entries.get(&parts.first()?.value.parse().ok()?)
}

/// Today's name of a column, if the expression is one.
pub(crate) fn shown_column_name(printer: &Printer<'_>, e: &Expr) -> Option<String> {
    let Expr::CompoundIdentifier(parts) = unnested(e) else { return None };
    let key: u16 = parts.get(1)?.value.parse().ok()?;
    let item = item_of(printer, parts)?;
    match key {
        TABLE_OID_COLUMN => Some("tableoid".to_owned()),
        PLACE_COLUMN => Some("ctid".to_owned()),
        VERSION_COLUMN => Some("xmin".to_owned()),
        DELETED_BY_COLUMN => Some("xmax".to_owned()),
        key => item.columns.get(&key).cloned(),
    }
}

fn print_value(printer: &mut Printer<'_>, value: &Value) -> Result<()> {
    let text = match value {
        Value::Number(text, _) => text.clone(),
        Value::Boolean(value) => value.to_string(),
        Value::Null => "NULL".to_owned(),
        // A backslash is nothing special in a standard string.
        Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => {
            format!("'{}'", text.replace('\'', "''"))
        }
        other => return Err(unprintable(other)),
    };
    printer.push(&text);
    Ok(())
}

/// AND and OR: long chains are written without parentheses between.
fn print_connective(
    printer: &mut Printer<'_>,
    left: &Expr,
    op: &BinaryOperator,
    right: &Expr,
    e: &Expr,
) -> Result<()> {
    let mut operands = vec![right];
    // A chain in parentheses was BETWEEN.
    let mut next = left;
    while let Expr::BinaryOp { left, op: inner, right } = next {
        if inner != op {
            break;
        }
        operands.push(right);
        next = left;
    }
    operands.push(next);
    print_wrapped(printer, |p| {
        for (place, operand) in operands.into_iter().rev().enumerate() {
            if place > 0 {
                p.push(&format!(" {op} "));
            }
            print_arg(p, operand, e)?;
        }
        Ok(())
    })
}

fn print_quantified(
    printer: &mut Printer<'_>,
    left: &Expr,
    op: &BinaryOperator,
    word: &str,
    right: &Expr,
    e: &Expr,
) -> Result<()> {
    let op = shown_operator(printer, left, op, right);
    if let Expr::Subquery(query) = unnested(right) {
        printer.push("(");
        print_expr(printer, left)?;
        let is_in = op == "=" && word == "ANY";
        printer.push(&if is_in { " IN (".to_owned() } else { format!(" {op} {word} (") });
        print_query(printer, query, None, false)?;
        printer.push("))");
        return Ok(());
    }
    print_wrapped(printer, |p| {
        print_arg(p, left, e)?;
        p.push(&format!(" {op} {word} ("));
        print_arg(p, right, e)?;
        p.push(")");
        Ok(())
    })
}

pub(crate) fn print_subquery(printer: &mut Printer<'_>, open: &str, query: &Query) -> Result<()> {
    printer.push(open);
    print_query(printer, query, None, false)?;
    printer.push(")");
    Ok(())
}

fn print_cast(
    printer: &mut Printer<'_>,
    inner: &Expr,
    data_type: &DataType,
    e: &Expr,
) -> Result<()> {
    let name = shown_type_name(printer, data_type);
    let inner = unnested(inner);
    if let Expr::Value(value) = inner
        && !matches!(value.value, Value::Number(..) | Value::Boolean(_))
    {
        // What a text means is an id if it names a relation.
        if let (Value::SingleQuotedString(id), "regclass", Some(names)) =
            (&value.value, name.as_str(), printer.names)
            && let Some((shown, _)) = id.parse().ok().and_then(|id| names.relation(id, &[]))
        {
            printer.push(&format!("{}::regclass", crate::quote_literal(&shown)));
            return Ok(());
        }
        print_value(printer, &value.value)?;
    } else if matches!(inner, Expr::Array(array) if array.elem.is_empty()) {
        print_expr(printer, inner)?;
    } else if is_numeric(inner) && name.starts_with("numeric(") {
        // Only the length is a cast.
        print_expr(printer, inner)?;
    } else if printer.pretty() {
        print_arg(printer, inner, e)?;
    } else {
        printer.push("(");
        print_expr(printer, inner)?;
        printer.push(")");
    }
    printer.push(&format!("::{name}"));
    Ok(())
}

/// A type's name as PostgreSQL prints it.
fn shown_type_name(printer: &Printer<'_>, data_type: &DataType) -> String {
    if let Some((id, is_array)) = marked_enum(data_type)
        && let Some(name) = printer.names.and_then(|names| names.type_name(id))
    {
        return if is_array { format!("{name}[]") } else { name };
    }
    match data_type {
        DataType::Custom(..) => {
            let name = data_type.to_string();
            format!("{}{name}", type_prefix(printer, &name))
        }
        known => {
            let name = known.to_string().to_lowercase();
            format!("{}{name}", type_prefix(printer, &name))
        }
    }
}

fn print_case(
    printer: &mut Printer<'_>,
    operand: Option<&Expr>,
    conditions: &[CaseWhen],
    otherwise: Option<&Expr>,
) -> Result<()> {
    printer.clause("CASE", 0, INDENT_ITEM, 0);
    if let Some(operand) = operand {
        printer.push(" ");
        print_expr(printer, operand)?;
    }
    let blank = if printer.is_stored() { " " } else { "" };
    for CaseWhen { condition, result } in conditions {
        printer.push(blank);
        printer.clause("WHEN ", 0, 0, 0);
        print_expr(printer, condition)?;
        printer.push(" THEN ");
        print_expr(printer, result)?;
    }
    if let Some(otherwise) = otherwise {
        printer.push(blank);
        printer.clause("ELSE ", 0, 0, 0);
        print_expr(printer, otherwise)?;
    }
    printer.push(blank);
    printer.clause("END", -INDENT_ITEM, 0, 0);
    Ok(())
}

fn print_access(printer: &mut Printer<'_>, root: &Expr, chain: &[AccessExpr]) -> Result<()> {
    let root = unnested(root);
    let is_column = matches!(root, Expr::CompoundIdentifier(_));
    let is_subscript = matches!(chain, [AccessExpr::Subscript(_), ..]);
    let bare = is_column && is_subscript && !printer.is_stored();
    if !bare {
        printer.push("(");
    }
    print_expr(printer, root)?;
    if !bare {
        printer.push(")");
    }
    for access in chain {
        match access {
            AccessExpr::Dot(Expr::Identifier(field)) => {
                printer.push(".");
                print_name(printer, &field_name(printer, &crate::fold(field)));
            }
            AccessExpr::Subscript(Subscript::Index { index }) => {
                printer.push("[");
                print_expr(printer, index)?;
                printer.push("]");
            }
            AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, .. }) => {
                printer.push("[");
                if let Some(bound) = lower_bound {
                    print_expr(printer, bound)?;
                }
                printer.push(":");
                if let Some(bound) = upper_bound {
                    print_expr(printer, bound)?;
                }
                printer.push("]");
            }
            AccessExpr::Dot(field) => return Err(unprintable(field)),
        }
    }
    Ok(())
}

/// Today's name of a field.
fn field_name(printer: &Printer<'_>, name: &str) -> String {
    let known = split_field(name).zip(printer.names).and_then(|((relation, column), names)| {
        names.columns(relation).into_iter().find(|(number, _)| *number == column)
    });
    known.map_or_else(|| name.to_owned(), |(_, name)| name)
}

fn is_row(e: &Expr) -> bool {
    match unnested(e) {
        Expr::Tuple(_) => true,
        Expr::Function(function) => function.name.to_string().eq_ignore_ascii_case("row"),
        _ => false,
    }
}

/// Whether a number is read as numeric.
fn is_numeric(e: &Expr) -> bool {
    match e {
        Expr::Value(value) => {
            matches!(&value.value, Value::Number(text, _) if text.contains('.'))
        }
        _ => false,
    }
}
