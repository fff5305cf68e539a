//! What can be wrong with stored bytes.

/// A decoding failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The bytes were not written by this version of the codec for this type.
    #[error("corrupt encoding: {what}")]
    Corrupt {
        /// The part that could not be read.
        what: &'static str,
    },
}

impl Error {
    pub(crate) fn corrupt(what: &'static str) -> Self {
        Error::Corrupt { what }
    }
}

impl From<Error> for braid_types::Error {
    fn from(error: Error) -> Self {
        braid_types::Error::new(braid_types::SqlState::DataCorrupted, error.to_string())
    }
}

/// A result of decoding.
pub type Result<T> = std::result::Result<T, Error>;
