//! The words of a text, and how a headline shows them.

use std::sync::Arc;

use braid_types::scratch::Scratch;
use braid_types::search::{Item, LEXEME_BYTES_MAX, Query, has_prefix};
use braid_types::{Datum, Json, Result, json, work};

use super::fragments::{mark_best_words, mark_fragments};
use super::options;
use super::word::{Options, Word};
use crate::Call;
use crate::registry::call::{invalid, text};
use crate::registry::tables::Registry;
use crate::search::dictionary::Config;
use crate::search::documents::config_of;
use crate::search::parser::Parser;
use crate::search::queries::query;

/// The tokens of a text, with what a query asks for.
fn words<'a>(text: &'a str, query: &Query, config: Config) -> Result<Vec<Word<'a>>> {
    let (mut words, mut scratch, mut position) = (Vec::new(), Scratch::default(), 0u32);
    let mut parser = Parser::new(text);
    while let Some((token, text)) = parser.token()? {
        work::spend_bytes(text.len())?;
        scratch.add(size_of::<Word<'_>>())?;
        let word = |item, is_repeated, position| Word {
            token,
            text,
            position,
            item,
            is_repeated,
            is_in: false,
            is_selected: false,
            is_replaced: false,
            is_skipped: false,
        };
        if text.len() > LEXEME_BYTES_MAX {
            continue;
        }
        let mut lexeme = None;
        if let Some(dictionary) = config.dictionary(token) {
            position += 1;
            lexeme = dictionary.lexeme(text);
        }
        let mut is_repeated = false;
        if let Some(lexeme) = lexeme {
            for (at, item) in query.items.iter().enumerate() {
                work::tick()?;
                let Item::Value { text: wanted, is_prefix, .. } = item else { continue };
                if has_prefix(&lexeme, wanted, *is_prefix) {
                    words.push(word(Some(at), is_repeated, position));
                    is_repeated = true;
                }
            }
        }
        if !is_repeated {
            words.push(word(None, false, position));
        }
    }
    Ok(words)
}

fn read_options(written: &str) -> Result<Options> {
    let mut found = Options {
        words_max: 35,
        words_min: 15,
        short_word: 3,
        fragments_max: 0,
        highlights_all: false,
        start: "<b>".to_owned(),
        stop: "</b>".to_owned(),
        delimiter: " ... ".to_owned(),
    };
    for (name, value) in options::split(written)? {
        let number = || value.trim().parse::<i32>().map_err(|_| options::no_integer(&value));
        match name.to_ascii_lowercase().as_str() {
            "maxwords" => found.words_max = number()?,
            "minwords" => found.words_min = number()?,
            "shortword" => found.short_word = number()?,
            "maxfragments" => found.fragments_max = number()?,
            "startsel" => found.start = value,
            "stopsel" => found.stop = value,
            "fragmentdelimiter" => found.delimiter = value,
            "highlightall" => {
                let word = value.to_ascii_lowercase();
                found.highlights_all =
                    matches!(word.as_str(), "1" | "on" | "true" | "t" | "y" | "yes");
            }
            _ => return Err(invalid(format!("unrecognized headline parameter: \"{name}\""))),
        }
    }
    if !found.highlights_all {
        let wrong = [
            (found.words_min >= found.words_max, "MinWords should be less than MaxWords"),
            (found.words_min <= 0, "MinWords should be positive"),
            (found.short_word < 0, "ShortWord should be >= 0"),
            (found.fragments_max < 0, "MaxFragments should be >= 0"),
        ];
        if let Some((_, message)) = wrong.iter().find(|(is_wrong, _)| *is_wrong) {
            return Err(invalid(*message));
        }
    }
    Ok(found)
}

/// The text with what is marked.
fn headline(text: &str, query: &Query, config: Config, options: &Options) -> Result<String> {
    let mut words = words(text, query, config)?;
    let mut cover_max = options.words_max.saturating_mul(10).max(100);
    if options.fragments_max > 0 {
        cover_max = cover_max.saturating_mul(options.fragments_max);
    }
    let cover_max = usize::try_from(cover_max).unwrap_or(0);
    if options.highlights_all || options.fragments_max == 0 {
        mark_best_words(&mut words, query, options, cover_max)?;
    } else {
        let fragments = usize::try_from(options.fragments_max).unwrap_or(0);
        mark_fragments(&mut words, query, options, (fragments, cover_max))?;
    }
    let (mut shown, mut is_inside, mut fragments) = (String::new(), false, 0usize);
    for word in words.iter().filter(|word| !word.is_repeated) {
        work::tick()?;
        if !word.is_in {
            is_inside = false;
            continue;
        }
        if !is_inside {
            is_inside = true;
            fragments += 1;
            if fragments > 1 {
                shown.push_str(&options.delimiter);
            }
        }
        if word.is_replaced {
            shown.push(' ');
        } else if !word.is_skipped {
            let marks = if word.is_selected { (&*options.start, &*options.stop) } else { ("", "") };
            shown.extend([marks.0, word.text, marks.1]);
        }
    }
    Ok(shown)
}

