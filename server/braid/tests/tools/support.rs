//! What the Rust programs share: where the database is, and how a step prints its results.
//!
//! A program is a list of steps. A step prints `== name`, then its lines. A step that fails prints
//! the error and the program goes on, so that one run shows everything that differs.

use std::fmt::Debug;
use std::future::Future;

/// The error of a step: any.
pub type Failure = Box<dyn std::error::Error>;

/// The database of this run; each program has an empty one of its own.
pub fn url() -> String {
    std::env::var("DATABASE_URL").unwrap_or_default()
}

/// Prints each row as a line.
pub fn rows<T: Debug>(found: &[T]) {
    for row in found {
        println!("{row:?}");
    }
    println!("({} rows)", found.len());
}

/// Runs one step. An error becomes a line of the output.
pub async fn step(
    name: &str,
    describe: fn(&Failure) -> String,
    work: impl Future<Output = Result<(), Failure>>,
) {
    println!("== {name}");
    if let Err(error) = work.await {
        println!("error {}", describe(&error));
    }
}

/// Prints the error that was expected.
pub fn fails<T, E: Into<Failure>>(describe: fn(&Failure) -> String, result: Result<T, E>) {
    match result {
        Ok(_) => println!("no error, although one was expected"),
        Err(error) => println!("fails with {}", describe(&error.into())),
    }
}

/// The line of an error of the server.
pub fn server_error(code: &str, message: &str, constraint: Option<&str>) -> String {
    let constraint = constraint.map(|name| format!(" [{name}]")).unwrap_or_default();
    format!("{code} {message}{constraint}")
}
