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
//! The end comes from a simulation of all matches from the known beginning. The match between both
//! is then divided among the groups ([`super::division`]). If that costs too much, `regex`'s order
//! decides.

use regex_syntax::ast::Ast;

use super::division::Division;
use super::matcher::{Groups, Matcher};
use super::preference::{is_fixed, prefers_shortest};

/// Finds the end of matches of one pattern.
pub(super) struct Extent {
    matcher: Matcher,
    /// None without groups.
    division: Option<Division>,
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
        let matcher = Matcher::new(whole.clone(), size_max);
        let division = Division::of(flags, whole, &ast, size_max);
        let shortest = prefers_shortest(&ast).unwrap_or(false);
        Ok(Some(Extent { matcher, division, to_the_end, shortest }))
    }

    /// Whether there are groups, whose places are not those that `regex` finds.
    pub(super) fn has_groups(&self) -> bool {
        self.division.is_some()
    }

    /// Where the match that begins at `start` ends.
    pub(super) fn end(&self, text: &str, start: usize) -> Option<usize> {
        self.matcher.end(text, start, text.len(), self.shortest)
    }

    /// The groups of a match between two places.
    pub(super) fn groups(&self, text: &str, start: usize, end: usize) -> Groups {
        let divided = self.division.as_ref().and_then(|parts| parts.groups(text, start, end));
        if let Some(groups) = divided {
            return groups;
        }
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
