//! The names of the parameters of functions that have any, for calls such as
//! `make_interval(days => 3)`.

/// A parameter: its name, and its default as SQL text, empty if it has none.
pub type Parameter = (&'static str, &'static str);

const DATE: &[Parameter] = &[("year", ""), ("month", ""), ("day", "")];
const TIME: &[Parameter] = &[("hour", ""), ("min", ""), ("sec", "")];
const TIMESTAMP: &[Parameter] =
    &[("year", ""), ("month", ""), ("mday", ""), ("hour", ""), ("min", ""), ("sec", "")];
const TIMESTAMPTZ: &[Parameter] = &[
    ("year", ""),
    ("month", ""),
    ("mday", ""),
    ("hour", ""),
    ("min", ""),
    ("sec", ""),
    ("timezone", ""),
];
const INTERVAL: &[Parameter] = &[
    ("years", "0"),
    ("months", "0"),
    ("weeks", "0"),
    ("days", "0"),
    ("hours", "0"),
    ("mins", "0"),
    ("secs", "0.0"),
];
const FROM_JSON: &[Parameter] = &[("from_json", "")];
const INTO_JSON: &[Parameter] =
    &[("jsonb_in", ""), ("path", ""), ("replacement", ""), ("create_if_missing", "true")];
const LAX: &[Parameter] = &[
    ("jsonb_in", ""),
    ("path", ""),
    ("replacement", ""),
    ("create_if_missing", "true"),
    ("null_value_treatment", "'use_json_null'"),
];
const INSERTED: &[Parameter] =
    &[("jsonb_in", ""), ("path", ""), ("replacement", ""), ("insert_after", "false")];
const JSON_PATH: &[Parameter] =
    &[("target", ""), ("path", ""), ("vars", "'{}'"), ("silent", "false")];
const IDENT: &[Parameter] = &[("str", ""), ("strict", "true")];
const BACKEND: &[Parameter] = &[("pid", ""), ("timeout", "0")];
const RECORD: &[Parameter] = &[("base", ""), ("from_json", ""), ("use_json_as_text", "false")];

/// The parameters of a function, in order; `None` if they have no names.
pub fn parameters(function: &str) -> Option<&'static [Parameter]> {
    Some(match function {
        "make_date" => DATE,
        "make_time" => TIME,
        "make_timestamp" => TIMESTAMP,
        "make_timestamptz" => TIMESTAMPTZ,
        "make_interval" => INTERVAL,
        "jsonb_set" => INTO_JSON,
        "jsonb_set_lax" => LAX,
        "jsonb_insert" => INSERTED,
        "jsonb_path_exists"
        | "jsonb_path_match"
        | "jsonb_path_query"
        | "jsonb_path_query_array"
        | "jsonb_path_query_first"
        | "jsonb_path_exists_tz"
        | "jsonb_path_match_tz"
        | "jsonb_path_query_tz"
        | "jsonb_path_query_array_tz"
        | "jsonb_path_query_first_tz" => JSON_PATH,
        "parse_ident" => IDENT,
        "pg_terminate_backend" => BACKEND,
        "json_populate_record" | "json_populate_recordset" => RECORD,
        "json_array_elements"
        | "json_array_elements_text"
        | "json_each"
        | "json_each_text"
        | "jsonb_array_elements"
        | "jsonb_array_elements_text"
        | "jsonb_each"
        | "jsonb_each_text" => FROM_JSON,
        _ => return None,
    })
}
