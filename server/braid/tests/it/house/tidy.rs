//! Style as code: what a reviewer would otherwise have to say again and again.
//!
//! - lines up to 100 columns, functions up to 70 lines, files up to 600 lines; those that are
//!   longer are listed in `tidy_exceptions.txt` with their length, which may only shrink
//!   (`UPDATE_GOLDENFILES=1` writes the list again; say why if it grew);
//! - no `unwrap()`, `todo!`, `dbg!` and no commented-out code outside tests;
//! - comments, TypeScript and Markdown are in plain English: some words are banned;
//! - no SQLSTATE decides what the server does, except in the files listed here;
//! - every file belongs to a module, every module begins with its own documentation;
//! - `server/docs/reference/errors.md` lists exactly the SQLSTATEs of the server and the error
//!   classes of the SDK.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::tidy_checks::{
    Source, banned_word, banned_word_of, exceptions, functions, is_commented_code, reads_message,
    reads_state, root, script_comments, sources, texts,
};

const LINE_MAX: usize = 100;
const FUNCTION_MAX: usize = 70;
const FILE_MAX: usize = 600;

fn report(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn lines_are_short() {
    let mut complaints = Vec::new();
    for source in sources() {
        for (place, line) in source.lines() {
            // A string that cannot be broken without changing it may stand out.
            let length = line.chars().count();
            if length > LINE_MAX && !line.contains('"') && !line.contains("http") {
                complaints.push(format!("{}:{place}: {length} columns", source.name));
            }
        }
    }
    report(&complaints);
}

/// Every file and function outside of tests that is too long, with its length.
fn long_ones() -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for source in sources().iter().filter(|source| !source.is_test) {
        let length = source.text.lines().count();
        if length > FILE_MAX {
            found.insert(source.name.clone(), length);
        }
        let functions = functions(source).into_iter().filter(|(_, length)| *length > FUNCTION_MAX);
        found.extend(functions.map(|(name, length)| (format!("{} {name}", source.name), length)));
    }
    found
}

#[test]
fn files_and_functions_are_short() {
    let found = long_ones();
    if std::env::var_os("UPDATE_GOLDENFILES").is_some() {
        super::tidy_checks::write_exceptions(&found);
    }
    let allowed = exceptions();
    let mut complaints = Vec::new();
    for (name, length) in &found {
        match allowed.get(name) {
            None => complaints.push(format!("{name}: {length} lines")),
            Some(bound) if length > bound => {
                complaints.push(format!("{name}: grew from {bound} to {length} lines"));
            }
            Some(_) => {}
        }
    }
    let gone = allowed.keys().filter(|name| !found.contains_key(*name));
    complaints.extend(gone.map(|name| format!("{name}: is short now, drop its entry")));
    report(&complaints);
}

#[test]
fn banned_words_are_not_used() {
    let banned = [".unwrap()", "todo!(", "unimplemented!(", "dbg!("];
    let mut complaints = Vec::new();
    for source in sources().iter().filter(|source| !source.is_test) {
        for (place, line) in source.lines() {
            let code = line.split("//").next().unwrap_or("");
            for word in banned.iter().filter(|word| code.contains(*word)) {
                complaints.push(format!("{}:{place}: {word}", source.name));
            }
            if is_commented_code(line) {
                complaints.push(format!("{}:{place}: commented-out code: {line}", source.name));
            }
        }
    }
    report(&complaints);
}

#[test]
fn comments_are_plain_english() {
    let mut complaints = Vec::new();
    for source in sources() {
        for (place, line) in source.lines() {
            if let Some(word) = banned_word(line) {
                complaints
                    .push(format!("{}:{place}: \"{word}\" in a comment or name", source.name));
            }
        }
    }
    for (name, comments) in script_comments() {
        let found =
            comments.iter().filter_map(|(place, line)| Some((place, banned_word_of(line)?)));
        for (place, word) in found {
            complaints.push(format!("{name}:{place}: \"{word}\" in a comment"));
        }
    }
    report(&complaints);
}

