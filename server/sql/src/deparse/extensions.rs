//! Types, functions and operators of extensions, with the extension's schema where names need one.

use sqlparser::ast::{BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments};

use super::parens::unnested;
use super::printer::Printer;

/// Operators between texts that pg_trgm alone has.
const TRIGRAM_OPERATORS: [&str; 7] = ["<%", "%>", "<<%", "%>>", "<<->", "<->>", "<<<->"];
/// Operators of citext between two of its values.
const CITEXT_COMPARISONS: [&str; 6] = ["=", "<>", "<", "<=", ">", ">="];
/// Operators of citext with a value of it on the left.
const CITEXT_PATTERNS: [&str; 8] = ["~", "!~", "~*", "!~*", "~~", "!~~", "~~*", "!~~*"];

/// An operator as it is written between two operands.
pub(super) fn shown_operator(
    printer: &Printer<'_>,
    left: &Expr,
    op: &BinaryOperator,
    right: &Expr,
) -> String {
    let symbol = operator(op);
    let Some(names) = printer.names else { return symbol };
    let extension = extension_of(printer, left, &symbol, right);
    match extension.and_then(|extension| names.extension_schema(extension)) {
        Some(schema) => format!("OPERATOR({schema}.{symbol})"),
        None => symbol,
    }
}

pub(super) fn operator(op: &BinaryOperator) -> String {
    match op {
        BinaryOperator::NotEq => "<>".to_owned(),
        BinaryOperator::PGCustomBinaryOperator(parts) => parts.last().cloned().unwrap_or_default(),
        other => other.to_string(),
    }
}

/// The extension whose operator it is.
fn extension_of(
    printer: &Printer<'_>,
    left: &Expr,
    symbol: &str,
    right: &Expr,
) -> Option<&'static str> {
    if TRIGRAM_OPERATORS.contains(&symbol) {
        return Some("pg_trgm");
    }
    let types = [type_of(printer, left), type_of(printer, right)];
    let [left, right] = types.each_ref().map(|ty| ty.as_deref().unwrap_or_default());
    let either = |name: &str| left == name || right == name;
    if either("hstore") || either("hstore[]") {
        return Some("hstore");
    }
    let fits = |ty: &str| matches!(ty, "" | "citext" | "citext[]");
    let is_citext = match symbol {
        _ if CITEXT_COMPARISONS.contains(&symbol) => {
            (either("citext") || either("citext[]")) && fits(left) && fits(right)
        }
        _ => left == "citext" && CITEXT_PATTERNS.contains(&symbol),
    };
    if is_citext {
        return Some("citext");
    }
    (matches!(symbol, "%" | "<->") && either("text")).then_some("pg_trgm")
}

/// The type of an operand, if its syntax or its column shows one.
fn type_of(printer: &Printer<'_>, e: &Expr) -> Option<String> {
    match unnested(e) {
        Expr::Cast { data_type, .. } => Some(data_type.to_string().to_lowercase()),
        Expr::CompoundIdentifier(parts) => {
            let entry = printer.entries.get(&parts.first()?.value.parse().ok()?)?;
            entry.types.get(&parts.get(1)?.value.parse().ok()?).cloned()
        }
        Expr::BinaryOp {
            left, op: BinaryOperator::StringConcat | BinaryOperator::Minus, ..
        } => type_of(printer, left).filter(|ty| ty == "hstore"),
        Expr::Function(function) if matches!(function.args, FunctionArguments::List(_)) => {
            (function.name.to_string() == "hstore").then(|| "hstore".to_owned())
        }
        Expr::Array(array) => Some(format!("{}[]", type_of(printer, array.elem.first()?)?)),
        _ => None,
    }
}

/// Functions of citext that have the names of built-in ones.
const CITEXT_FUNCTIONS: [&str; 11] = [
    "max",
    "min",
    "regexp_match",
    "regexp_matches",
    "regexp_replace",
    "regexp_split_to_array",
    "regexp_split_to_table",
    "replace",
    "split_part",
    "strpos",
    "translate",
];

/// What stands before the name of a function that is not one of users.
pub(super) fn function_prefix(
    printer: &Printer<'_>,
    name: &str,
    arguments: &[FunctionArg],
) -> String {
    let is_citext = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) => {
            type_of(printer, e).is_some_and(|ty| ty == "citext")
        }
        _ => false,
    };
    let of_citext = CITEXT_FUNCTIONS.contains(&name) && arguments.first().is_some_and(is_citext);
    let schema = printer.names.and_then(|names| match of_citext {
        true => names.extension_schema("citext"),
        false => names.function_schema(name),
    });
    schema.map(|schema| format!("{schema}.")).unwrap_or_default()
}

/// What stands before the name of a built-in type.
pub(super) fn type_prefix(printer: &Printer<'_>, name: &str) -> String {
    let extension = match name.trim_end_matches("[]") {
        "citext" => "citext",
        "hstore" => "hstore",
        _ => return String::new(),
    };
    let schema = printer.names.and_then(|names| names.extension_schema(extension));
    schema.map(|schema| format!("{schema}.")).unwrap_or_default()
}
