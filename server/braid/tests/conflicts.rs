//! Conflicts that a client never sees: one statement, or everything between two Syncs, runs again
//! as long as nothing of its result has left.

use braid_testkit::server::{Config, Server};

#[allow(dead_code, reason = "the wire scripts use the rest of it")]
#[path = "protocol/connection.rs"]
mod connection;
#[path = "protocol/show.rs"]
mod show;

use connection::Connection;

const THREADS: usize = 4;
const ROUNDS: usize = 20;

fn open(url: &str) -> Connection {
    let mut connection = Connection::open(url).expect("connects");
    connection.start(url).expect("starts");
    connection
}

fn query(connection: &mut Connection, sql: &str) -> String {
    connection.query(sql).expect("is sent");
    connection.until("ReadyForQuery").expect("an answer")
}

fn contend(url: &str, work: impl Fn(&mut Connection, usize) -> String + Sync) {
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let work = &work;
            scope.spawn(move || {
                let mut connection = open(url);
                for _ in 0..ROUNDS {
                    let answer = work(&mut connection, thread);
                    assert!(!answer.contains("ErrorResponse"), "{answer}");
                }
            });
        }
    });
}

#[test]
fn a_contended_update_is_never_refused() {
    let server = Server::start(Config::new());
    let mut root = open(server.sql_url());
    query(&mut root, "CREATE TABLE hot (id int PRIMARY KEY, n int); INSERT INTO hot VALUES (1, 0)");
    contend(server.sql_url(), |connection, _| {
        query(connection, "UPDATE hot SET n = n + 1 WHERE id = 1")
    });
    let sum = query(&mut root, "SELECT n FROM hot");
    assert!(sum.contains(&format!("DataRow \"{}\"", THREADS * ROUNDS)), "{sum}");
}

#[test]
fn a_batch_between_two_syncs_runs_again_as_a_whole() {
    let server = Server::start(Config::new());
    let mut root = open(server.sql_url());
    query(&mut root, "CREATE TABLE pair (id int PRIMARY KEY, n int)");
    query(&mut root, "INSERT INTO pair VALUES (1, 0), (2, 0)");
    // Each reads both rows, then changes them in an order that makes deadlocks.
    contend(server.sql_url(), |connection, thread| {
        let order = if thread % 2 == 0 { [1, 2] } else { [2, 1] };
        let mut texts = vec!["SELECT count(n) FROM pair".to_owned()];
        texts.extend(order.map(|id| format!("UPDATE pair SET n = n + 1 WHERE id = {id}")));
        for text in &texts {
            connection.parse("", text, "").expect("is sent");
            connection.bind("", "", "", &[], "").expect("is sent");
            connection.execute("", 0).expect("is sent");
        }
        connection.message(b'S', &[]).expect("is sent");
        let answer = connection.until("ReadyForQuery").expect("an answer");
        let kinds: Vec<&str> = answer.lines().filter_map(|line| line.split(' ').next()).collect();
        let step = ["ParseComplete", "BindComplete", "CommandComplete"];
        let mut wanted = vec!["ParseComplete", "BindComplete", "DataRow", "CommandComplete"];
        wanted.extend(step.iter().chain(&step).copied());
        wanted.push("ReadyForQuery");
        assert_eq!(kinds, wanted);
        answer
    });
    let rows = query(&mut root, "SELECT n FROM pair");
    let count = THREADS * ROUNDS;
    assert!(rows.matches(&format!("DataRow \"{count}\"")).count() == 2, "{rows}");
}
