//! Who may connect, how many, how a statement is stopped, and how the server ends.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use braid_testkit::server::{Config, Server};
use tokio_postgres::error::{DbError, SqlState};
use tokio_postgres::{Client, Error, NoTls};

async fn connect(url: &str) -> Result<Client, Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(async move {
        // Its end is seen by the client as well.
        connection.await.ok();
    });
    Ok(client)
}

async fn refused(url: &str) -> DbError {
    let error = connect(url).await.expect_err("is refused");
    error.as_db_error().expect("an error of the server").clone()
}

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(test);
}

#[test]
fn a_user_with_a_password_has_to_prove_it() {
    run(async {
        let server = Server::start(Config::new());
        let url = server.sql_url();
        let root = connect(url).await.expect("root needs no password on loopback");
        root.batch_execute("CREATE USER ann PASSWORD 'secret'").await.expect("is created");
        let ann = |password: &str| url.replace("root@", &format!("ann:{password}@"));
        let row = connect(&ann("secret"))
            .await
            .expect("the right password")
            .query_one("SELECT current_user::text", &[])
            .await
            .expect("a row");
        assert_eq!(row.get::<_, String>(0), "ann");
        let wrong = refused(&ann("wrong")).await;
        assert_eq!(*wrong.code(), SqlState::INVALID_PASSWORD);
        assert_eq!(wrong.message(), "password authentication failed for user \"ann\"");
        let nobody = refused(&url.replace("root@", "nobody@")).await;
        assert_eq!(*nobody.code(), SqlState::INVALID_AUTHORIZATION_SPECIFICATION);
        let nowhere = refused(&url.replace("/defaultdb", "/nowhere")).await;
        assert_eq!(*nowhere.code(), SqlState::INVALID_CATALOG_NAME);
    });
}

#[test]
fn more_connections_than_allowed_are_refused() {
    run(async {
        let server = Server::start(Config::new().arg("--max-connections").arg("2"));
        let first = connect(server.sql_url()).await.expect("the first");
        let _second = connect(server.sql_url()).await.expect("the second");
        let third = refused(server.sql_url()).await;
        assert_eq!(*third.code(), SqlState::TOO_MANY_CONNECTIONS);
        assert_eq!(third.detail(), Some("max_connections is 2."));
        drop(first);
        for _ in 0..100 {
            if connect(server.sql_url()).await.is_ok() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("a place that was given back is free again");
    });
}

#[test]
fn a_cancel_request_stops_the_statement_and_nothing_else() {
    run(async {
        let server = Server::start(Config::new());
        let client = connect(server.sql_url()).await.expect("connects");
        let token = client.cancel_token();
        let sleeping = client.batch_execute("SELECT pg_sleep(600)");
        let cancelling = async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            token.cancel_query(NoTls).await.expect("is sent");
        };
        let (result, ()) = tokio::join!(sleeping, cancelling);
        let error = result.expect_err("was cancelled");
        assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED));
        client.batch_execute("SELECT 1").await.expect("the session goes on");
    });
}

#[test]
fn a_stop_lets_the_statement_finish_and_ends_idle_sessions() {
    run(async {
        let mut server = Server::start(Config::new());
        let busy = connect(server.sql_url()).await.expect("connects");
        let idle = connect(server.sql_url()).await.expect("connects");
        let statement = tokio::spawn(async move {
            busy.query_one("SELECT 7 FROM pg_sleep(2)", &[]).await.map(|row| row.get::<_, i32>(0))
        });
        tokio::time::sleep(Duration::from_millis(500)).await;
        let stopped = tokio::task::spawn_blocking(move || server.terminate().success());
        assert_eq!(statement.await.expect("runs").expect("finishes"), 7);
        assert!(stopped.await.expect("stops"), "the exit status is 0");
        assert!(idle.batch_execute("SELECT 1").await.is_err());
    });
}

/// A socket of a client without a driver; reading from it has an end.
fn socket(server: &Server) -> TcpStream {
    let address = server.sql_url().split('@').nth(1).and_then(|rest| rest.split('/').next());
    let socket = TcpStream::connect(address.expect("an address")).expect("connects");
    socket.set_read_timeout(Some(Duration::from_secs(30))).expect("is set");
    socket
}

#[test]
fn a_client_without_authentication_gets_little_memory() {
    let server = Server::start(Config::new());
    run(async {
        let root = connect(server.sql_url()).await.expect("connects");
        root.batch_execute("CREATE USER ann PASSWORD 'secret'").await.expect("is created");
    });
    let mut socket = socket(&server);
    let mut packet = vec![0, 3, 0, 0];
    packet.extend(b"user\0ann\0database\0defaultdb\0\0");
    let length = u32::try_from(packet.len() + 4).expect("is short").to_be_bytes();
    socket.write_all(&[&length[..], &packet].concat()).expect("is sent");
    let mut asked = [0; 24];
    socket.read_exact(&mut asked).expect("the server asks for a password");
    assert_eq!(asked[0], b'R');
    // Announces a password of a megabyte and sends none of it: its length alone is refused.
    socket.write_all(&[b'p', 0, 16, 0, 0]).expect("is sent");
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).expect("the server closes the connection");
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(answer.contains("FATAL") && answer.contains("08P01"), "{answer}");
}

#[test]
fn a_client_that_does_not_authenticate_in_time_is_disconnected() {
    let config = Config::new().arg("--authentication-timeout").arg("300ms");
    let server = Server::start(config);
    let mut socket = socket(&server);
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).expect("the server closes the connection");
    assert!(answer.is_empty(), "{answer:?}");
}

#[test]
fn a_value_of_another_type_names_the_routine_that_clients_decide_by() {
    run(async {
        let server = Server::start(Config::new());
        let root = connect(server.sql_url()).await.expect("connects");
        root.batch_execute("CREATE TABLE t (a int)").await.expect("is created");
        let error = root.batch_execute("INSERT INTO t VALUES (true)").await.expect_err("fails");
        let error = error.as_db_error().expect("an error of the server").clone();
        assert_eq!(*error.code(), SqlState::DATATYPE_MISMATCH);
        assert_eq!(error.routine(), Some("transformAssignedExpr"));
    });
}
