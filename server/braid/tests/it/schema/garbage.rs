//! Garbage on the socket: whatever one client sends, the server serves the others and goes on.
//!
//! Each case opens a connection and sends damaged messages, alone or behind a proper start, then
//! leaves in some way. All along, well-behaved sessions must get their answers.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use braid_testkit::server::{Config, Server};
use braid_testkit::size::Size;
use braid_testkit::target::connect;

const LANES: u64 = 4;
/// Longer than any answer takes; a server that keeps silent is not waited for longer.
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn garbage_on_one_socket_does_not_hurt_the_others() {
    let cases = Size::from_env().pick(120, 2_000, 20_000);
    let server = Server::start(Config::new());
    let address = address(server.sql_url());
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let witness = scope.spawn(|| witness(server.sql_url(), &done));
        let lanes: Vec<_> = (0..LANES)
            .map(|lane| {
                let address = &address;
                scope.spawn(move || {
                    (0..cases / LANES).for_each(|case| attack(address, case * LANES + lane));
                })
            })
            .collect();
        let lanes: Vec<_> = lanes.into_iter().map(|lane| lane.join()).collect();
        done.store(true, Ordering::Relaxed);
        let answers = witness.join();
        assert!(lanes.iter().all(Result::is_ok), "a lane failed\n{}", server.output());
        assert!(answers.is_ok_and(|count| count > 0), "{}", server.output());
    });
    assert!(!server.output().contains("panicked"), "{}", server.output());
}

/// A session that stays and one that is new each time: both are answered.
fn witness(url: &str, done: &AtomicBool) -> usize {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let old = connect(url, None).await;
        let mut answers = 0;
        while !done.load(Ordering::Relaxed) || answers == 0 {
            let new = connect(url, None).await;
            for client in [&old, &new] {
                let answer = tokio::time::timeout(PATIENCE, client.simple_query("SELECT 1 + 1"));
                answer.await.expect("an answer in time").expect("an answer");
                answers += 1;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        answers
    })
}

/// `host:port` of a URL.
fn address(url: &str) -> String {
    let rest = url.split('@').nth(1).expect("a URL with a user");
    rest.split('/').next().expect("a host").to_owned()
}

fn attack(address: &str, case: u64) {
    let mut random = Random::new(case);
    let mut socket = TcpStream::connect(address).expect("the server accepts");
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    socket.set_write_timeout(Some(PATIENCE)).expect("a timeout");
    if random.below(4) > 0 {
        let start = b"\0\x03\0\0user\0root\0database\0defaultdb\0\0";
        let mut bytes = (start.len() as u32 + 4).to_be_bytes().to_vec();
        bytes.extend_from_slice(start);
        if socket.write_all(&bytes).is_err() || !read_until_ready(&mut socket) {
            panic!("case {case}: a proper start was refused");
        }
    }
    for _ in 0..random.below(20) {
        // The server may close a connection that it can no longer make sense of.
        if socket.write_all(&message(&mut random)).is_err() {
            return;
        }
    }
    match random.below(3) {
        0 => {
            let _ = socket.shutdown(Shutdown::Write);
            let _ = socket.set_read_timeout(Some(Duration::from_millis(200)));
            let mut rest = [0; 4096];
            while socket.read(&mut rest).is_ok_and(|count| count > 0) {}
        }
        1 => {
            let _ = socket.shutdown(Shutdown::Read);
        }
        _ => {}
    }
}

/// Reads messages up to ReadyForQuery; false if the server closes before.
fn read_until_ready(socket: &mut TcpStream) -> bool {
    loop {
        let mut header = [0; 5];
        if socket.read_exact(&mut header).is_err() {
            return false;
        }
        let len = u32::from_be_bytes([header[1], header[2], header[3], header[4]]);
        let mut body = vec![0; (len as usize).saturating_sub(4)];
        if socket.read_exact(&mut body).is_err() {
            return false;
        }
        if header[0] == b'Z' {
            return true;
        }
    }
}

const TEXTS: &[&str] = &[
    "SELECT 1",
    "SELECT $1",
    "BEGIN",
    "COMMIT",
    "SELEC",
    "",
    ";",
    "SELECT '",
    "SELECT 1/0",
    "COPY t FROM STDIN",
    "SELECT * FROM generate_series(1, 1000)",
    "s",
    "p",
    "DECLARE c CURSOR FOR \
     SELECT 1",
    "FETCH 1 FROM c",
    "SET statement_timeout = 'x'",
    "SELECT '\u{e9}'",
    "((((((((((((",
    "CREATE TABLE garbage (a int)",
    "INSERT INTO garbage VALUES (1)",
    "DROP TABLE garbage",
];

/// A message that is right, nearly right, or nothing of the kind.
fn message(random: &mut Random) -> Vec<u8> {
    let kind = b"BCDEFHPQSXcdfpQPBDESz\0\xff"[random.below(23) as usize];
    let mut body = Vec::new();
    for _ in 0..random.below(6) {
        match random.below(7) {
            0 | 1 => {
                body.extend_from_slice(TEXTS[random.below(TEXTS.len() as u64) as usize].as_bytes());
                body.push(0);
            }
            2 => body.push(b"SP\0"[random.below(3) as usize]),
            3 => body.extend((random.below(3) as u16).to_be_bytes()),
            4 => body.extend((random.below(8) as u32).to_be_bytes()),
            5 => body.extend((random.below(u64::MAX) as u32).to_be_bytes()),
            _ => body.extend((0..random.below(40)).map(|_| random.below(256) as u8)),
        }
    }
    let mut len = body.len() as u32 + 4;
    match random.below(20) {
        0 => len = random.below(u64::MAX) as u32,
        1 => len = random.below(4) as u32,
        2 => len += 3,
        _ => {}
    }
    let mut bytes = vec![kind];
    bytes.extend(len.to_be_bytes());
    bytes.extend(body);
    bytes
}

/// A small random number generator (xorshift), so that a case repeats.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Random((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}
