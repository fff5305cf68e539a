//! A session for tests, and a small reader of expressions: literals, casts, operators, calls.
//!
//! It does what the planner does in the small: finds functions with this crate's resolution, casts
//! arguments to what it asks for, skips strict functions on NULL.

#![allow(dead_code)]

mod parser;

use braid_builtins::{
    Call, Environment, Eval, Lookup, Resolved, cast_reg, resolve_function, resolve_operator,
    resolve_set_function,
};
use braid_types::cast::{self, CastEnv};
use braid_types::sql_type::length;
use braid_types::{Datum, Error, FormatSettings, Result, SqlState, SqlType, text};

use parser::Expression;

/// 2024-06-15 12:34:56.789 UTC.
pub(crate) const NOW_MICROS: i64 = 771_770_096_789_000;

pub(crate) struct TestEnvironment {
    settings: FormatSettings,
    /// Whether anything of the session was asked for.
    pub used: std::sync::atomic::AtomicBool,
    lookup: TestLookup,
}

impl Default for TestEnvironment {
    fn default() -> Self {
        TestEnvironment {
            settings: FormatSettings::default(),
            used: Default::default(),
            lookup: TestLookup,
        }
    }
}

impl TestEnvironment {
    fn touch(&self) {
        self.used.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

impl Environment for TestEnvironment {
    fn settings(&self) -> &FormatSettings {
        self.touch();
        &self.settings
    }
    fn transaction_micros(&self) -> i64 {
        self.touch();
        NOW_MICROS
    }
    fn statement_micros(&self) -> i64 {
        self.touch();
        NOW_MICROS
    }
    fn current_user(&self) -> &str {
        self.touch();
        "postgres"
    }
    fn session_user(&self) -> &str {
        self.touch();
        "postgres"
    }
    fn database(&self) -> &str {
        self.touch();
        "postgres"
    }
    fn search_path(&self, implicit: bool) -> Vec<String> {
        self.touch();
        let implied = implicit.then(|| "pg_catalog".to_owned());
        implied.into_iter().chain(["public".to_owned()]).collect()
    }
    fn setting(&self, name: &str) -> Option<String> {
        self.touch();
        (name == "datestyle").then(|| "ISO, MDY".to_owned())
    }
    fn backend_pid(&self) -> i32 {
        self.touch();
        42
    }
    fn client_addr(&self) -> Option<String> {
        self.touch();
        None
    }
    fn lookup(&self) -> &dyn Lookup {
        self.touch();
        &self.lookup
    }
}

/// A catalog with `pg_class`, `public` and `postgres` in it.
struct TestLookup;

impl Lookup for TestLookup {
    fn relation_oid(&self, name: &str) -> braid_types::Result<Option<u32>> {
        Ok(matches!(name, "pg_class" | "pg_catalog.pg_class").then_some(1259))
    }
    fn relation_name(&self, oid: u32) -> Option<String> {
        (oid == 1259).then(|| "pg_class".to_owned())
    }
    fn has_row_type(&self, _: u32) -> bool {
        false
    }
    fn relation_is_visible(&self, oid: u32) -> bool {
        oid == 1259
    }
    fn schema_oid(&self, name: &str) -> Option<u32> {
        match name {
            "pg_catalog" => Some(11),
            "public" => Some(2200),
            _ => None,
        }
    }
    fn schema_name(&self, oid: u32) -> Option<String> {
        match oid {
            11 => Some("pg_catalog".to_owned()),
            2200 => Some("public".to_owned()),
            _ => None,
        }
    }
    fn role_oid(&self, name: &str) -> Option<u32> {
        (name == "postgres").then_some(10)
    }
    fn role_name(&self, oid: u32) -> Option<String> {
        (oid == 10).then(|| "postgres".to_owned())
    }
    fn index_definition(&self, _: u32, _: i32, _: bool) -> Option<String> {
        None
    }
    fn expression(&self, _: &str, _: u32, _: bool) -> Option<String> {
        None
    }
    fn constraint_definition(&self, _: u32, _: bool) -> Option<String> {
        None
    }
    fn view_definition(&self, _: u32, _pretty: bool, _wrap: i32) -> Option<String> {
        None
    }
    fn comment(&self, _: u32, _: &str, _: i32) -> Option<String> {
        None
    }
    fn serial_sequence(&self, _: &str, _: &str) -> Result<Option<String>> {
        Ok(None)
    }
    fn has_table_privilege(&self, _: &str, _: u32, _: &str) -> Result<bool> {
        Ok(true)
    }
    fn relation_size(&self, _: u32) -> i64 {
        8192
    }
    fn indexes_size(&self, _: u32) -> i64 {
        0
    }
    fn database_size(&self, _: u32) -> Option<i64> {
        None
    }
    fn database_oid(&self, _: &str) -> Option<u32> {
        None
    }
    fn acts_as(&self, role: &str, other: &str) -> bool {
        role == other || role == "root"
    }
    fn database_name(&self, _: u32) -> Option<String> {
        None
    }
}

pub(crate) type Typed = (SqlType, Datum);

/// Casts as the planner does: unknown literals are parsed, `reg*` types looked up.
pub(crate) fn coerce(
    value: &Typed,
    to: &SqlType,
    explicit: bool,
    env: &dyn Environment,
) -> Result<Datum> {
    let (from, datum) = value;
    if from == to || datum.is_null() {
        return Ok(datum.clone());
    }
    if from.is_reg() || to.is_reg() {
        return cast_reg(datum, from, to, env);
    }
    let now_micros = env.transaction_micros();
    if let (SqlType::Unknown, Datum::Text(literal)) = (from, datum) {
        if !explicit {
            return text::parse(to, literal, env.settings(), now_micros);
        }
        // An explicit cast truncates, so the modifier comes after the reading.
        let bare = to.bare();
        let read = text::parse(&bare, literal, env.settings(), now_micros)?;
        let cast_env = CastEnv { settings: env.settings(), now_micros };
        return cast::cast(&read, &bare, to, true, &cast_env);
    }
    let cast_env = CastEnv { settings: env.settings(), now_micros };
    cast::cast(datum, from, to, explicit, &cast_env)
}

fn call(found: &Resolved, args: &[Typed], env: &dyn Environment) -> Result<Typed> {
    let cast = args
        .iter()
        .zip(&found.arg_types)
        .map(|(arg, ty)| coerce(arg, ty, false, env))
        .collect::<Result<Vec<_>>>()?;
    if found.function.strict && cast.iter().any(Datum::is_null) {
        return Ok((found.returns.clone(), Datum::Null));
    }
    let call = Call { env, types: &found.arg_types, returns: &found.returns, args: &cast };
    match found.function.eval {
        Eval::Pure(eval) => Ok((found.returns.clone(), eval(&call)?)),
        Eval::Special(_) => Err(Error::internal("carried out by exec")),
    }
}

fn evaluate(expression: &Expression, env: &dyn Environment) -> Result<Typed> {
    let all =
        |args: &[Expression]| args.iter().map(|arg| evaluate(arg, env)).collect::<Result<Vec<_>>>();
    match expression {
        Expression::Value(ty, datum) => Ok((ty.clone(), datum.clone())),
        Expression::Cast(inner, name) => {
            let ty = named_type(name)?;
            let value = evaluate(inner, env)?;
            let datum = coerce(&value, &ty, true, env)?;
            Ok((ty, datum))
        }
        Expression::Call(name, args) => {
            let args = all(args)?;
            let types: Vec<SqlType> = args.iter().map(|(ty, _)| ty.clone()).collect();
            call(&resolve_function(name, &types)?, &args, env)
        }
        Expression::Operator(name, args) => {
            let args = all(args)?;
            let found = match args.as_slice() {
                [only] => resolve_operator(name, None, &only.0)?,
                [left, right] => resolve_operator(name, Some(&left.0), &right.0)?,
                _ => return Err(Error::internal("operator")),
            };
            call(&found, &args, env)
        }
        Expression::Array(items) => {
            let items = all(items)?;
            let element = items
                .iter()
                .map(|(ty, _)| ty)
                .filter(|ty| **ty != SqlType::Unknown)
                .max_by_key(|ty| (ty.is_numeric(), length(ty) < 0, length(ty)))
                .cloned()
                .unwrap_or(SqlType::Text);
            let items = items
                .iter()
                .map(|item| coerce(item, &element, false, env))
                .collect::<Result<Vec<_>>>()?;
            Ok((element.clone().array(), Datum::array(element, items)))
        }
        Expression::Row(items) => {
            let items = all(items)?;
            let mut columns = Vec::new();
            let mut fields = Vec::new();
            for (index, value) in items.iter().enumerate() {
                let ty = if value.0 == SqlType::Unknown { SqlType::Text } else { value.0.clone() };
                fields.push(coerce(value, &ty, false, env)?);
                columns.push((format!("f{}", index + 1), ty));
            }
            Ok((SqlType::Record(columns.into()), Datum::Record(fields.into())))
        }
    }
}

fn named_type(name: &str) -> Result<SqlType> {
    if let Some((base, modifier)) = name.split_once('(') {
        let numbers: Vec<i64> = modifier
            .trim_end_matches(')')
            .split(',')
            .filter_map(|n| n.trim().parse().ok())
            .collect();
        return Ok(match (base.trim(), numbers.as_slice()) {
            ("varchar", [n]) => SqlType::Varchar(Some(*n as u32)),
            ("char", [n]) => SqlType::Char(*n as u32),
            ("numeric", [p, s]) => SqlType::Numeric(Some((*p as u16, *s as i16))),
            ("numeric", [p]) => SqlType::Numeric(Some((*p as u16, 0))),
            _ => return Err(Error::internal(format!("type {name}"))),
        });
    }
    SqlType::from_name(name).ok_or_else(|| Error::internal(format!("type {name}")))
}

/// The value as `::text` prints it.
pub(crate) fn shown((ty, datum): &Typed, env: &dyn Environment) -> Result<String> {
    if datum.is_null() {
        return Ok("NULL".to_owned());
    }
    // The answers were cast to text, which spells booleans out.
    if let Datum::Bool(value) = datum {
        return Ok(value.to_string());
    }
    if ty.is_reg() || ty.element().is_some_and(SqlType::is_reg) {
        let text = cast_reg(datum, ty, &SqlType::Text, env)?;
        return Ok(text.as_str().unwrap_or_default().to_owned());
    }
    Ok(text::to_string(ty, datum, env.settings()))
}

/// The value of an expression.
pub(crate) fn value_of(line: &str, env: &dyn Environment) -> Result<Typed> {
    evaluate(&parser::parse(line)?, env)
}

/// `type|value`, or `ERROR state: message`, with line feeds shown as `\n`.
pub(crate) fn answer(line: &str, env: &dyn Environment) -> String {
    let result = match line.strip_prefix("set: ") {
        Some(rows) => set_answer(rows, env),
        None => parser::parse(line).and_then(|expression| {
            let value = evaluate(&expression, env)?;
            let name = if value.0 == SqlType::Unknown {
                "unknown".to_owned()
            } else {
                value.0.plain_name().to_owned()
            };
            Ok(format!("{name}|{}", shown(&value, env)?))
        }),
    };
    match result {
        Ok(answer) => answer.replace('\n', "\\n"),
        Err(error) => {
            format!("ERROR {}: {}", error.state().code(), error.message()).replace('\n', "\\n")
        }
    }
}

/// Rows as records, joined by semicolons.
fn set_answer(line: &str, env: &dyn Environment) -> Result<String> {
    let Expression::Call(name, args) = parser::parse(line)? else {
        return Err(Error::internal("not a call"));
    };
    let args = args.iter().map(|arg| evaluate(arg, env)).collect::<Result<Vec<_>>>()?;
    let types: Vec<SqlType> = args.iter().map(|(ty, _)| ty.clone()).collect();
    let found = resolve_set_function(&name, &types)?.ok_or_else(|| {
        let names: Vec<String> = types.iter().map(SqlType::display_name).collect();
        let message = format!("function {name}({}) does not exist", names.join(", "));
        Error::new(SqlState::UndefinedFunction, message)
    })?;
    let cast = args
        .iter()
        .zip(&found.arg_types)
        .map(|(arg, ty)| coerce(arg, ty, false, env))
        .collect::<Result<Vec<_>>>()?;
    if found.function.strict && cast.iter().any(Datum::is_null) {
        return Ok("rows|NULL".to_owned());
    }
    let returns = SqlType::Record(found.columns.clone().into());
    let call = Call { env, types: &found.arg_types, returns: &returns, args: &cast };
    let mut rows = Vec::new();
    for row in (found.function.eval)(&call)? {
        rows.push(shown(&(returns.clone(), Datum::Record(row?.into())), env)?);
    }
    Ok(format!("rows|{}", if rows.is_empty() { "NULL".to_owned() } else { rows.join(";") }))
}