/// The configuration, and where the document of a call is.
fn place(call: &Call<'_>) -> Result<(Config, usize)> {
    let has_config = call.ty(0).oid() == 3734;
    let first = usize::from(has_config);
    let config = if has_config { Config::by_oid(call.oid(0)?)? } else { config_of(call, 9)? };
    Ok((config, first))
}

fn options_of(call: &Call<'_>, at: usize) -> Result<Options> {
    read_options(if call.args.len() > at { call.text(at)? } else { "" })
}

fn of_text(call: &Call<'_>) -> Result<Datum> {
    let (config, first) = place(call)?;
    let (query, options) = (query(call, first + 1)?, options_of(call, first + 2)?);
    text(headline(call.text(first)?, &query, config, &options)?)
}

/// The document with a headline of each of its strings.
fn of_json(call: &Call<'_>) -> Result<Datum> {
    let (config, first) = place(call)?;
    let (query, options) = (query(call, first + 1)?, options_of(call, first + 2)?);
    let mut change = |text: &str| headline(text, &query, config, &options);
    let changed = match call.json(first)? {
        document @ Json::Raw(_) => {
            let mut out = Vec::new();
            write_changed(document, &mut change, &mut out)?;
            Json::Raw(String::from_utf8_lossy(&out).into())
        }
        document => changed(document, &mut change)?,
    };
    Ok(Datum::Json(Arc::new(changed)))
}

type Change<'c> = dyn FnMut(&str) -> Result<String> + 'c;

fn changed(json: &Json, change: &mut Change<'_>) -> Result<Json> {
    Ok(match json {
        Json::String(text) => Json::string(change(text)?),
        Json::Array(items) => {
            let items = items.iter().map(|item| changed(item, &mut *change));
            Json::Array(items.collect::<Result<_>>()?)
        }
        Json::Object(members) => {
            let members = members.iter();
            let members =
                members.map(|(key, value)| Ok((key.clone(), changed(value, &mut *change)?)));
            Json::Object(members.collect::<Result<_>>()?)
        }
        other => other.clone(),
    })
}

/// The same for the text of a `json`, whose members stay in their order.
fn write_changed(json: &Json, change: &mut Change<'_>, out: &mut Vec<u8>) -> Result<()> {
    work::tick()?;
    let separator = |at: usize, out: &mut Vec<u8>| {
        if at > 0 {
            out.push(b',');
        }
    };
    if let Some(members) = json.members() {
        out.push(b'{');
        for (at, (key, value)) in members.iter().enumerate() {
            separator(at, out);
            json::quote(key, out);
            out.push(b':');
            write_changed(value, change, out)?;
        }
        out.push(b'}');
    } else if let Some(items) = json.elements() {
        out.push(b'[');
        for (at, item) in items.iter().enumerate() {
            separator(at, out);
            write_changed(item, change, out)?;
        }
        out.push(b']');
    } else {
        match json.normalised()? {
            Json::String(text) => json::quote(&change(&text)?, out),
            other => other.write_text(out),
        }
    }
    Ok(())
}

pub(in crate::search) fn register(registry: &mut Registry) {
    for signature in [
        "ts_headline(text, tsquery) -> text stable",
        "ts_headline(text, tsquery, text) -> text stable",
        "ts_headline(regconfig, text, tsquery) -> text",
        "ts_headline(regconfig, text, tsquery, text) -> text",
    ] {
        registry.add(signature, of_text);
    }
    for signature in [
        "ts_headline(json, tsquery) -> json stable",
        "ts_headline(json, tsquery, text) -> json stable",
        "ts_headline(regconfig, json, tsquery) -> json",
        "ts_headline(regconfig, json, tsquery, text) -> json",
        "ts_headline(jsonb, tsquery) -> jsonb stable",
        "ts_headline(jsonb, tsquery, text) -> jsonb stable",
        "ts_headline(regconfig, jsonb, tsquery) -> jsonb",
        "ts_headline(regconfig, jsonb, tsquery, text) -> jsonb",
    ] {
        registry.add(signature, of_json);
    }
}
