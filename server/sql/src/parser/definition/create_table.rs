//! `CREATE TABLE`: columns, constraints, inline indexes, families and what follows the list.

use sqlparser::tokenizer::Token;

use braid_types::{Error, Result, SqlState};

use super::constraints::{check_clause, parse_references, parse_table_constraint};
use super::create_index::{parse_index_placement, parse_inline_index, parse_nulls_not_distinct};
use super::partitions::{parse_bound, parse_partition_by};
use super::sequence::parse_identity_options;
use crate::ast::{
    ColumnConstraint, ColumnConstraintKind, ColumnDef, ColumnOptions, CreateTable, CreateTableLike,
    Family, IdentityMode, PartitionOfClause, Statement, UniqueRules,
};
use crate::parser::Cursor;
use crate::parser::clauses::{
    Temporary, parse_interleave, parse_options, parse_tablespace, parse_with_data,
};
use crate::parser::embedded::{
    next_data_type, next_default_expr, next_expr, next_query, take_collation,
};
use crate::parser::names::{
    parse_any_name, parse_columns, parse_ident, parse_label, parse_object_name, take_if_not_exists,
};
use crate::parser::session::characteristics::{
    at_characteristics, misplaced, parse_characteristics,
};
use crate::parser::session::prepared::parse_execution;
use crate::rewrite::words::word;

/// `CREATE … TABLE`, behind that word.
pub(crate) fn parse_create_table(
    cursor: &mut Cursor<'_>,
    temporary: Temporary,
    unlogged: bool,
) -> Result<Statement> {
    let if_not_exists = take_if_not_exists(cursor);
    let name = parse_object_name(cursor)?;
    let mut table = CreateTable {
        if_not_exists,
        temporary: temporary != Temporary::No,
        global: temporary == Temporary::Global,
        unlogged,
        ..CreateTable::named(name)
    };
    if cursor.is("of") {
        return Err(cursor.unsupported("CREATE TABLE OF a type"));
    }
    if cursor.take("partition") {
        parse_partition_of(cursor, &mut table)?;
    } else if *cursor.peek() == Token::LParen {
        if is_name_list(cursor) {
            table.as_columns = parse_columns(cursor)?;
        } else {
            parse_table_items(cursor, &mut table)?;
        }
    } else if !matches!(cursor.peek_word(), Some("as" | "with" | "on" | "tablespace")) {
        return Err(cursor.unexpected());
    }
    parse_table_tail(cursor, &mut table)?;
    Ok(Statement::CreateTable(Box::new(table)))
}

/// What follows `PARTITION` in `CREATE TABLE p PARTITION OF parent …`.
fn parse_partition_of(cursor: &mut Cursor<'_>, table: &mut CreateTable) -> Result<()> {
    cursor.expect("of")?;
    let parent = parse_object_name(cursor)?;
    let mut columns = Vec::new();
    if cursor.take_symbol(&Token::LParen) {
        loop {
            if at_table_constraint(cursor) {
                table.constraints.push(parse_table_constraint(cursor)?);
            } else {
                columns.push(parse_column_options(cursor)?);
            }
            if !cursor.take_symbol(&Token::Comma) {
                break;
            }
        }
        cursor.expect_symbol(&Token::RParen)?;
    }
    let bound = parse_bound(cursor)?;
    table.partition_of = Some(PartitionOfClause { parent, columns, bound });
    Ok(())
}

/// `column [WITH OPTIONS] constraints`.
fn parse_column_options(cursor: &mut Cursor<'_>) -> Result<ColumnOptions> {
    let name = parse_ident(cursor)?;
    cursor.take_all(&["with", "options"]);
    let mut constraints = Vec::new();
    while !at_end_of_column(cursor) {
        parse_behind_column(cursor, &mut constraints)?;
    }
    Ok(ColumnOptions { name, constraints })
}

/// Whether the list is `(a, b)` of names only, as before `AS query`.
fn is_name_list(cursor: &Cursor<'_>) -> bool {
    let mut n = 1;
    loop {
        if !matches!(cursor.peek_nth(n), Token::Word(_)) {
            return false;
        }
        match cursor.peek_nth(n + 1) {
            Token::Comma => n += 2,
            Token::RParen => return true,
            _ => return false,
        }
    }
}

fn parse_table_items(cursor: &mut Cursor<'_>, table: &mut CreateTable) -> Result<()> {
    cursor.expect_symbol(&Token::LParen)?;
    if cursor.take_symbol(&Token::RParen) {
        return Ok(());
    }
    loop {
        parse_table_item(cursor, table)?;
        if !cursor.take_symbol(&Token::Comma) {
            return cursor.expect_symbol(&Token::RParen);
        }
    }
}

