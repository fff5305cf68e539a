//! The functions and operators of SQL.

use std::cell::RefCell;
use std::rc::Rc;

use braid_types::{Datum, Error, Json, JsonPath, Result, Row, SqlState, work};

use super::evaluate::{Evaluator, Options};
use super::item::Item;
use crate::registry::tables::Registry;
use crate::sets::rows;
use crate::{Call, Rows};

/// How many paths a thread keeps in their parsed form.
const CACHE_ENTRIES_MAX: usize = 16;
/// Longer paths are not kept.
const CACHED_BYTES_MAX: usize = 4096;

/// What the arguments that are left out stand for.
static NO_VARIABLES: Json = Json::Object(Vec::new());

thread_local! {
    static CACHE: RefCell<Vec<(String, Rc<JsonPath>)>> = const { RefCell::new(Vec::new()) };
}

/// The parsed path, from this thread's cache if it is there.
fn parsed(text: &str) -> Result<Rc<JsonPath>> {
    let cached = CACHE.with_borrow_mut(|cache| {
        let at = cache.iter().position(|(known, _)| known == text)?;
        let entry = cache.remove(at);
        let found = Rc::clone(&entry.1);
        cache.push(entry);
        Some(found)
    });
    if let Some(found) = cached {
        return Ok(found);
    }
    let path = Rc::new(JsonPath::parse(text)?);
    if text.len() <= CACHED_BYTES_MAX {
        CACHE.with_borrow_mut(|cache| {
            if cache.len() >= CACHE_ENTRIES_MAX {
                cache.remove(0);
            }
            cache.push((text.to_owned(), Rc::clone(&path)));
        });
    }
    Ok(path)
}

/// A call of `jsonb_path_…(target, path, vars, silent)`.
struct Query<'a> {
    path: Rc<JsonPath>,
    evaluator: Evaluator<'a>,
    is_silent: bool,
}

impl<'a> Query<'a> {
    fn new(call: &Call<'a>, uses_zone: bool) -> Result<Self> {
        let vars = if call.args.len() > 2 { call.json(2)? } else { &NO_VARIABLES };
        let is_silent = call.args.len() > 3 && call.bool(3)?;
        Self::with(call, Some(vars), is_silent, uses_zone)
    }

    /// The call of an operator: it has no variables, and is silent.
    fn of_operator(call: &Call<'a>) -> Result<Self> {
        Self::with(call, None, true, false)
    }

    fn with(
        call: &Call<'a>,
        vars: Option<&'a Json>,
        is_silent: bool,
        uses_zone: bool,
    ) -> Result<Self> {
        let path = parsed(call.text(1)?)?;
        let options = Options { throws: !is_silent, uses_zone };
        let evaluator = Evaluator::new(call.env, call.json(0)?, vars, path.is_lax, options)?;
        Ok(Query { path, evaluator, is_silent })
    }

    fn exists(mut self) -> Result<Datum> {
        Ok(self.evaluator.exists(&self.path)?.map_or(Datum::Null, Datum::Bool))
    }

    fn matches(mut self) -> Result<Datum> {
        let found = self.evaluator.list(&self.path)?;
        let single = match found.as_slice() {
            [one] => one.as_json(),
            _ => None,
        };
        match single {
            Some(Json::Bool(holds)) => Ok(Datum::Bool(*holds)),
            Some(Json::Null) => Ok(Datum::Null),
            _ if self.is_silent => Ok(Datum::Null),
            _ => {
                let message = "single boolean result is expected";
                Err(Error::new(SqlState::SingletonJsonItemRequired, message))
            }
        }
    }

    /// Everything found, as values of their own; the memory of all is counted before it is taken.
    fn all(mut self) -> Result<Vec<Json>> {
        let found = self.evaluator.list(&self.path)?;
        let (mut values, mut bytes) = (Vec::with_capacity(found.len()), 0);
        for item in &found {
            let size = item.size_bytes();
            work::spend_bytes(size)?;
            bytes += size;
            work::afford(bytes)?;
            values.push(item.to_json());
        }
        Ok(values)
    }

    fn rows(self) -> Result<Rows> {
        let values = self.all()?;
        rows(values.into_iter().map(|value| Row::from([Datum::json(value)])))
    }

    fn array(self) -> Result<Datum> {
        Ok(Datum::json(Json::Array(self.all()?)))
    }

    fn first(mut self) -> Result<Datum> {
        let found = self.evaluator.list(&self.path)?;
        Ok(found.first().map(Item::to_json).map_or(Datum::Null, Datum::json))
    }
}

pub(in crate::json) fn register(registry: &mut Registry) {
    macro_rules! forms {
        ($add:ident, $name:literal, $returns:literal, $how:ident) => {
            for signature in [
                concat!($name, "(jsonb, jsonpath) -> ", $returns),
                concat!($name, "(jsonb, jsonpath, jsonb) -> ", $returns),
                concat!($name, "(jsonb, jsonpath, jsonb, bool) -> ", $returns),
            ] {
                registry.$add(signature, |c| Query::new(c, false)?.$how());
            }
            for signature in [
                concat!($name, "_tz(jsonb, jsonpath) -> ", $returns, " stable"),
                concat!($name, "_tz(jsonb, jsonpath, jsonb) -> ", $returns, " stable"),
                concat!($name, "_tz(jsonb, jsonpath, jsonb, bool) -> ", $returns, " stable"),
            ] {
                registry.$add(signature, |c| Query::new(c, true)?.$how());
            }
        };
    }
    forms!(add, "jsonb_path_exists", "bool", exists);
    forms!(add, "jsonb_path_match", "bool", matches);
    forms!(set, "jsonb_path_query", "jsonb", rows);
    forms!(add, "jsonb_path_query_array", "jsonb", array);
    forms!(add, "jsonb_path_query_first", "jsonb", first);
    for signature in
        ["@?(jsonb, jsonpath) -> bool", "jsonb_path_exists_opr(jsonb, jsonpath) -> bool"]
    {
        registry.add(signature, |c| Query::of_operator(c)?.exists());
    }
    for signature in
        ["@@(jsonb, jsonpath) -> bool", "jsonb_path_match_opr(jsonb, jsonpath) -> bool"]
    {
        registry.add(signature, |c| Query::of_operator(c)?.matches());
    }
}
