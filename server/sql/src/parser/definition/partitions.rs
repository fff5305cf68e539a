//! `PARTITION BY`, the bounds of partitions, and `ATTACH` and `DETACH PARTITION`.

use sqlparser::ast::{Expr, Value};
use sqlparser::tokenizer::Token;

use braid_types::{Error, Result, SqlState};

use super::create_index::parse_index_key;
use crate::ast::{AlterAction, BoundClause, BoundKind, PartitionBy};
use crate::parser::Cursor;
use crate::parser::embedded::next_expr;
use crate::parser::names::{parse_ident, parse_object_name};

/// `PARTITION BY strategy (keys)`.
pub(super) fn parse_partition_by(cursor: &mut Cursor<'_>) -> Result<PartitionBy> {
    cursor.expect_all(&["partition", "by"])?;
    let strategy = parse_ident(cursor)?;
    Ok(PartitionBy { strategy, keys: cursor.parens(parse_index_key)? })
}

/// `FOR VALUES …` or `DEFAULT`.
pub(super) fn parse_bound(cursor: &mut Cursor<'_>) -> Result<BoundClause> {
    let span = cursor.span();
    if cursor.take("default") {
        return Ok(BoundClause { kind: BoundKind::Default, span });
    }
    cursor.expect_all(&["for", "values"])?;
    let kind = if cursor.take("in") {
        BoundKind::List(cursor.parens(next_expr)?)
    } else if cursor.take("from") {
        let from = cursor.parens(next_expr)?;
        cursor.expect("to")?;
        BoundKind::Range(from, cursor.parens(next_expr)?)
    } else if cursor.take("with") {
        parse_hash_bound(cursor)?
    } else {
        return Err(cursor.unexpected());
    };
    Ok(BoundClause { kind, span })
}

/// `(MODULUS m, REMAINDER r)`, in any order.
fn parse_hash_bound(cursor: &mut Cursor<'_>) -> Result<BoundKind> {
    let (mut modulus, mut remainder) = (None, None);
    cursor.expect_symbol(&Token::LParen)?;
    loop {
        let (name, target) = match cursor.take_one(&["modulus", "remainder"]) {
            Some(0) => ("modulus", &mut modulus),
            Some(_) => ("remainder", &mut remainder),
            None => {
                let name = parse_ident(cursor)?;
                let message =
                    format!("unrecognized hash partition bound specification \"{}\"", name.value);
                return Err(Error::new(SqlState::SyntaxError, message));
            }
        };
        let value = parse_count(cursor)?;
        if target.replace(value).is_some() {
            let message = format!("{name} for hash partition provided more than once");
            return Err(Error::new(SqlState::DuplicateObject, message));
        }
        if !cursor.take_symbol(&Token::Comma) {
            break;
        }
    }
    cursor.expect_symbol(&Token::RParen)?;
    let missing = |name: &str| {
        let message = format!("{name} for hash partition must be specified");
        Error::new(SqlState::SyntaxError, message)
    };
    let modulus = modulus.ok_or_else(|| missing("modulus"))?;
    Ok(BoundKind::Hash(modulus, remainder.ok_or_else(|| missing("remainder"))?))
}

/// A number without a sign.
fn parse_count(cursor: &mut Cursor<'_>) -> Result<i64> {
    let error = cursor.unexpected();
    match next_expr(cursor)? {
        Expr::Value(value) => match value.value {
            Value::Number(digits, _) => digits.parse().map_err(|_| error),
            _ => Err(error),
        },
        _ => Err(error),
    }
}

/// `ATTACH PARTITION` or `DETACH PARTITION`, where it is next.
pub(super) fn parse_partition_action(cursor: &mut Cursor<'_>) -> Result<Option<AlterAction>> {
    if cursor.take_all(&["attach", "partition"]) {
        let name = parse_object_name(cursor)?;
        return Ok(Some(AlterAction::AttachPartition(name, parse_bound(cursor)?)));
    }
    if !cursor.take_all(&["detach", "partition"]) {
        return Ok(None);
    }
    let name = parse_object_name(cursor)?;
    let concurrently = cursor.take("concurrently");
    let finalize = !concurrently && cursor.take("finalize");
    Ok(Some(AlterAction::DetachPartition { name, concurrently, finalize }))
}
