//! Places in a text that the syntax tree does not keep: those of operators.

use sqlparser::tokenizer::Token;

use crate::lex::tokens::lex;

/// The 1-based character offset of the first token that begins with one of these texts (in any
/// case) and stands from `after` on, before `before`, outside of parentheses opened there. 0 if
/// there is none. Lexes the text again: meant for errors.
pub fn find_token(text: &str, after: u32, before: u32, wanted: &[&str]) -> u32 {
    let Ok(tokens) = lex(text) else { return 0 };
    let chars: Vec<char> = text.chars().collect();
    let mut depth = 0usize;
    for token in &tokens {
        let place = crate::rewrite::words::position(token.span);
        if place < after.max(1) || token.token == Token::EOF {
            continue;
        }
        if place >= before {
            return 0;
        }
        match token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => depth = depth.saturating_sub(1),
            _ if depth == 0 && begins(&chars, place, wanted) => return place,
            _ => {}
        }
    }
    0
}

/// The 1-based character offset of the first token from `after` on. 0 if there is none.
pub fn next_token(text: &str, after: u32) -> u32 {
    let tokens = lex(text).unwrap_or_default();
    let place = |span| crate::rewrite::words::position(span);
    let found = tokens.iter().find(|token| token.token != Token::EOF && place(token.span) >= after);
    found.map_or(0, |token| place(token.span))
}

/// The 1-based character offset of the last token before `before` that begins with this text, in
/// any case. 0 if there is none.
pub fn last_token(text: &str, before: u32, wanted: &str) -> u32 {
    let tokens = lex(text).unwrap_or_default();
    let chars: Vec<char> = text.chars().collect();
    let places = tokens.iter().filter(|token| token.token != Token::EOF);
    let places = places.map(|token| crate::rewrite::words::position(token.span));
    let found = places.take_while(|place| *place < before);
    found.filter(|place| *place > 0 && begins(&chars, *place, &[wanted])).last().unwrap_or(0)
}

/// The 1-based character offset of the first array without elements and without a cast, such as
/// `ARRAY[]`. 0 if there is none.
pub fn empty_array(text: &str) -> u32 {
    let tokens = lex(text).unwrap_or_default();
    let is = |at: usize, wanted: &Token| tokens.get(at).is_some_and(|t| t.token == *wanted);
    for at in 1..tokens.len() {
        let is_empty = is(at, &Token::LBracket) && is(at + 1, &Token::RBracket);
        if !is_empty || is(at + 2, &Token::DoubleColon) {
            continue;
        }
        let place = |at: usize| crate::rewrite::words::position(tokens[at].span);
        match &tokens[at - 1].token {
            Token::Word(word) if word.quote_style.is_none() && word.value == "array" => {
                return place(at - 1);
            }
            Token::LBracket | Token::Comma => return place(at),
            _ => {}
        }
    }
    0
}

/// How many characters stand before a text that stands in another one between quotes, as it is.
pub fn quoted_start(text: &str, quoted: &str) -> Option<u32> {
    let is_quote = |c: char| c == '\'' || c == '$';
    let is_quoted = |at: &usize| {
        let (before, after) = (text.get(..*at), text.get(at + quoted.len()..));
        before.is_some_and(|text| text.ends_with(is_quote))
            && after.is_some_and(|text| text.starts_with(is_quote))
    };
    let at = text.match_indices(quoted).map(|(at, _)| at).find(is_quoted)?;
    u32::try_from(text.get(..at)?.chars().count()).ok()
}

/// The first parameter from `after` on, such as `$1`, and its 1-based character offset. Lexes the
/// text again: meant for errors.
pub fn find_parameter(text: &str, after: u32) -> Option<(String, u32)> {
    lex(text).unwrap_or_default().into_iter().find_map(|token| match token.token {
        Token::Placeholder(name) => {
            let place = crate::rewrite::words::position(token.span);
            (place >= after).then_some((name, place))
        }
        _ => None,
    })
}

fn begins(chars: &[char], place: u32, wanted: &[&str]) -> bool {
    let rest = chars.get(place as usize - 1..).unwrap_or_default();
    wanted.iter().any(|wanted| {
        let mut rest = rest.iter();
        wanted.chars().all(|c| rest.next().is_some_and(|next| next.eq_ignore_ascii_case(&c)))
    })
}
