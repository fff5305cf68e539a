//! What a test talks to: a `braid` of its own, or a server that an environment variable names.

use std::future::poll_fn;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_postgres::{AsyncMessage, Client, NoTls, Notification, SimpleQueryMessage};

use crate::server::{Config, Server};

/// A server to test, with a way to get empty databases on it.
#[derive(Debug)]
pub struct Target {
    url: String,
    is_postgres: bool,
    _server: Option<Server>,
}

impl Target {
    /// A `braid` of our own, or the one whose URL is in `BRAID_TEST_URL`.
    ///
    /// # Panics
    /// If a server of our own does not start.
    pub fn from_env() -> Self {
        if let Ok(url) = std::env::var("BRAID_TEST_URL") {
            return Target { url, is_postgres: false, _server: None };
        }
        let server = Server::start(Config::new());
        Target { url: server.sql_url().to_owned(), is_postgres: false, _server: Some(server) }
    }

    /// The real PostgreSQL whose URL is in `POSTGRES_URL`, to check the tests themselves; `None`
    /// without one.
    pub fn postgres() -> Option<Self> {
        let url = std::env::var("POSTGRES_URL").ok()?;
        Some(Target { url, is_postgres: true, _server: None })
    }

    /// Both, or the first alone if there is no PostgreSQL.
    ///
    /// # Panics
    /// As [`Target::from_env`].
    pub fn all() -> impl Iterator<Item = Self> {
        std::iter::once(Target::from_env()).chain(Target::postgres())
    }

    /// The address of its database for administrators.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Whether it is a real PostgreSQL.
    pub fn is_postgres(&self) -> bool {
        self.is_postgres
    }

    /// Makes an empty database whose name starts with `prefix`.
    ///
    /// # Panics
    /// If the server refuses.
    pub async fn create_database(&self, prefix: &str) -> Database {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let clean: String =
            prefix.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let name = format!("{clean}_{}_{number}", std::process::id()).to_ascii_lowercase();
        let admin = connect(&self.url, None).await;
        let options = if self.is_postgres {
            " TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'"
        } else {
            ""
        };
        admin
            .batch_execute(&format!("CREATE DATABASE {name}{options}"))
            .await
            .unwrap_or_else(|error| panic!("cannot create a database: {error:?}"));
        Database { url: self.url.clone(), name, is_postgres: self.is_postgres }
    }
}

/// A database made for one test.
#[derive(Clone, Debug)]
pub struct Database {
    url: String,
    name: String,
    is_postgres: bool,
}

impl Database {
    /// Its URL.
    ///
    /// # Panics
    /// If the URL of the server ends without the name of a database.
    pub fn url(&self) -> String {
        let (url, options) = self.url.split_once('?').unwrap_or((&self.url, ""));
        let (server, _) = url.rsplit_once('/').expect("the URL names a database");
        let mark = if options.is_empty() { "" } else { "?" };
        format!("{server}/{}{mark}{options}", self.name)
    }

    /// A new connection to it: time zone UTC, isolation level SERIALIZABLE.
    ///
    /// # Panics
    /// If the server refuses.
    pub async fn connect(&self) -> Client {
        self.connect_listening().await.0
    }

    /// The same, with the notifications that it receives.
    ///
    /// # Panics
    /// If the server refuses.
    pub async fn connect_listening(&self) -> (Client, UnboundedReceiver<Notification>) {
        let connected = try_connect_listening(&self.url, Some(&self.name)).await;
        let (client, notifications) =
            connected.unwrap_or_else(|error| panic!("cannot connect: {error:?}"));
        if self.is_postgres {
            let settings = "SET TIME ZONE 'UTC'; SET default_transaction_isolation = serializable";
            client.batch_execute(settings).await.expect("settings of a session");
        }
        (client, notifications)
    }

    /// Removes it and ends the sessions in it; what stays goes with the server.
    pub async fn drop(self) {
        let admin = connect(&self.url, None).await;
        let _ = admin.batch_execute(&format!("DROP DATABASE {} WITH (FORCE)", self.name)).await;
    }
}

/// Connects; the connection's work goes on in the background until the client is dropped.
///
/// # Panics
/// If the server refuses.
pub async fn connect(url: &str, database: Option<&str>) -> Client {
    try_connect(url, database).await.unwrap_or_else(|error| panic!("cannot connect: {error:?}"))
}

/// As [`connect`], with the error returned.
pub async fn try_connect(
    url: &str,
    database: Option<&str>,
) -> Result<Client, tokio_postgres::Error> {
    try_connect_listening(url, database).await.map(|(client, _)| client)
}

/// As [`try_connect`], with the notifications that the connection receives.
pub async fn try_connect_listening(
    url: &str,
    database: Option<&str>,
) -> Result<(Client, UnboundedReceiver<Notification>), tokio_postgres::Error> {
    let mut config: tokio_postgres::Config = url.parse()?;
    if let Some(database) = database {
        config.dbname(database);
    }
    let (client, mut connection) = config.connect(NoTls).await?;
    let (sender, receiver) = unbounded_channel();
    tokio::spawn(async move {
        // The client sees the same failure on its next call.
        while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
            if let AsyncMessage::Notification(notification) = message {
                // Most tests do not look.
                let _ = sender.send(notification);
            }
        }
    });
    Ok((client, receiver))
}

/// The first column of a query's rows, NULLs left out.
///
/// # Panics
/// If the query fails.
pub async fn first_column(client: &Client, sql: &str) -> Vec<String> {
    let messages =
        client.simple_query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    let rows = messages.into_iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    });
    rows.collect()
}

/// The rows of an answer in a fixed order, as text: `∅` is NULL.
pub fn sorted_rows(messages: &[SimpleQueryMessage]) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for message in messages {
        let SimpleQueryMessage::Row(row) = message else { continue };
        let cells: Vec<&str> = (0..row.len()).map(|i| row.get(i).unwrap_or("∅")).collect();
        rows.push(cells.join("|"));
    }
    rows.sort_unstable();
    rows
}

/// The first column of a query's answer, as text with commas between the rows.
///
/// # Panics
/// If the query fails.
pub async fn column_text(client: &Client, sql: &str) -> String {
    first_column(client, sql).await.join(",")
}
