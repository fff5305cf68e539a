//! Each line of `tests/aggregates.txt` is an aggregate, a type, the rows as an array of it, a
//! second argument (an expression) or nothing, and what PostgreSQL 15 answers.

#![allow(clippy::unwrap_used)]

use braid_builtins::{Environment, resolve_aggregate};
use braid_types::{Datum, Error, Result, SqlState, SqlType, text};

use crate::support::{TestEnvironment, Typed, coerce, shown, value_of};

fn run(fields: &[&str], env: &TestEnvironment) -> Result<String> {
    let [name, ty, rows, second, _] = fields else { return Err(Error::internal("line")) };
    let ty = SqlType::from_name(ty).unwrap();
    let now = env.transaction_micros();
    let array = text::parse(&ty.clone().array(), rows, env.settings(), now)?;
    let second = if second.is_empty() { None } else { Some(value_of(second, env)?) };
    let types: Vec<SqlType> =
        [Some(ty.clone()), second.as_ref().map(|value: &Typed| value.0.clone())]
            .into_iter()
            .flatten()
            .collect();
    let found = resolve_aggregate(name, &types)?.ok_or_else(|| {
        let message = format!("function {name}({}) does not exist", ty.plain_name());
        Error::new(SqlState::UndefinedFunction, message)
    })?;
    let mut state = (found.aggregate.start)(&found.arg_types, &found.returns);
    for item in &array.as_array().unwrap().items {
        let mut row = vec![coerce(&(ty.clone(), item.clone()), &found.arg_types[0], false, env)?];
        if let Some(second) = &second {
            row.push(coerce(second, &found.arg_types[1], false, env)?);
        }
        state.add(&row, env)?;
    }
    let result: Datum = state.finish(env)?;
    Ok(format!("{}|{}", found.returns.plain_name(), shown(&(found.returns.clone(), result), env)?))
}

#[test]
fn aggregates_answer_as_postgresql_does() {
    let env = TestEnvironment::default();
    let mut wrong = Vec::new();
    for line in include_str!("aggregates.txt").lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let got = match run(&fields, &env) {
            Ok(answer) => answer,
            Err(error) => format!("ERROR {}: {}", error.state().code(), error.message()),
        };
        if got.replace('\n', "\\n") != fields[4] {
            wrong.push(format!("{}\n  want {}\n  got  {got}", fields[..4].join(" "), fields[4]));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
