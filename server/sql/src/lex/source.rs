//! Character offsets to byte offsets of the text.

use std::cell::OnceCell;

/// How many characters lie between two remembered places.
const STRIDE: usize = 4096;

/// The text with what is needed to find a character quickly.
pub(crate) struct Source<'a> {
    text: &'a str,
    /// The byte offset of every [`STRIDE`]th character; filled when a text that is not ASCII is
    /// first asked.
    places: OnceCell<Vec<usize>>,
    ascii: bool,
}

impl<'a> Source<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, places: OnceCell::new(), ascii: text.is_ascii() }
    }

    pub(crate) fn text(&self) -> &'a str {
        self.text
    }

    /// The number of characters.
    pub(crate) fn char_count(&self) -> usize {
        if self.ascii { self.text.len() } else { self.text.chars().count() }
    }

    /// The byte offset of a 1-based character offset; the end for `None` and beyond the end.
    pub(crate) fn byte_at(&self, column: Option<u64>) -> usize {
        let end = self.text.len();
        let Some(chars) = column.and_then(|column| usize::try_from(column).ok()) else {
            return end;
        };
        let chars = chars.saturating_sub(1);
        if self.ascii {
            return chars.min(end);
        }
        let places = self.places.get_or_init(|| {
            self.text.char_indices().step_by(STRIDE).map(|(byte, _)| byte).collect()
        });
        let Some(&from) = places.get(chars / STRIDE) else {
            return end;
        };
        let rest = self.text.get(from..).unwrap_or("");
        rest.char_indices().nth(chars % STRIDE).map_or(end, |(byte, _)| from + byte)
    }
}
