//! Protocol messages out, messages back: one Rust test a script under `tests/wire`.
//!
//! Each script runs on a server of its own and, if `POSTGRES_URL` names one that trusts its
//! clients, in a new database of a real PostgreSQL, where the same files must pass.
//! `UPDATE_GOLDENFILES=1` records, from PostgreSQL if there is one.
//!
//! Commands send one message each and read nothing: `query`, `parse`, `bind`, `describe-statement`,
//! `describe-portal`, `execute`, `close-statement`, `close-portal`, `sync`, `flush`, `copy-data`,
//! `copy-hex`, `copy-done`, `copy-fail`, `terminate`, `raw` (hex). `pause` waits that many
//! milliseconds. `receive` reads up to ReadyForQuery, `until` up to the message named, and shows
//! what came. A prefix `b:` is another connection.

#![allow(clippy::print_stdout, reason = "a test says what it did and what it left out")]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::time::Duration;

use braid_testkit::server::{Config, Server};
use braid_testkit::target::Target;
use goldenscript::{Command, Context};

use crate::protocol::connection::Connection;

test_each_file::test_each_path! { in "./server/braid/tests/wire" as on_braid => on_braid }
test_each_file::test_each_path! { in "./server/braid/tests/wire" as on_postgres => on_postgres }

fn on_braid(path: &Path) {
    let is_recording = std::env::var_os("UPDATE_GOLDENFILES").is_some();
    if is_recording && std::env::var_os("POSTGRES_URL").is_some() {
        return;
    }
    let server = Server::start(Config::new());
    run(server.sql_url().to_owned(), path);
}

fn on_postgres(path: &Path) {
    let Some(target) = Target::postgres() else {
        println!("skipped: POSTGRES_URL does not name a PostgreSQL to compare with");
        return;
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let name = path.file_stem().expect("a script has a name").to_string_lossy();
    let database = runtime.block_on(target.create_database(&format!("wire_{name}")));
    run(database.url(), path);
    runtime.block_on(database.drop());
}

fn run(url: String, path: &Path) {
    let mut runner = Runner { url, connections: BTreeMap::new() };
    goldenscript::run(&mut runner, path).expect("the script passes");
}

struct Runner {
    url: String,
    connections: BTreeMap<String, Connection>,
}

impl goldenscript::Runner for Runner {
    type Command = Command;

    fn run(&mut self, command: &Command, context: &Context) -> Result<String, Box<dyn Error>> {
        let name = context.prefix.clone().unwrap_or_default();
        if !self.connections.contains_key(&name) {
            let mut connection = Connection::open(&self.url)?;
            if command.name != "start" {
                connection.start(&self.url)?;
            }
            self.connections.insert(name.clone(), connection);
        }
        let connection = self.connections.get_mut(&name).ok_or("no connection")?;
        perform(connection, command)
    }
}

fn perform(connection: &mut Connection, command: &Command) -> Result<String, Box<dyn Error>> {
    let mut args = command.consume_args();
    let name = |key: &str, args: &mut goldenscript::ArgumentConsumer<'_>| {
        args.take_key(key).unwrap_or_default().to_owned()
    };
    match command.name.as_str() {
        "query" => connection.query(args.next_pos().unwrap_or_default())?,
        "parse" => {
            let (statement, types) = (name("name", &mut args), name("types", &mut args));
            connection.parse(&statement, args.next_pos().unwrap_or_default(), &types)?;
        }
        "bind" => {
            let (portal, statement) = (name("portal", &mut args), name("name", &mut args));
            let (formats, results) = (name("formats", &mut args), name("results", &mut args));
            let mut values = Vec::new();
            while let Some(value) = args.next_pos() {
                values.push(value.to_owned());
            }
            connection.bind(&portal, &statement, &formats, &values, &results)?;
        }
        "describe-statement" => {
            connection.named(b'D', b'S', args.next_pos().unwrap_or_default())?
        }
        "describe-portal" => connection.named(b'D', b'P', args.next_pos().unwrap_or_default())?,
        "close-statement" => connection.named(b'C', b'S', args.next_pos().unwrap_or_default())?,
        "close-portal" => connection.named(b'C', b'P', args.next_pos().unwrap_or_default())?,
        "execute" => {
            let rows: u32 = args.take_key("rows").unwrap_or("0").parse()?;
            connection.execute(args.next_pos().unwrap_or_default(), rows)?;
        }
        "sync" => connection.message(b'S', &[])?,
        "flush" => connection.message(b'H', &[])?,
        "terminate" => connection.message(b'X', &[])?,
        "copy-data" => connection.message(b'd', args.next_pos().unwrap_or_default().as_bytes())?,
        "copy-hex" => connection.copy_hex(args.next_pos().unwrap_or_default())?,
        "copy-done" => connection.message(b'c', &[])?,
        "copy-fail" => connection.text(b'f', args.next_pos().unwrap_or_default())?,
        "pause" => {
            let millis: u64 = args.next_pos().unwrap_or_default().parse()?;
            std::thread::sleep(Duration::from_millis(millis));
        }
        "raw" => connection.raw(args.next_pos().unwrap_or_default())?,
        "start" => {
            // Nothing: the connection is open, the script sends the startup packet itself.
        }
        "receive" => return connection.until("ReadyForQuery"),
        "until" => return connection.until(args.next_pos().unwrap_or_default()),
        other => return Err(format!("unknown command {other}").into()),
    }
    args.reject_next()?;
    Ok(String::new())
}
