//! `SEARCH` and `CYCLE` behind an entry of WITH, which sqlparser lacks.
//!
//! | written | parsed as |
//! |---|---|
//! | `t AS (…) SEARCH DEPTH FIRST BY a SET o` | `t AS (…) FROM "\u{1}…"` |
//!
//! No user can write the name behind FROM: it begins with a mark and holds the clauses. Its parts
//! are divided by marks, too.

use sqlparser::ast::Ident;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use braid_types::{Error, Result, SqlState};

use super::words::{position, word};
use crate::lex::tokens::word_token;

/// Divides clauses, parts of a clause, and names of a part.
const DIVIDERS: [char; 3] = ['\u{1}', '\u{2}', '\u{3}'];

/// `SEARCH … FIRST BY … SET …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchClause {
    /// DEPTH instead of BREADTH.
    pub depth_first: bool,
    /// The columns that rows are ordered by.
    pub by: Vec<String>,
    /// The column that is added.
    pub set: String,
}

/// `CYCLE … SET … TO … DEFAULT … USING …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CycleClause {
    /// The columns that make a row one that was there.
    pub by: Vec<String>,
    /// The column that marks such rows.
    pub set: String,
    /// Its two values as SQL, if they are not true and false.
    pub values: Option<(String, String)>,
    /// The column with the rows on the way to a row.
    pub using: String,
}

/// What stands behind an entry of WITH.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecursionClauses {
    /// SEARCH
    pub search: Option<SearchClause>,
    /// CYCLE
    pub cycle: Option<CycleClause>,
}

impl RecursionClauses {
    /// The names of the columns that are added.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let search = self.search.iter().map(|search| search.set.clone());
        let cycle = self.cycle.iter().flat_map(|cycle| [cycle.set.clone(), cycle.using.clone()]);
        search.chain(cycle)
    }

    /// The clauses that the parser has left behind FROM; 42601 for a FROM that a user has written.
    pub fn of(from: Option<&Ident>) -> Result<Self> {
        let [clauses, parts, names] = DIVIDERS;
        let mut found = Self::default();
        let Some(from) = from else { return Ok(found) };
        let Some(text) = from.value.strip_prefix(clauses) else {
            let message = "syntax error at or near \"FROM\"";
            return Err(Error::new(SqlState::SyntaxError, message).position(position(from.span)));
        };
        let list = |part: &str| part.split(names).map(str::to_owned).collect();
        for clause in text.split(clauses) {
            match clause.split(parts).collect::<Vec<_>>()[..] {
                ["search", how, by, set] => {
                    found.search = Some(SearchClause {
                        depth_first: how == "depth",
                        by: list(by),
                        set: set.to_owned(),
                    });
                }
                ["cycle", by, set, using, ref values @ ..] => {
                    let values = match values {
                        [to, default] => Some(((*to).to_owned(), (*default).to_owned())),
                        _ => None,
                    };
                    let (set, using) = (set.to_owned(), using.to_owned());
                    found.cycle = Some(CycleClause { by: list(by), set, values, using });
                }
                _ => {}
            }
        }
        Ok(found)
    }
}

/// Reads tokens from a place on.
struct Reader<'t> {
    tokens: &'t [TokenWithSpan],
    at: usize,
}

impl Reader<'_> {
    fn take(&mut self, expected: &str) -> Option<()> {
        (word(self.tokens.get(self.at)) == Some(expected)).then(|| self.at += 1)
    }

    fn name(&mut self) -> Option<String> {
        match &self.tokens.get(self.at)?.token {
            Token::Word(word) => {
                self.at += 1;
                Some(word.value.clone())
            }
            _ => None,
        }
    }

    /// Names with commas, divided as they are kept.
    fn names(&mut self) -> Option<String> {
        let mut names = self.name()?;
        while self.tokens.get(self.at).is_some_and(|token| token.token == Token::Comma) {
            self.at += 1;
            names.push(DIVIDERS[2]);
            names.push_str(&self.name()?);
        }
        Some(names)
    }

    /// A constant, up to a word.
    fn constant(&mut self, end: &str) -> Option<String> {
        let length = self.tokens[self.at..].iter().position(|token| word(Some(token)) == Some(end));
        let tokens = self.tokens.get(self.at..self.at + length?)?;
        self.at += tokens.len() + 1;
        let words: Vec<String> = tokens.iter().map(|token| token.token.to_string()).collect();
        (!words.is_empty()).then(|| words.join(" "))
    }

    fn search(&mut self) -> Option<String> {
        self.take("search")?;
        let how = match word(self.tokens.get(self.at))? {
            how @ ("depth" | "breadth") => how.to_owned(),
            _ => return None,
        };
        self.at += 1;
        self.take("first")?;
        self.take("by")?;
        let by = self.names()?;
        self.take("set")?;
        let divider = DIVIDERS[1];
        Some(format!("search{divider}{how}{divider}{by}{divider}{}", self.name()?))
    }

    fn cycle(&mut self) -> Option<String> {
        self.take("cycle")?;
        let by = self.names()?;
        self.take("set")?;
        let (set, divider) = (self.name()?, DIVIDERS[1]);
        let mut values = String::new();
        match self.take("to") {
            Some(()) => {
                let (to, default) = (self.constant("default")?, self.constant("using")?);
                values = format!("{divider}{to}{divider}{default}");
            }
            None => self.take("using")?,
        }
        Some(format!("cycle{divider}{by}{divider}{set}{divider}{}{values}", self.name()?))
    }
}

/// Rewrites the clauses that begin at `at`, behind a parenthesis; returns where to go on.
pub(crate) fn clauses(
    tokens: &[TokenWithSpan],
    at: usize,
    out: &mut Vec<TokenWithSpan>,
) -> Option<usize> {
    if out.last()?.token != Token::RParen {
        return None;
    }
    let mut reader = Reader { tokens, at };
    let mut text = String::new();
    for read in [Reader::search, Reader::cycle] {
        let start = reader.at;
        match read(&mut reader) {
            Some(clause) => text.extend([DIVIDERS[0].to_string(), clause]),
            None => reader.at = start,
        }
    }
    if text.is_empty() {
        return None;
    }
    let span = tokens[at].span;
    for token in [word_token("from".into(), None), word_token(text, Some('"'))] {
        out.push(TokenWithSpan { token, span });
    }
    Some(reader.at)
}