fn parse_table_item(cursor: &mut Cursor<'_>, table: &mut CreateTable) -> Result<()> {
    let span = cursor.span();
    if cursor.take("like") {
        let like = parse_table_like(cursor)?;
        table.like.push(like);
    } else if cursor.is("unique") && cursor.nth_is(1, "index") {
        cursor.advance();
        cursor.advance();
        table.indexes.push(parse_inline_index(cursor, true, span)?);
    } else if cursor.is("index") && is_definition(cursor) {
        cursor.advance();
        table.indexes.push(parse_inline_index(cursor, false, span)?);
    } else if cursor.is("inverted") && cursor.nth_is(1, "index") {
        return Err(cursor.unsupported("INVERTED INDEX"));
    } else if cursor.is("family") && is_definition(cursor) {
        cursor.advance();
        let name = if *cursor.peek() == Token::LParen { None } else { Some(parse_ident(cursor)?) };
        let columns = parse_columns(cursor)?;
        table.families.push(Family { name, columns, span });
    } else if at_table_constraint(cursor) {
        table.constraints.push(parse_table_constraint(cursor)?);
    } else {
        table.columns.push(parse_column_def(cursor)?);
    }
    Ok(())
}

/// Whether `INDEX` or `FAMILY` here is a definition and not a column of that name: the list
/// behind it holds names, where a type's would hold numbers.
fn is_definition(cursor: &Cursor<'_>) -> bool {
    let list = match (cursor.peek_nth(1), cursor.peek_nth(2)) {
        (Token::LParen, _) => 1,
        (Token::Word(_), Token::LParen) => 2,
        _ => return false,
    };
    matches!(cursor.peek_nth(list + 1), Token::Word(_) | Token::LParen)
}

fn at_table_constraint(cursor: &Cursor<'_>) -> bool {
    matches!(cursor.peek_word(), Some("constraint" | "primary" | "unique" | "check" | "foreign"))
        || (cursor.is("exclude") && matches!(cursor.peek_nth(1), Token::LParen))
        || cursor.are(&["exclude", "using"])
}

fn parse_table_like(cursor: &mut Cursor<'_>) -> Result<CreateTableLike> {
    let source = parse_object_name(cursor)?;
    let mut options = Vec::new();
    const OPTIONS: [&str; 10] = [
        "all",
        "comments",
        "compression",
        "constraints",
        "defaults",
        "generated",
        "identity",
        "indexes",
        "statistics",
        "storage",
    ];
    while let Some(which) = cursor.take_one(&["including", "excluding"]) {
        if !OPTIONS.iter().any(|option| cursor.is(option)) {
            return Err(cursor.unexpected());
        }
        let what = parse_label(cursor)?;
        options.push((which == 0, what.value));
    }
    Ok(CreateTableLike { source, options })
}

/// A column with its type and constraints.
pub(crate) fn parse_column_def(cursor: &mut Cursor<'_>) -> Result<ColumnDef> {
    let name = parse_ident(cursor)?;
    let data_type = next_data_type(cursor)?;
    let mut column = ColumnDef {
        name,
        data_type,
        collation: None,
        is_compressed: false,
        constraints: Vec::new(),
    };
    if cursor.take("compression") {
        check_compression(&parse_label(cursor)?.value)?;
        column.is_compressed = true;
    }
    while !at_end_of_column(cursor) {
        let place = crate::offset_of(cursor.span());
        if cursor.take("collate") {
            let collation = parse_any_name(cursor)?;
            if column.collation.replace(collation).is_some() {
                return Err(collated_twice(place));
            }
        } else {
            parse_behind_column(cursor, &mut column.constraints)?;
            if let Some(ColumnConstraint { kind: ColumnConstraintKind::Default(expr), .. }) =
                column.constraints.last_mut()
                && let Some(collation) = take_collation(expr)
                && (take_collation(expr).is_some() || column.collation.replace(collation).is_some())
            {
                return Err(collated_twice(last_collate(cursor).unwrap_or(place)));
            }
        }
    }
    Ok(column)
}

/// Where the last COLLATE stands before the cursor's place.
pub(super) fn last_collate(cursor: &Cursor<'_>) -> Option<u32> {
    let index = cursor.inner.index();
    let tokens = (0..index).rev().map(|at| cursor.inner.token_at(at));
    let found = tokens.take(8).find(|token| word(Some(token)) == Some("collate"));
    found.map(|token| crate::offset_of(token.span))
}