/// Files that read the SQLSTATE of an error, and why. Everywhere else an error that somebody
/// decides by carries a typed cause (`Error::caused_by`).
const STATE_READERS: [(&str, &str); 10] = [
    ("server/builtins/src/json/path/numbers.rs", "a silent path suppresses errors by their class"),
    ("server/builtins/src/system/catalog.rs", "to_reg… gives NULL for errors of these classes"),
    ("server/plan/src/bind/scope/places.rs", "PostgreSQL places errors of the analysis' classes"),
    ("server/routines/src/interpret/run.rs", "handlers of PL/pgSQL catch errors by their state"),
    ("server/server/src/check_tables.rs", "reports the state"),
    ("server/session/src/groups/report.rs", "reports the state"),
    ("server/session/src/observe/finish.rs", "logs the state"),
    ("server/session/src/routines/definitions.rs", "the class of a notice is its severity"),
    ("server/wire/src/connection.rs", "logs what is a bug"),
    ("server/wire/src/listener.rs", "logs the state"),
];

#[test]
fn only_the_borders_read_the_state_of_an_error() {
    let all = sources();
    let code = all.iter().filter(|source| !source.is_test && source.name.contains("/src/"));
    let readers: BTreeSet<&str> = code
        .filter(|source| source.lines().any(|(_, line)| reads_state(line)))
        .map(|source| source.name.as_str())
        .collect();
    let known: BTreeSet<&str> = STATE_READERS.iter().map(|(name, _)| *name).collect();
    let new = readers.difference(&known);
    let mut complaints: Vec<String> =
        new.map(|name| format!("{name}: decides by the SQLSTATE of an error")).collect();
    let gone = known.difference(&readers);
    complaints.extend(gone.map(|name| format!("{name}: reads no SQLSTATE now, drop its entry")));
    report(&complaints);
}

#[test]
fn nothing_reads_the_message_of_an_error() {
    let mut complaints = Vec::new();
    for source in sources().iter().filter(|source| !source.is_test) {
        let found = source.lines().filter(|(_, line)| reads_message(line));
        complaints.extend(found.map(|(place, line)| format!("{}:{place}: {line}", source.name)));
    }
    report(&complaints);
}

#[test]
fn a_comparison_of_a_message_is_found() {
    assert!(reads_message("if error.message() == TOO_MANY {"));
    assert!(reads_message("Error::new(state, error.message().replace(a, b))"));
    assert!(!reads_message("Error::new(state, error.message())"));
}

#[test]
fn a_comparison_of_a_state_is_found() {
    assert!(reads_state("if error.state() == SqlState::WrongObjectType {"));
    assert!(reads_state("found.map_err(|error| match error.state() {"));
    assert!(reads_state("let class = error.state().code();"));
    assert!(!reads_state("Error::new(error.state(), message)"));
    assert!(!reads_state("match session.block.state() {"));
}

#[test]
fn typescript_and_markdown_are_plain_english() {
    let mut complaints = Vec::new();
    for (name, text) in texts() {
        for (place, line) in text.lines().enumerate() {
            if let Some(word) = banned_word_of(line) {
                complaints.push(format!("{name}:{}: \"{word}\"", place + 1));
            }
        }
    }
    report(&complaints);
}

#[test]
fn a_banned_word_is_found_as_a_whole_word() {
    assert_eq!(banned_word_of("it('tells the address')"), Some("tells"));
    assert_eq!(banned_word_of("Whoever waits"), Some("whoever"));
    assert_eq!(banned_word_of("a kind of families"), None);
    assert_eq!(banned_word("let tells = 1;"), None);
    assert_eq!(banned_word("    fn a_key_tells_its_number() {"), Some("tells"));
}

