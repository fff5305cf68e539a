//! The structure of the crates, read from their syntax.
//!
//! - A source folder has at most 12 files, `mod.rs` and `lib.rs` not counted.
//! - A type has at most 25 methods of its own; methods of traits do not count.
//! - A function has at most six parameters beside `self`.
//! - Files of a crate do not use each other in a circle.
//! - A `mod.rs` lists modules and what they show. The one function that it may have is `register`,
//!   which calls the modules one after the other.
//!
//! `structure_exceptions.txt` lists what is larger, with the size that it may not exceed and the
//! reason.

use std::collections::BTreeMap;

use syn::{Expr, Item, Stmt};

use super::crates::{Crate, crates};
use super::tidy_checks::{root, sources};

const FILES_MAX: usize = 12;
const METHODS_MAX: usize = 25;
const PARAMETERS_MAX: usize = 6;
/// Entries of the list of exceptions.
const EXCEPTIONS_MAX: usize = 10;

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

/// Every `mod.rs` that is more than a list, with the number of its other items.
fn more_than_lists() -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for source in sources().iter().filter(|source| source.name.ends_with("/mod.rs")) {
        let text = std::fs::read_to_string(root().join(&source.name)).expect("a source");
        let syntax = syn::parse_file(&text).expect("a source that compiles");
        let others = syntax.items.iter().filter(|item| !is_of_list(item)).count();
        if others > 0 {
            found.insert(format!("items of {}", source.name), others);
        }
    }
    found
}

/// Whether an item is a module in a file of its own, an import, or a function `register` of calls.
fn is_of_list(item: &Item) -> bool {
    let is_call = |statement: &Stmt| matches!(statement, Stmt::Expr(Expr::Call(_), Some(_)));
    match item {
        Item::Mod(item) => item.content.is_none(),
        Item::Use(_) => true,
        Item::Fn(item) => item.sig.ident == "register" && item.block.stmts.iter().all(is_call),
        _ => false,
    }
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
    let mut found: BTreeMap<String, usize> = crates().iter().flat_map(too_large).collect();
    found.extend(more_than_lists());
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

#[test]
fn what_is_more_than_a_list_is_found() {
    let is_of_list = |text: &str| is_of_list(&syn::parse_str(text).expect("an item"));
    assert!(is_of_list("pub(crate) mod one;"));
    assert!(is_of_list("pub use one::One;"));
    assert!(is_of_list("fn register(all: &mut All) { one::register(all); two::register(all); }"));
    assert!(!is_of_list("fn register(all: &mut All) { for one in all { one.register(); } }"));
    assert!(!is_of_list("fn other(all: &mut All) { one::register(all); }"));
    assert!(!is_of_list("mod one { const TWO: u8 = 2; }"));
    assert!(!is_of_list("const ONE: u8 = 1;"));
    assert!(!is_of_list("impl One {}"));
}
