//! How a match is divided among the groups of its pattern, by the rules of PostgreSQL.
//!
//! The match as a whole is known. Each part of the pattern then takes as much as it can, or as
//! little if it prefers that, so that the parts after it can still match the rest:
//!
//! ```text
//!   (a|ab)(c|bcd)(d*)   on "abcd":   ab, c, d    and not   a, bcd, nothing
//! ```
//!
//! Of several alternatives the first one counts that matches exactly what is left for it. A group
//! in a repetition keeps its last round. Parts without groups are not looked into.
//!
//! Rule: the search has a budget. A division that costs more is left to the caller.

use std::cell::Cell;

use regex_syntax::ast::{Ast, GroupKind, Repetition, RepetitionKind, RepetitionRange};

use super::matcher::{Groups, Matcher};
use super::preference::{is_fixed, prefers_shortest};

/// Comparisons of one part with one piece of text for one match.
const STEPS_MAX: u32 = 20_000;

/// A pattern with groups, taken apart.
pub(super) struct Division {
    root: Part,
    groups: usize,
}

/// A part of a pattern.
enum Part {
    /// It has no groups.
    Plain,
    /// A group with its number.
    Group(usize, Box<Part>),
    /// One after the other.
    Concat(Vec<Item>),
    /// One of several.
    Alternation(Vec<(Part, Matcher)>),
    /// The same any number of times, or up to a maximum.
    Repetition(Box<Rounds>),
}

/// The rounds of a repetition.
struct Rounds {
    inner: Part,
    matcher: Matcher,
    shortest: bool,
    max: Option<u32>,
}

/// A part of a concatenation.
struct Item {
    part: Part,
    matcher: Matcher,
    /// What follows it; none after the last one.
    rest: Option<Matcher>,
    shortest: bool,
}

/// One search: the text, the groups found so far, and what is left of the budget.
struct Search<'a> {
    text: &'a str,
    groups: Groups,
    steps: Cell<u32>,
}

/// What compiling the parts of a pattern needs.
struct Source<'a> {
    flags: &'a str,
    whole: &'a str,
    size_max: usize,
}

impl Source<'_> {
    fn matcher(&self, from: &Ast, to: &Ast) -> Matcher {
        let (from, to) = (from.span().start.offset, to.span().end.offset);
        let part = &self.whole[from..to];
        Matcher::new(format!("{}(?:{part})", self.flags), self.size_max)
    }

    fn part(&self, ast: &Ast) -> Part {
        if !has_groups(ast) {
            return Part::Plain;
        }
        match ast {
            Ast::Group(group) => {
                let inner = self.part(&group.ast);
                match group.kind {
                    GroupKind::CaptureIndex(number) => Part::Group(number as usize, inner.into()),
                    _ => inner,
                }
            }
            Ast::Concat(concat) => {
                let mut items = Vec::with_capacity(concat.asts.len());
                for (at, ast) in concat.asts.iter().enumerate() {
                    let rest = match concat.asts.get(at + 1..) {
                        Some([next, .., last]) => Some(self.matcher(next, last)),
                        Some([last]) => Some(self.matcher(last, last)),
                        _ => None,
                    };
                    items.push(Item {
                        part: self.part(ast),
                        matcher: self.matcher(ast, ast),
                        rest,
                        shortest: prefers_shortest(ast).unwrap_or(false),
                    });
                }
                Part::Concat(items)
            }
            Ast::Alternation(alternation) => {
                let branch = |ast: &Ast| (self.part(ast), self.matcher(ast, ast));
                Part::Alternation(alternation.asts.iter().map(branch).collect())
            }
            Ast::Repetition(repetition) => match bounds(&repetition.op.kind) {
                (0, max) => Part::Repetition(Box::new(Rounds {
                    inner: self.part(&repetition.ast),
                    matcher: self.matcher(&repetition.ast, &repetition.ast),
                    shortest: prefers_shortest(&repetition.ast).unwrap_or(false),
                    max,
                })),
                (_, Some(1)) => self.part(&repetition.ast),
                (min, max) => self.last_round(repetition, min, max),
            },
            _ => Part::Plain,
        }
    }
}

impl Source<'_> {
    /// `x{m,n}` as `x{m-1,n-1}x`, because groups keep their last round.
    fn last_round(&self, repetition: &Repetition, min: u32, max: Option<u32>) -> Part {
        let inner = &repetition.ast;
        let span = inner.span();
        let text = &self.whole[span.start.offset..span.end.offset];
        let max = max.map_or(String::new(), |max| max.saturating_sub(1).to_string());
        let lazy = if repetition.greedy { "" } else { "?" };
        let earlier = format!("{}(?:{text}){{{},{max}}}{lazy}", self.flags, min - 1);
        let shortest = prefers_shortest(inner).unwrap_or(false);
        let is_fixed = is_fixed(&repetition.op.kind);
        Part::Concat(vec![
            Item {
                part: Part::Plain,
                matcher: Matcher::new(earlier, self.size_max),
                rest: Some(self.matcher(inner, inner)),
                shortest: if is_fixed { shortest } else { !repetition.greedy },
            },
            Item {
                part: self.part(inner),
                matcher: self.matcher(inner, inner),
                rest: None,
                shortest,
            },
        ])
    }
}

impl Division {
    /// Takes a pattern apart; none if it has no groups. `flags` stand at the pattern's beginning.
    pub(super) fn of(flags: &str, whole: &str, ast: &Ast, size_max: usize) -> Option<Division> {
        let groups = count_groups(ast);
        let root = Source { flags, whole, size_max }.part(ast);
        (groups > 0).then_some(Division { root, groups })
    }

