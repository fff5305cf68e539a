//! Literals compared with what PostgreSQL 15 printed for them.

use braid_types::text::{self, FormatSettings};
use braid_types::{Error, SqlType};

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(c) => out.push(c),
                None => {}
            },
            (c, _) => out.push(c),
        }
    }
    out
}

/// The type of a name that may have modifiers in parentheses.
fn type_named(name: &str) -> SqlType {
    let Some((base, modifiers)) = name.split_once('(') else {
        return SqlType::from_name(name).expect("a known type");
    };
    let numbers: Vec<i32> =
        modifiers.trim_end_matches(')').split(',').map(|n| n.parse().expect("a number")).collect();
    match SqlType::from_name(base).expect("a known type") {
        SqlType::Numeric(_) => SqlType::Numeric(Some((numbers[0] as u16, numbers[1] as i16))),
        SqlType::Varchar(_) => SqlType::Varchar(Some(numbers[0] as u32)),
        SqlType::Char(_) => SqlType::Char(numbers[0] as u32),
        other => panic!("no modifiers for {other}"),
    }
}

fn shown(error: &Error) -> String {
    let detail = error.fields().detail.as_ref().map_or(String::new(), |d| format!(" | {d}"));
    format!("ERROR {} {}{detail}", error.state().code(), error.message())
}

#[test]
fn literals_print_as_postgres_prints_them() {
    let settings = FormatSettings::default();
    let mut faults = Vec::new();
    for line in include_str!("literals.txt").lines().filter(|line| !line.starts_with('#')) {
        let mut fields = line.splitn(3, '\t');
        let (name, literal, expected) =
            (fields.next().unwrap(), fields.next().unwrap(), fields.next().unwrap());
        let (literal, expected) = (unescape(literal), unescape(expected));
        let ty = type_named(name);
        let got = match text::parse(&ty, &literal, &settings, 0) {
            Ok(datum) => {
                let got = text::to_string(&ty, &datum, &settings);
                let again = text::parse(&ty, &got, &settings, 0).expect("its own text");
                assert_eq!(again, datum, "{name} {literal}");
                got
            }
            Err(error) => shown(&error),
        };
        // pg_cast strips the blanks of char(n) on its way to text.
        let got = if name.starts_with("char(") { got.trim_end().to_owned() } else { got };
        if got != expected {
            faults.push(format!("{name} {literal:?}\n  want {expected}\n  got  {got}"));
        }
    }
    assert!(faults.is_empty(), "{} differ:\n{}", faults.len(), faults.join("\n"));
}
