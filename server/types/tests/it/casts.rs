//! The cast matrix compared with PostgreSQL 15's `pg_cast`; casts by text come on top.

use std::collections::BTreeMap;

use braid_types::SqlType;
use braid_types::cast::{CastContext, context};

#[test]
fn contexts_are_those_of_pg_cast() {
    let mut listed = BTreeMap::new();
    for line in include_str!("casts.txt").lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let context = match fields[2] {
            "i" => CastContext::Implicit,
            "a" => CastContext::Assignment,
            _ => CastContext::Explicit,
        };
        listed.insert((fields[0], fields[1]), context);
    }
    let scalar = |ty: &SqlType| {
        !matches!(ty, SqlType::Unknown | SqlType::Record(_) | SqlType::Void | SqlType::Array(_))
    };
    let is_text = |ty: &SqlType| ty.is_string() || *ty == SqlType::Citext;
    let types: Vec<SqlType> = braid_types::sql_type::all().into_iter().filter(scalar).collect();
    let mut faults = Vec::new();
    for from in &types {
        for to in types.iter().filter(|to| *to != from) {
            let by_text = if is_text(to) {
                Some(CastContext::Assignment)
            } else if is_text(from) {
                Some(CastContext::Explicit)
            } else {
                None
            };
            let expected = listed.get(&(from.short_name(), to.short_name())).copied().or(by_text);
            let got = context(from, to);
            if got != expected {
                faults.push(format!("{from} to {to}: want {expected:?}, got {got:?}"));
            }
        }
    }
    assert!(faults.is_empty(), "{} differ:\n{}", faults.len(), faults.join("\n"));
}
