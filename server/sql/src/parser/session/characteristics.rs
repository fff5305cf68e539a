//! When a constraint is checked: `DEFERRABLE`, `INITIALLY DEFERRED` and their opposites.

use braid_types::{Error, Result, SqlState};

use crate::parser::Cursor;

/// Whether they come next.
pub(crate) fn at_characteristics(cursor: &Cursor<'_>) -> bool {
    cursor.is("deferrable") || cursor.is("initially") || cursor.are(&["not", "deferrable"])
}

/// `[NOT] DEFERRABLE`, `INITIALLY …`: whether deferrable, whether deferred at first.
pub(crate) fn parse_characteristics(cursor: &mut Cursor<'_>) -> Result<(bool, bool)> {
    let (mut deferrable, mut deferred) = (None, None);
    let twice = |what: &str, place: u32| {
        let message = format!("multiple {what} clauses not allowed");
        Err(Error::new(SqlState::SyntaxError, message).position(place))
    };
    loop {
        let place = crate::offset_of(cursor.span());
        let not = cursor.take_all(&["not", "deferrable"]);
        if not || cursor.take("deferrable") {
            if deferrable.replace(!not).is_some() {
                return twice("DEFERRABLE/NOT DEFERRABLE", place);
            }
        } else if cursor.take("initially") {
            let first = match cursor.take_one(&["deferred", "immediate"]) {
                Some(which) => which == 0,
                None => return Err(cursor.unexpected()),
            };
            if deferred.replace(first).is_some() {
                return twice("INITIALLY IMMEDIATE/DEFERRED", place);
            }
        } else {
            break;
        }
        if deferrable == Some(false) && deferred == Some(true) {
            return Err(Error::new(
                SqlState::SyntaxError,
                "constraint declared INITIALLY DEFERRED must be DEFERRABLE",
            )
            .position(place));
        }
    }
    let deferred = deferred.unwrap_or(false);
    Ok((deferrable.unwrap_or(deferred), deferred))
}
