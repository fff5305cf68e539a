//! `CREATE TRIGGER`, and `ENABLE` and `DISABLE TRIGGER` of `ALTER TABLE`.

use sqlparser::tokenizer::Token;

use braid_types::{Error, Result, SqlState};

use crate::ast::{
    AlterAction, AlterTarget, ConstraintTrigger, CreateTrigger, Ident, Rename, RenameKind,
    Statement, TransitionName, TriggerChoice, TriggerEvent, TriggerState, TriggerTiming,
};
use crate::parser::Cursor;
use crate::parser::embedded::next_expr;
use crate::parser::names::{
    parse_any_name, parse_ident, parse_label, parse_object_name, parse_string,
};
use crate::parser::session::characteristics::ConstraintAttributes;
use crate::rewrite::words::position;

/// `CREATE [OR REPLACE] [CONSTRAINT] TRIGGER …`, at the word behind `CREATE [OR REPLACE]`.
pub(crate) fn parse_create_trigger(cursor: &mut Cursor<'_>, or_replace: bool) -> Result<Statement> {
    let is_constraint = cursor.take("constraint");
    cursor.expect("trigger")?;
    let name = parse_ident(cursor)?;
    let timing = match is_constraint {
        true => {
            cursor.expect("after")?;
            TriggerTiming::After
        }
        false => parse_timing(cursor)?,
    };
    let (events, columns) = parse_events(cursor)?;
    cursor.expect("on")?;
    let table = parse_object_name(cursor)?;
    let mut constraint = None;
    if is_constraint {
        let from = if cursor.take("from") { Some(parse_object_name(cursor)?) } else { None };
        let attributes = ConstraintAttributes::parse(cursor)?;
        attributes.check("TRIGGER", ConstraintAttributes::DEFERRAL)?;
        let (deferrable, initially_deferred) = attributes.deferral();
        constraint = Some(ConstraintTrigger { from, deferrable, initially_deferred });
    }
    let mut transitions = Vec::new();
    if !is_constraint && cursor.take("referencing") {
        while cursor.is("old") || cursor.is("new") {
            transitions.push(parse_transition(cursor)?);
        }
        if transitions.is_empty() {
            return Err(cursor.unexpected());
        }
    }
    let for_each_row = parse_level(cursor, is_constraint)?;
    let when = parse_when(cursor)?;
    cursor.expect("execute")?;
    if cursor.take_one(&["function", "procedure"]).is_none() {
        return Err(cursor.unexpected());
    }
    let function = parse_any_name(cursor)?;
    let arguments = parse_arguments(cursor)?;
    if is_constraint && or_replace {
        let message = "CREATE OR REPLACE CONSTRAINT TRIGGER is not supported";
        return Err(Error::new(SqlState::FeatureNotSupported, message));
    }
    Ok(Statement::CreateTrigger(Box::new(CreateTrigger {
        or_replace,
        name,
        timing,
        events,
        columns,
        table,
        constraint,
        transitions,
        for_each_row,
        when,
        function,
        arguments,
    })))
}

fn parse_timing(cursor: &mut Cursor<'_>) -> Result<TriggerTiming> {
    match cursor.take_one(&["before", "after", "instead"]) {
        Some(0) => Ok(TriggerTiming::Before),
        Some(1) => Ok(TriggerTiming::After),
        Some(_) => {
            cursor.expect("of")?;
            Ok(TriggerTiming::InsteadOf)
        }
        None => Err(cursor.unexpected()),
    }
}

/// `INSERT OR UPDATE OF a, b OR …`.
fn parse_events(cursor: &mut Cursor<'_>) -> Result<(Vec<TriggerEvent>, Vec<Ident>)> {
    let (mut events, mut columns) = (Vec::new(), Vec::new());
    loop {
        let (start, place) = (cursor.byte(), cursor.span());
        let event = match cursor.take_one(&["insert", "update", "delete", "truncate"]) {
            Some(0) => TriggerEvent::Insert,
            Some(1) => TriggerEvent::Update,
            Some(2) => TriggerEvent::Delete,
            Some(_) => TriggerEvent::Truncate,
            None => return Err(cursor.unexpected()),
        };
        if events.contains(&event) {
            let near = cursor.slice(start..cursor.byte_after());
            let message = format!("duplicate trigger events specified at or near \"{near}\"");
            return Err(Error::new(SqlState::SyntaxError, message).position(position(place)));
        }
        events.push(event);
        if event == TriggerEvent::Update && cursor.take("of") {
            columns = cursor.list(parse_ident)?;
        }
        if !cursor.take("or") {
            return Ok((events, columns));
        }
    }
}

