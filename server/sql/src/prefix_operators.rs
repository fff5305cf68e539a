//! Operators before their operand that the parser of the library does not know. Those of
//! extensions become calls of the functions below them. `COLLATION FOR (…)`, `ISNULL` and
//! `interval(2) '…'` beside.

use sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentList, FunctionArguments, Ident, Interval, ObjectName, UnaryOperator, Value,
};
use sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// The function below an operator of hstore.
fn function_of(operator: &str) -> Option<&'static str> {
    match operator {
        "%%" => Some("hstore_to_array"),
        "%#" => Some("hstore_to_matrix"),
        _ => None,
    }
}

/// An operator of the geometric types.
fn geometric(token: &Token) -> Option<UnaryOperator> {
    Some(match token {
        Token::Sharp => UnaryOperator::Hash,
        Token::AtAt => UnaryOperator::DoubleAt,
        Token::QuestionPipe => UnaryOperator::QuestionPipe,
        Token::CustomBinaryOperator(operator) => match operator.as_str() {
            "@-@" => UnaryOperator::AtDashAt,
            "?-" => UnaryOperator::QuestionDash,
            _ => return None,
        },
        _ => return None,
    })
}

/// `N'text'`: a value of `character` without a length; `None` if something else is next.
pub(crate) fn national(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    let next = parser.peek_token_ref();
    let Token::NationalStringLiteral(text) = &next.token else { return None };
    let value = Value::SingleQuotedString(text.clone()).with_span(next.span);
    parser.advance_token();
    Some(Ok(Expr::Cast {
        kind: CastKind::DoubleColon,
        expr: Box::new(Expr::Value(value)),
        data_type: DataType::Custom(ObjectName::from(vec![Ident::new("bpchar")]), Vec::new()),
        format: None,
    }))
}

/// The operator that is next and its operand; `None` if no such operator is next.
pub(crate) fn parse(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    let token = &parser.peek_token_ref().token;
    let precedence = PostgreSqlDialect {}.prec_value(Precedence::PgOther);
    if let Some(op) = geometric(token) {
        parser.advance_token();
        let operand = parser.parse_subexpr(precedence);
        return Some(operand.map(|expr| Expr::UnaryOp { op, expr: Box::new(expr) }));
    }
    let Token::CustomBinaryOperator(operator) = token else { return None };
    let function = function_of(operator)?;
    parser.advance_token();
    Some(parser.parse_subexpr(precedence).map(|operand| call(function, operand)))
}

/// Whether `ISNULL` comes next, which sqlparser does not know.
pub(crate) fn is_isnull(parser: &Parser<'_>) -> bool {
    matches!(&parser.peek_token_ref().token,
        Token::Word(word) if word.quote_style.is_none() && word.value == "isnull")
}

fn call(function: &str, operand: Expr) -> Expr {
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(function)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(operand))],
            clauses: Vec::new(),
        }),
        null_treatment: None,
        filter: None,
        over: None,
        within_group: vec![],
    })
}

/// `COLLATION FOR (…)`; `None` if something else is next.
pub(crate) fn collation_for(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    let is_word = |n: usize, wanted: &str| {
        matches!(&parser.peek_nth_token_ref(n).token,
            Token::Word(word) if word.quote_style.is_none() && word.value == wanted)
    };
    if !is_word(0, "collation") || !is_word(1, "for") {
        return None;
    }
    let span = parser.peek_token_ref().span;
    let name = Ident { value: "pg_collation_for".to_owned(), quote_style: None, span };
    parser.advance_token();
    parser.advance_token();
    Some(parser.parse_function(ObjectName::from(vec![name])))
}

/// `interval(2) '…'`, whose digits the library's parser forgets.
pub(crate) fn interval(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    let at = |n: usize| &parser.peek_nth_token_ref(n).token;
    let is_interval = matches!(at(0), Token::Word(word) if word.keyword == Keyword::INTERVAL);
    if !is_interval || *at(1) != Token::LParen || *at(3) != Token::RParen {
        return None;
    }
    let (Token::Number(digits, _), Token::SingleQuotedString(text)) = (at(2), at(4)) else {
        return None;
    };
    let digits = digits.parse().ok()?;
    let value = Value::SingleQuotedString(text.clone());
    let value = Expr::Value(value.with_span(parser.peek_nth_token_ref(4).span));
    for _ in 0..5 {
        parser.advance_token();
    }
    Some(Ok(Expr::Interval(Interval {
        value: Box::new(value),
        leading_field: None,
        leading_precision: Some(digits),
        last_field: None,
        fractional_seconds_precision: None,
    })))
}

/// Operators that only other dialects know behind this operand: `1 NOT NULL`, and a comparison of a
/// comparison without parentheses.
pub(crate) fn refused_infix(
    parser: &mut Parser<'_>,
    left: &Expr,
) -> Option<Result<Expr, ParserError>> {
    let is_keyword = |place: usize, keyword: Keyword| {
        matches!(&parser.peek_nth_token_ref(place).token,
            Token::Word(word) if word.quote_style.is_none() && word.keyword == keyword)
    };
    if is_keyword(0, Keyword::NOT) && is_keyword(1, Keyword::NULL) {
        parser.advance_token();
        return Some(parser.expected_ref("an operator", parser.peek_token_ref()));
    }
    let compares = matches!(
        &parser.peek_token_ref().token,
        Token::Eq | Token::Neq | Token::Lt | Token::Gt | Token::LtEq | Token::GtEq
    );
    let is_comparison = matches!(
        left,
        Expr::BinaryOp {
            op: BinaryOperator::Eq
                | BinaryOperator::NotEq
                | BinaryOperator::Lt
                | BinaryOperator::Gt
                | BinaryOperator::LtEq
                | BinaryOperator::GtEq,
            ..
        }
    );
    (compares && is_comparison).then(|| parser.expected_ref("an operand", parser.peek_token_ref()))
}
