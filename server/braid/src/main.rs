//! The `braid` binary: command line, logging, start.
//!
//! ```text
//! cli ──► start: folder ─► kv ─► session server ─► wire listener, http ─► ready lines
//!                 signal ─► stop accepting ─► finish statements ─► sync ─► exit 0
//! ```

mod address;
mod check;
mod cli;
mod logging;
mod memory;
mod signals;
mod start;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};

/// A statement makes dozens of small allocations; the system's allocator takes twice the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Version => {
            let line = format!("braid {}\n", env!("CARGO_PKG_VERSION"));
            match std::io::stdout().write_all(line.as_bytes()) {
                Ok(()) => ExitCode::SUCCESS,
                Err(_) => ExitCode::FAILURE,
            }
        }
        Command::Check(options) => match check::check(&options) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(error) => {
                eprintln!("braid: {error}");
                ExitCode::FAILURE
            }
        },
        Command::Start(options) => match start::start(&options) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("braid: {error}");
                ExitCode::FAILURE
            }
        },
    }
}
