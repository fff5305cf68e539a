//! `EXCLUDE …` of a window frame, which sqlparser lacks. The last bound of the frame becomes a call
//! of a function that no user can write.
//!
//! | written | parsed as |
//! |---|---|
//! | `… 1 FOLLOWING EXCLUDE TIES` | `… "\u{1}exclude ties"(1) FOLLOWING` |
//! | `… UNBOUNDED FOLLOWING EXCLUDE TIES` | `… "\u{1}exclude ties"(*) FOLLOWING` |
//! | `… CURRENT ROW EXCLUDE TIES` | `… "\u{1}exclude ties"() FOLLOWING` |

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident,
    ObjectName, WindowFrame, WindowFrameBound,
};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::words::word;
use crate::lex::tokens::word_token;

/// Rows of a frame that are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameExclusion {
    /// The current row.
    CurrentRow,
    /// The current row and its peers.
    Group,
    /// The peers of the current row, without itself.
    Ties,
}

impl FrameExclusion {
    const ALL: [Self; 3] = [Self::CurrentRow, Self::Group, Self::Ties];

    /// The clause.
    pub fn clause(self) -> &'static str {
        match self {
            Self::CurrentRow => "EXCLUDE CURRENT ROW",
            Self::Group => "EXCLUDE GROUP",
            Self::Ties => "EXCLUDE TIES",
        }
    }

    fn mark(self) -> String {
        format!("\u{1}{}", self.clause())
    }
}

/// An end of a frame.
#[derive(Clone, Copy)]
pub enum FrameEnd<'f> {
    /// `CURRENT ROW`
    CurrentRow,
    /// `offset PRECEDING`, or UNBOUNDED without an offset.
    Preceding(Option<&'f Expr>),
    /// `offset FOLLOWING`, or UNBOUNDED without an offset.
    Following(Option<&'f Expr>),
}

/// A frame, its exclusion decoded.
pub struct FrameParts<'f> {
    /// Where it starts.
    pub start: FrameEnd<'f>,
    /// Where it ends, if the frame says so.
    pub end: Option<FrameEnd<'f>>,
    /// What it leaves out.
    pub exclusion: Option<FrameExclusion>,
}

/// The parts of a frame.
pub fn frame_parts(frame: &WindowFrame) -> FrameParts<'_> {
    let (start, exclusion) = decode(&frame.start_bound);
    match frame.end_bound.as_ref().map(decode) {
        Some((end, exclusion)) => FrameParts { start, end: Some(end), exclusion },
        None => FrameParts { start, end: None, exclusion },
    }
}

/// Sets the bounds of a frame, and what it leaves out.
pub fn set_frame_parts(
    frame: &mut WindowFrame,
    mut start: WindowFrameBound,
    mut end: Option<WindowFrameBound>,
    exclusion: Option<FrameExclusion>,
) {
    if let Some(exclusion) = exclusion {
        match &mut end {
            Some(end) => encode(end, exclusion),
            None => encode(&mut start, exclusion),
        }
    }
    frame.start_bound = start;
    frame.end_bound = end;
}

fn decode(bound: &WindowFrameBound) -> (FrameEnd<'_>, Option<FrameExclusion>) {
    let (offset, follows) = match bound {
        WindowFrameBound::CurrentRow => return (FrameEnd::CurrentRow, None),
        WindowFrameBound::Preceding(offset) => (offset.as_deref(), false),
        WindowFrameBound::Following(offset) => (offset.as_deref(), true),
    };
    let side = if follows { FrameEnd::Following } else { FrameEnd::Preceding };
    let Some((exclusion, args)) = offset.and_then(marked) else { return (side(offset), None) };
    let end = match args {
        [] => FrameEnd::CurrentRow,
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(e)), ..] => side(Some(e)),
        _ => side(None),
    };
    (end, Some(exclusion))
}

/// The exclusion that an offset stands for, and the arguments of the call.
fn marked(offset: &Expr) -> Option<(FrameExclusion, &[FunctionArg])> {
    let Expr::Function(function) = offset else { return None };
    let [part] = &function.name.0[..] else { return None };
    let mark = &part.as_ident()?.value;
    let exclusion = FrameExclusion::ALL.into_iter().find(|e| e.mark() == *mark)?;
    let FunctionArguments::List(list) = &function.args else { return None };
    Some((exclusion, &list.args))
}

fn encode(bound: &mut WindowFrameBound, exclusion: FrameExclusion) {
    let (args, follows) = match bound {
        WindowFrameBound::CurrentRow => (None, true),
        WindowFrameBound::Following(offset) => (Some(offset.take()), true),
        WindowFrameBound::Preceding(offset) => (Some(offset.take()), false),
    };
    let args = args.map(|offset| match offset {
        Some(e) => FunctionArgExpr::Expr(*e),
        None => FunctionArgExpr::Wildcard,
    });
    let args = args.into_iter().map(FunctionArg::Unnamed).collect();
    let call = Expr::Function(Function {
        name: ObjectName::from(vec![Ident::with_quote('"', exclusion.mark())]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args,
            clauses: Vec::new(),
        }),
        null_treatment: None,
        filter: None,
        over: None,
        within_group: Vec::new(),
    });
    let side = if follows { WindowFrameBound::Following } else { WindowFrameBound::Preceding };
    *bound = side(Some(Box::new(call)));
}

/// Rewrites the frame before `EXCLUDE …` at `at`; returns where to go on.
pub(crate) fn exclude(
    tokens: &[TokenWithSpan],
    at: usize,
    out: &mut Vec<TokenWithSpan>,
) -> Option<usize> {
    let ahead = |n: usize| word(tokens.get(at + n));
    let (exclusion, length) = match (ahead(1), ahead(2)) {
        (Some("current"), Some("row")) => (Some(FrameExclusion::CurrentRow), 3),
        (Some("group"), _) => (Some(FrameExclusion::Group), 2),
        (Some("ties"), _) => (Some(FrameExclusion::Ties), 2),
        (Some("no"), Some("others")) => (None, 3),
        _ => return None,
    };
    let closes = tokens.get(at + length).is_some_and(|token| token.token == Token::RParen);
    let last = word(out.last())?;
    if !closes || !matches!(last, "row" | "preceding" | "following") {
        return None;
    }
    let Some(exclusion) = exclusion else { return Some(at + length) };
    let is_current = last == "row";
    let side = if last == "preceding" { "preceding" } else { "following" };
    let start = bound_start(out)?;
    let span = tokens[at].span;
    let bound = out.split_off(start);
    let mut push = |token| out.push(TokenWithSpan { token, span });
    push(word_token(exclusion.mark(), Some('"')));
    push(Token::LParen);
    match &bound[..] {
        _ if is_current => {}
        [first, _] if word(Some(first)) == Some("unbounded") => push(Token::Mul),
        bound => out.extend_from_slice(&bound[..bound.len().saturating_sub(1)]),
    }
    let mut push = |token| out.push(TokenWithSpan { token, span });
    push(Token::RParen);
    push(word_token(side.into(), None));
    Some(at + length)
}

/// Where the last bound of the frame begins that ends here.
fn bound_start(out: &[TokenWithSpan]) -> Option<usize> {
    let mut depth = 0_usize;
    for at in (0..out.len()).rev() {
        match &out[at].token {
            Token::RParen => depth += 1,
            Token::LParen => depth = depth.checked_sub(1)?,
            _ if depth > 0 => {}
            _ => {
                if matches!(word(out.get(at)), Some("and" | "rows" | "range" | "groups")) {
                    return Some(at + 1);
                }
            }
        }
    }
    None
}
