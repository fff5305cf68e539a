//! The error of a barrier: that of the earliest failed statement, a retry error first, and in
//! its context one line a failed statement.
//!
//! ```text
//! ERROR:  duplicate key value violates unique constraint "t_pkey"
//! CONTEXT:  statement 2: 23505 duplicate key value violates unique constraint "t_pkey": INSERT …
//! statement 4: 22012 division by zero: UPDATE t SET …
//! ```

use braid_types::Error;

use crate::retry::reason::is_retryable;

/// Characters of a statement's text in a context line or a timeline, at most.
const STATEMENT_CHARACTERS_MAX: usize = 100;

/// A statement that has failed.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    /// Its number in the transaction, where it is known.
    pub number: Option<u32>,
    /// Its text, shortened.
    pub text: String,
    pub error: Error,
}

impl Failure {
    fn line(&self) -> Option<String> {
        let number = self.number?;
        let (code, message) = (self.error.state().code(), self.error.message());
        Some(format!("statement {number}: {code} {message}: {}", self.text))
    }
}

/// The error that stands for these failures, which are in the order of their statements.
pub(super) fn barrier_error(failures: &[Failure]) -> Option<Error> {
    let retry = failures.iter().find(|failure| is_retryable(&failure.error));
    let main = retry.or(failures.first())?;
    let lines: Vec<String> = failures.iter().filter_map(Failure::line).collect();
    let error = main.error.clone().without_position();
    let own = error.fields().context.clone();
    let context: Vec<String> = own.into_iter().chain(lines).collect();
    Some(if context.is_empty() { error } else { error.context(context.join("\n")) })
}

/// The same for most texts, in a few steps: every queued statement has its text shortened.
fn shortened_plain(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let head = &bytes[..bytes.len().min(STATEMENT_CHARACTERS_MAX + 1)];
    let has_gap = |pair: &[u8]| pair[0] == b' ' && pair[1] == b' ';
    let is_plain = head.iter().all(|byte| (b' '..0x7f).contains(byte))
        && !head.windows(2).any(has_gap)
        && head.first() != Some(&b' ')
        && head.last() != Some(&b' ');
    if !is_plain {
        return None;
    }
    let short = text.get(..STATEMENT_CHARACTERS_MAX).filter(|short| short.len() < text.len());
    Some(short.map_or_else(|| text.to_owned(), |short| format!("{short}…")))
}

/// A statement's text on one line, cut to [`STATEMENT_CHARACTERS_MAX`].
pub(super) fn shortened(text: &str) -> String {
    shortened_plain(text).unwrap_or_else(|| by_words(text))
}

fn by_words(text: &str) -> String {
    let mut short = String::new();
    let mut count = 0;
    for word in text.split_whitespace() {
        if !short.is_empty() {
            short.push(' ');
            count += 1;
        }
        for character in word.chars() {
            if count >= STATEMENT_CHARACTERS_MAX {
                short.push('…');
                return short;
            }
            short.push(character);
            count += 1;
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use braid_types::SqlState;

    fn failure(number: u32, state: SqlState, message: &str) -> Failure {
        let error = Error::new(state, message).position(7);
        Failure { number: Some(number), text: format!("text {number}"), error }
    }

    #[test]
    fn a_retry_error_goes_first_and_every_failure_has_its_line() {
        let message = "restart transaction: read_changed";
        let conflict = Error::new(SqlState::SerializationFailure, message)
            .position(7)
            .caused_by(braid_kv::Error::retry(braid_kv::RetryReason::ReadChanged, None));
        let failures = [
            failure(2, SqlState::UniqueViolation, "duplicate"),
            Failure { error: conflict, ..failure(5, SqlState::SerializationFailure, "") },
        ];
        let error = barrier_error(&failures).expect("an error");
        assert_eq!(error.state(), SqlState::SerializationFailure);
        assert_eq!(error.fields().position, None);
        assert_eq!(
            error.fields().context.as_deref(),
            Some(
                "statement 2: 23505 duplicate: text 2\n\
                 statement 5: 40001 restart transaction: read_changed: text 5"
            )
        );
        let first = barrier_error(&failures[..1]).expect("an error");
        assert_eq!(first.state(), SqlState::UniqueViolation);
        assert!(barrier_error(&[]).is_none());
    }

    #[test]
    fn a_text_is_cut_to_its_limit() {
        assert_eq!(shortened("a\n  b\tc"), "a b c");
        let (exact, more) = ("a".repeat(100), "ab c".repeat(30));
        for text in ["", " a", "a", "a ", "a  b", "a b", "\ta", "a é", &exact, &more] {
            for end in ["", " ", "c", " c", "  c", "é", &more] {
                let text = format!("{text}{end}");
                assert_eq!(shortened(&text), by_words(&text), "{text:?}");
            }
        }
        let long = shortened(&"é".repeat(300));
        assert_eq!(long.chars().count(), STATEMENT_CHARACTERS_MAX + 1);
        assert!(long.ends_with('…'));
    }
}
