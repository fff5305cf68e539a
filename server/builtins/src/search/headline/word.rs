//! A token of a text, and the options by which some of them are shown.

use crate::search::parser::Token;

/// What is shown, and how.
pub(super) struct Options {
    pub(super) words_max: i32,
    pub(super) words_min: i32,
    pub(super) short_word: i32,
    pub(super) fragments_max: i32,
    pub(super) highlights_all: bool,
    pub(super) start: String,
    pub(super) stop: String,
    pub(super) delimiter: String,
}

/// A token of the text. A word that several values ask for is there once for each of them.
pub(super) struct Word<'a> {
    pub(super) token: Token,
    pub(super) text: &'a str,
    /// The number of the word, and the value of the query that asks for it.
    pub(super) position: u32,
    pub(super) item: Option<usize>,
    pub(super) is_repeated: bool,
    /// It is shown.
    pub(super) is_in: bool,
    pub(super) is_selected: bool,
    /// A blank is shown instead.
    pub(super) is_replaced: bool,
    pub(super) is_skipped: bool,
}

impl Word<'_> {
    pub(super) fn is_interesting(&self) -> bool {
        self.item.is_some() && !self.is_repeated
    }

    /// Whether it counts as a word.
    pub(super) fn counts(&self) -> bool {
        !matches!(
            self.token,
            Token::Blank
                | Token::Tag
                | Token::Url
                | Token::NumHyphenated
                | Token::AsciiHyphenated
                | Token::Hyphenated
        )
    }

    /// Whether no part of a text should end with it.
    pub(super) fn is_bad_end(&self, short_word: i32) -> bool {
        let no_end = !self.counts()
            || matches!(
                self.token,
                Token::Scientific
                    | Token::Version
                    | Token::Decimal
                    | Token::Signed
                    | Token::Unsigned
                    | Token::Protocol
                    | Token::Entity
            );
        let is_short = i32::try_from(self.text.len()).is_ok_and(|length| length <= short_word);
        (no_end || is_short) && !self.is_interesting()
    }
}
