//! Literals: each is written as a value of its type, so that no setting changes what it means.

use braid_catalog::undefined_relation;
use braid_sql::ast::{CastKind, DataType, Expr as Ast, Ident, LimitClause, ObjectName, Value};
use braid_types::datetime::typmod::{apply_typmod, type_name};
use braid_types::sql_type::row_name;
use braid_types::text::{FormatSettings, parse, parse_interval_typmod, to_string};
use braid_types::{Result, SqlType};

use super::identifier::{Identifier, unstorable};

/// A number as it is written.
pub(super) fn number(text: &str) -> Ast {
    Ast::value(Value::Number(text.to_owned(), false))
}

/// A string in quotes.
fn string(text: impl Into<String>) -> Ast {
    Ast::value(Value::SingleQuotedString(text.into()))
}

/// `e::type`
pub(super) fn cast(e: Ast, ty: &SqlType, modifier: Option<i32>) -> Result<Ast> {
    let name = match modifier {
        Some(modifier) => type_name(ty, modifier),
        None => ty.display_name(),
    };
    let data_type = match ty {
        ty if let Some(row) = row_name(ty) => braid_sql::marked_type(row.oid, ty.is_array()),
        ty if let Some(found) = ty.inner_enum() => braid_sql::marked_type(found.oid, ty.is_array()),
        SqlType::Char(0) => DataType::Custom(ObjectName::from(vec![Ident::new("bpchar")]), vec![]),
        SqlType::Bit(0) => {
            DataType::Custom(ObjectName::from(vec![Ident::with_quote('"', "bit")]), vec![])
        }
        _ => braid_sql::parse_data_type(&name)?,
    };
    let kind = CastKind::DoubleColon;
    Ok(Ast::Cast { kind, expr: Box::new(e), data_type, format: None })
}

/// `NULL::type`
pub(super) fn null(ty: &SqlType) -> Result<Ast> {
    cast(Ast::value(Value::Null), ty, None)
}

/// A string literal of a type.
pub(crate) fn identify_literal(
    identifier: &mut Identifier<'_, '_>,
    text: &str,
    ty: &SqlType,
) -> Result<Ast> {
    let ty = &ty.bare();
    match ty {
        SqlType::Unknown | SqlType::Text => return cast(string(text), &SqlType::Text, None),
        SqlType::Varchar(_) | SqlType::Char(_) | SqlType::Name => {
            return cast(string(text), ty, None);
        }
        SqlType::Regclass => return identify_relation_literal(identifier, text),
        SqlType::Regtype | SqlType::Regproc | SqlType::Regnamespace | SqlType::Regrole => {
            return cast(string(text), ty, None);
        }
        SqlType::Record(row) if row.name().is_some() => {}
        SqlType::Record(_) | SqlType::Void | SqlType::Any(_) => {
            return Err(unstorable("a record as a literal"));
        }
        _ => {}
    }
    let env = identifier.cx.env;
    let datum = parse(ty, text, env.settings(), env.transaction_micros())?;
    let text = to_string(ty, &datum, &FormatSettings::default());
    Ok(match ty {
        SqlType::Bool => Ast::value(Value::Boolean(text == "t" || text == "true")),
        SqlType::Int4 if !text.starts_with('-') => number(&text),
        SqlType::Numeric(_) if is_decimal(&text) => number(&text),
        _ => cast(string(text), ty, None)?,
    })
}

/// A literal of a type of times with its modifier.
pub(crate) fn identify_modified_literal(
    identifier: &mut Identifier<'_, '_>,
    text: &str,
    ty: &SqlType,
    modifier: i32,
) -> Result<Ast> {
    let settings = identifier.cx.env.settings();
    let datum = match ty {
        SqlType::Interval => parse_interval_typmod(text, settings.interval_style, modifier)?,
        ty => parse(ty, text, settings, identifier.cx.env.transaction_micros())?,
    };
    let datum = apply_typmod(&datum, modifier);
    let text = to_string(ty, &datum, &FormatSettings::default());
    cast(string(text), ty, Some(modifier))
}

/// A relation that is named in a string: its id.
fn identify_relation_literal(identifier: &mut Identifier<'_, '_>, text: &str) -> Result<Ast> {
    let parts = braid_catalog::names::split_name(text)?;
    let id = match identifier.cx.catalog.names().resolve(identifier.cx.path, &parts)? {
        Some(relation) => {
            identifier.uses.entry(relation.oid()).or_default();
            relation.oid().to_string()
        }
        None if text.parse::<u32>().is_ok() => text.to_owned(),
        None => return Err(undefined_relation(&parts)),
    };
    cast(string(id), &SqlType::Regclass, None)
}

/// A number literal: one that would be read as another type has its type behind it.
pub(crate) fn identify_number_literal(
    identifier: &mut Identifier<'_, '_>,
    text: &str,
    ty: &SqlType,
) -> Result<Ast> {
    match ty {
        SqlType::Int4 if !text.starts_with('-') => {
            // Other notations mean the same.
            let datum = parse(ty, text, identifier.cx.env.settings(), 0)?;
            Ok(number(&to_string(ty, &datum, &FormatSettings::default())))
        }
        ty => identify_literal(identifier, text, ty),
    }
}

/// Whether a number would be read as numeric.
fn is_decimal(text: &str) -> bool {
    !text.starts_with('-')
        && text.contains('.')
        && text.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// Takes the count of LIMIT from its clause, which stays if it has an OFFSET.
pub(super) fn take_limit(clause: &mut Option<LimitClause>) -> Option<Ast> {
    let Some(LimitClause::LimitOffset { limit, offset, .. }) = clause else { return None };
    let (limit, has_offset) = (limit.take(), offset.is_some());
    if !has_offset {
        *clause = None;
    }
    limit
}
