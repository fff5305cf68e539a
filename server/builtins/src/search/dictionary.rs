//! Dictionaries: what lexeme a token becomes.

use std::borrow::Cow;
use std::sync::LazyLock;

use braid_types::search::configs::{
    CONFIGS, ENGLISH_DICTIONARY, SIMPLE_DICTIONARY, UNACCENT_DICTIONARY,
};
use braid_types::{Error, Result, SqlState};
use rust_stemmers::{Algorithm, Stemmer};

use super::parser::Token;
use super::stop_words;

/// Longer words are not stemmed.
const STEMMED_BYTES_MAX: usize = 1_000;

/// What makes lexemes of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dictionary {
    /// Words in lower case.
    Simple,
    /// The stems of English words, without those that are too frequent.
    English,
}

/// What is done with tokens.
#[derive(Clone, Copy)]
pub(super) struct Config {
    words: Dictionary,
}

static ENGLISH: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::create(Algorithm::English));

impl Dictionary {
    /// The dictionary of that number.
    pub(super) fn by_oid(oid: u32) -> Result<Self> {
        match oid {
            SIMPLE_DICTIONARY => Ok(Dictionary::Simple),
            ENGLISH_DICTIONARY => Ok(Dictionary::English),
            UNACCENT_DICTIONARY => Err(Error::unsupported("lexemes of the dictionary unaccent")),
            _ => Err(missing("dictionary", oid)),
        }
    }

    /// Its number.
    pub(super) fn oid(self) -> u32 {
        match self {
            Dictionary::Simple => SIMPLE_DICTIONARY,
            Dictionary::English => ENGLISH_DICTIONARY,
        }
    }

    /// The lexeme of a word; `None` for a word that is too frequent.
    pub(super) fn lexeme(self, word: &str) -> Option<String> {
        let lower = word.to_lowercase();
        if lower.is_empty() {
            return None;
        }
        match self {
            Dictionary::Simple => Some(lower),
            Dictionary::English if lower.len() > STEMMED_BYTES_MAX => Some(lower),
            Dictionary::English if stop_words::is_english(&lower) => None,
            Dictionary::English => match ENGLISH.stem(&lower) {
                Cow::Borrowed(same) if same.len() == lower.len() => Some(lower),
                stem => Some(stem.into_owned()),
            },
        }
    }
}

impl Config {
    /// The configuration of that number; XX000 as in PostgreSQL if there is none.
    pub(super) fn by_oid(oid: u32) -> Result<Self> {
        let found = CONFIGS.iter().find(|(known, ..)| *known == oid);
        let (_, _, dictionary) = found.ok_or_else(|| missing("configuration", oid))?;
        Ok(Config { words: Dictionary::by_oid(*dictionary)? })
    }

    /// The dictionary of a kind of tokens; `None` for tokens that are passed over.
    pub(super) fn dictionary(self, token: Token) -> Option<Dictionary> {
        match token {
            Token::AsciiWord
            | Token::Word
            | Token::Part
            | Token::AsciiPart
            | Token::AsciiHyphenated
            | Token::Hyphenated => Some(self.words),
            Token::Blank | Token::Tag | Token::Protocol | Token::Entity => None,
            _ => Some(Dictionary::Simple),
        }
    }
}

fn missing(what: &str, oid: u32) -> Error {
    let message = format!("cache lookup failed for text search {what} {oid}");
    Error::new(SqlState::UndefinedObject, message)
}