/// `OLD | NEW [TABLE | ROW] [AS] name`.
fn parse_transition(cursor: &mut Cursor<'_>) -> Result<TransitionName> {
    let is_new = cursor.take_one(&["old", "new"]) == Some(1);
    let is_table = match cursor.take_one(&["table", "row"]) {
        Some(which) => which == 0,
        None => false,
    };
    cursor.take("as");
    Ok(TransitionName { is_new, is_table, name: parse_ident(cursor)? })
}

/// `FOR [EACH] ROW | STATEMENT`; a statement without it.
fn parse_level(cursor: &mut Cursor<'_>, is_constraint: bool) -> Result<bool> {
    if is_constraint {
        cursor.expect_all(&["for", "each", "row"])?;
        return Ok(true);
    }
    if !cursor.take("for") {
        return Ok(false);
    }
    cursor.take("each");
    match cursor.take_one(&["row", "statement"]) {
        Some(which) => Ok(which == 0),
        None => Err(cursor.unexpected()),
    }
}

fn parse_when(cursor: &mut Cursor<'_>) -> Result<Option<crate::ast::Expr>> {
    if !cursor.take("when") {
        return Ok(None);
    }
    cursor.expect_symbol(&Token::LParen)?;
    let condition = next_expr(cursor)?;
    cursor.expect_symbol(&Token::RParen)?;
    Ok(Some(condition))
}

/// `(…)`: numbers, strings and words, all of which the function gets as texts.
fn parse_arguments(cursor: &mut Cursor<'_>) -> Result<Vec<String>> {
    cursor.expect_symbol(&Token::LParen)?;
    let mut arguments = Vec::new();
    if cursor.take_symbol(&Token::RParen) {
        return Ok(arguments);
    }
    loop {
        arguments.push(match cursor.peek() {
            Token::Number(digits, _) => {
                let digits = digits.clone();
                cursor.advance();
                digits
            }
            Token::SingleQuotedString(_) => parse_string(cursor)?,
            _ => crate::fold(&parse_label(cursor)?),
        });
        if !cursor.take_symbol(&Token::Comma) {
            break;
        }
    }
    cursor.expect_symbol(&Token::RParen)?;
    Ok(arguments)
}

/// `ALTER TRIGGER name ON table RENAME TO name`, at its second word.
pub(crate) fn parse_alter_trigger(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    let name = parse_ident(cursor)?;
    cursor.expect("on")?;
    let table = parse_object_name(cursor)?;
    if cursor.is("depends") || cursor.is("no") {
        return Err(cursor.unsupported("DEPENDS ON EXTENSION"));
    }
    cursor.expect_all(&["rename", "to"])?;
    let kind = RenameKind::To(parse_ident(cursor)?);
    let target = AlterTarget::Trigger { name, table };
    Ok(Statement::Rename(Rename { target, if_exists: false, kind }))
}

/// `ENABLE [REPLICA | ALWAYS] TRIGGER …`, `DISABLE TRIGGER …`; `None` if it is no such action.
pub(crate) fn parse_trigger_action(cursor: &mut Cursor<'_>) -> Result<Option<AlterAction>> {
    const FORMS: [(&[&str], TriggerState); 4] = [
        (&["enable", "trigger"], TriggerState::Origin),
        (&["disable", "trigger"], TriggerState::Disabled),
        (&["enable", "replica", "trigger"], TriggerState::Replica),
        (&["enable", "always", "trigger"], TriggerState::Always),
    ];
    let Some((_, state)) = FORMS.iter().find(|(words, _)| cursor.take_all(words)) else {
        return Ok(None);
    };
    let takes_groups = matches!(state, TriggerState::Origin | TriggerState::Disabled);
    let choice = if takes_groups && cursor.take("all") {
        TriggerChoice::All
    } else if takes_groups && cursor.take("user") {
        TriggerChoice::User
    } else {
        TriggerChoice::Named(parse_ident(cursor)?)
    };
    Ok(Some(AlterAction::Trigger(choice, *state)))
}
