//! Sizes of objects, and sizes for people.

use braid_types::{Datum, Error, Numeric, Result, SqlState};

use crate::Call;
use crate::registry::call::text;
use crate::registry::tables::Registry;

fn relation_size(call: &Call<'_>) -> Result<Datum> {
    Ok(Datum::Int(call.env.lookup().relation_size(call.oid(0)?)))
}

/// The main fork is all that a relation has.
fn fork_size(call: &Call<'_>) -> Result<Datum> {
    match call.text(1)? {
        "main" => relation_size(call),
        "fsm" | "vm" | "init" => Ok(Datum::Int(0)),
        _ => Err(Error::new(SqlState::InvalidParameterValue, "invalid fork name")
            .hint("Valid fork names are \"main\", \"fsm\", \"vm\", and \"init\".")),
    }
}

fn database_size(call: &Call<'_>, oid: u32) -> Result<Datum> {
    Ok(call.env.lookup().database_size(oid).map_or(Datum::Null, Datum::Int))
}

const UNITS: [&str; 6] = ["bytes", "kB", "MB", "GB", "TB", "PB"];

/// Half a unit rounds away from zero; a unit is left at ten thousand and a bit of the one below.
fn pretty(bytes: i128) -> String {
    let mut value = bytes;
    let mut unit = 0;
    let mut halves = false;
    loop {
        let limit = if halves { 20 * 1024 - 1 } else { 10 * 1024 };
        if value.abs() < limit || unit == UNITS.len() - 1 {
            let shown = if halves { (value + value.signum()) / 2 } else { value };
            return format!("{shown} {}", UNITS[unit]);
        }
        // Kept in halves of the unit, so that the last step can round.
        value /= if halves { 1024 } else { 512 };
        halves = true;
        unit += 1;
    }
}

fn pretty_numeric(call: &Call<'_>) -> Result<Datum> {
    let whole: Numeric = call.numeric(0)?.clone();
    match whole.to_i128() {
        Some(bytes) if bytes.abs() >= 10 * 1024 => text(pretty(bytes)),
        _ => text(format!("{whole} bytes")),
    }
}

/// Where the number ends that a text begins with; an exponent belongs to it.
fn number_end(value: &str) -> usize {
    let not_digit = |c: char| !c.is_ascii_digit();
    let end =
        value.find(|c: char| not_digit(c) && !matches!(c, '.' | '-' | '+')).unwrap_or(value.len());
    let Some(exponent) = value[end..].strip_prefix(['e', 'E']) else { return end };
    let digits = exponent.trim_start_matches(['-', '+']);
    match digits.find(not_digit).unwrap_or(digits.len()) {
        0 => end,
        count => value.len() - digits.len() + count,
    }
}

fn size_bytes(call: &Call<'_>) -> Result<Datum> {
    let value = call.text(0)?.trim();
    let invalid = || {
        let message = format!("invalid size: \"{}\"", call.text(0).unwrap_or_default());
        Error::new(SqlState::InvalidParameterValue, message)
    };
    let end = number_end(value);
    let (number, unit) = (&value[..end], value[end..].trim());
    let number = Numeric::parse(number).map_err(|_| invalid())?;
    let exponent = match unit.to_ascii_lowercase().as_str() {
        "" | "b" | "bytes" => 0,
        "kb" => 1,
        "mb" => 2,
        "gb" => 3,
        "tb" => 4,
        "pb" => 5,
        _ => {
            return Err(invalid().detail(format!("Invalid size unit: \"{unit}\".")).hint(
                "Valid units are \"bytes\", \"B\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\".",
            ));
        }
    };
    let bytes = number.mul(&Numeric::from_i64(1i64 << (10 * exponent)))?;
    bytes.to_i64().map(Datum::Int).ok_or_else(|| crate::registry::call::out_of_range("bigint"))
}

pub(super) fn register(registry: &mut Registry) {
    registry.add("pg_relation_size|pg_table_size(regclass) -> int8 volatile", relation_size);
    registry.add("pg_relation_size(regclass, text) -> int8 volatile", fork_size);
    registry.add("pg_indexes_size(regclass) -> int8 volatile", |c| {
        Ok(Datum::Int(c.env.lookup().indexes_size(c.oid(0)?)))
    });
    registry.add("pg_total_relation_size(regclass) -> int8 volatile", |c| {
        let (oid, lookup) = (c.oid(0)?, c.env.lookup());
        Ok(Datum::Int(lookup.relation_size(oid).saturating_add(lookup.indexes_size(oid))))
    });
    registry.add("pg_database_size(oid) -> int8 volatile", |c| database_size(c, c.oid(0)?));
    registry.add("pg_database_size(name) -> int8 volatile", |c| {
        let name = c.text(0)?;
        match c.env.lookup().database_oid(name) {
            Some(oid) => database_size(c, oid),
            None => {
                let message = format!("database \"{name}\" does not exist");
                Err(Error::new(SqlState::InvalidCatalogName, message))
            }
        }
    });
    // All relations are in one place, of which no size is known apart from the store's metrics.
    registry.add("pg_tablespace_size(name) -> int8 volatile", |_| Ok(Datum::Null));
    registry.add("pg_tablespace_size(oid) -> int8 volatile", |_| Ok(Datum::Null));
    registry.add("pg_size_pretty(int8) -> text", |c| text(pretty(c.int(0)?.into())));
    registry.add("pg_size_pretty(numeric) -> text", pretty_numeric);
    registry.add("pg_size_bytes(text) -> int8", size_bytes);
    registry.add("pg_column_size(any) -> int4 stable", |c| {
        crate::registry::call::count(
            crate::registry::call::display(c.ty(0), c.datum(0), c.env).len(),
        )
    });
}
