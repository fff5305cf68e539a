//! PostgreSQL's advanced regular expressions, translated and compiled.
//!
//! Most patterns run on `regex` (linear time). Those with back references or lookaround run on
//! `fancy-regex`, whose backtracking is bounded. How far a match and its groups reach follows POSIX
//! and not the order of alternatives ([`super::extent`]). On `fancy-regex` that order counts.
//!
//! Compiled patterns are kept per thread, the most recently used ones.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use super::extent::Extent;
use super::matcher::Groups;
use crate::{Error, Result, SqlState};

/// How many compiled patterns a thread keeps.
const CACHE_ENTRIES_MAX: usize = 32;
/// The compiled size of one pattern.
const COMPILED_BYTES_MAX: usize = 4 << 20;

/// What a flags argument or an embedded `(?…)` asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// Upper and lower case are the same.
    pub ignore_case: bool,
    /// All matches are meant, not the first one only.
    pub global: bool,
    /// `.` and negated classes stop at newlines.
    pub newline_stops: bool,
    /// `^` and `$` match at newlines.
    pub newline_anchors: bool,
    /// Blanks and comments in the pattern do not count.
    pub expanded: bool,
    /// The pattern is plain text.
    pub literal: bool,
}

impl Flags {
    /// No option but that case does not count.
    pub fn ignoring_case() -> Self {
        Flags { ignore_case: true, ..Flags::default() }
    }

    /// Takes one letter; false if it is none of the options.
    fn take(&mut self, letter: char) -> bool {
        match letter {
            'g' => self.global = true,
            'i' => self.ignore_case = true,
            'c' => self.ignore_case = false,
            'm' | 'n' => (self.newline_stops, self.newline_anchors) = (true, true),
            'p' => (self.newline_stops, self.newline_anchors) = (true, false),
            'w' => (self.newline_stops, self.newline_anchors) = (false, true),
            's' => (self.newline_stops, self.newline_anchors) = (false, false),
            'x' => self.expanded = true,
            't' => self.expanded = false,
            'q' => self.literal = true,
            'e' | 'b' => {}
            _ => return false,
        }
        true
    }

    /// Reads a flags argument; 22023 for a letter that is no option.
    pub fn parse(text: &str) -> Result<Self> {
        let mut flags = Flags::default();
        for letter in text.chars() {
            if !flags.take(letter) {
                let message = format!("invalid regular expression option: \"{letter}\"");
                return Err(Error::new(SqlState::InvalidParameterValue, message));
            }
        }
        Ok(flags)
    }
}

/// A compiled pattern.
pub enum Pattern {
    /// One that runs in linear time.
    Plain(Box<Plain>),
    /// One with back references or lookaround.
    Backtracking(Box<fancy_regex::Regex>),
}

/// A pattern without back references and lookaround.
pub struct Plain {
    regex: regex::Regex,
    /// The flags in front of the pattern's body.
    flags: String,
    body: String,
    /// Made when the place of a match is asked for first.
    extent: OnceCell<Option<Extent>>,
}

impl Plain {
    fn find_at(&self, text: &str, start: usize) -> Result<Option<Groups>> {
        let extent = match self.extent.get() {
            Some(extent) => extent,
            None => {
                let extent = Extent::of(&self.flags, &self.body, COMPILED_BYTES_MAX);
                let extent = extent.map_err(|error| compile_error(&error.to_string()))?;
                self.extent.get_or_init(|| extent)
            }
        };
        let Some(extent) = extent else {
            return Ok(groups_of(self.regex.captures_at(text, start)));
        };
        let Some(found) = self.regex.find_at(text, start) else { return Ok(None) };
        let end = extent.end(text, found.start()).unwrap_or(found.end());
        if end != found.end() || extent.has_groups() {
            return Ok(Some(extent.groups(text, found.start(), end)));
        }
        Ok(groups_of(self.regex.captures_at(text, start)))
    }
}

impl Pattern {
    /// Whether it matches anywhere in a text.
    pub fn is_match(&self, text: &str) -> Result<bool> {
        match self {
            Pattern::Plain(plain) => Ok(plain.regex.is_match(text)),
            Pattern::Backtracking(regex) => regex.is_match(text).map_err(gave_up),
        }
    }

    /// The first match at or after a byte position.
    pub fn find_at(&self, text: &str, start: usize) -> Result<Option<Groups>> {
        Ok(match self {
            Pattern::Plain(plain) => plain.find_at(text, start)?,
            Pattern::Backtracking(regex) => regex
                .captures_from_pos(text, start)
                .map_err(gave_up)?
                .map(|found| found.iter().map(|g| g.map(|g| (g.start(), g.end()))).collect()),
        })
    }
}

