//! When a constraint is checked: `DEFERRABLE`, `INITIALLY DEFERRED` and their opposites.

use braid_types::{Error, Result, SqlState};

use crate::parser::Cursor;

/// Whether they come next.
pub(crate) fn at_characteristics(cursor: &Cursor<'_>) -> bool {
    cursor.is("deferrable") || cursor.is("initially") || cursor.are(&["not", "deferrable"])
}

/// 42601 for what comes next, which speaks of no constraint of a column.
pub(crate) fn misplaced(cursor: &Cursor<'_>) -> Error {
    let words = if cursor.is("deferrable") {
        "DEFERRABLE"
    } else if cursor.is("not") {
        "NOT DEFERRABLE"
    } else if cursor.nth_is(1, "deferred") {
        "INITIALLY DEFERRED"
    } else if cursor.nth_is(1, "immediate") {
        "INITIALLY IMMEDIATE"
    } else {
        return cursor.unexpected();
    };
    let message = format!("misplaced {words} clause");
    Error::new(SqlState::SyntaxError, message).position(crate::offset_of(cursor.span()))
}

/// `[NOT] DEFERRABLE`, `INITIALLY …` behind a column's constraint: whether it is deferrable, and
/// whether it is deferred at first.
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

/// The words behind a constraint of a table, each with its bit.
const ATTRIBUTES: [(&[&str], u8); 6] = [
    (&["not", "deferrable"], NOT_DEFERRABLE),
    (&["deferrable"], DEFERRABLE),
    (&["initially", "immediate"], IMMEDIATE),
    (&["initially", "deferred"], DEFERRED),
    (&["not", "valid"], NOT_VALID),
    (&["no", "inherit"], NO_INHERIT),
];
const NOT_DEFERRABLE: u8 = 1;
const DEFERRABLE: u8 = 2;
const IMMEDIATE: u8 = 4;
const DEFERRED: u8 = 8;
const NOT_VALID: u8 = 16;
const NO_INHERIT: u8 = 32;

/// What stands behind a constraint of a table or of a trigger. A word may come twice there.
#[derive(Clone, Copy)]
pub(crate) struct ConstraintAttributes(u8);

impl ConstraintAttributes {
    /// What may be said of keys and foreign keys.
    pub(crate) const DEFERRAL: u8 = DEFERRABLE | DEFERRED;
    /// What may be said of a constraint that existing rows need not satisfy.
    pub(crate) const NOT_VALID: u8 = NOT_VALID;
    /// What may be said of a CHECK that partitions do not have.
    pub(crate) const NO_INHERIT: u8 = NO_INHERIT;

    /// All that come next; 42601 for those that contradict each other.
    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<Self> {
        let mut bits = 0;
        loop {
            let place = crate::offset_of(cursor.span());
            let Some((words, bit)) = ATTRIBUTES.iter().find(|(words, _)| cursor.are(words)) else {
                break;
            };
            cursor.take_all(words);
            bits |= bit;
            let has = |both: u8| bits & both == both;
            let message = if has(NOT_DEFERRABLE | DEFERRED) {
                "constraint declared INITIALLY DEFERRED must be DEFERRABLE"
            } else if has(NOT_DEFERRABLE | DEFERRABLE) || has(IMMEDIATE | DEFERRED) {
                "conflicting constraint properties"
            } else {
                continue;
            };
            return Err(Error::new(SqlState::SyntaxError, message).position(place));
        }
        if cursor.take_one(&["not", "no", "initially"]).is_some() {
            return Err(cursor.unexpected());
        }
        Ok(Self(bits))
    }

    /// 0A000 for what may not be said of constraints of this kind.
    pub(crate) fn check(self, kind: &str, allowed: u8) -> Result<()> {
        let refused =
            [(Self::DEFERRAL, "DEFERRABLE"), (NOT_VALID, "NOT VALID"), (NO_INHERIT, "NO INHERIT")];
        let found = refused.iter().find(|(bits, _)| self.0 & bits & !allowed != 0);
        found.map_or(Ok(()), |(_, words)| {
            let message = format!("{kind} constraints cannot be marked {words}");
            Err(Error::new(SqlState::FeatureNotSupported, message))
        })
    }

    /// Whether it is deferrable, and whether it is deferred at first.
    pub(crate) fn deferral(self) -> (bool, bool) {
        (self.0 & Self::DEFERRAL != 0, self.0 & DEFERRED != 0)
    }

    /// Whether existing rows need not satisfy it.
    pub(crate) fn is_not_valid(self) -> bool {
        self.0 & NOT_VALID != 0
    }

    /// Whether partitions do not have it.
    pub(crate) fn is_not_inherited(self) -> bool {
        self.0 & NO_INHERIT != 0
    }
}
