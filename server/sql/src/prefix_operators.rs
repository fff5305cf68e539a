//! Operators before their operand that only extensions have, and `COLLATION FOR`. The parser of the
//! library does not know them, so they become calls of the functions below them.

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident,
    ObjectName,
};
use sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
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

/// The call that an operator stands for; `None` if no such operator is next.
pub(crate) fn parse(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    let Token::CustomBinaryOperator(operator) = &parser.peek_token_ref().token else {
        return None;
    };
    let function = function_of(operator)?;
    parser.advance_token();
    let precedence = PostgreSqlDialect {}.prec_value(Precedence::PgOther);
    Some(parser.parse_subexpr(precedence).map(|operand| call(function, operand)))
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
