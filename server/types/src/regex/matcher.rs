//! One part of a pattern, matched from a place that is known.

use std::cell::{OnceCell, RefCell};

use regex_automata::nfa::thompson;
use regex_automata::nfa::thompson::pikevm::{Cache, PikeVM};
use regex_automata::{Anchored, Input, MatchKind};

/// The byte ranges of a match and its groups; the whole match comes first.
pub type Groups = Vec<Option<(usize, usize)>>;

/// Simulates all matches of a pattern at once, so the order of its alternatives does not show.
/// It is compiled when it is asked for the first time: most parts of a pattern never are.
pub(super) struct Matcher {
    pattern: String,
    size_max: usize,
    compiled: OnceCell<Option<Compiled>>,
}

struct Compiled {
    vm: PikeVM,
    cache: RefCell<Cache>,
}

impl Matcher {
    /// A pattern, or a part of one, that `regex` accepts.
    pub(super) fn new(pattern: String, size_max: usize) -> Matcher {
        Matcher { pattern, size_max, compiled: OnceCell::new() }
    }

    /// None if it becomes larger than `size_max` bytes.
    fn compiled(&self) -> Option<&Compiled> {
        let compile = || {
            let vm = PikeVM::builder()
                .configure(PikeVM::config().match_kind(MatchKind::All))
                .thompson(thompson::Config::new().nfa_size_limit(Some(self.size_max)))
                .build(&self.pattern)
                .ok()?;
            let cache = RefCell::new(vm.create_cache());
            Some(Compiled { vm, cache })
        };
        self.compiled.get_or_init(compile).as_ref()
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
        let Compiled { vm, cache } = self.compiled()?;
        vm.search_slots(&mut cache.borrow_mut(), &input, &mut slots)?;
        slots[1].map(|end| end.get())
    }

    /// Whether it matches exactly what is between two places.
    pub(super) fn matches(&self, text: &str, start: usize, end: usize) -> bool {
        self.end(text, start, end, false) == Some(end)
    }
}
