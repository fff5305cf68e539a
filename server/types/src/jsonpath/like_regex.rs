//! The pattern and flags of `like_regex`.

use std::rc::Rc;

use crate::regex::{Flags, Pattern, compile};
use crate::{Error, Result, SqlState};

/// The flags, in the order in which they print.
const FLAGS: [char; 5] = ['i', 's', 'm', 'x', 'q'];

/// A pattern with XQuery's flags, which PostgreSQL reads as a regular expression of its own kind.
#[derive(Clone, Debug)]
pub struct LikeRegex {
    /// The pattern.
    pub pattern: Box<str>,
    /// Which of [`FLAGS`] are set.
    flags: [bool; FLAGS.len()],
}

impl LikeRegex {
    /// Checks pattern and flags: 42601 for an unknown flag, 0A000 for `x`, 2201B for a pattern that
    /// is none.
    pub(super) fn new(pattern: String, flags: &str) -> Result<Self> {
        let mut set = [false; FLAGS.len()];
        for flag in flags.chars() {
            let Some(place) = FLAGS.iter().position(|known| *known == flag) else {
                let message = "invalid input syntax for type jsonpath";
                return Err(Error::new(SqlState::SyntaxError, message).detail(format!(
                    "Unrecognized flag character \"{flag}\" in LIKE_REGEX predicate."
                )));
            };
            set[place] = true;
        }
        let like = LikeRegex { pattern: pattern.into(), flags: set };
        like.compiled()?;
        Ok(like)
    }

    /// The flags as they print.
    pub(super) fn flags(&self) -> String {
        FLAGS.into_iter().zip(self.flags).filter(|(_, is_set)| *is_set).map(|(c, _)| c).collect()
    }

    /// The compiled pattern, from the thread's cache if it is there.
    pub fn compiled(&self) -> Result<Rc<Pattern>> {
        let [ignore_case, dot_all, lines, expanded, literal] = self.flags;
        if expanded && !literal {
            let message = "XQuery \"x\" flag (expanded regular expressions) is not implemented";
            return Err(Error::new(SqlState::FeatureNotSupported, message));
        }
        let flags = Flags {
            ignore_case,
            literal,
            newline_stops: !literal && !dot_all,
            newline_anchors: !literal && lines,
            ..Flags::default()
        };
        compile(&self.pattern, flags)
    }
}
