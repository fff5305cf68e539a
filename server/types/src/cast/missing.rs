//! The error for two types without a cast, which callers recognize by its cause.

use std::fmt;

use crate::{Error, SqlState};

/// The cause of 42846: there is no cast between two types, or not in this context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoCast;

impl NoCast {
    /// 42846 between types with these names.
    pub fn error(from: &str, to: &str) -> Error {
        let message = format!("cannot cast type {from} to {to}");
        Error::new(SqlState::CannotCoerce, message).caused_by(NoCast)
    }

    /// Whether an error has this cause.
    pub fn is_cause_of(error: &Error) -> bool {
        error.cause::<NoCast>().is_some()
    }
}

impl fmt::Display for NoCast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no cast between the types")
    }
}

impl std::error::Error for NoCast {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_cast_is_recognized_by_its_cause_and_not_by_its_state() {
        let error = NoCast::error("integer", "date");
        assert_eq!(error.state(), SqlState::CannotCoerce);
        assert_eq!(error.message(), "cannot cast type integer to date");
        assert!(NoCast::is_cause_of(&error));
        assert!(!NoCast::is_cause_of(&Error::new(SqlState::CannotCoerce, "a composite type")));
    }
}
