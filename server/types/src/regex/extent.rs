//! How far a match of a regular expression reaches: the longest or the shortest one, by POSIX.
//!
//! `regex` finds where the leftmost match begins, but lets the order of alternatives and the
//! greed of each quantifier decide where it ends. PostgreSQL decides for the whole expression:
//! its first quantifier says whether the match is the longest or the shortest that begins there,
//! and several branches at the top always ask for the longest.
//!
//! ```text
//!   foo|foobar         in "foobar"    longest:  foobar
//!   Y*?([0-9]{1,3})    in "XY1234Z"   shortest: Y1
//! ```
//!
//! The end comes from a simulation of all matches from the known beginning. Groups are then those
//! of the match between both; among several ways to divide it, `regex`'s order decides.

use std::cell::RefCell;

use regex_automata::nfa::thompson;
use regex_automata::nfa::thompson::pikevm::{Cache, PikeVM};
use regex_automata::{Anchored, Input, MatchKind};
use regex_syntax::ast::{Ast, RepetitionKind, RepetitionRange};

/// The byte ranges of a match and its groups; the whole match comes first.
pub type Groups = Vec<Option<(usize, usize)>>;

/// Finds the end of matches of one pattern.
pub(super) struct Extent {
    vm: PikeVM,
    cache: RefCell<Cache>,
    /// The pattern, which must reach to the end of its text.
    to_the_end: regex::Regex,
    shortest: bool,
}

impl Extent {
    /// The extent of matches of a pattern behind its flags; none if it leaves no choice.
    pub(super) fn of(
        flags: &str,
        body: &str,
        size_max: usize,
    ) -> Result<Option<Extent>, regex::Error> {
        let whole = &format!("{flags}{body}");
        let syntax = |error: String| regex::Error::Syntax(error);
        let ast = regex_syntax::ast::parse::Parser::new()
            .parse(whole)
            .map_err(|error| syntax(error.to_string()))?;
        if choices(&ast, false) < 2 {
            return Ok(None);
        }
        let to_the_end = regex::RegexBuilder::new(&format!("{flags}(?:{body})\\z"))
            .size_limit(size_max)
            .build()?;
        let vm = PikeVM::builder()
            .configure(PikeVM::config().match_kind(MatchKind::All))
            .thompson(thompson::Config::new().nfa_size_limit(Some(size_max)))
            .build(whole)
            .map_err(|error| syntax(error.to_string()))?;
        let cache = RefCell::new(vm.create_cache());
        let shortest = prefers_shortest(&ast).unwrap_or(false);
        Ok(Some(Extent { vm, cache, to_the_end, shortest }))
    }

    /// Where the match that begins at `start` ends.
    pub(super) fn end(&self, text: &str, start: usize) -> Option<usize> {
        let input = Input::new(text).range(start..).anchored(Anchored::Yes).earliest(self.shortest);
        let mut slots = [None, None];
        self.vm.search_slots(&mut self.cache.borrow_mut(), &input, &mut slots)?;
        slots[1].map(|end| end.get())
    }

    /// The groups of a match between two places.
    pub(super) fn groups(&self, text: &str, start: usize, end: usize) -> Groups {
        let found = self.to_the_end.captures_at(&text[..end], start);
        let found = found.filter(|found| found.get(0).is_some_and(|all| all.start() == start));
        let mut groups: Groups = match found {
            Some(found) => found.iter().map(|g| g.map(|g| (g.start(), g.end()))).collect(),
            // What follows the match decides as well, as with `\Y`: the groups stay unknown.
            None => vec![None; self.to_the_end.captures_len()],
        };
        groups[0] = Some((start, end));
        groups
    }
}

/// Whether a pattern asks for the shortest match; `None` if nothing in it has a preference.
fn prefers_shortest(ast: &Ast) -> Option<bool> {
    match ast {
        Ast::Repetition(repetition) if is_fixed(&repetition.op.kind) => {
            prefers_shortest(&repetition.ast)
        }
        Ast::Repetition(repetition) => Some(!repetition.greedy),
        Ast::Group(group) => prefers_shortest(&group.ast),
        Ast::Concat(concat) => concat.asts.iter().find_map(prefers_shortest),
        Ast::Alternation(_) => Some(false),
        _ => None,
    }
}

/// `{m}`.
fn is_fixed(kind: &RepetitionKind) -> bool {
    matches!(kind, RepetitionKind::Range(RepetitionRange::Exactly(_)))
}

/// How many choices a pattern leaves; from two on the order in which they are tried can show.
fn choices(ast: &Ast, repeated: bool) -> usize {
    match ast {
        Ast::Repetition(repetition) => {
            let own = usize::from(!is_fixed(&repetition.op.kind));
            own + usize::from(own == 1 && repeated) + choices(&repetition.ast, true)
        }
        Ast::Group(group) => choices(&group.ast, repeated),
        Ast::Concat(concat) => concat.asts.iter().map(|ast| choices(ast, repeated)).sum(),
        Ast::Alternation(_) => 2,
        _ => 0,
    }
}
