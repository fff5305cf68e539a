//! Functions of pg_trgm: how much alike texts are.

use braid_codec::terms::trigram;
use braid_types::{Datum, Result, SqlType};

use crate::Call;
use crate::registry::tables::Registry;

/// The similarity from which on `%` holds, unless `pg_trgm.similarity_threshold` says otherwise.
const THRESHOLD: f64 = 0.3;

fn threshold(call: &Call<'_>) -> f64 {
    let set = call.env.setting("pg_trgm.similarity_threshold");
    set.and_then(|set| set.trim().parse().ok()).unwrap_or(THRESHOLD)
}

fn similarity(call: &Call<'_>) -> Result<f32> {
    Ok(trigram::similarity(call.text(0)?, call.text(1)?))
}

/// A `float4` has the digits of the value that is nearest to it.
fn float4(value: f32) -> Datum {
    Datum::Float(f64::from(value))
}

fn show(call: &Call<'_>) -> Result<Datum> {
    let trigrams = trigram::trigrams(call.text(0)?);
    Ok(Datum::array(SqlType::Text, trigrams.into_iter().map(Datum::text).collect()))
}

pub(super) fn register(registry: &mut Registry) {
    registry.add("show_trgm(text) -> text[]", show);
    registry.add("similarity(text, text) -> float4", |c| Ok(float4(similarity(c)?)));
    registry.add("similarity_dist(text, text) -> float4", |c| Ok(float4(1.0 - similarity(c)?)));
    for signature in ["%(text, text) -> bool stable", "similarity_op(text, text) -> bool stable"] {
        registry.add(signature, |c| Ok(Datum::Bool(f64::from(similarity(c)?) >= threshold(c))));
    }
    registry.add("show_limit() -> float4 stable", |c| Ok(float4(threshold(c) as f32)));
}
