//! What a client says when it starts a session.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use braid_types::{Error, Result, SqlState};

use crate::settings::check_value;

/// Names that are not variables.
const RESERVED: &[&str] = &["user", "database", "options", "replication"];

/// Start-up parameters, checked.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// The user.
    pub user: String,
    /// The database.
    pub database: String,
    /// Variables with their canonical values.
    pub settings: BTreeMap<String, String>,
    /// Where the client is; `None` inside this process.
    pub peer: Option<SocketAddr>,
    /// The address and port that it came in by.
    pub local: Option<SocketAddr>,
    /// Whether the connection is encrypted.
    pub encrypted: bool,
    /// Whose session it is, in the words of `pg_stat_activity.backend_type`.
    pub backend: &'static str,
}

/// A session of a client.
const CLIENT: &str = "client backend";
/// A session of the job that analyzes tables. A statement that it is in the way of ends it.
pub(crate) const ANALYZER: &str = "autovacuum worker";
/// A session of another job.
const WORKER: &str = "background worker";

impl SessionOptions {
    /// Options of a session of the job that analyzes tables.
    pub fn analyzer(user: &str, database: &str) -> SessionOptions {
        SessionOptions { backend: ANALYZER, ..SessionOptions::internal(user, database) }
    }

    /// Options of a session inside this process.
    pub fn internal(user: &str, database: &str) -> SessionOptions {
        SessionOptions {
            user: user.to_owned(),
            database: database.to_owned(),
            settings: BTreeMap::new(),
            peer: None,
            local: None,
            encrypted: false,
            backend: WORKER,
        }
    }

    /// Reads a startup packet's parameters; 28000 without a user, 42704 or 22023 for a variable
    /// that does not exist or a value that it does not accept.
    pub fn from_startup(
        parameters: &[(String, String)],
        peer: Option<SocketAddr>,
        encrypted: bool,
    ) -> Result<SessionOptions> {
        let given = |name: &str| {
            parameters.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
        };
        let user = given("user").filter(|user| !user.is_empty()).ok_or_else(|| {
            Error::new(
                SqlState::InvalidAuthorizationSpecification,
                "no PostgreSQL user name specified in startup packet",
            )
        })?;
        if given("replication").is_some_and(|value| !matches!(value, "false" | "off" | "no" | "0"))
        {
            return Err(Error::unsupported("the replication protocol"));
        }
        let database = given("database").filter(|name| !name.is_empty()).unwrap_or(user);
        let mut settings = BTreeMap::new();
        let mut put = |name: &str, value: &str| -> Result<()> {
            let value = check_value(name, &[value.to_owned()])?;
            settings.insert(name.to_ascii_lowercase(), value);
            Ok(())
        };
        for (name, value) in parse_options(given("options").unwrap_or_default())? {
            put(&name, &value)?;
        }
        for (name, value) in parameters {
            if !RESERVED.contains(&name.as_str()) && !name.starts_with("_pq_.") {
                put(name, value)?;
            }
        }
        let (user, database) = (user.to_owned(), database.to_owned());
        let local = None;
        Ok(SessionOptions { user, database, settings, peer, local, encrypted, backend: CLIENT })
    }

    /// Whether the client is on this machine.
    pub fn is_loopback(&self) -> bool {
        self.peer.is_none_or(|peer| peer.ip().to_canonical().is_loopback())
    }
}

/// `-c name=value` and `--name=value`, as PostgreSQL's command line takes them.
fn parse_options(text: &str) -> Result<Vec<(String, String)>> {
    let mut options = Vec::new();
    let mut words = split_words(text).into_iter();
    while let Some(word) = words.next() {
        let assignment = if let Some(rest) = word.strip_prefix("--") {
            rest.to_owned()
        } else if let Some(rest) = word.strip_prefix("-c") {
            if rest.is_empty() { words.next().unwrap_or_default() } else { rest.to_owned() }
        } else {
            return Err(invalid_option(&word));
        };
        let (name, value) = assignment.split_once('=').ok_or_else(|| invalid_option(&word))?;
        options.push((name.replace('-', "_"), value.to_owned()));
    }
    Ok(options)
}

fn invalid_option(word: &str) -> Error {
    Error::new(
        SqlState::SyntaxError,
        format!("invalid command-line argument for server process: {word}"),
    )
}

/// Splits at blanks; a backslash keeps the next character.
fn split_words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let last = words.len() - 1;
        match c {
            '\\' => words[last].extend(chars.next()),
            c if c.is_whitespace() => {
                if !words[last].is_empty() {
                    words.push(String::new());
                }
            }
            c => words[last].push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(parameters: &[(&str, &str)]) -> Result<SessionOptions> {
        let owned: Vec<(String, String)> =
            parameters.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        SessionOptions::from_startup(&owned, None, false)
    }

    #[test]
    fn options_become_settings() {
        let options = start(&[
            ("user", "ann"),
            ("options", "-c statement_timeout=5000 --search-path=a\\ b -cjit=on"),
            ("application_name", "psql"),
        ])
        .unwrap();
        assert_eq!((options.user.as_str(), options.database.as_str()), ("ann", "ann"));
        assert_eq!(options.settings["statement_timeout"], "5s");
        assert_eq!(options.settings["application_name"], "psql");
        assert_eq!(options.settings["search_path"], "\"a b\"");
    }

    #[test]
    fn what_is_wrong_is_refused() {
        assert_eq!(start(&[]).unwrap_err().state().code(), "28000");
        assert_eq!(start(&[("user", "a"), ("x", "1")]).unwrap_err().state().code(), "42704");
        assert_eq!(
            start(&[("user", "a"), ("options", "nonsense")]).unwrap_err().state().code(),
            "42601"
        );
        let replication = start(&[("user", "a"), ("replication", "database")]);
        assert_eq!(replication.unwrap_err().state().code(), "0A000");
    }
}
