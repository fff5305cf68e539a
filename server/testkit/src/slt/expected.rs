//! What real PostgreSQL makes of the corpus: figures a file, and the records that it fails.

use std::collections::{BTreeMap, BTreeSet};

/// Passed and failed queries of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Queries that return what the file says.
    pub passed: usize,
    /// Queries that do not; `None`: a statement fails and the file stops.
    pub failed: Option<usize>,
}

impl Figures {
    /// Reads `file passed failed` lines, `stops` standing for a file that stops.
    ///
    /// # Panics
    /// On a line of another form.
    pub fn parse(text: &str) -> BTreeMap<String, Figures> {
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        lines
            .map(|line| {
                let mut words = line.split_whitespace();
                let mut next = || words.next().unwrap_or_else(|| panic!("figures: {line}"));
                let (file, passed, failed) = (next(), next(), next());
                let number =
                    |word: &str| word.parse().unwrap_or_else(|_| panic!("figures: {line}"));
                let failed = (failed != "stops").then(|| number(failed));
                (file.to_owned(), Figures { passed: number(passed), failed })
            })
            .collect()
    }
}

/// The records that real PostgreSQL fails, by file and line.
#[derive(Clone, Debug, Default)]
pub struct Exceptions {
    lines: BTreeMap<String, BTreeSet<usize>>,
}

impl Exceptions {
    /// Reads `file:line line-line …` lines.
    ///
    /// # Panics
    /// On a line of another form.
    pub fn parse(text: &str) -> Self {
        let mut exceptions = Exceptions::default();
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        for line in lines {
            let Some((file, rest)) = line.split_once(':') else { panic!("exceptions: {line}") };
            for word in rest.split_whitespace() {
                let number = word.parse().unwrap_or_else(|_| panic!("exceptions: {line}"));
                exceptions.add(file, number);
            }
        }
        exceptions
    }

    /// Adds a record.
    pub fn add(&mut self, file: &str, line: usize) {
        self.lines.entry(file.to_owned()).or_default().insert(line);
    }

    /// Whether PostgreSQL fails that record.
    pub fn contains(&self, file: &str, line: usize) -> bool {
        self.lines.get(file).is_some_and(|lines| lines.contains(&line))
    }

    /// The last record of a file that PostgreSQL fails.
    pub fn last(&self, file: &str) -> Option<usize> {
        self.lines.get(file)?.last().copied()
    }

    /// The form that [`Exceptions::parse`] reads.
    pub fn print(&self) -> String {
        let mut out = String::new();
        for (file, lines) in &self.lines {
            for chunk in lines.iter().collect::<Vec<_>>().chunks(16) {
                let numbers: Vec<String> = chunk.iter().map(|line| line.to_string()).collect();
                out.push_str(&format!("{file}: {}\n", numbers.join(" ")));
            }
        }
        out
    }
}