/// 42601 for the second COLLATE of a column or domain.
pub(super) fn collated_twice(place: u32) -> Error {
    let message = "multiple COLLATE clauses not allowed";
    Error::new(SqlState::SyntaxError, message).position(place)
}

/// 22023 for a method of compression that PostgreSQL does not have. It has no effect here.
pub(super) fn check_compression(method: &str) -> Result<()> {
    if matches!(method, "pglz" | "lz4" | "default") {
        return Ok(());
    }
    let message = format!("invalid compression method \"{method}\"");
    Err(Error::new(SqlState::InvalidParameterValue, message))
}

/// Whether nothing more follows behind a column.
fn at_end_of_column(cursor: &Cursor<'_>) -> bool {
    matches!(cursor.peek(), Token::Comma | Token::RParen) || cursor.at_end()
}

/// One constraint behind a column, or what speaks of the one before.
fn parse_behind_column(cursor: &mut Cursor<'_>, into: &mut Vec<ColumnConstraint>) -> Result<()> {
    if at_characteristics(cursor) {
        return parse_column_characteristics(cursor, into);
    }
    if !parse_column_constraint(cursor, into)? {
        return Err(cursor.unexpected());
    }
    Ok(())
}

/// `DEFERRABLE` and the like speak of the constraint before them.
fn parse_column_characteristics(
    cursor: &mut Cursor<'_>,
    constraints: &mut [ColumnConstraint],
) -> Result<()> {
    let error = misplaced(cursor);
    let Some(last) = constraints.last_mut() else {
        return Err(error);
    };
    match &mut last.kind {
        ColumnConstraintKind::References(key) => {
            (key.deferrable, key.initially_deferred) = parse_characteristics(cursor)?;
            Ok(())
        }
        ColumnConstraintKind::Unique(rules) | ColumnConstraintKind::PrimaryKey(rules) => {
            (rules.deferrable, rules.initially_deferred) = parse_characteristics(cursor)?;
            Ok(())
        }
        _ => Err(error),
    }
}

/// One constraint of a column; false when none is next.
fn parse_column_constraint(
    cursor: &mut Cursor<'_>,
    into: &mut Vec<ColumnConstraint>,
) -> Result<bool> {
    let span = cursor.span();
    let name = if cursor.take("constraint") { Some(parse_ident(cursor)?) } else { None };
    let Some(kind) = parse_column_constraint_kind(cursor)? else {
        return Ok(false);
    };
    into.push(ColumnConstraint { name, kind, span });
    Ok(true)
}

fn parse_column_constraint_kind(cursor: &mut Cursor<'_>) -> Result<Option<ColumnConstraintKind>> {
    let kind = if cursor.take_all(&["not", "null"]) {
        ColumnConstraintKind::NotNull
    } else if cursor.take("null") {
        ColumnConstraintKind::Null
    } else if cursor.take("default") {
        ColumnConstraintKind::Default(next_default_expr(cursor)?)
    } else if cursor.take("primary") {
        cursor.expect("key")?;
        parse_index_placement(cursor)?;
        ColumnConstraintKind::PrimaryKey(UniqueRules::default())
    } else if cursor.take("unique") {
        let nulls_not_distinct = parse_nulls_not_distinct(cursor)?;
        parse_index_placement(cursor)?;
        ColumnConstraintKind::Unique(UniqueRules::of_index(nulls_not_distinct))
    } else if cursor.take("check") {
        ColumnConstraintKind::Check(check_clause(cursor)?)
    } else if cursor.is("references") {
        ColumnConstraintKind::References(parse_references(cursor, Vec::new())?)
    } else if cursor.take("generated") {
        parse_generated(cursor)?
    } else if cursor.take("as") {
        cursor.expect_symbol(&Token::LParen)?;
        parse_generated_expr(cursor)?
    } else if cursor.take("create") {
        let if_not_exists = take_if_not_exists(cursor);
        cursor.expect("family")?;
        let name = if matches!(cursor.peek(), Token::Word(_)) && !at_column_constraint(cursor) {
            Some(parse_ident(cursor)?)
        } else {
            None
        };
        ColumnConstraintKind::Family { name, create: true, if_not_exists }
    } else if cursor.take("family") {
        let name = Some(parse_ident(cursor)?);
        ColumnConstraintKind::Family { name, create: false, if_not_exists: false }
    } else {
        return Ok(None);
    };
    Ok(Some(kind))
}

