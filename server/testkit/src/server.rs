//! Starts, kills and restarts a real `braid` process.
//!
//! The binary is the one that `BRAID_BIN` names, or the one beside the running test, or the release
//! build. Every server listens on free ports and keeps its data in a folder of its own, or where
//! [`crate::store`] says.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::store;

/// A start or a stop that takes longer is a hang.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long the server of a shared cluster may take to leave it.
const LEAVE: Duration = Duration::from_secs(3);
/// What is kept of a server's output, for messages.
const OUTPUT_LINES_MAX: usize = 200;

/// How to start a server.
#[derive(Clone, Debug, Default)]
pub struct Config {
    args: Vec<String>,
    envs: Vec<(String, String)>,
    /// Whether the server must be a test build, the only kind with `BRAID_UNSAFE_*` variables.
    is_test_build: bool,
}

impl Config {
    /// Defaults: no further arguments, no further environment.
    pub fn new() -> Self {
        Config::default()
    }

    /// Adds a command line argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Keeps the data in the store of that URL, whatever the environment says.
    #[must_use]
    pub fn store(self, url: impl Into<String>) -> Self {
        self.arg("--store").arg(url)
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.envs.push((name.into(), value.into()));
        self
    }

    /// Sets `BRAID_UNSAFE_<name>=1`, which switches a protection off, and starts the server that
    /// `cargo test` built beside the running test. `cargo build` makes servers without switches.
    #[must_use]
    pub fn unsafe_switch(mut self, name: &str) -> Self {
        self.is_test_build = true;
        self.env(format!("BRAID_UNSAFE_{name}"), "1")
    }

    /// Switches syncing off where the server can, because the test needs speed and no durability.
    /// A server without switches ignores it and syncs.
    #[must_use]
    pub fn without_sync(self) -> Self {
        self.env("BRAID_UNSAFE_NO_SYNC", "1")
    }

    fn binary(&self) -> PathBuf {
        if self.is_test_build { built_beside_test() } else { binary() }
    }
}

/// A running server; killed when dropped.
#[derive(Debug)]
pub struct Server {
    config: Config,
    folder: PathBuf,
    process: Option<Process>,
    /// Removed when the server is dropped, after the process.
    _own_folder: Option<TempDir>,
}

#[derive(Debug)]
struct Process {
    child: Child,
    sql_url: String,
    http_url: String,
    output: Output,
}

type Output = Arc<Mutex<Vec<String>>>;

impl Server {
    /// Starts a server on an empty folder of its own.
    ///
    /// # Panics
    /// If there is no binary or it does not become ready; the message has its output.
    pub fn start(config: Config) -> Self {
        let own = TempDir::new().expect("a temporary folder");
        let folder = own.path().join("data");
        let mut server = Self::start_in(&folder, config);
        server._own_folder = Some(own);
        server
    }

    /// Starts a server on that folder, which stays.
    ///
    /// # Panics
    /// As [`Server::start`].
    pub fn start_in(folder: &Path, config: Config) -> Self {
        let process = Process::start(folder, &config);
        Server { config, folder: folder.to_owned(), process: Some(process), _own_folder: None }
    }

    /// The URL for `psql` and drivers.
    ///
    /// # Panics
    /// If the server was stopped.
    pub fn sql_url(&self) -> &str {
        &self.running().sql_url
    }

    /// The URL for a browser.
    ///
    /// # Panics
    /// If the server was stopped.
    pub fn http_url(&self) -> &str {
        &self.running().http_url
    }

    /// The data folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The process number.
    ///
    /// # Panics
    /// If the server was stopped.
    pub fn pid(&self) -> u32 {
        self.running().child.id()
    }

    /// The last lines it printed, on either stream.
    pub fn output(&self) -> String {
        self.process.as_ref().map(|process| joined(&process.output)).unwrap_or_default()
    }

