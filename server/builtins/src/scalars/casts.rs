//! Casts written as functions: `int4('5')`, `text(x)`, `date(ts)`.
//!
//! PostgreSQL has one function for each cast that is not a mere change of name; here they are made
//! from the list of types, and all call `braid_types::cast`.

use braid_types::cast::{context, is_immutable};
use braid_types::{Datum, Result, SqlType};

use crate::registry::call::cast_any;
use crate::registry::tables::Registry;
use crate::{Arg, Call, Eval, Function, Returns, Volatility};

fn cast(call: &Call<'_>) -> Result<Datum> {
    cast_any(call.datum(0), call.ty(0), call.returns, call.env)
}

/// Types whose names are functions of one argument; those that the grammar reserves never get here.
static TARGETS: [SqlType; 22] = [
    SqlType::Bool,
    SqlType::Int2,
    SqlType::Int4,
    SqlType::Int8,
    SqlType::Float4,
    SqlType::Float8,
    SqlType::Numeric(None),
    SqlType::Text,
    SqlType::Varchar(None),
    SqlType::Char(0),
    SqlType::Name,
    SqlType::Bytes,
    SqlType::Uuid,
    SqlType::Date,
    SqlType::Time,
    SqlType::Timestamp,
    SqlType::Timestamptz,
    SqlType::Interval,
    SqlType::Json,
    SqlType::Jsonb,
    SqlType::Oid,
    SqlType::Regclass,
];

/// Some casts depend on the session's formats or zone.
fn volatility(from: &SqlType, to: &SqlType) -> Volatility {
    if is_immutable(from, to) { Volatility::Immutable } else { Volatility::Stable }
}

pub(crate) fn register(registry: &mut Registry) {
    for to in &TARGETS {
        for from in &TARGETS {
            if from == to || context(from, to).is_some() {
                let name = to.short_name();
                registry.functions.entry(name).or_default().push(Function {
                    name,
                    args: vec![Arg::Is(from.clone())],
                    variadic: false,
                    returns: Returns::Is(to.clone()),
                    strict: true,
                    volatility: volatility(from, to),
                    eval: Eval::Pure(cast),
                });
            }
        }
    }
}
