//! Constraints of tables, and the parts that they share with those of columns.

use sqlparser::ast::Ident;
use sqlparser::tokenizer::Token;

use braid_types::{Error, Result, SqlState};

use super::create_index::{parse_index_key, parse_index_placement, parse_nulls_not_distinct};
use crate::ast::{
    CheckClause, Exclusion, ForeignKey, KeyColumn, MatchKind, ReferenceAction, TableConstraint,
    TableConstraintKind, UniqueRules,
};
use crate::parser::Cursor;
use crate::parser::clauses::{parse_reference_action, parse_selection, parse_storing};
use crate::parser::embedded::next_expr;
use crate::parser::names::{parse_columns, parse_ident, parse_object_name};
use crate::parser::session::characteristics::ConstraintAttributes;

/// `(expr) [NO INHERIT]`.
pub(super) fn check_clause(cursor: &mut Cursor<'_>) -> Result<CheckClause> {
    cursor.expect_symbol(&Token::LParen)?;
    let expr = next_expr(cursor)?;
    cursor.expect_symbol(&Token::RParen)?;
    Ok(CheckClause { expr, no_inherit: cursor.take_all(&["no", "inherit"]) })
}

/// `REFERENCES …` with everything behind it except the characteristics.
pub(super) fn parse_references(cursor: &mut Cursor<'_>, columns: Vec<Ident>) -> Result<ForeignKey> {
    cursor.expect("references")?;
    let table = parse_object_name(cursor)?;
    let ref_columns =
        if *cursor.peek() == Token::LParen { parse_columns(cursor)? } else { Vec::new() };
    let mut key = ForeignKey {
        columns,
        table,
        ref_columns,
        match_kind: MatchKind::Simple,
        on_delete: ReferenceAction::NoAction,
        delete_columns: Vec::new(),
        on_update: ReferenceAction::NoAction,
        deferrable: false,
        initially_deferred: false,
    };
    let (mut has_delete, mut has_update) = (false, false);
    let mut may_match = true;
    loop {
        let place = crate::offset_of(cursor.span());
        if may_match && cursor.take("match") {
            may_match = false;
            key.match_kind = match cursor.take_one(&["simple", "full", "partial"]) {
                Some(0) => MatchKind::Simple,
                Some(1) => MatchKind::Full,
                Some(_) => {
                    let message = "MATCH PARTIAL not yet implemented";
                    return Err(Error::new(SqlState::FeatureNotSupported, message).position(place));
                }
                None => return Err(cursor.unexpected()),
            };
        } else if !has_delete && cursor.take_all(&["on", "delete"]) {
            (has_delete, may_match) = (true, false);
            key.on_delete = parse_reference_action(cursor)?;
            key.delete_columns = parse_action_columns(cursor, key.on_delete)?;
        } else if !has_update && cursor.are(&["on", "update"]) {
            (has_update, may_match) = (true, false);
            let place = crate::offset_of(cursor.span());
            cursor.take_all(&["on", "update"]);
            key.on_update = parse_reference_action(cursor)?;
            if !parse_action_columns(cursor, key.on_update)?.is_empty() {
                let what = match key.on_update {
                    ReferenceAction::SetNull => "SET NULL",
                    _ => "SET DEFAULT",
                };
                return Err(Error::new(
                    SqlState::FeatureNotSupported,
                    format!("a column list with {what} is only supported for ON DELETE actions"),
                )
                .position(place));
            }
        } else if has_delete != has_update && cursor.take("on") {
            return Err(cursor.unexpected());
        } else {
            return Ok(key);
        }
    }
}

/// The columns behind `SET NULL` and `SET DEFAULT`.
fn parse_action_columns(cursor: &mut Cursor<'_>, action: ReferenceAction) -> Result<Vec<Ident>> {
    let sets = matches!(action, ReferenceAction::SetNull | ReferenceAction::SetDefault);
    if sets && *cursor.peek() == Token::LParen { parse_columns(cursor) } else { Ok(Vec::new()) }
}

/// A constraint beside the columns, or behind `ADD`.
pub(crate) fn parse_table_constraint(cursor: &mut Cursor<'_>) -> Result<TableConstraint> {
    let span = cursor.span();
    let name = if cursor.take("constraint") { Some(parse_ident(cursor)?) } else { None };
    let mut kind = if cursor.take("primary") {
        cursor.expect("key")?;
        parse_key_constraint(cursor, true)?
    } else if cursor.take("unique") {
        parse_key_constraint(cursor, false)?
    } else if cursor.take("check") {
        TableConstraintKind::Check(check_clause(cursor)?)
    } else if cursor.take("foreign") {
        cursor.expect("key")?;
        let columns = parse_columns(cursor)?;
        TableConstraintKind::ForeignKey(parse_references(cursor, columns)?)
    } else if cursor.take("exclude") {
        TableConstraintKind::Exclude(Box::new(parse_exclusion(cursor)?))
    } else {
        return Err(cursor.unexpected());
    };
    let attributes = ConstraintAttributes::parse(cursor)?;
    set_attributes(&mut kind, attributes)?;
    Ok(TableConstraint { name, kind, not_valid: attributes.is_not_valid(), span })
}

