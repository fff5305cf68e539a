//! One part of a pattern, matched from a place that is known.

use std::cell::RefCell;

use regex_automata::nfa::thompson;
use regex_automata::nfa::thompson::pikevm::{Cache, PikeVM};
use regex_automata::{Anchored, Input, MatchKind};

/// The byte ranges of a match and its groups; the whole match comes first.
pub type Groups = Vec<Option<(usize, usize)>>;

/// Simulates all matches of a pattern at once, so the order of its alternatives does not show.
pub(super) struct Matcher {
    vm: PikeVM,
    cache: RefCell<Cache>,
}

impl Matcher {
    /// Compiles a pattern.
    pub(super) fn new(pattern: &str, size_max: usize) -> Result<Matcher, regex::Error> {
        let vm = PikeVM::builder()
            .configure(PikeVM::config().match_kind(MatchKind::All))
            .thompson(thompson::Config::new().nfa_size_limit(Some(size_max)))
            .build(pattern)
            .map_err(|error| regex::Error::Syntax(error.to_string()))?;
        let cache = RefCell::new(vm.create_cache());
        Ok(Matcher { vm, cache })
    }

    /// Where the longest match ends that begins at `start` and is over at `end`; with `shortest`
    /// the shortest one.
    pub(super) fn end(
        &self,
        text: &str,
        start: usize,
        end: usize,
        shortest: bool,
    ) -> Option<usize> {
        let input = Input::new(text).range(start..end);
        let input = input.anchored(Anchored::Yes).earliest(shortest);
        let mut slots = [None, None];
        self.vm.search_slots(&mut self.cache.borrow_mut(), &input, &mut slots)?;
        slots[1].map(|end| end.get())
    }

    /// Whether it matches exactly what is between two places.
    pub(super) fn matches(&self, text: &str, start: usize, end: usize) -> bool {
        self.end(text, start, end, false) == Some(end)
    }
}
