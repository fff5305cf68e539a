//! The structure of the crates, read from their syntax.
//!
//! - A source folder has at most 12 files, `mod.rs` and `lib.rs` not counted.
//! - A type has at most 25 methods of its own; methods of traits do not count.
//! - A function has at most six parameters beside `self`.
//! - Files of a crate do not use each other in a circle.
//!
//! `structure_exceptions.txt` lists what is larger, with the size that it may not exceed and the
//! reason.

use std::collections::BTreeMap;

use super::crates::{Crate, crates};
use super::tidy_checks::root;

const FILES_MAX: usize = 12;
const METHODS_MAX: usize = 25;
const PARAMETERS_MAX: usize = 6;
/// Entries of the list of exceptions.
const EXCEPTIONS_MAX: usize = 9;

/// Everything that is too large, by name, with its size.
fn too_large(of: &Crate) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    let mut keep = |name: String, size: usize, limit: usize| {
        if size > limit {
            found.insert(name, size);
        }
    };
    for (folder, files) in of.folders() {
        keep(format!("folder {folder}"), files, FILES_MAX);
    }
    for (name, methods) in of.methods() {
        keep(format!("methods of {} {name}", of.name), methods, METHODS_MAX);
    }
    for (function, parameters) in of.parameters() {
        keep(format!("parameters of {function}"), parameters, PARAMETERS_MAX);
    }
    for circle in of.circles() {
        keep(format!("circle from {}", circle[0]), circle.len(), 1);
    }
    found
}

/// The known exceptions: the largest size and the reason.
fn exceptions() -> BTreeMap<String, (usize, String)> {
    let path = root().join("server/braid/tests/structure_exceptions.txt");
    let text = std::fs::read_to_string(path).expect("structure_exceptions.txt");
    let entry = |line: &str| {
        let (size, rest) = line.split_once(' ').expect("a size and a name");
        let (name, reason) = rest.split_once(" | ").expect("a name and a reason");
        (name.to_owned(), (size.parse().expect("a size"), reason.to_owned()))
    };
    text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(entry).collect()
}

#[test]
fn folders_types_and_functions_are_small_and_files_form_no_circle() {
    let found: BTreeMap<String, usize> = crates().iter().flat_map(too_large).collect();
    let allowed = exceptions();
    let mut complaints = Vec::new();
    for (name, size) in &found {
        match allowed.get(name) {
            None => complaints.push(format!("{name}: {size}")),
            Some((bound, _)) if size > bound => {
                complaints.push(format!("{name}: grew from {bound} to {size}"));
            }
            Some(_) => {}
        }
    }
    let gone = allowed.keys().filter(|name| !found.contains_key(*name));
    complaints.extend(gone.map(|name| format!("{name}: is within the limit, drop its entry")));
    if allowed.len() > EXCEPTIONS_MAX {
        complaints.push(format!("{} exceptions, {EXCEPTIONS_MAX} allowed", allowed.len()));
    }
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}
