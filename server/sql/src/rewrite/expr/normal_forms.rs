//! Unicode's normal forms: `normalize(x, NFC)` becomes `normalize(x, 'NFC')`, and `x IS NFC
//! NORMALIZED` the call `is_normalized(x, 'NFC')`.

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident,
    ObjectName, UnaryOperator, Value, ValueWithSpan,
};
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

use crate::rewrite::words::word;

/// Whether the word at `at` is the form of a call of `normalize`.
pub(crate) fn names_form(tokens: &[TokenWithSpan], at: usize) -> bool {
    let is = |at: Option<usize>, symbol: &Token| {
        at.and_then(|at| tokens.get(at)).is_some_and(|token| token.token == *symbol)
    };
    if !is(at.checked_sub(1), &Token::Comma) || !is(Some(at + 1), &Token::RParen) {
        return false;
    }
    let mut depth = 0_usize;
    for place in (0..at).rev() {
        match tokens[place].token {
            Token::RParen => depth += 1,
            Token::LParen if depth == 0 => {
                let name = place.checked_sub(1).and_then(|before| word(tokens.get(before)));
                return name == Some("normalize");
            }
            Token::LParen => depth -= 1,
            Token::SemiColon => return false,
            _ => {}
        }
    }
    false
}

/// Makes a call of `IS NORMALIZED`.
pub(crate) fn call_of_test(expr: &mut Expr) {
    let Expr::IsNormalized { expr: tested, form, negated } = expr else { return };
    let form = form.as_ref().map_or_else(|| "NFC".to_owned(), ToString::to_string);
    let form =
        Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(form), span: Span::empty() });
    let args =
        [(**tested).clone(), form].map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)));
    let call = Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new("is_normalized")]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: args.to_vec(),
            clauses: Vec::new(),
        }),
        null_treatment: None,
        filter: None,
        over: None,
        within_group: Vec::new(),
    });
    *expr = match *negated {
        true => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(call) },
        false => call,
    };
}
