//! Sequences and their options, also those of identity columns.

use sqlparser::tokenizer::Token;

use braid_types::{Error, Result, SqlState};

use crate::ast::{CreateSequence, SequenceOption, Statement};
use crate::offset_of;
use crate::parser::Cursor;
use crate::parser::clauses::{Temporary, redundant_options};
use crate::parser::embedded::next_data_type;
use crate::parser::names::{parse_integer, parse_object_name, take_if_not_exists};

/// `CREATE SEQUENCE`, behind that word.
pub(crate) fn parse_create_sequence(
    cursor: &mut Cursor<'_>,
    temporary: Temporary,
    unlogged: bool,
) -> Result<Statement> {
    let if_not_exists = take_if_not_exists(cursor);
    let name = parse_object_name(cursor)?;
    let options = parse_sequence_options(cursor, false)?;
    Ok(Statement::CreateSequence(CreateSequence {
        name,
        if_not_exists,
        temporary: temporary != Temporary::No,
        global: temporary == Temporary::Global,
        unlogged,
        options,
    }))
}

/// Options up to the first word that is none. The sequence of an identity column may be named, but
/// its type is that of the column.
pub(crate) fn parse_sequence_options(
    cursor: &mut Cursor<'_>,
    is_identity: bool,
) -> Result<Vec<SequenceOption>> {
    let mut options: Vec<SequenceOption> = Vec::new();
    let mut place = offset_of(cursor.span());
    while let Some(option) = parse_sequence_option(cursor)? {
        let kind = std::mem::discriminant(&option);
        let is_repeated = options.iter().any(|known| std::mem::discriminant(known) == kind);
        if is_repeated || is_identity && matches!(option, SequenceOption::As(_)) {
            return Err(redundant_options(place));
        }
        if !is_identity && matches!(option, SequenceOption::Name(_)) {
            let message = "invalid sequence option SEQUENCE NAME";
            return Err(Error::new(SqlState::SyntaxError, message).position(place));
        }
        options.push(option);
        place = offset_of(cursor.span());
    }
    Ok(options)
}

/// `[(options)]` of an identity column.
pub(crate) fn parse_identity_options(cursor: &mut Cursor<'_>) -> Result<Vec<SequenceOption>> {
    if !cursor.take_symbol(&Token::LParen) {
        return Ok(Vec::new());
    }
    let options = parse_sequence_options(cursor, true)?;
    if options.is_empty() {
        return Err(cursor.unexpected());
    }
    cursor.expect_symbol(&Token::RParen)?;
    Ok(options)
}

/// One option; `None` when none is next.
pub(crate) fn parse_sequence_option(cursor: &mut Cursor<'_>) -> Result<Option<SequenceOption>> {
    let option = if cursor.take("as") {
        SequenceOption::As(next_data_type(cursor)?)
    } else if cursor.take("increment") {
        cursor.take("by");
        SequenceOption::IncrementBy(parse_integer(cursor)?)
    } else if cursor.take("minvalue") {
        SequenceOption::MinValue(Some(parse_integer(cursor)?))
    } else if cursor.take("maxvalue") {
        SequenceOption::MaxValue(Some(parse_integer(cursor)?))
    } else if cursor.take_all(&["no", "minvalue"]) {
        SequenceOption::MinValue(None)
    } else if cursor.take_all(&["no", "maxvalue"]) {
        SequenceOption::MaxValue(None)
    } else if cursor.take("start") {
        cursor.take("with");
        SequenceOption::StartWith(parse_integer(cursor)?)
    } else if cursor.take("restart") {
        let with = cursor.take("with");
        let has_number = matches!(cursor.peek(), Token::Number(..) | Token::Minus | Token::Plus);
        let number = if with || has_number { Some(parse_integer(cursor)?) } else { None };
        SequenceOption::Restart(number)
    } else if cursor.take("cache") {
        SequenceOption::Cache(parse_integer(cursor)?)
    } else if cursor.take("cycle") {
        SequenceOption::Cycle(true)
    } else if cursor.take_all(&["no", "cycle"]) {
        SequenceOption::Cycle(false)
    } else if cursor.take_all(&["owned", "by"]) {
        let column = parse_object_name(cursor)?;
        let is_none = column.0.len() == 1
            && column.0[0]
                .as_ident()
                .is_some_and(|part| part.quote_style.is_none() && part.value == "none");
        SequenceOption::OwnedBy((!is_none).then_some(column))
    } else if cursor.take_all(&["sequence", "name"]) {
        SequenceOption::Name(parse_object_name(cursor)?)
    } else {
        return Ok(None);
    };
    Ok(Some(option))
}
