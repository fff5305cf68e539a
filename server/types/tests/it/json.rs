//! jsonb operations compared with what PostgreSQL 15 answered.

use std::borrow::Cow;

use braid_types::json::edit;
use braid_types::{Error, Json, Result};

fn optional(value: Option<Cow<'_, Json>>) -> String {
    value.map_or("<null>".to_owned(), |value| value.to_string())
}

fn evaluate(operation: &str, a: &str, b: &str, c: &str) -> Result<String> {
    let value = Json::parse(a)?;
    let path: Vec<&str> = b.split(',').filter(|step| !step.is_empty()).collect();
    let index = || b.parse::<i64>().expect("an index");
    let changed = match operation {
        "contains" => return Ok(value.contains(&Json::parse(b)?).to_string()),
        "cmp" => return Ok((value.compare(&Json::parse(b)?) as i8).to_string()),
        "exists" => return Ok(value.exists(b).to_string()),
        "field" => return Ok(optional(value.get_field(b))),
        "element" => return Ok(optional(value.get_element(index()))),
        "path" => return Ok(optional(value.get_path(&path))),
        "text" => {
            let text = value.get_path(&path).and_then(|found| found.to_plain_text());
            return Ok(text.unwrap_or("<null>".to_owned()));
        }
        "typeof" => return Ok(value.type_name().to_owned()),
        "pretty" => return Ok(value.pretty().replace('\n', "~")),
        "concat" => edit::concat(&value, &Json::parse(b)?)?,
        "delete" => edit::delete_key(&value, b)?,
        "delete_index" => edit::delete_index(&value, index())?,
        "delete_path" => edit::delete_path(&value, &path)?,
        "set" => edit::set_path(&value, &path, &Json::parse(c)?, true)?,
        "set_only" => edit::set_path(&value, &path, &Json::parse(c)?, false)?,
        "insert" => edit::insert_path(&value, &path, &Json::parse(c)?, false)?,
        "insert_after" => edit::insert_path(&value, &path, &Json::parse(c)?, true)?,
        "strip" => edit::strip_nulls(&value),
        other => panic!("no such operation: {other}"),
    };
    Ok(changed.to_string())
}

fn shown(error: &Error) -> String {
    format!("ERROR {} {}", error.state().code(), error.message())
}

#[test]
fn operations_answer_as_postgres_answers() {
    let mut faults = Vec::new();
    for line in include_str!("json.txt").lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [operation, a, b, c, expected] = fields[..] else { panic!("five: {line}") };
        let got = evaluate(operation, a, b, c).unwrap_or_else(|error| shown(&error));
        if got != expected {
            faults.push(format!("{operation} {a} {b}\n  want {expected}\n  got  {got}"));
        }
    }
    assert!(faults.is_empty(), "{} differ:\n{}", faults.len(), faults.join("\n"));
}