    /// `kill -9`: nothing is flushed, nothing is said. No effect on a stopped server.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.child.kill();
            let _ = process.child.wait();
        }
    }

    /// Lets the server of a shared cluster take back what it has registered there: PD fails with
    /// the names of hundreds that have gone without a word.
    fn take_leave(&mut self) {
        let Some(process) = self.process.as_mut().filter(|_| store::is_shared()) else { return };
        send(&process.child, Signal::TERM);
        let deadline = Instant::now() + LEAVE;
        while matches!(process.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Stops the process where it is, as a machine does that is paused.
    ///
    /// # Panics
    /// If the server was stopped.
    pub fn pause(&self) {
        send(&self.running().child, Signal::STOP);
    }

    /// Lets it go on after [`Server::pause`].
    ///
    /// # Panics
    /// If the server was stopped.
    pub fn resume(&self) {
        send(&self.running().child, Signal::CONT);
    }

    /// SIGTERM, then waits for the end.
    ///
    /// # Panics
    /// If the server was stopped, or does not stop.
    pub fn terminate(&mut self) -> ExitStatus {
        let mut process = self.process.take().expect("the server runs");
        send(&process.child, Signal::TERM);
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = process.child.try_wait().expect("a child to wait for") {
                return status;
            }
            if Instant::now() > deadline {
                let _ = process.child.kill();
                panic!("the server does not stop on SIGTERM\n{}", joined(&process.output));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Starts it again on the same folder, killing it first if it runs. The ports change.
    ///
    /// # Panics
    /// As [`Server::start`].
    pub fn restart(&mut self) {
        self.kill();
        self.process = Some(Process::start(&self.folder, &self.config));
    }

    /// Starts it again, and kills it after that long, ready or not: recovery is cut short.
    ///
    /// # Panics
    /// If there is no binary.
    pub fn restart_and_kill(&mut self, after: Duration) {
        self.kill();
        let mut child = command(&self.folder, &self.config)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a binary that started before");
        std::thread::sleep(after);
        let _ = child.kill();
        let _ = child.wait();
    }

    fn running(&self) -> &Process {
        self.process.as_ref().expect("the server runs")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.take_leave();
        self.kill();
        if self._own_folder.is_some() {
            store::forget(&self.folder);
        }
    }
}

impl Process {
    fn start(folder: &Path, config: &Config) -> Self {
        let mut child = command(folder, config)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {}: {error}", config.binary().display()));
        let output = Output::default();
        let (lines, ready) = channel();
        let stdout = child.stdout.take().expect("a pipe was asked for");
        let stderr = child.stderr.take().expect("a pipe was asked for");
        drain(stdout, Arc::clone(&output), move |line| {
            let _ = lines.send(line.to_owned());
        });
        drain(stderr, Arc::clone(&output), |_| {});
        match urls(&ready) {
            Some((sql_url, http_url)) => Process { child, sql_url, http_url, output },
            None => {
                let _ = child.kill();
                let status = child.wait();
                panic!("the server is not ready, its end: {status:?}\n{}", joined(&output));
            }
        }
    }
}

fn command(folder: &Path, config: &Config) -> Command {
    let mut command = Command::new(config.binary());
    command
        .arg("start")
        .arg("--data")
        .arg(folder)
        .args(["--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"])
        .args(store::args(folder, &config.args))
        .args(&config.args)
        // Plans do not change while a test runs, unless it wants that.
        .env("BRAID_ANALYZE_INTERVAL", "0s")
        .envs(config.envs.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null());
    command
}

/// Both addresses from the ready lines; `None` if they do not come.
fn urls(lines: &Receiver<String>) -> Option<(String, String)> {
    let deadline = Instant::now() + PATIENCE;
    let mut sql_url = None;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let line = match lines.recv_timeout(left) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
        };
        if let Some(url) = line.strip_prefix("sql:") {
            sql_url = Some(url.trim().to_owned());
        } else if let Some(url) = line.strip_prefix("http:") {
            return Some((sql_url?, url.trim().to_owned()));
        }
    }
}

/// Reads a stream to its end in the background, so that the server never waits for a reader.
fn drain(stream: impl Read + Send + 'static, output: Output, seen: impl Fn(&str) + Send + 'static) {
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            seen(&line);
            let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
            if output.len() == OUTPUT_LINES_MAX {
                output.remove(0);
            }
            output.push(line);
        }
    });
}

fn joined(output: &Output) -> String {
    output.lock().unwrap_or_else(PoisonError::into_inner).join("\n")
}

fn send(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process number");
    kill_process(pid, signal).expect("a signal to a child of ours");
}

/// The server to test.
///
/// # Panics
/// If it was not built.
pub fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("BRAID_BIN") {
        return path.into();
    }
    let beside = built_beside_test();
    let target = beside.parent().and_then(Path::parent).expect("a target folder");
    let candidates = [beside.clone(), target.join("release/braid"), target.join("debug/braid")];
    candidates
        .into_iter()
        .find(|path| path.is_file())
        .unwrap_or_else(|| panic!("no braid in {}: build it, or set BRAID_BIN", target.display()))
}

/// The path of the server of the running test's profile: a test is `target/<profile>/deps/<name>`.
fn built_beside_test() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    test.parent().and_then(Path::parent).expect("a target folder").join("braid")
}