    /// The groups of the match between two places; none if that costs too much.
    pub(super) fn groups(&self, text: &str, start: usize, end: usize) -> Option<Groups> {
        let groups = vec![None; self.groups + 1];
        let mut search = Search { text, groups, steps: Cell::new(STEPS_MAX) };
        let is_divided = search.divide(&self.root, start, end)?;
        search.groups[0] = Some((start, end));
        is_divided.then_some(search.groups)
    }
}

impl Search<'_> {
    /// Whether a part matches a piece; none once the budget is used up.
    fn matches(&self, matcher: &Matcher, start: usize, end: usize) -> Option<bool> {
        self.steps.set(self.steps.get().checked_sub(1)?);
        Some(matcher.matches(self.text, start, end))
    }

    /// The places where a piece that begins at `start` may end, the preferred ones first; none if
    /// there are more than the budget allows.
    fn ends(&self, start: usize, end: usize, shortest: bool) -> Option<Vec<usize>> {
        if end - start > self.steps.get() as usize {
            return None;
        }
        let mut ends: Vec<usize> =
            (start..=end).filter(|at| self.text.is_char_boundary(*at)).collect();
        if !shortest {
            ends.reverse();
        }
        Some(ends)
    }

    /// Forgets the groups of a part.
    fn clear(&mut self, part: &Part) {
        match part {
            Part::Plain => {}
            Part::Group(number, inner) => {
                self.groups[*number] = None;
                self.clear(inner);
            }
            Part::Concat(items) => items.iter().for_each(|item| self.clear(&item.part)),
            Part::Alternation(branches) => branches.iter().for_each(|(part, _)| self.clear(part)),
            Part::Repetition(rounds) => self.clear(&rounds.inner),
        }
    }

    /// Divides a piece that the part is known to match; whether it can be divided.
    fn divide(&mut self, part: &Part, start: usize, end: usize) -> Option<bool> {
        match part {
            Part::Plain => Some(true),
            Part::Group(number, inner) => {
                self.groups[*number] = Some((start, end));
                self.divide(inner, start, end)
            }
            Part::Concat(items) => self.concat(items, start, end),
            Part::Alternation(branches) => {
                for (part, matcher) in branches {
                    if self.matches(matcher, start, end)? && self.divide(part, start, end)? {
                        return Some(true);
                    }
                }
                Some(false)
            }
            Part::Repetition(rounds) => self.repeat(rounds, 0, start, end),
        }
    }

    fn concat(&mut self, items: &[Item], start: usize, end: usize) -> Option<bool> {
        let Some((item, others)) = items.split_first() else { return Some(start == end) };
        let Some(rest) = &item.rest else { return self.divide(&item.part, start, end) };
        let longest = item.matcher.end(self.text, start, end, false).unwrap_or(start);
        for middle in self.ends(start, longest, item.shortest)? {
            let before = self.groups.clone();
            if self.matches(rest, middle, end)?
                && self.matches(&item.matcher, start, middle)?
                && self.divide(&item.part, start, middle)?
                && self.concat(others, middle, end)?
            {
                return Some(true);
            }
            self.groups = before;
        }
        Some(false)
    }

    /// The rounds of a repetition from number `round` on.
    fn repeat(&mut self, rounds: &Rounds, round: u32, start: usize, end: usize) -> Option<bool> {
        let Rounds { inner, matcher, shortest, max } = rounds;
        if start == end {
            // Without anything to match there is one round, if that can be.
            let _ = round == 0
                && self.matches(matcher, start, end)?
                && self.divide(inner, start, end)?;
            return Some(true);
        }
        if max.is_some_and(|max| round >= max) {
            return Some(false);
        }
        let longest = matcher.end(self.text, start, end, false).unwrap_or(start);
        for middle in self.ends(start, longest, *shortest)? {
            // A round takes something, and begins without the groups of the one before it.
            if middle == start {
                continue;
            }
            let before = self.groups.clone();
            self.clear(inner);
            if self.matches(matcher, start, middle)?
                && self.divide(inner, start, middle)?
                && self.repeat(rounds, round + 1, middle, end)?
            {
                return Some(true);
            }
            self.groups = before;
        }
        Some(false)
    }
}

fn bounds(kind: &RepetitionKind) -> (u32, Option<u32>) {
    match kind {
        RepetitionKind::ZeroOrOne => (0, Some(1)),
        RepetitionKind::ZeroOrMore => (0, None),
        RepetitionKind::OneOrMore => (1, None),
        RepetitionKind::Range(RepetitionRange::Exactly(count)) => (*count, Some(*count)),
        RepetitionKind::Range(RepetitionRange::AtLeast(min)) => (*min, None),
        RepetitionKind::Range(RepetitionRange::Bounded(min, max)) => (*min, Some(*max)),
    }
}

fn has_groups(ast: &Ast) -> bool {
    count_groups(ast) > 0
}

fn count_groups(ast: &Ast) -> usize {
    match ast {
        Ast::Group(group) => usize::from(group.is_capturing()) + count_groups(&group.ast),
        Ast::Concat(concat) => concat.asts.iter().map(count_groups).sum(),
        Ast::Alternation(alternation) => alternation.asts.iter().map(count_groups).sum(),
        Ast::Repetition(repetition) => count_groups(&repetition.ast),
        _ => 0,
    }
}
