//! Texts as queries, and what is asked of queries and made of them.

use std::collections::BTreeSet;

use braid_types::search::{Item, Operand, Operator, Query, Syntax, Trimmed, Vector, parse_query};
use braid_types::{Datum, Result};

use super::dictionary::Config;
use super::documents::{Words, config_of, current_config};
use crate::Call;
use crate::registry::call::text;
use crate::registry::tables::Registry;

/// The query of an argument.
pub(super) fn query(call: &Call<'_>, at: usize) -> Result<Query> {
    Query::read(call.bytes(at)?)
}

/// Puts the lexemes of a text with an operator between them. Words that are none keep their places.
fn put(
    made: &mut Operand,
    (text, weights, is_prefix): (&str, u8, bool),
    config: Config,
    operator: Operator,
) -> Result<()> {
    let mut words = Words::new();
    words.add(text, config)?;
    let (mut last, mut count) = (0, 0usize);
    for (lexeme, number) in words.found {
        let missing = if count > 0 { number - last - 1 } else { 0 };
        for _ in 0..missing {
            made.stop();
            made.operator(operator);
        }
        made.value(&lexeme, weights, is_prefix)?;
        if count > 0 {
            made.operator(operator);
        }
        (last, count) = (number, count + 1);
    }
    if count == 0 {
        made.stop();
    }
    Ok(())
}

/// A query with operators, or as people write it.
fn parsed(call: &Call<'_>, syntax: Syntax) -> Result<Datum> {
    let config = config_of(call, 2)?;
    let written = call.text(call.args.len() - 1)?;
    let query = parse_query(written, syntax, &mut |made, text, weights, is_prefix| {
        put(made, (text, weights, is_prefix), config, Operator::Phrase(1))
    })?;
    query.to_datum()
}

/// A query of all words of a text.
pub(super) fn plain(text: &str, config: Config, operator: Operator) -> Result<Query> {
    let mut made = Operand::default();
    put(&mut made, (text, 0, false), config, operator)?;
    made.finish()
}

fn plain_call(call: &Call<'_>, operator: Operator) -> Result<Datum> {
    let written = call.text(call.args.len() - 1)?;
    plain(written, config_of(call, 2)?, operator)?.to_datum()
}

fn matches(call: &Call<'_>, vector: usize, of: usize) -> Result<Datum> {
    let vector = Vector::read(call.bytes(vector)?)?;
    Ok(Datum::Bool(query(call, of)?.matches_vector(&vector)?))
}

/// A text is looked at with the configuration of the session.
fn matches_text(call: &Call<'_>, query: &Query) -> Result<Datum> {
    let mut words = Words::new();
    words.add(call.text(0)?, Config::by_oid(current_config(call.env)?)?)?;
    let vector = words.into_vector()?;
    let vector = Vector::read(vector.as_bytes().unwrap_or_default())?;
    Ok(Datum::Bool(query.matches_vector(&vector)?))
}

fn join(call: &Call<'_>, operator: Operator) -> Result<Datum> {
    query(call, 0)?.join(query(call, 1)?, operator)?.to_datum()
}

fn negated(call: &Call<'_>) -> Result<Datum> {
    let mut query = query(call, 0)?;
    if !query.items.is_empty() {
        query.push(Item::Operator(Operator::Not))?;
    }
    query.to_datum()
}

/// The texts of the values of a query.
fn values(query: &Query) -> BTreeSet<&str> {
    fn text(item: &Item) -> Option<&str> {
        match item {
            Item::Value { text, .. } => Some(text),
            Item::Operator(_) => None,
        }
    }
    query.items.iter().filter_map(text).collect()
}

/// Whether one query has the values of another one.
fn contains(call: &Call<'_>, outer: usize, inner: usize) -> Result<Datum> {
    let (outer, inner) = (query(call, outer)?, query(call, inner)?);
    Ok(Datum::Bool(values(&outer).is_superset(&values(&inner))))
}

