//! Versions of the stores: one that does not know our requests would ignore parts of them, so it is
//! refused when the database is opened.

use crate::error::{OpenError, VERSION_MIN};

/// Refuses what is too old. A version that is no number, as some builds have it, is let pass.
pub(crate) fn check(what: &str, version: &str) -> Result<(), OpenError> {
    match parse(version) {
        Some(found) if found < VERSION_MIN => {
            Err(OpenError::Version { what: what.to_owned(), found: version.to_owned() })
        }
        Some(_) => Ok(()),
        None => {
            tracing::warn!(what, version, "a version that cannot be read; going on");
            Ok(())
        }
    }
}

/// `v7.5.1-alpha` as numbers.
fn parse(version: &str) -> Option<[u64; 3]> {
    let numbers = version.trim().trim_start_matches('v').split(['-', '+']).next()?;
    let mut parts = numbers.split('.').map(|part| part.parse().ok());
    let mut next = || parts.next().flatten();
    Some([next()?, next()?, next().unwrap_or(0)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert_eq!(parse("v8.5.3"), Some([8, 5, 3]));
        assert_eq!(parse("9.0.0-beta.2"), Some([9, 0, 0]));
        assert_eq!(parse("10.1"), Some([10, 1, 0]));
        assert_eq!(parse("None"), None);
        assert!(check("store 4", "7.5.0").is_ok() && check("store 4", "10.0.0").is_ok());
        let refused = check("store 4", "v6.5.9").unwrap_err().to_string();
        assert_eq!(
            refused,
            "store 4 of the cluster has version v6.5.9, and 7.5.0 is the oldest that can be used"
        );
    }
}
