//! A server and a connection to it, to compare with another.

use braid_testkit::server::{Config, Server};

use crate::protocol::connection::Connection;

/// One of two servers.
pub(super) struct Side {
    _server: Server,
    connection: Connection,
}

impl Side {
    /// Starts it.
    pub(super) fn start() -> Side {
        let server = Server::start(Config::new().without_sync());
        let mut connection = Connection::open(server.sql_url()).expect("connects");
        connection.start(server.sql_url()).expect("starts");
        Side { _server: server, connection }
    }

    /// A simple query; what comes back.
    pub(super) fn query(&mut self, sql: &str) -> String {
        self.connection.query(sql).expect("is sent");
        self.connection.until("ReadyForQuery").expect("an answer")
    }

    /// Prepares a statement, describes it, runs it with the values.
    pub(super) fn extended(&mut self, name: &str, sql: &str, runs: &[Vec<String>]) -> String {
        let connection = &mut self.connection;
        connection.parse(name, sql, "").expect("is sent");
        connection.named(b'D', b'S', name).expect("is sent");
        for values in runs {
            connection.bind("", name, "", values, "").expect("is sent");
            connection.execute("", 0).expect("is sent");
        }
        connection.message(b'S', &[]).expect("is sent");
        connection.until("ReadyForQuery").expect("an answer")
    }

    /// Binds a prepared statement and runs it.
    pub(super) fn bind_again(&mut self, name: &str, values: &[String]) -> String {
        let connection = &mut self.connection;
        connection.bind("", name, "", values, "").expect("is sent");
        connection.execute("", 0).expect("is sent");
        connection.message(b'S', &[]).expect("is sent");
        connection.until("ReadyForQuery").expect("an answer")
    }

    /// How many plans were made so far.
    pub(super) fn plans_made(&mut self) -> u64 {
        let sql = "SELECT value FROM braid_internal.metrics \
                   WHERE name = 'braid_plan_cache_misses_total'";
        let answer = self.query(sql);
        let number = answer.split('"').nth(1).expect("a number");
        number.parse::<f64>().expect("a number") as u64
    }
}
