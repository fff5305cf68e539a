//! sqlparser's PostgreSQL dialect with its loose ends tied: what may be a name, how tightly a
//! sign binds, where a `DEFAULT` ends; and a short way for literals and plain columns, which
//! sqlparser would first try to read as types.
//!
//! One value lives as long as one parse: it also counts operators, so that no tree of unbounded
//! depth can grow.

use std::any::TypeId;
use std::cell::Cell;

use sqlparser::ast::{
    Array, BinaryOperator, DataType, Expr, Function, FunctionArguments, Ident, ObjectName,
    TypedString, UnaryOperator, Value,
};
use sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Span, Token};

use crate::lex::keywords::{self, Category};
use crate::limits;
use crate::prefix_operators;
use crate::quantified;
use crate::rewrite::parenthesized;
use crate::rewrite::shape;

/// How tightly `COLLATE` binds.
const COLLATE_PREC: u8 = 120;

/// A sign binds tighter than `COLLATE` and looser than `[ ]` (130), as in PostgreSQL.
const SIGN_PREC: u8 = 125;

/// How many operators are parsed between two measurements of the tree.
const MEASURE_EVERY: usize = 4096;

/// The dialect of one parse.
#[derive(Debug, Default)]
pub(crate) struct BraidDialect {
    /// A token index at which an expression must end, though it could go on: the `NOT` of
    /// `DEFAULT 1 NOT NULL`.
    pub(crate) stop_at: Cell<Option<usize>>,
    /// Operators parsed so far.
    operators: Cell<usize>,
    /// A chain was found to be too long.
    pub(crate) too_deep: Cell<bool>,
}

const PG: PostgreSqlDialect = PostgreSqlDialect {};

impl BraidDialect {
    /// The short ways through an expression's first token; `None` leaves it to sqlparser.
    fn word_prefix(&self, parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        let token = parser.peek_token_ref();
        let Token::Word(word) = &token.token else {
            return None;
        };
        let next = &parser.peek_nth_token_ref(1).token;
        let span = token.span;
        if word.quote_style.is_some() {
            if matches!(next, Token::LParen | Token::SingleQuotedString(_)) {
                return None;
            }
            let ident = word.to_ident(span);
            parser.advance_token();
            return Some(Ok(Expr::Identifier(ident)));
        }
        let info = keywords::lookup(&word.value);
        let category = info.map_or(Category::Unreserved, |info| info.category);
        match category {
            Category::Reserved => reserved_prefix(parser),
            Category::Function => {
                let is_type = word.keyword == Keyword::BINARY;
                let ident = word.to_ident(span);
                if *next == Token::LParen && !is_type {
                    parser.advance_token();
                    return Some(parser.parse_function(ObjectName::from(vec![ident])));
                }
                if let Some(call) = prefix_operators::collation_for(parser) {
                    return Some(call);
                }
                if ident.value == "current_schema" {
                    parser.advance_token();
                    return Some(Ok(bare_function(ident)));
                }
                Some(parser.expected_ref("an expression", parser.peek_token_ref()))
            }
            Category::Unreserved if word.keyword == Keyword::NoKeyword => {
                let ident = word.to_ident(span);
                Some(match next {
                    Token::LParen => {
                        parser.advance_token();
                        parser.parse_function(ObjectName::from(vec![ident]))
                    }
                    Token::SingleQuotedString(_) => typed_string(parser),
                    _ => {
                        parser.advance_token();
                        Ok(Expr::Identifier(ident))
                    }
                })
            }
            // An unreserved keyword before a string is a type: `name 'x'`.
            Category::Unreserved if matches!(next, Token::SingleQuotedString(_)) => {
                Some(typed_string(parser))
            }
            // A type's name is a column unless more of a typed literal follows.
            Category::Unreserved | Category::Name => {
                let opens = matches!(
                    next,
                    Token::LParen | Token::LBracket | Token::SingleQuotedString(_) | Token::Word(_)
                );
                if opens {
                    return None;
                }
                let ident = word.to_ident(span);
                parser.advance_token();
                Some(Ok(Expr::Identifier(ident)))
            }
        }
    }
}