/// Gives a constraint what is said behind it. 0A000 for what its kind does not have.
fn set_attributes(kind: &mut TableConstraintKind, attributes: ConstraintAttributes) -> Result<()> {
    use ConstraintAttributes as Attributes;
    let deferral = Attributes::DEFERRAL;
    match kind {
        TableConstraintKind::Check(clause) => {
            attributes.check("CHECK", Attributes::NOT_VALID | Attributes::NO_INHERIT)?;
            clause.no_inherit |= attributes.is_not_inherited();
        }
        TableConstraintKind::ForeignKey(key) => {
            attributes.check("FOREIGN KEY", deferral | Attributes::NOT_VALID)?;
            (key.deferrable, key.initially_deferred) = attributes.deferral();
        }
        TableConstraintKind::Unique { rules, .. }
        | TableConstraintKind::UsingIndex { rules, primary: false, .. } => {
            attributes.check("UNIQUE", deferral)?;
            (rules.deferrable, rules.initially_deferred) = attributes.deferral();
        }
        TableConstraintKind::PrimaryKey { rules, .. }
        | TableConstraintKind::UsingIndex { rules, .. } => {
            attributes.check("PRIMARY KEY", deferral)?;
            (rules.deferrable, rules.initially_deferred) = attributes.deferral();
        }
        TableConstraintKind::Exclude(exclusion) => {
            attributes.check("EXCLUDE", deferral)?;
            let rules = &mut exclusion.rules;
            (rules.deferrable, rules.initially_deferred) = attributes.deferral();
        }
    }
    Ok(())
}

fn parse_key_constraint(cursor: &mut Cursor<'_>, primary: bool) -> Result<TableConstraintKind> {
    if cursor.take_all(&["using", "index"]) {
        let (index, rules) = (parse_ident(cursor)?, UniqueRules::default());
        return Ok(TableConstraintKind::UsingIndex { index, primary, rules });
    }
    let nulls_not_distinct = !primary && parse_nulls_not_distinct(cursor)?;
    let columns = cursor.parens(parse_key_column)?;
    let storing = parse_storing(cursor)?;
    parse_index_placement(cursor)?;
    Ok(if primary {
        TableConstraintKind::PrimaryKey { columns, storing, rules: UniqueRules::default() }
    } else {
        let rules = UniqueRules::of_index(nulls_not_distinct);
        TableConstraintKind::Unique { columns, storing, rules }
    })
}

/// Behind `EXCLUDE`.
fn parse_exclusion(cursor: &mut Cursor<'_>) -> Result<Exclusion> {
    let method = if cursor.take("using") { Some(parse_ident(cursor)?) } else { None };
    let elements = cursor.parens(|cursor| {
        let key = parse_index_key(cursor)?;
        cursor.expect("with")?;
        Ok((key, parse_operator(cursor)?))
    })?;
    let (keys, operators) = elements.into_iter().unzip();
    let storing = parse_storing(cursor)?;
    parse_index_placement(cursor)?;
    let predicate = parse_selection(cursor)?;
    Ok(Exclusion { method, keys, operators, storing, predicate, rules: UniqueRules::default() })
}

/// `&&` or `OPERATOR(pg_catalog.&&)`.
fn parse_operator(cursor: &mut Cursor<'_>) -> Result<String> {
    let is_long = cursor.take("operator");
    if is_long {
        cursor.expect_symbol(&Token::LParen)?;
        if cursor.take("pg_catalog") {
            cursor.expect_symbol(&Token::Period)?;
        }
    }
    let operator = cursor.peek().to_string();
    let is_symbol = |c: char| c.is_ascii_punctuation() && !"(),;.'\"[]:$_".contains(c);
    if operator.is_empty() || !operator.chars().all(is_symbol) {
        return Err(cursor.unexpected());
    }
    cursor.advance();
    if is_long {
        cursor.expect_symbol(&Token::RParen)?;
    }
    Ok(operator)
}

/// `column [ASC | DESC]`.
pub(crate) fn parse_key_column(cursor: &mut Cursor<'_>) -> Result<KeyColumn> {
    let name = parse_ident(cursor)?;
    let descending = cursor.take_one(&["asc", "desc"]) == Some(1);
    Ok(KeyColumn { name, descending })
}
