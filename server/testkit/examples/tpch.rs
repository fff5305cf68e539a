//! Prints a table of TPC-H in the text format of COPY: the data of the TPC-H bench.
//! `cargo run --release -p braid-testkit --example tpch -- TABLE SCALE`

use std::fmt::Display;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let table = arguments.next();
    let scale = arguments.next().and_then(|text| text.parse().ok());
    let (Some(table), Some(scale)) = (table, scale) else {
        eprintln!("usage: tpch TABLE SCALE");
        return ExitCode::from(2);
    };
    match print(&table, scale) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn print(table: &str, scale: f64) -> io::Result<()> {
    match table {
        "region" => rows(RegionGenerator::new(scale, 1, 1).iter()),
        "nation" => rows(NationGenerator::new(scale, 1, 1).iter()),
        "supplier" => rows(SupplierGenerator::new(scale, 1, 1).iter()),
        "customer" => rows(CustomerGenerator::new(scale, 1, 1).iter()),
        "part" => rows(PartGenerator::new(scale, 1, 1).iter()),
        "partsupp" => rows(PartSuppGenerator::new(scale, 1, 1).iter()),
        "orders" => rows(OrderGenerator::new(scale, 1, 1).iter()),
        "lineitem" => rows(LineItemGenerator::new(scale, 1, 1).iter()),
        other => Err(io::Error::other(format!("TPC-H has no table {other}"))),
    }
}

/// The generator ends each line with a separator, which COPY would read as one more column.
fn rows<Row: Display>(rows: impl Iterator<Item = Row>) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    for row in rows {
        let line = row.to_string();
        writeln!(out, "{}", line.strip_suffix('|').unwrap_or(&line))?;
    }
    out.flush()
}