/// `current_user` and the like: a function without parentheses.
fn bare_function(name: Ident) -> Expr {
    Expr::Function(Function {
        name: ObjectName::from(vec![name]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::None,
        null_treatment: None,
        filter: None,
        over: None,
        within_group: vec![],
    })
}

/// `type 'text'` for a type that sqlparser does not know.
fn typed_string(parser: &mut Parser<'_>) -> Result<Expr, ParserError> {
    let data_type: DataType = parser.parse_data_type()?;
    let value = parser.parse_value()?;
    Ok(Expr::TypedString(TypedString { data_type, value, uses_odbc_syntax: false }))
}

/// A reserved word at the start of an expression: only some may stand there.
fn reserved_prefix(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    let token = parser.peek_token_ref();
    let Token::Word(word) = &token.token else {
        return None;
    };
    match word.value.as_str() {
        "array" if parser.peek_nth_token_ref(1).token == Token::LBracket => {
            parser.advance_token();
            Some(array_literal(parser, 0))
        }
        // `f(VARIADIC x)`: sqlparser's form of a marked expression.
        "variadic" => {
            let prefix = word.to_ident(token.span);
            parser.advance_token();
            let value = parser.parse_expr().map(Box::new);
            Some(value.map(|value| Expr::Prefixed { prefix, value }))
        }
        "array" | "case" | "cast" | "current_date" | "current_time" | "current_timestamp"
        | "false" | "localtime" | "localtimestamp" | "not" | "null" | "true" => None,
        "current_role" | "current_user" | "current_catalog" | "session_user" | "user" => {
            let ident = word.to_ident(token.span);
            parser.advance_token();
            Some(Ok(bare_function(ident)))
        }
        // Told from a column by its missing quotes, see `is_default`.
        "default" => {
            let ident = word.to_ident(token.span);
            parser.advance_token();
            Some(Ok(Expr::Identifier(ident)))
        }
        _ => Some(parser.expected_ref("an expression", token)),
    }
}

/// `[a, b]` behind `ARRAY`, or inside another list.
fn array_literal(parser: &mut Parser<'_>, depth: usize) -> Result<Expr, ParserError> {
    if depth > limits::ARRAY_NESTING_MAX {
        return Err(ParserError::RecursionLimitExceeded);
    }
    parser.expect_token(&Token::LBracket)?;
    let mut elem = Vec::new();
    while parser.peek_token_ref().token != Token::RBracket {
        if !elem.is_empty() {
            parser.expect_token(&Token::Comma)?;
        }
        elem.push(if parser.peek_token_ref().token == Token::LBracket {
            array_literal(parser, depth + 1)?
        } else {
            parser.parse_expr()?
        });
    }
    parser.expect_token(&Token::RBracket)?;
    Ok(Expr::Array(Array { elem, named: depth == 0 }))
}

/// `+` or `-` before an operand. A negative number becomes one literal, as in PostgreSQL, so
/// that the smallest integers can be written.
fn sign_prefix(parser: &mut Parser<'_>, op: UnaryOperator) -> Result<Expr, ParserError> {
    let sign = parser.peek_token_ref().span;
    parser.advance_token();
    if op == UnaryOperator::Minus
        && let Token::Number(digits, _) = &parser.peek_token_ref().token
        && !matches!(parser.peek_nth_token_ref(1).token, Token::DoubleColon | Token::LBracket)
    {
        let value = Value::Number(format!("-{digits}"), false);
        let span = sign.union(&parser.peek_token_ref().span);
        parser.advance_token();
        return Ok(Expr::Value(value.with_span(span)));
    }
    let mut expr = Box::new(parser.parse_subexpr(SIGN_PREC)?);
    if op == UnaryOperator::Minus
        && let Some((digits, span)) = negative_number(&expr)
    {
        return Ok(Expr::Value(Value::Number(digits, false).with_span(sign.union(&span))));
    }
    // Two signs side by side, shown as text, would start a comment.
    let signed = match expr.as_ref() {
        Expr::UnaryOp { .. } => true,
        Expr::Value(value) => {
            matches!(&value.value, Value::Number(digits, _) if digits.starts_with('-'))
        }
        _ => false,
    };
    if signed {
        expr = Box::new(Expr::Nested(expr));
    }
    Ok(Expr::UnaryOp { op, expr })
}

/// The digits of a negative literal, perhaps in parentheses.
fn negative_number(expr: &Expr) -> Option<(String, Span)> {
    if let Expr::Nested(inner) = expr {
        return negative_number(inner);
    }
    let Expr::Value(value) = expr else { return None };
    let Value::Number(number, _) = &value.value else { return None };
    Some((number.strip_prefix('-')?.to_owned(), value.span))
}

impl Dialect for BraidDialect {
    fn dialect(&self) -> TypeId {
        TypeId::of::<PostgreSqlDialect>()
    }

    fn parse_prefix(&self, parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        let token = parser.peek_token_ref();
        let value = match &token.token {
            Token::Number(number, long) => Value::Number(number.clone(), *long),
            Token::SingleQuotedString(text) => Value::SingleQuotedString(text.clone()),
            Token::NationalStringLiteral(_) => return prefix_operators::national(parser),
            Token::Placeholder(name) => Value::Placeholder(name.clone()),
            Token::Word(_) => {
                return prefix_operators::interval(parser)
                    .or_else(|| parenthesized::values_prefix(parser))
                    .or_else(|| self.word_prefix(parser));
            }
            Token::CustomBinaryOperator(_) | Token::Sharp | Token::AtAt | Token::QuestionPipe => {
                return prefix_operators::parse(parser);
            }
            Token::Minus => return Some(sign_prefix(parser, UnaryOperator::Minus)),
            Token::Plus => return Some(sign_prefix(parser, UnaryOperator::Plus)),
            Token::LBracket => return Some(parser.expected_ref("an expression", token)),
            Token::LParen => return parenthesized::query_prefix(parser),
            _ => return None,
        };
        let expr = Expr::Value(value.with_span(token.span));
        parser.advance_token();
        Some(Ok(expr))
    }

    fn parse_infix(
        &self,
        parser: &mut Parser<'_>,
        expr: &Expr,
        _: u8,
    ) -> Option<Result<Expr, ParserError>> {
        let count = self.operators.get() + 1;
        self.operators.set(count);
        if count.is_multiple_of(MEASURE_EVERY) && shape::is_chain_too_long(expr) {
            self.too_deep.set(true);
            return Some(Err(ParserError::RecursionLimitExceeded));
        }
        if prefix_operators::is_isnull(parser) {
            parser.advance_token();
            return Some(Ok(Expr::IsNull(Box::new(expr.clone()))));
        }
        if let Some(refused) = prefix_operators::refused_infix(parser, expr) {
            return Some(refused);
        }
        if is_collate(parser) {
            parser.advance_token();
            let expr = Box::new(expr.clone());
            let collation = parser.parse_object_name(false);
            return Some(collation.map(|collation| Expr::Collate { expr, collation }));
        }
        between_symmetric(parser, expr)
            .or_else(|| parenthesized::in_list(parser, expr))
            .or_else(|| quantified::like_all(parser, expr))
            .or_else(|| quantified::operator_any(parser, expr))
    }

    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        if self.stop_at.get() == Some(parser.index()) {
            return Some(Ok(0));
        }
        if prefix_operators::is_isnull(parser) {
            return Some(Ok(PG.prec_value(Precedence::Is)));
        }
        if is_collate(parser) {
            return Some(Ok(COLLATE_PREC));
        }
        PG.get_next_precedence(parser)
    }

    fn is_select_item_alias(&self, explicit: bool, kw: &Keyword, _: &mut Parser<'_>) -> bool {
        explicit || keywords::info(*kw).is_none_or(|info| info.bare_label)
    }

    fn is_column_alias(&self, kw: &Keyword, _: &mut Parser<'_>) -> bool {
        keywords::info(*kw).is_none_or(|info| info.bare_label)
    }

    fn is_table_factor_alias(&self, _: bool, kw: &Keyword, parser: &mut Parser<'_>) -> bool {
        self.is_table_alias(kw, parser)
    }

    fn is_table_alias(&self, kw: &Keyword, _: &mut Parser<'_>) -> bool {
        keywords::info(*kw)
            .is_none_or(|info| matches!(info.category, Category::Unreserved | Category::Name))
    }

    fn is_table_factor(&self, kw: &Keyword, _: &mut Parser<'_>) -> bool {
        keywords::info(*kw).is_none_or(|info| info.category != Category::Reserved)
    }

    fn is_reserved_for_identifier(&self, kw: Keyword) -> bool {
        keywords::info(kw).is_some_and(|info| info.category == Category::Reserved)
    }

    fn prec_value(&self, prec: Precedence) -> u8 {
        PG.prec_value(prec)
    }

    // The rest says of PostgreSQL what sqlparser's own dialect says.

    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        let plain = keywords::is_column_name(identifier)
            && !identifier.is_empty()
            && identifier
                .bytes()
                .enumerate()
                .all(|(i, b)| b.is_ascii_lowercase() || b == b'_' || (i > 0 && b.is_ascii_digit()));
        (!plain).then_some('"')
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        PG.is_delimited_identifier_start(ch)
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        PG.is_identifier_start(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        PG.is_identifier_part(ch)
    }

    fn is_custom_operator_part(&self, ch: char) -> bool {
        PG.is_custom_operator_part(ch)
    }

    fn supports_unicode_string_literal(&self) -> bool {
        true
    }

    fn supports_filter_during_aggregation(&self) -> bool {
        true
    }

    fn supports_group_by_expr(&self) -> bool {
        true
    }

    // What `RecursionClauses` reads stands there.
    fn supports_from_first_insert(&self) -> bool {
        true
    }

    fn allow_extract_custom(&self) -> bool {
        true
    }

    fn allow_extract_single_quotes(&self) -> bool {
        true
    }

    fn supports_bitwise_shift_operators(&self) -> bool {
        true
    }

    fn supports_named_fn_args_with_assignment_operator(&self) -> bool {
        true
    }

    fn supports_named_fn_args_with_rarrow_operator(&self) -> bool {
        true
    }

    fn supports_empty_projections(&self) -> bool {
        true
    }

    fn supports_window_clause_named_window_reference(&self) -> bool {
        true
    }

    fn supports_array_typedef_with_brackets(&self) -> bool {
        true
    }

    fn supports_order_by_using_operator(&self) -> bool {
        true
    }

    fn supports_left_associative_joins_without_parens(&self) -> bool {
        false
    }

    fn supports_notnull_operator(&self) -> bool {
        true
    }

    fn supports_interval_options(&self) -> bool {
        true
    }

    fn supports_select_wildcard_with_alias(&self) -> bool {
        false
    }

    fn supports_comma_separated_trim(&self) -> bool {
        true
    }

    fn supports_parens_around_table_factor(&self) -> bool {
        false
    }

    fn supports_values_as_table_factor(&self) -> bool {
        false
    }

    fn supports_dollar_placeholder(&self) -> bool {
        true
    }
}

