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

/// The 1-based character offset of the first parameter of that number from `after` on. 0 if there
/// is none. Lexes the text again: meant for errors.
pub fn find_parameter(text: &str, after: u32, number: usize) -> u32 {
    let name = format!("${number}");
    let tokens = lex(text).unwrap_or_default();
    let found = tokens.iter().find(|token| {
        matches!(&token.token, Token::Placeholder(other) if *other == name)
            && crate::rewrite::words::position(token.span) >= after
    });
    found.map_or(0, |token| crate::rewrite::words::position(token.span))
}

fn begins(chars: &[char], place: u32, wanted: &[&str]) -> bool {
    let rest = chars.get(place as usize - 1..).unwrap_or_default();
    wanted.iter().any(|wanted| {
        let mut rest = rest.iter();
        wanted.chars().all(|c| rest.next().is_some_and(|next| next.eq_ignore_ascii_case(&c)))
    })
}