fn groups_of(found: Option<regex::Captures<'_>>) -> Option<Groups> {
    found.map(|found| found.iter().map(|g| g.map(|g| (g.start(), g.end()))).collect())
}

fn gave_up(_: fancy_regex::Error) -> Error {
    let message = "regular expression failed: regular expression is too complex";
    Error::new(SqlState::InvalidRegularExpression, message)
}

fn bad(problem: &str) -> Error {
    let message = format!("invalid regular expression: {problem}");
    Error::new(SqlState::InvalidRegularExpression, message)
}

/// PostgreSQL's wording for what the compiler complained about.
fn compile_error(complaint: &str) -> Error {
    let has = |part: &str| complaint.contains(part);
    bad(if has("unclosed group") || has("unopened group") || has("parenthes") {
        "parentheses () not balanced"
    } else if has("character class range") || has("character range") {
        "invalid character range"
    } else if has("unclosed character class") {
        "brackets [] not balanced"
    } else if has("missing expression") || has("nothing to repeat") || has("Target of repeat") {
        "quantifier operand invalid"
    } else if has("escape") {
        "invalid escape \\ sequence"
    } else if has("repetition") {
        "invalid repetition count(s)"
    } else if has("back reference") || has("backref") {
        "invalid backreference number"
    } else {
        "regular expression is too complex"
    })
}

type Key = (String, Flags);

thread_local! {
    static CACHE: RefCell<Vec<(Key, Rc<Pattern>)>> = const { RefCell::new(Vec::new()) };
}

/// The compiled pattern, from this thread's cache if it is there.
pub fn compile(pattern: &str, flags: Flags) -> Result<Rc<Pattern>> {
    let flags = Flags { global: false, ..flags };
    let cached = CACHE.with_borrow_mut(|cache| {
        let at = cache.iter().position(|((text, have), _)| text == pattern && *have == flags)?;
        let entry = cache.remove(at);
        let found = Rc::clone(&entry.1);
        cache.push(entry);
        Some(found)
    });
    if let Some(found) = cached {
        return Ok(found);
    }
    let compiled = Rc::new(build(pattern, flags)?);
    CACHE.with_borrow_mut(|cache| {
        if cache.len() >= CACHE_ENTRIES_MAX {
            cache.remove(0);
        }
        cache.push(((pattern.to_owned(), flags), Rc::clone(&compiled)));
    });
    Ok(compiled)
}

fn build(pattern: &str, mut flags: Flags) -> Result<Pattern> {
    let mut rest = pattern;
    if flags.literal {
        // Plain text has no prefix.
    } else if let Some(literal) = rest.strip_prefix("***=") {
        (rest, flags.literal) = (literal, true);
    } else if let Some(advanced) = rest.strip_prefix("***:") {
        rest = advanced;
    }
    if !flags.literal
        && let Some(options) = rest.strip_prefix("(?")
        && let Some(end) = options.find(')')
        && end > 0
        && options[..end].chars().all(|c| c.is_ascii_lowercase())
    {
        for letter in options[..end].chars() {
            if letter == 'g' || !flags.take(letter) {
                return Err(bad("invalid embedded option"));
            }
        }
        rest = &options[end + 1..];
    }
    let (body, backtracking) = if flags.literal {
        (regex::escape(rest), false)
    } else {
        let mut translator = Translator::new(rest, flags);
        translator.run()?;
        (translator.out, translator.backtracking)
    };
    let mut prefix = String::from("(?");
    for (set, letter) in
        [(flags.ignore_case, 'i'), (!flags.newline_stops, 's'), (flags.newline_anchors, 'm')]
    {
        if set {
            prefix.push(letter);
        }
    }
    let flags = if prefix.len() > 2 { format!("{prefix})") } else { String::new() };
    let whole = format!("{flags}{body}");
    if backtracking {
        let built = fancy_regex::RegexBuilder::new(&whole).backtrack_limit(1_000_000).build();
        return built
            .map(|regex| Pattern::Backtracking(Box::new(regex)))
            .map_err(|error| compile_error(&error.to_string()));
    }
    let regex = regex::RegexBuilder::new(&whole)
        .size_limit(COMPILED_BYTES_MAX)
        .nest_limit(200)
        .build()
        .map_err(|error| compile_error(&error.to_string()))?;
    Ok(Pattern::Plain(Box::new(Plain { regex, flags, body, extent: OnceCell::new() })))
}