/// Whether `COLLATE` comes next. sqlparser reads it right after an operand, but not after a cast
/// or a subscript.
fn is_collate(parser: &Parser<'_>) -> bool {
    matches!(&parser.peek_token_ref().token,
        Token::Word(word) if word.quote_style.is_none() && word.value == "collate")
        && matches!(parser.peek_nth_token_ref(1).token, Token::Word(_))
}

/// `x BETWEEN SYMMETRIC a AND b` as `(x BETWEEN a AND b OR x BETWEEN b AND a)`, and ASYMMETRIC as
/// what it means without a word.
fn between_symmetric(parser: &mut Parser<'_>, expr: &Expr) -> Option<Result<Expr, ParserError>> {
    let negated = matches!(&parser.peek_token_ref().token,
        Token::Word(word) if word.keyword == Keyword::NOT);
    let at = usize::from(negated);
    let is_word = |place: usize, word: &str| {
        matches!(&parser.peek_nth_token_ref(place).token,
            Token::Word(found) if found.quote_style.is_none()
                && found.value.eq_ignore_ascii_case(word))
    };
    let symmetric = is_word(at + 1, "symmetric");
    if !is_word(at, "between") || !(symmetric || is_word(at + 1, "asymmetric")) {
        return None;
    }
    for _ in 0..at + 2 {
        parser.advance_token();
    }
    Some(between_bounds(parser, expr, negated, symmetric))
}

fn between_bounds(
    parser: &mut Parser<'_>,
    expr: &Expr,
    negated: bool,
    symmetric: bool,
) -> Result<Expr, ParserError> {
    let precedence = PG.prec_value(Precedence::Between);
    let low = parser.parse_subexpr(precedence)?;
    parser.expect_keyword(Keyword::AND)?;
    let high = parser.parse_subexpr(precedence)?;
    let between = |low: &Expr, high: &Expr| Expr::Between {
        expr: Box::new(expr.clone()),
        negated,
        low: Box::new(low.clone()),
        high: Box::new(high.clone()),
    };
    if !symmetric {
        return Ok(between(&low, &high));
    }
    let op = if negated { BinaryOperator::And } else { BinaryOperator::Or };
    Ok(Expr::Nested(Box::new(Expr::BinaryOp {
        left: Box::new(between(&low, &high)),
        op,
        right: Box::new(between(&high, &low)),
    })))
}
