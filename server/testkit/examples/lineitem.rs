//! Prints the first rows of TPC-H's `lineitem`, one a line, fields separated by `|`: the data of
//! the batch bench. `cargo run --release -p braid-testkit --example lineitem -- ROWS`

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use tpchgen::generators::LineItemGenerator;

fn main() -> ExitCode {
    let rows = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let Some(rows) = rows else {
        eprintln!("usage: lineitem ROWS");
        return ExitCode::from(2);
    };
    match print(rows) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has closed the pipe.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn print(rows: usize) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    for row in LineItemGenerator::new(1.0, 1, 1).iter().take(rows) {
        writeln!(out, "{row}")?;
    }
    out.flush()
}