/// Rewrites one pattern; whitespace and comments of expanded syntax are dropped on the way.
struct Translator<'a> {
    chars: std::iter::Peekable<std::str::Chars<'a>>,
    flags: Flags,
    out: String,
    backtracking: bool,
    /// Whether a quantifier may follow.
    operand: bool,
}

impl<'a> Translator<'a> {
    fn new(pattern: &'a str, flags: Flags) -> Self {
        let chars = pattern.chars().peekable();
        Translator { chars, flags, out: String::new(), backtracking: false, operand: false }
    }

    fn run(&mut self) -> Result<()> {
        while let Some(c) = self.chars.next() {
            match c {
                '\\' => self.escape(false)?,
                '[' => self.bracket()?,
                '(' => self.group()?,
                ')' => self.push(")", true),
                '|' => self.push("|", false),
                '^' => self.push("^", false),
                '$' => self.push(if self.flags.newline_anchors { "$" } else { "\\z" }, false),
                '*' | '+' | '?' => self.quantifier(c.to_string())?,
                '{' => self.brace()?,
                '#' if self.flags.expanded => {
                    for skipped in self.chars.by_ref() {
                        if skipped == '\n' {
                            break;
                        }
                    }
                }
                c if self.flags.expanded && c.is_whitespace() => {}
                c => self.literal(c),
            }
        }
        Ok(())
    }

    fn push(&mut self, text: &str, operand: bool) {
        self.out.push_str(text);
        self.operand = operand;
    }

    fn literal(&mut self, c: char) {
        if c == '.' {
            self.out.push('.');
        } else {
            self.out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
        }
        self.operand = true;
    }

    fn group(&mut self) -> Result<()> {
        let mut text = String::from("(");
        if self.chars.peek() == Some(&'?') {
            self.chars.next();
            text.push('?');
            let kind = self.chars.next().ok_or_else(|| bad("parentheses () not balanced"))?;
            match kind {
                ':' => text.push(':'),
                '=' | '!' => {
                    text.push(kind);
                    self.backtracking = true;
                }
                '<' if matches!(self.chars.peek(), Some('=' | '!')) => {
                    text.push('<');
                    text.extend(self.chars.next());
                    self.backtracking = true;
                }
                '#' => {
                    for skipped in self.chars.by_ref() {
                        if skipped == ')' {
                            break;
                        }
                    }
                    return Ok(());
                }
                _ => return Err(bad("quantifier operand invalid")),
            }
        }
        self.push(&text, false);
        Ok(())
    }

    fn quantifier(&mut self, mut text: String) -> Result<()> {
        if !self.operand {
            return Err(bad("quantifier operand invalid"));
        }
        if self.chars.peek() == Some(&'?') {
            self.chars.next();
            text.push('?');
        }
        self.push(&text, false);
        Ok(())
    }

    /// `{` is a bound if a digit follows, else an ordinary character.
    fn brace(&mut self) -> Result<()> {
        if !self.chars.peek().is_some_and(char::is_ascii_digit) {
            self.push("\\{", true);
            return Ok(());
        }
        let mut text = String::from("{");
        loop {
            match self.chars.next() {
                Some('}') => break,
                Some(c) if c.is_ascii_digit() || c == ',' => text.push(c),
                Some(_) => return Err(bad("invalid repetition count(s)")),
                None => return Err(bad("braces {} not balanced")),
            }
        }
        let counts: Vec<Option<u32>> = text[1..]
            .split(',')
            .map(|n| if n.is_empty() { None } else { n.parse().ok() })
            .collect();
        let ordered = match counts.as_slice() {
            [Some(n)] => *n <= 255,
            [Some(n), None] => *n <= 255,
            [Some(low), Some(high)] => low <= high && *high <= 255,
            _ => false,
        };
        if !ordered {
            return Err(bad("invalid repetition count(s)"));
        }
        text.push('}');
        self.quantifier(text)
    }

    fn code(&mut self, digits: usize) -> Result<char> {
        let mut value = 0u32;
        for _ in 0..digits {
            let digit = self.chars.next().and_then(|c| c.to_digit(16));
            let digit = digit.ok_or_else(|| bad("invalid escape \\ sequence"))?;
            value = value.wrapping_mul(16).wrapping_add(digit);
        }
        char::from_u32(value).ok_or_else(|| bad("invalid escape \\ sequence"))
    }

