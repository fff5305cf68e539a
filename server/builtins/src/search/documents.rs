//! Texts and documents of JSON as vectors.

use braid_types::scratch::Scratch;
use braid_types::search::configs::{self, SIMPLE};
use braid_types::search::{LEXEME_BYTES_MAX, Lexeme, PLACES_MAX, Place, Vector};
use braid_types::{Datum, Json, Result, SqlType, work};

use super::dictionary::Config;
use super::parser::Parser;
use crate::registry::call::invalid;
use crate::registry::tables::Registry;
use crate::{Call, Environment};

/// The number of the configuration that the session has set.
pub(super) fn current_config(env: &dyn Environment) -> Result<u32> {
    match env.setting("default_text_search_config") {
        Some(name) => configs::parse_name(&SqlType::Regconfig, &name),
        None => Ok(SIMPLE),
    }
}

/// The configuration of a call: its first argument, if it has `count` of them, or the session's.
pub(super) fn config_of(call: &Call<'_>, count: usize) -> Result<Config> {
    let oid = if call.args.len() >= count { call.oid(0)? } else { current_config(call.env)? };
    Config::by_oid(oid)
}

/// The words of a text: their lexemes, and their numbers from 1.
pub(super) struct Words {
    pub(super) found: Vec<(String, usize)>,
    /// The number of the last word.
    pub(super) last: usize,
    scratch: Scratch,
}

impl Words {
    pub(super) fn new() -> Self {
        Self { found: Vec::new(), last: 0, scratch: Scratch::default() }
    }

    /// Adds the words of a text. Words too long for a lexeme are passed over.
    pub(super) fn add(&mut self, text: &str, config: Config) -> Result<()> {
        let mut parser = Parser::new(text);
        while let Some((token, word)) = parser.token()? {
            work::spend_bytes(word.len())?;
            let Some(dictionary) = config.dictionary(token) else { continue };
            if word.len() > LEXEME_BYTES_MAX {
                continue;
            }
            self.last += 1;
            if let Some(lexeme) = dictionary.lexeme(word) {
                self.scratch.add(lexeme.len() + size_of::<(String, usize)>())?;
                self.found.push((lexeme, self.last));
            }
        }
        Ok(())
    }

    /// The words as a vector.
    pub(super) fn into_vector(mut self) -> Result<Datum> {
        self.found.sort_by(|a, b| {
            work::note(1);
            a.cmp(b)
        });
        let mut lexemes: Vec<Lexeme> = Vec::new();
        for (text, number) in self.found {
            work::tick()?;
            let place = Place::new(number);
            match lexemes.last_mut() {
                Some(last) if last.text == text => {
                    // One place less than a vector may have, as in PostgreSQL.
                    if last.places.len() < PLACES_MAX - 1 && last.places.last() != Some(&place) {
                        last.places.push(place);
                    }
                }
                _ => lexemes.push(Lexeme { text, places: vec![place] }),
            }
        }
        Vector::make(lexemes)
    }
}

fn of_text(call: &Call<'_>) -> Result<Datum> {
    let mut words = Words::new();
    words.add(call.text(call.args.len() - 1)?, config_of(call, 2)?)?;
    words.into_vector()
}

/// The vector of some texts, one after the other, by the configuration of that number.
pub fn text_vector(config: u32, texts: &[String]) -> Result<Datum> {
    let (config, mut words) = (Config::by_oid(config)?, Words::new());
    for text in texts {
        words.add(text, config)?;
    }
    words.into_vector()
}

/// Which values of a document count.
#[derive(Clone, Copy, Default)]
struct Kinds {
    strings: bool,
    numbers: bool,
    booleans: bool,
    keys: bool,
}