#[test]
fn every_file_is_documented_and_belongs_to_a_module() {
    let mut complaints = Vec::new();
    let all = sources();
    for source in all.iter().filter(|source| !source.is_test) {
        if !source.text.starts_with("//!") && !source.text.starts_with("#![") {
            complaints.push(format!("{}: does not begin with //!", source.name));
        }
    }
    for source in all.iter().filter(|source| source.name.contains("/src/")) {
        if !belongs(source, &all) {
            complaints.push(format!("{}: no module mentions it", source.name));
        }
    }
    report(&complaints);
}

/// Whether the file above one declares it, by its name or by `#[path]`.
fn belongs(source: &Source, all: &[Source]) -> bool {
    let path = Path::new(&source.name);
    let (Some(stem), Some(folder)) = (path.file_stem(), path.parent()) else { return false };
    let stem = stem.to_string_lossy();
    if ["lib", "main"].contains(&&*stem) {
        return true;
    }
    let (module, above) = match (&*stem, folder.file_name(), folder.parent()) {
        ("mod", Some(name), Some(above)) => (name.to_string_lossy().into_owned(), above),
        _ => (stem.clone().into_owned(), folder),
    };
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let declares = |text: &str| {
        text.contains(&format!("mod {module};"))
            || file.as_ref().is_some_and(|file| text.contains(&format!("{file}\"")))
    };
    let above = above.to_string_lossy();
    all.iter().any(|other| {
        let place = Path::new(&other.name);
        let in_folder = place.parent().is_some_and(|folder| folder.to_string_lossy() == above);
        let is_folder_file = other.name == format!("{above}.rs");
        (in_folder || is_folder_file) && declares(&other.text)
    })
}

/// The first cells of the rows under a heading.
fn listed(text: &str, heading: Option<&str>) -> BTreeSet<String> {
    let mut here = heading.is_none();
    let mut found = BTreeSet::new();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            here = heading.is_none_or(|heading| title.contains(heading));
        }
        let cell = line.strip_prefix("| `").and_then(|rest| rest.split('`').next());
        if let (true, Some(cell)) = (here, cell) {
            found.insert(cell.to_owned());
        }
    }
    found
}

fn compare(what: &str, listed: &BTreeSet<String>, real: &BTreeSet<String>) -> Vec<String> {
    let missing = real.difference(listed).map(|one| format!("{one}: not in errors.md ({what})"));
    let stale = listed.difference(real).map(|one| format!("{one}: only in errors.md ({what})"));
    missing.chain(stale).collect()
}

#[test]
fn errors_md_lists_every_error() {
    let path = root().join("server/docs/reference/errors.md");
    let text = std::fs::read_to_string(path).expect("errors.md");
    let all: BTreeSet<String> =
        braid_types::SqlState::ALL.iter().map(|state| state.code().to_owned()).collect();
    let classes = listed(&text, Some("Classes of the SDK"));
    let states: BTreeSet<String> = listed(&text, None).difference(&classes).cloned().collect();
    let mut complaints = compare("SqlState", &states, &all);

    let sdk = std::fs::read_to_string(root().join("sdk/src/errors.ts")).expect("errors.ts");
    let real: BTreeSet<String> = sdk
        .lines()
        .filter_map(|line| line.strip_prefix("export class "))
        .filter_map(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric()).next())
        .map(str::to_owned)
        .collect();
    complaints.extend(compare("SDK", &classes, &real));

    // What is listed as not sent must not be, and the other way round.
    let unsent = listed(&text, Some("sent by no statement"));
    let code: String = sources()
        .into_iter()
        .filter(|source| !source.is_test && source.name != "server/types/src/error.rs")
        .map(|source| source.text)
        .collect();
    for state in braid_types::SqlState::ALL {
        let name = format!("SqlState::{state:?}");
        let is_sent = code.match_indices(&name).any(|(place, _)| {
            !code[place + name.len()..].starts_with(|c: char| c.is_ascii_alphanumeric())
        });
        if is_sent == unsent.contains(state.code()) {
            let verb = if is_sent { "is sent" } else { "is never sent" };
            complaints.push(format!("{} {state:?} {verb}: move its line", state.code()));
        }
    }
    report(&complaints);
}