fn query_tree(call: &Call<'_>) -> Result<Datum> {
    text(match query(call, 0)?.without_negations() {
        Trimmed::Everything => "T".to_owned(),
        Trimmed::Query(query) => query.print(),
    })
}

pub(super) fn register(registry: &mut Registry) {
    for signature in
        ["to_tsquery(text) -> tsquery stable", "to_tsquery(regconfig, text) -> tsquery"]
    {
        registry.add(signature, |c| parsed(c, Syntax::Standard));
    }
    for signature in [
        "websearch_to_tsquery(text) -> tsquery stable",
        "websearch_to_tsquery(regconfig, text) -> tsquery",
    ] {
        registry.add(signature, |c| parsed(c, Syntax::Web));
    }
    for signature in
        ["plainto_tsquery(text) -> tsquery stable", "plainto_tsquery(regconfig, text) -> tsquery"]
    {
        registry.add(signature, |c| plain_call(c, Operator::And));
    }
    for signature in
        ["phraseto_tsquery(text) -> tsquery stable", "phraseto_tsquery(regconfig, text) -> tsquery"]
    {
        registry.add(signature, |c| plain_call(c, Operator::Phrase(1)));
    }
    for signature in ["@@(tsvector, tsquery) -> bool", "ts_match_vq(tsvector, tsquery) -> bool"] {
        registry.add(signature, |c| matches(c, 0, 1));
    }
    for signature in ["@@(tsquery, tsvector) -> bool", "ts_match_qv(tsquery, tsvector) -> bool"] {
        registry.add(signature, |c| matches(c, 1, 0));
    }
    for signature in
        ["@@(text, tsquery) -> bool stable", "ts_match_tq(text, tsquery) -> bool stable"]
    {
        registry.add(signature, |c| matches_text(c, &query(c, 1)?));
    }
    for signature in ["@@(text, text) -> bool stable", "ts_match_tt(text, text) -> bool stable"] {
        registry.add(signature, |c| {
            let config = Config::by_oid(current_config(c.env)?)?;
            matches_text(c, &plain(c.text(1)?, config, Operator::And)?)
        });
    }
    registry.add("@@@(tsvector, tsquery) -> bool", |c| matches(c, 0, 1));
    register_operators(registry);
}

fn register_operators(registry: &mut Registry) {
    for signature in ["&&(tsquery, tsquery) -> tsquery", "tsquery_and(tsquery, tsquery) -> tsquery"]
    {
        registry.add(signature, |c| join(c, Operator::And));
    }
    for signature in ["||(tsquery, tsquery) -> tsquery", "tsquery_or(tsquery, tsquery) -> tsquery"]
    {
        registry.add(signature, |c| join(c, Operator::Or));
    }
    for signature in
        ["<->(tsquery, tsquery) -> tsquery", "tsquery_phrase(tsquery, tsquery) -> tsquery"]
    {
        registry.add(signature, |c| join(c, Operator::Phrase(1)));
    }
    registry.add("tsquery_phrase(tsquery, tsquery, int4) -> tsquery", |c| {
        join(c, Operator::phrase(c.int(2)?)?)
    });
    for signature in ["!!(tsquery) -> tsquery", "tsquery_not(tsquery) -> tsquery"] {
        registry.add(signature, negated);
    }
    for signature in ["@>(tsquery, tsquery) -> bool", "tsq_mcontains(tsquery, tsquery) -> bool"] {
        registry.add(signature, |c| contains(c, 0, 1));
    }
    for signature in ["<@(tsquery, tsquery) -> bool", "tsq_mcontained(tsquery, tsquery) -> bool"] {
        registry.add(signature, |c| contains(c, 1, 0));
    }
    registry.add("numnode(tsquery) -> int4", |c| Ok(Datum::Int(query(c, 0)?.items.len() as i64)));
    registry.add("querytree(tsquery) -> text", query_tree);
}