fn kinds_of(filter: &Json) -> Result<Kinds> {
    let all = Kinds { strings: true, numbers: true, booleans: true, keys: true };
    let items = match filter {
        Json::Array(items) => items.as_slice(),
        Json::Object(_) => {
            return Err(invalid("wrong flag type, only arrays and scalars are allowed"));
        }
        scalar => std::slice::from_ref(scalar),
    };
    let mut kinds = Kinds::default();
    for item in items {
        let hint =
            "Possible values are: \"string\", \"numeric\", \"boolean\", \"key\", and \"all\".";
        let Json::String(word) = item else {
            return Err(invalid("flag array element is not a string").hint(hint));
        };
        match word.to_ascii_lowercase().as_str() {
            "all" => kinds = all,
            "key" => kinds.keys = true,
            "string" => kinds.strings = true,
            "numeric" => kinds.numbers = true,
            "boolean" => kinds.booleans = true,
            _ => {
                let message = format!("wrong flag in flag array: \"{word}\"");
                return Err(invalid(message).hint(hint));
            }
        }
    }
    Ok(kinds)
}

/// Adds the words of a document. After a value with words one position stays free, so that no
/// phrase goes from one value to the next.
fn add_json(words: &mut Words, json: &Json, kinds: Kinds, config: Config) -> Result<()> {
    work::tick()?;
    match json {
        Json::String(text) if kinds.strings => words.add_value(text, config),
        Json::Number(number) if kinds.numbers => words.add_value(&number.to_string(), config),
        Json::Bool(value) if kinds.booleans => {
            words.add_value(if *value { "true" } else { "false" }, config)
        }
        Json::Array(items) => {
            items.iter().try_for_each(|item| add_json(words, item, kinds, config))
        }
        Json::Object(members) => members.iter().try_for_each(|(key, value)| {
            if kinds.keys {
                words.add_value(key, config)?;
            }
            add_json(words, value, kinds, config)
        }),
        // The text of a `json`, whose members are in the order in which they are written.
        Json::Raw(_) => match (json.members(), json.elements()) {
            (Some(members), _) => members.iter().try_for_each(|(key, value)| {
                if kinds.keys {
                    words.add_value(key, config)?;
                }
                add_json(words, value, kinds, config)
            }),
            (None, Some(items)) => {
                items.iter().try_for_each(|item| add_json(words, item, kinds, config))
            }
            (None, None) => add_json(words, &json.normalised()?, kinds, config),
        },
        _ => Ok(()),
    }
}

impl Words {
    fn add_value(&mut self, text: &str, config: Config) -> Result<()> {
        let before = self.found.len();
        self.add(text, config)?;
        self.last += usize::from(self.found.len() > before);
        Ok(())
    }
}

/// The vector of a document, which is before the filter, if there is one.
fn of_json(call: &Call<'_>, has_filter: bool) -> Result<Datum> {
    let last = call.args.len() - 1;
    let (document, kinds, most) = match has_filter {
        true => (last - 1, kinds_of(call.json(last)?)?, 3),
        false => (last, Kinds { strings: true, ..Kinds::default() }, 2),
    };
    let mut words = Words::new();
    add_json(&mut words, call.json(document)?, kinds, config_of(call, most)?)?;
    words.into_vector()
}

pub(super) fn register(registry: &mut Registry) {
    registry.add("to_tsvector(text) -> tsvector stable", of_text);
    registry.add("to_tsvector(regconfig, text) -> tsvector", of_text);
    for signature in [
        "to_tsvector(json) -> tsvector stable",
        "to_tsvector(jsonb) -> tsvector stable",
        "to_tsvector(regconfig, json) -> tsvector",
        "to_tsvector(regconfig, jsonb) -> tsvector",
    ] {
        registry.add(signature, |c| of_json(c, false));
    }
    for signature in [
        "json_to_tsvector(json, jsonb) -> tsvector stable",
        "jsonb_to_tsvector(jsonb, jsonb) -> tsvector stable",
        "json_to_tsvector(regconfig, json, jsonb) -> tsvector",
        "jsonb_to_tsvector(regconfig, jsonb, jsonb) -> tsvector",
    ] {
        registry.add(signature, |c| of_json(c, true));
    }
    registry.add("get_current_ts_config() -> regconfig stable", |c| {
        Ok(Datum::Int(current_config(c.env)?.into()))
    });
}
