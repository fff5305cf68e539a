//! Each crate uses what its `Cargo.toml` depends on.
//!
//! A dependency counts as used if the sources name it. One with features of its own is not
//! looked at: it may be there to switch these on.

use std::path::Path;

use super::tidy_checks::root;

/// Dependencies that have another name in the code.
const NAMED_ELSEWHERE: [(&str, &str); 1] = [("md-5", "md5")];

/// A folder and its dependency that only a source file of another crate names.
const NAMED_IN_SHARED_FILES: [(&str, &str); 1] = [("server/system-views", "braid-kv-embedded")];

/// The text of all Rust sources in a folder.
fn sources(folder: &Path) -> String {
    let mut text = String::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return text };
    for entry in entries {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            text.push_str(&sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&std::fs::read_to_string(&path).expect("a source"));
        }
    }
    text
}

/// Whether a text has a word.
fn names(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// The dependencies of a crate that its sources do not name.
fn unused(folder: &Path) -> Vec<String> {
    let Ok(manifest) = std::fs::read_to_string(folder.join("Cargo.toml")) else {
        return Vec::new();
    };
    let build = std::fs::read_to_string(folder.join("build.rs")).unwrap_or_default();
    let code = sources(&folder.join("src")) + &build;
    let tests = sources(&folder.join("tests")) + &sources(&folder.join("examples")) + &code;
    let mut section = "";
    let mut found = Vec::new();
    for line in manifest.lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
            continue;
        }
        let text = match section {
            "dependencies" => &code,
            "dev-dependencies" => &tests,
            "build-dependencies" => &build,
            _ => continue,
        };
        let end = line.find(|c: char| !c.is_alphanumeric() && c != '-' && c != '_');
        let name = &line[..end.unwrap_or(line.len())];
        if name.is_empty() || line.contains("features") {
            continue;
        }
        let is_shared = |(shared, known): &(&str, &str)| folder.ends_with(shared) && *known == name;
        if NAMED_IN_SHARED_FILES.iter().any(is_shared) {
            continue;
        }
        let elsewhere = NAMED_ELSEWHERE.iter().find(|(known, _)| *known == name);
        let word = elsewhere.map_or(name.replace('-', "_"), |(_, word)| (*word).to_owned());
        if !names(text, &word) {
            found.push(format!("{}: {section} {name}", folder.display()));
        }
    }
    found
}

#[test]
fn every_dependency_is_used() {
    let entries = std::fs::read_dir(root().join("server")).expect("the folder of the crates");
    let mut found: Vec<String> =
        entries.flat_map(|entry| unused(&entry.expect("an entry").path())).collect();
    found.sort();
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

/// `test = false` of a library spares a second compilation, and `doctest = false` a look for
/// examples. Unit tests or examples in it would not run.
#[test]
fn libraries_that_are_not_tested_have_no_tests() {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root().join("server")).expect("the folder of the crates") {
        let folder = entry.expect("an entry").path();
        let Ok(manifest) = std::fs::read_to_string(folder.join("Cargo.toml")) else { continue };
        let library = manifest.split("\n[").find(|section| section.starts_with("lib]"));
        let has = |line| library.is_some_and(|lib| lib.lines().any(|other| other == line));
        let code = sources(&folder.join("src"));
        if has("test = false") && code.contains("#[test]") {
            found.push(format!("{}: unit tests", folder.display()));
        }
        if has("doctest = false") && examples(&code) > 0 {
            found.push(format!("{}: examples", folder.display()));
        }
    }
    assert!(found.is_empty(), "tests that do not run: {found:?}");
}

/// The number of code blocks in comments that are not plain text.
fn examples(code: &str) -> usize {
    let comments = code.lines().map(str::trim_start);
    let comments = comments.filter_map(|line| {
        line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim_start)
    });
    let fences = comments.filter_map(|line| line.strip_prefix("```"));
    fences.step_by(2).filter(|language| *language != "text").count()
}

#[test]
fn examples_are_counted() {
    let code = "/// ```text\n/// a\n/// ```\nfn f() {}\n//! ```\n//! let a = 1;\n//! ```\n";
    assert_eq!(examples(code), 1);
}
