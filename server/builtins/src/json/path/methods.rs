//! Methods: `.type()`, `.size()`, `.double()`, `.abs()`, `.datetime()`…

use braid_types::datetime::{StandardTemplate, parse_standard};
use braid_types::jsonpath::{Method, Step};
use braid_types::numeric::rounding;
use braid_types::{Error, Json, Numeric, Result, SqlState, text, work};

use super::evaluate::{Evaluator, Outcome, Sink};
use super::item::{Item, Kind};
use super::keyvalue::evaluate_keyvalue;

/// The templates that `.datetime()` tries, in this order.
const TEMPLATES: [&str; 19] = [
    "yyyy-mm-dd",
    "HH24:MI:SS.USTZH:TZM",
    "HH24:MI:SS.USTZH",
    "HH24:MI:SSTZH:TZM",
    "HH24:MI:SSTZH",
    "HH24:MI:SS.US",
    "HH24:MI:SS",
    "yyyy-mm-dd HH24:MI:SS.USTZH:TZM",
    "yyyy-mm-dd HH24:MI:SS.USTZH",
    "yyyy-mm-dd HH24:MI:SSTZH:TZM",
    "yyyy-mm-dd HH24:MI:SSTZH",
    "yyyy-mm-dd\"T\"HH24:MI:SS.USTZH:TZM",
    "yyyy-mm-dd\"T\"HH24:MI:SS.USTZH",
    "yyyy-mm-dd\"T\"HH24:MI:SSTZH:TZM",
    "yyyy-mm-dd\"T\"HH24:MI:SSTZH",
    "yyyy-mm-dd HH24:MI:SS.US",
    "yyyy-mm-dd HH24:MI:SS",
    "yyyy-mm-dd\"T\"HH24:MI:SS.US",
    "yyyy-mm-dd\"T\"HH24:MI:SS",
];

fn refused(method: &str, wanted: &str) -> String {
    format!("jsonpath item method .{method}() can only be applied to {wanted}")
}

/// A method that takes an array as it is.
pub(crate) fn evaluate_method_of_any<'a>(
    evaluator: &mut Evaluator<'a>,
    method: Method,
    rest: &[Step],
    item: &Item<'a>,
    sink: Sink<'_, 'a>,
) -> Result<Outcome> {
    if method == Method::Type {
        let name = Item::Scalar(Json::string(item.type_name()));
        return evaluator.follow(rest, &name, sink);
    }
    let size = match item.array_length() {
        Some(length) => length,
        None if evaluator.is_lax => 1,
        None => {
            let message = refused(method.name(), "an array");
            return evaluator.misfit(SqlState::JsonArrayNotFound, message);
        }
    };
    evaluator.follow(rest, &Item::number(Numeric::from_i64(size as i64)), sink)
}

/// A method of a single item.
pub(crate) fn evaluate_method<'a>(
    evaluator: &mut Evaluator<'a>,
    method: Method,
    rest: &[Step],
    item: &Item<'a>,
    sink: Sink<'_, 'a>,
) -> Result<Outcome> {
    match method {
        Method::KeyValue => return evaluate_keyvalue(evaluator, rest, item, sink),
        Method::Double => return evaluate_double(evaluator, rest, item, sink),
        _ => {}
    }
    let Some(number) = item.as_number() else {
        let message = refused(method.name(), "a numeric value");
        return evaluator.fail(SqlState::NonNumericJsonItem, message);
    };
    let result = match method {
        Method::Floor => rounding::floor(number)?,
        Method::Ceiling => rounding::ceil(number)?,
        _ => number.abs(),
    };
    evaluator.follow(rest, &Item::number(result), sink)
}

fn evaluate_double<'a>(
    evaluator: &mut Evaluator<'a>,
    rest: &[Step],
    item: &Item<'a>,
    sink: Sink<'_, 'a>,
) -> Result<Outcome> {
    let parsed = |text: &str| text::parse_f64(text).ok().filter(|value| value.is_finite());
    if let Some(number) = item.as_number() {
        if parsed(&number.to_string()).is_some() {
            return evaluator.follow(rest, item, sink);
        }
        let message = "numeric argument of jsonpath item method .double() is out of range for \
                       type double precision";
        return evaluator.fail(SqlState::NonNumericJsonItem, message);
    }
    let Some(text) = item.as_str() else {
        let message = refused("double", "a string or numeric value");
        return evaluator.fail(SqlState::NonNumericJsonItem, message);
    };
    match parsed(text) {
        Some(value) => evaluator.follow(rest, &Item::number(Numeric::from_f64(value)), sink),
        None => {
            let message = "string argument of jsonpath item method .double() is not a valid \
                           representation of a double precision number";
            evaluator.fail(SqlState::NonNumericJsonItem, message)
        }
    }
}

pub(crate) fn evaluate_datetime<'a>(
    evaluator: &mut Evaluator<'a>,
    template: Option<&str>,
    rest: &[Step],
    item: &Item<'a>,
    sink: Sink<'_, 'a>,
) -> Result<Outcome> {
    const STATE: SqlState = SqlState::InvalidArgumentForJsonDatetime;
    let Some(text) = item.as_str().filter(|_| item.kind() == Kind::String) else {
        return evaluator.fail(STATE, refused("datetime", "a string"));
    };
    work::spend_bytes(text.len())?;
    let moment = match template {
        Some(template) => {
            // A template that is none is an error in any case.
            let parts = StandardTemplate::parse(template)?;
            match parts.read(text) {
                Ok(moment) => moment,
                Err(error) => return evaluator.fail_with(error),
            }
        }
        None => match TEMPLATES.iter().find_map(|template| parse_standard(text, template).ok()) {
            Some(moment) => moment,
            None => {
                let message = format!("datetime format is not recognized: \"{text}\"");
                let hint = "Use a datetime template argument to specify the input data format.";
                return evaluator.fail_with(Error::new(STATE, message).hint(hint));
            }
        },
    };
    evaluator.follow(rest, &Item::Moment(moment), sink)
}
