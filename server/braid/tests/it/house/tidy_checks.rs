//! What the tidy test reads: the sources, their functions, and the list of known long ones.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A Rust file of the repository.
pub(super) struct Source {
    /// Its path from the root, with `/`.
    pub name: String,
    /// Its text; tests inside of it are cut off.
    pub text: String,
    /// A file of tests.
    pub is_test: bool,
}

impl Source {
    /// Lines with their numbers.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(place, line)| (place + 1, line))
    }
}

/// The root of the repository.
pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every Rust file under `server`.
pub(super) fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    let root = root();
    read(&root.join("server"), &root, &mut found);
    found.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(found.len() > 100, "only {} files were found", found.len());
    found
}

fn read(folder: &Path, root: &Path, found: &mut Vec<Source>) {
    for name in names(folder, root, &["rs"]) {
        let whole = std::fs::read_to_string(root.join(&name)).expect("a source");
        let inner = whole.find("#[cfg(test)]\nmod tests {").unwrap_or(whole.len());
        let is_test = name.contains("/tests/")
            || name.contains("/benches/")
            || name.starts_with("server/testkit/")
            || name.ends_with("tests.rs");
        found.push(Source { name, text: whole[..inner].to_owned(), is_test });
    }
}

/// The files below a folder with one of these extensions, by their paths from the root. What is
/// built, generated, installed or hidden is left out.
fn names(folder: &Path, root: &Path, extensions: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.strip_prefix(root).expect("below the root").to_string_lossy().into_owned();
        let last = path.file_name().unwrap_or_default().to_string_lossy();
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            let is_output = ["target", "node_modules", "dist", "generated"].contains(&&*last);
            if !is_output && !last.starts_with('.') {
                found.extend(names(&path, root, extensions));
            }
        } else if extensions.contains(&&*extension) {
            found.push(name);
        }
    }
    found
}

/// The path and the text of every TypeScript and Markdown file of the repository.
pub(super) fn texts() -> Vec<(String, String)> {
    let root = root();
    let mut found = names(&root, &root, &["ts", "md"]);
    found.sort();
    for extension in [".ts", ".md"] {
        let count = found.iter().filter(|name| name.ends_with(extension)).count();
        assert!(count > 20, "only {count} files *{extension} were found");
    }
    let text = |name: String| {
        let text = std::fs::read_to_string(root.join(&name)).expect("a text");
        (name, text)
    };
    found.into_iter().map(text).collect()
}

/// The functions of a file and their lengths. Works on text that rustfmt has formatted: a function
/// ends at the first closing brace at its own indentation.
pub(super) fn functions(source: &Source) -> Vec<(String, usize)> {
    let lines: Vec<&str> = source.text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let Some(name) = function_name(code) else { continue };
        let indent = &line[..line.len() - code.len()];
        let closing = format!("{indent}}}");
        if code.ends_with('}') || code.ends_with(';') {
            continue;
        }
        let length = lines[start..].iter().position(|line| *line == closing);
        let is_declaration = lines[start..]
            .iter()
            .take(length.unwrap_or(0))
            .find(|line| line.ends_with('{') || line.ends_with(';'))
            .is_some_and(|line| line.ends_with(';'));
        if let (Some(length), false) = (length, is_declaration) {
            found.push((name.to_owned(), length + 1));
        }
    }
    found
}

fn function_name(code: &str) -> Option<&str> {
    let before_fn = code.find("fn ")?;
    let words = code[..before_fn].split_whitespace();
    let known = ["pub", "async", "const", "unsafe", "pub(crate)", "pub(super)", "extern", "\"C\""];
    if !words.into_iter().all(|word| known.contains(&word)) {
        return None;
    }
    code[before_fn + 3..].split(['(', '<']).next()
}

/// Whether a comment is code: it ends like a statement and has what only code has.
pub(super) fn is_commented_code(line: &str) -> bool {
    let Some(comment) = line.trim_start().strip_prefix("// ") else { return false };
    let comment = comment.trim();
    let begins = ["let ", "use ", "pub ", "fn ", "return ", "if ", "match ", "for "];
    (comment.ends_with(';') && (comment.contains('=') || comment.contains('(')))
        || (comment.ends_with('{') && begins.iter().any(|word| comment.starts_with(word)))
}

/// Words that readers of comments had to translate.
const BANNED_WORDS: [&str; 12] = [
    "whoever", "anew", "kin", "minds", "sees to", "so much", "so many", "so often", "lies",
    "tells", "put off", "puts off",
];

/// The banned word of a comment line, or of the name of a function that the line begins.
pub(super) fn banned_word(line: &str) -> Option<&'static str> {
    let code = line.trim_start();
    match code.strip_prefix("//") {
        Some(comment) => banned_word_of(comment),
        None => banned_word_of(&function_name(code)?.replace('_', " ")),
    }
}

/// The path and the lines of comments of every test script.
pub(super) fn script_comments() -> Vec<(String, Vec<(usize, String)>)> {
    let root = root();
    let folder = root.join("server/braid/tests/scripts");
    let scripts = names(&folder, &root, &[""]);
    assert!(scripts.len() > 100, "only {} scripts were found", scripts.len());
    let comments = |name: String| {
        let text = std::fs::read_to_string(root.join(&name)).expect("a script");
        let lines = text.lines().enumerate().filter(|(_, line)| line.starts_with('#'));
        let lines = lines.map(|(place, line)| (place + 1, line.to_owned())).collect();
        (name, lines)
    };
    scripts.into_iter().map(comments).collect()
}

/// Whether a line of code decides by the message of an error.
pub(super) fn reads_message(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    let compares = ["==", "!=", ".contains(", ".starts_with(", ".ends_with(", ".replace("];
    let after = code.split("rror.message()").nth(1);
    after.is_some_and(|after| compares.iter().any(|word| after.trim_start().starts_with(word)))
}

/// The banned word of a text, if it has one.
pub(super) fn banned_word_of(text: &str) -> Option<&'static str> {
    let text = text.to_lowercase();
    let is_word = |at: usize, word: &str| {
        let is_letter = |c: char| c.is_alphanumeric() || c == '_';
        !text[..at].ends_with(is_letter) && !text[at + word.len()..].starts_with(is_letter)
    };
    let has = |word: &&&str| text.match_indices(**word).any(|(at, _)| is_word(at, word));
    BANNED_WORDS.iter().find(has).copied()
}

/// Whether a line of code compares the SQLSTATE of an error, or takes its five characters.
pub(super) fn reads_state(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    let has_state = ["error.state()", "fields.state()", "fields.state ", "fields().state"];
    let reads = ["==", "!=", "match ", "matches!(", ".code()"];
    has_state.iter().any(|word| code.contains(word)) && reads.iter().any(|word| code.contains(word))
}

fn exceptions_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tidy_exceptions.txt")
}

/// Rewrites the list of [`exceptions`].
pub(super) fn write_exceptions(all: &BTreeMap<String, usize>) {
    let mut text = String::from(
        "# Files and functions longer than STYLE allows, with their length. It may only shrink.\n",
    );
    for (name, length) in all {
        text.push_str(&format!("{length} {name}\n"));
    }
    std::fs::write(exceptions_path(), text).expect("tidy_exceptions.txt");
}

/// The list of files and functions that are known to be too long: name and length.
pub(super) fn exceptions() -> BTreeMap<String, usize> {
    let text = std::fs::read_to_string(exceptions_path()).expect("tidy_exceptions.txt");
    text.lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| {
            let (length, name) = line.split_once(' ').expect("a length and a name");
            (name.to_owned(), length.parse().expect("a length"))
        })
        .collect()
}
