//! `CREATE COLLATION`.

use braid_types::Result;

use crate::ast::{CollationSource, CreateCollation, Statement};
use crate::parser::Cursor;
use crate::parser::clauses::parse_options;
use crate::parser::names::{parse_any_name, take_if_not_exists};

pub(crate) fn parse_create_collation(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    let if_not_exists = take_if_not_exists(cursor);
    let name = parse_any_name(cursor)?;
    let source = match cursor.take("from") {
        true => CollationSource::Existing(parse_any_name(cursor)?),
        false => CollationSource::Options(parse_options(cursor)?),
    };
    Ok(Statement::CreateCollation(Box::new(CreateCollation { name, if_not_exists, source })))
}
