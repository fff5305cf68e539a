//! Sets of privileges.

/// Every privilege in the order in which an ACL lists them, with its letter there.
const ALL: [(&str, char); 12] = [
    ("INSERT", 'a'),
    ("SELECT", 'r'),
    ("UPDATE", 'w'),
    ("DELETE", 'd'),
    ("TRUNCATE", 'D'),
    ("REFERENCES", 'x'),
    ("TRIGGER", 't'),
    ("EXECUTE", 'X'),
    ("USAGE", 'U'),
    ("CREATE", 'C'),
    ("TEMPORARY", 'T'),
    ("CONNECT", 'c'),
];

/// A set of privileges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rights(u16);

impl Rights {
    /// No privilege.
    pub const NONE: Rights = Rights(0);

    /// Those with these names, which are in upper case.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut rights = Rights::NONE;
        for name in names {
            if let Some(place) = ALL.iter().position(|(known, _)| *known == name) {
                rights.0 |= 1 << place;
            }
        }
        rights
    }

    /// Those that columns can have.
    pub fn of_columns() -> Self {
        Rights::of(["INSERT", "SELECT", "UPDATE", "REFERENCES"])
    }

    /// The members with their letters, in the order of an ACL.
    pub fn members(self) -> impl Iterator<Item = (&'static str, char)> {
        let is_in = move |place: usize| self.0 & (1 << place) != 0;
        (0..).zip(ALL).filter(move |(place, _)| is_in(*place)).map(|(_, member)| member)
    }

    /// The names of the members, in the order of an ACL.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        self.members().map(|(name, _)| name)
    }

    /// The members of either set.
    #[must_use]
    pub fn with(self, other: Rights) -> Rights {
        Rights(self.0 | other.0)
    }

    /// The members that the other set has not.
    #[must_use]
    pub fn without(self, other: Rights) -> Rights {
        Rights(self.0 & !other.0)
    }

    /// The members of both sets.
    #[must_use]
    pub fn within(self, other: Rights) -> Rights {
        Rights(self.0 & other.0)
    }

    /// Whether there is no member.
    pub fn is_empty(self) -> bool {
        self == Rights::NONE
    }

    /// The number of members.
    pub fn count(self) -> u32 {
        self.0.count_ones()
    }
}
