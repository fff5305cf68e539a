//! How long the long checks may take: one variable for all of them.

/// The value of `BRAID_TEST_SIZE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// For every `npm test`: a sample of each check.
    Small,
    /// For the integration run.
    Medium,
    /// Once, by hand, before a release.
    Full,
}

impl Size {
    /// Reads `BRAID_TEST_SIZE`: `small` (the default), `medium` or `full`.
    ///
    /// # Panics
    /// On any other value, so that a misspelt one does not pass for a long run.
    pub fn from_env() -> Self {
        match std::env::var("BRAID_TEST_SIZE").as_deref() {
            Err(_) | Ok("" | "small") => Size::Small,
            Ok("medium") => Size::Medium,
            Ok("full") => Size::Full,
            Ok(other) => panic!("BRAID_TEST_SIZE is small, medium or full, not {other:?}"),
        }
    }

    /// The value for this size.
    pub fn pick<T>(self, small: T, medium: T, full: T) -> T {
        match self {
            Size::Small => small,
            Size::Medium => medium,
            Size::Full => full,
        }
    }
}
