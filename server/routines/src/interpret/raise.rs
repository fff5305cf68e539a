//! RAISE and ASSERT.

use braid_exec::NoticeLevel;
use braid_types::{Error, Result, SqlState};

use super::state::Run;
use crate::conditions::state_named;
use crate::plpgsql::{Raise, Sql};

/// What a message takes in memory besides its text, roughly, in bytes.
const NOTICE_BYTES: usize = 256;

/// The text of an expression's value; `None` for NULL.
async fn text_of(run: &mut Run<'_>, sql: &Sql) -> Result<Option<String>> {
    let (value, ty) = run.value(sql).await?;
    if value.is_null() {
        return Ok(None);
    }
    Ok(Some(braid_builtins::display(&ty, &value, &*run.cx.env)))
}

/// `RAISE`, on a line of the body.
pub(super) async fn raise_message(run: &mut Run<'_>, raise: &Raise, line: u32) -> Result<()> {
    if raise.again {
        return Err(run.caught.last().cloned().unwrap_or_else(|| {
            let message = "RAISE without parameters cannot be used outside an exception \
                           handler";
            Error::new(SqlState::DiagnosticsWithoutHandler, message)
        }));
    }
    let mut message = match &raise.format {
        Some(format) => Some(formatted(run, format, &raise.arguments).await?),
        None => raise.condition.clone(),
    };
    let mut code = raise.state.clone();
    let mut parts = Vec::new();
    for (option, value) in &raise.options {
        let Some(value) = text_of(run, value).await? else {
            let message = "RAISE statement option cannot be null";
            return Err(Error::new(SqlState::NullValueNotAllowed, message));
        };
        match option.as_str() {
            "message" if raise.format.is_some() => return Err(twice("MESSAGE")),
            "message" => message = Some(value),
            "errcode" if raise.state.is_some() => return Err(twice("ERRCODE")),
            "errcode" => code = Some(code_of(value)?),
            _ => parts.push((option.as_str(), value)),
        }
    }
    let is_error = raise.level == "exception";
    let code = code.unwrap_or_else(|| default_code(&raise.level).to_owned());
    let message = message.unwrap_or_else(|| code.clone());
    let state = if is_error { SqlState::RaiseException } else { SqlState::Warning };
    let mut error = Error::new(state, message).coded(&code);
    let (mut schema, mut table) = (String::new(), String::new());
    for (option, value) in parts {
        error = match option {
            "detail" => error.detail(value),
            "hint" => error.hint(value),
            "column" => error.column(&value),
            "constraint" => error.constraint(&value),
            "datatype" => error.data_type("", &value),
            "schema" => {
                schema = value;
                error
            }
            _ => {
                table = value;
                error
            }
        };
    }
    if !table.is_empty() || !schema.is_empty() {
        error = error.table(&schema, &table);
    }
    let level = match raise.level.as_str() {
        "exception" => return Err(error),
        "debug" => NoticeLevel::Debug,
        "log" => NoticeLevel::Log,
        "info" => NoticeLevel::Info,
        "warning" => NoticeLevel::Warning,
        _ => NoticeLevel::Notice,
    };
    if !matches!(level, NoticeLevel::Debug | NoticeLevel::Log) {
        // It waits in memory for the client.
        run.cx.memory.take(NOTICE_BYTES + error.message().len())?;
    }
    let context = format!("PL/pgSQL {} line {line} at RAISE", run.code.name);
    run.host.notice(level, error.context(context));
    Ok(())
}

/// The format with its places filled.
async fn formatted(run: &mut Run<'_>, format: &str, arguments: &[Sql]) -> Result<String> {
    let mut message = String::with_capacity(format.len());
    let mut arguments = arguments.iter();
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            message.push(c);
            continue;
        }
        if chars.peek() == Some(&'%') {
            chars.next();
            message.push('%');
            continue;
        }
        let Some(argument) = arguments.next() else {
            return Err(Error::internal("RAISE lacks a parameter"));
        };
        match text_of(run, argument).await? {
            Some(text) => message.push_str(&text),
            None => message.push_str("<NULL>"),
        }
    }
    Ok(message)
}

/// `ASSERT`
pub(super) async fn assert(
    run: &mut Run<'_>,
    condition: &Sql,
    message: Option<&Sql>,
) -> Result<()> {
    let is_off = run.cx.env.setting("plpgsql.check_asserts").is_some_and(|value| value == "off");
    if is_off || run.holds(condition).await? {
        return Ok(());
    }
    let text = match message {
        Some(message) => text_of(run, message).await?,
        None => None,
    };
    let text = text.unwrap_or_else(|| "assertion failed".to_owned());
    Err(Error::new(SqlState::AssertFailure, text))
}

fn twice(option: &str) -> Error {
    let message = format!("RAISE option already specified: {option}");
    Error::new(SqlState::SyntaxError, message)
}

/// The SQLSTATE of a message without one.
fn default_code(level: &str) -> &'static str {
    match level {
        "exception" => "P0001",
        "warning" => "01000",
        _ => "00000",
    }
}

/// The code of ERRCODE: a SQLSTATE, or the name of a condition.
fn code_of(value: String) -> Result<String> {
    let is_code = value.len() == 5
        && value.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    if is_code {
        return Ok(value);
    }
    match state_named(&value) {
        Some(state) => Ok(state.to_owned()),
        None => {
            let message = format!("unrecognized exception condition \"{value}\"");
            Err(Error::new(SqlState::UndefinedObject, message))
        }
    }
}