    /// An escape, in a bracket expression or outside.
    fn escape(&mut self, in_bracket: bool) -> Result<()> {
        let c = self.chars.next().ok_or_else(|| bad("invalid escape \\ sequence"))?;
        let literal = match c {
            'd' | 'w' | 's' | 'D' | 'W' | 'S' => {
                let class = format!("\\{c}");
                self.push(&class, true);
                return Ok(());
            }
            'm' | 'M' | 'y' | 'Y' | 'A' | 'Z' if !in_bracket => {
                let text = match c {
                    'm' => "\\b{start}",
                    'M' => "\\b{end}",
                    'y' => "\\b",
                    'Y' => "\\B",
                    'A' => "\\A",
                    _ => "\\z",
                };
                self.push(text, false);
                return Ok(());
            }
            '1'..='9' if !in_bracket => {
                self.backtracking = true;
                let text = format!("\\{c}");
                self.push(&text, true);
                return Ok(());
            }
            'a' => '\u{7}',
            'b' => '\u{8}',
            'B' => '\\',
            'e' => '\u{1b}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            '0' => '\0',
            'u' => self.code(4)?,
            'U' => self.code(8)?,
            'x' => {
                let mut value = 0u32;
                while let Some(digit) = self.chars.peek().and_then(|c| c.to_digit(16)) {
                    self.chars.next();
                    value = value.wrapping_mul(16).wrapping_add(digit);
                }
                char::from_u32(value).ok_or_else(|| bad("invalid escape \\ sequence"))?
            }
            'c' => {
                let c = self.chars.next().ok_or_else(|| bad("invalid escape \\ sequence"))?;
                char::from_u32(u32::from(c) & 31).unwrap_or(c)
            }
            c if c.is_ascii_alphanumeric() => return Err(bad("invalid escape \\ sequence")),
            c => c,
        };
        let escaped = regex::escape(literal.encode_utf8(&mut [0; 4]));
        self.push(&escaped, true);
        Ok(())
    }

    /// A bracket expression, `[` already read.
    fn bracket(&mut self) -> Result<()> {
        let unbalanced = || bad("brackets [] not balanced");
        let rest: String = self.chars.clone().take(6).collect();
        for (word, boundary) in [("[:<:]]", "\\b{start}"), ("[:>:]]", "\\b{end}")] {
            if rest == word {
                self.chars.by_ref().take(6).for_each(drop);
                self.push(boundary, false);
                return Ok(());
            }
        }
        self.out.push('[');
        if self.chars.peek() == Some(&'^') {
            self.chars.next();
            self.out.push('^');
            if self.flags.newline_stops {
                self.out.push_str("\\n");
            }
        }
        let mut first = true;
        loop {
            let c = self.chars.next().ok_or_else(unbalanced)?;
            match c {
                ']' if !first => break,
                '[' if matches!(self.chars.peek(), Some(':' | '.' | '=')) => self.named_class()?,
                '\\' => self.escape(true)?,
                // A dash is itself at either end, and makes a range in between.
                '-' if first || self.chars.peek() == Some(&']') => self.out.push_str("\\-"),
                '-' => self.out.push('-'),
                '[' | ']' | '&' | '~' | '^' => {
                    self.out.push('\\');
                    self.out.push(c);
                }
                c => self.out.push(c),
            }
            first = false;
        }
        self.push("]", true);
        Ok(())
    }

    /// `[:alpha:]`, `[.x.]` or `[=x=]` inside brackets, the outer `[` already read.
    fn named_class(&mut self) -> Result<()> {
        let kind = self.chars.next().unwrap_or(':');
        let mut name = String::new();
        loop {
            match self.chars.next() {
                Some(c) if c == kind && self.chars.peek() == Some(&']') => {
                    self.chars.next();
                    break;
                }
                Some(c) => name.push(c),
                None => return Err(bad("brackets [] not balanced")),
            }
        }
        if kind != ':' {
            let mut chars = name.chars();
            return match (chars.next(), chars.next()) {
                (Some(c), None) => {
                    self.out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
                    Ok(())
                }
                _ => Err(bad("invalid collating element")),
            };
        }
        self.out.push_str(match name.as_str() {
            "alpha" => "\\p{Alphabetic}",
            "digit" => "\\d",
            "alnum" => "\\p{Alphabetic}\\d",
            "upper" => "\\p{Uppercase}",
            "lower" => "\\p{Lowercase}",
            "space" => "\\s",
            "word" => "\\w",
            "blank" => "\\t\\x20",
            "punct" => "[:punct:]",
            "xdigit" => "[:xdigit:]",
            "cntrl" => "\\p{Cc}",
            "graph" => "[:graph:]",
            "print" => "[:print:]",
            "ascii" => "[:ascii:]",
            _ => return Err(bad("invalid character class")),
        });
        Ok(())
    }
}