fn at_column_constraint(cursor: &Cursor<'_>) -> bool {
    matches!(
        cursor.peek_word(),
        Some(
            "not"
                | "null"
                | "default"
                | "primary"
                | "unique"
                | "check"
                | "references"
                | "generated"
                | "as"
                | "constraint"
                | "collate"
        )
    )
}

/// `ALWAYS` or `BY DEFAULT`.
pub(crate) fn parse_identity_mode(cursor: &mut Cursor<'_>) -> Result<IdentityMode> {
    if cursor.take("always") {
        return Ok(IdentityMode::Always);
    }
    cursor.expect_all(&["by", "default"])?;
    Ok(IdentityMode::ByDefault)
}

/// What follows `GENERATED`.
fn parse_generated(cursor: &mut Cursor<'_>) -> Result<ColumnConstraintKind> {
    let mode = parse_identity_mode(cursor)?;
    cursor.expect("as")?;
    if cursor.take("identity") {
        return Ok(ColumnConstraintKind::Identity {
            mode,
            options: parse_identity_options(cursor)?,
        });
    }
    if mode == IdentityMode::ByDefault {
        return Err(cursor.unexpected());
    }
    cursor.expect_symbol(&Token::LParen)?;
    parse_generated_expr(cursor)
}

/// `expr) STORED`.
fn parse_generated_expr(cursor: &mut Cursor<'_>) -> Result<ColumnConstraintKind> {
    let expr = next_expr(cursor)?;
    cursor.expect_symbol(&Token::RParen)?;
    let stored = match cursor.take_one(&["stored", "virtual"]) {
        Some(which) => which == 0,
        None => return Err(cursor.unexpected()),
    };
    Ok(ColumnConstraintKind::Generated { expr, stored })
}

/// Everything behind the list. PostgreSQL's clauses have one order and come once.
fn parse_table_tail(cursor: &mut Cursor<'_>, table: &mut CreateTable) -> Result<()> {
    let mut last = 0;
    loop {
        let rank = tail_rank(cursor);
        if rank > 0 && rank <= last {
            return Err(cursor.unexpected());
        }
        last = last.max(rank);
        if let Some(interleave) = parse_interleave(cursor)? {
            table.interleave = Some(interleave);
        } else if cursor.is("inherits") {
            return Err(cursor.unsupported("INHERITS"));
        } else if cursor.is("partition") {
            table.partition_by = Some(parse_partition_by(cursor)?);
        } else if cursor.take("using") {
            parse_ident(cursor)?;
        } else if cursor.take("with") {
            table.options = parse_options(cursor)?;
        } else if cursor.take_all(&["without", "oids"]) {
            // The only choice there is.
        } else if cursor.take("tablespace") {
            parse_tablespace(cursor)?;
        } else if cursor.take_all(&["on", "commit"]) {
            table.on_commit = Some(parse_on_commit(cursor)?);
        } else if cursor.is("as") && has_definitions(table) {
            return Err(cursor.unexpected());
        } else if cursor.take("as") {
            match cursor.take("execute") {
                true => table.as_execute = Some(parse_execution(cursor)?),
                false => table.as_query = Some(next_query(cursor)?),
            }
            table.with_no_data = parse_with_data(cursor)?;
            return Ok(());
        } else if !table.as_columns.is_empty() {
            return Err(cursor.unexpected());
        } else {
            return Ok(());
        }
    }
}

/// Whether the list has more than names of columns.
fn has_definitions(table: &CreateTable) -> bool {
    !table.columns.is_empty() || !table.constraints.is_empty() || !table.like.is_empty()
}

/// The place of the clause that comes next among those behind the list; 0 for another one.
fn tail_rank(cursor: &Cursor<'_>) -> u8 {
    match cursor.peek_word() {
        Some("inherits") => 1,
        Some("partition") => 2,
        Some("using") => 3,
        Some("with" | "without") => 4,
        Some("on") => 5,
        Some("tablespace") => 6,
        _ => 0,
    }
}

fn parse_on_commit(cursor: &mut Cursor<'_>) -> Result<&'static str> {
    if cursor.take("drop") {
        return Ok("drop");
    }
    match cursor.take_one(&["delete", "preserve"]) {
        Some(which) => {
            cursor.expect("rows")?;
            Ok(if which == 0 { "delete rows" } else { "preserve rows" })
        }
        None => Err(cursor.unexpected()),
    }
}
