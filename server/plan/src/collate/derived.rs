//! Which collation an expression has, from those of its parts.

use std::sync::Arc;

use braid_types::{Error, Result, SqlState, SqlType};

use super::collation::{Collation, Icu, is_collatable};

/// The collation of an expression and how strongly it has it.
#[derive(Clone, Debug)]
pub(crate) enum Derived {
    /// Its type has no collation.
    None,
    /// From a column or a type.
    Implicit(Collation),
    /// From columns with these two collations.
    Conflict(Arc<str>, Arc<str>),
    /// From `COLLATE`.
    Explicit(Collation),
    /// A row: those of its fields.
    Row(Vec<Derived>),
}

impl Derived {
    /// What a type has by itself.
    pub(crate) fn of_type(ty: &SqlType) -> Self {
        match ty.innermost() {
            SqlType::Name => Derived::Implicit(Collation::of_bytes("C")),
            ty if is_collatable(ty) => Derived::Implicit(Collation::database()),
            _ => Derived::None,
        }
    }

    /// The collation of an expression over two parts; 42P21 for two different `COLLATE`.
    pub(crate) fn join(self, other: Derived) -> Result<Derived> {
        use Derived::{Conflict, Explicit, Implicit, None, Row};
        Ok(match (self, other) {
            (Row(a), Row(b)) if a.len() == b.len() => {
                let pairs = a.into_iter().zip(b);
                Row(pairs.map(|(a, b)| a.join(b)).collect::<Result<_>>()?)
            }
            (Row(fields), None) | (None, Row(fields)) => Row(fields),
            (None | Row(_), None | Row(_)) => None,
            (None | Row(_), other) | (other, None | Row(_)) => other,
            (Explicit(a), Explicit(b)) if a.stored != b.stored => {
                let (a, b) = (a.name, b.name);
                let message =
                    format!("collation mismatch between explicit collations \"{a}\" and \"{b}\"");
                return Err(Error::new(SqlState::CollationMismatch, message));
            }
            (Explicit(a), _) | (_, Explicit(a)) => Explicit(a),
            (Conflict(a, b), _) | (_, Conflict(a, b)) => Conflict(a, b),
            (Implicit(a), Implicit(b)) if a.stored == b.stored || b.is_default() => Implicit(a),
            (Implicit(a), Implicit(b)) if a.is_default() => Implicit(b),
            (Implicit(a), Implicit(b)) => Conflict(a.name, b.name),
        })
    }

    /// The collation of an expression of that type, from those of its parts.
    pub(crate) fn for_type(self, ty: &SqlType) -> Self {
        match self {
            row @ Derived::Row(_) if matches!(ty.innermost(), SqlType::Record(_)) => row,
            _ if !is_collatable(ty) => Derived::None,
            Derived::None | Derived::Row(_) => Derived::of_type(ty),
            known => known,
        }
    }

    /// The same, as a column of a subquery has it.
    pub(crate) fn of_column(self) -> Self {
        match self {
            Derived::Explicit(collation) => Derived::Implicit(collation),
            other => other,
        }
    }

    pub(crate) fn collation(&self) -> Option<&Collation> {
        match self {
            Derived::Implicit(collation) | Derived::Explicit(collation) => Some(collation),
            Derived::None | Derived::Conflict(..) | Derived::Row(_) => None,
        }
    }

    /// As a column keeps it, if it is not the one of the database.
    pub(crate) fn stored_name(&self) -> Option<String> {
        let collation = self.collation().filter(|collation| !collation.is_default());
        collation.map(|collation| (*collation.stored).to_owned())
    }

    /// The order by which values are to be compared, if it is not that of bytes; for equality
    /// alone (`ordered` is false) only if it is nondeterministic. 42P22 if two are possible, and
    /// 0A000 for rows, which have no keys.
    pub(crate) fn keys(&self, ordered: bool) -> Result<Option<Arc<Icu>>> {
        self.check_known()?;
        if matches!(self, Derived::Row(_)) && self.needs_keys(ordered) {
            return Err(Error::unsupported("comparing rows whose fields have collations"));
        }
        let icu = self.collation().and_then(|collation| collation.icu.clone());
        Ok(icu.filter(|icu| ordered || !icu.is_deterministic))
    }

    /// 42P22 for what is compared and has two collations, or a field that does.
    pub(crate) fn check_known(&self) -> Result<()> {
        match self {
            Derived::Conflict(..) => Err(undecided("string comparison")),
            Derived::Row(fields) => fields.iter().try_for_each(Derived::check_known),
            _ => Ok(()),
        }
    }

    /// Whether bytes do not decide a comparison, or an equality (`ordered` is false).
    pub(crate) fn needs_keys(&self, ordered: bool) -> bool {
        if ordered { self.has_order() } else { self.is_nondeterministic() }
    }

    /// 42P21 for what rows are sorted or grouped by, if it has two collations.
    pub(crate) fn check_decided(&self) -> Result<()> {
        let Derived::Conflict(a, b) = self else { return Ok(()) };
        let message = format!("collation mismatch between implicit collations \"{a}\" and \"{b}\"");
        Err(Error::new(SqlState::CollationMismatch, message).hint(
            "You can choose the collation by applying the COLLATE clause to one or both \
             expressions.",
        ))
    }

    /// Whether values may be equal that have different bytes.
    pub(crate) fn is_nondeterministic(&self) -> bool {
        match self {
            Derived::Row(fields) => fields.iter().any(Derived::is_nondeterministic),
            known => known.collation().is_some_and(Collation::is_nondeterministic),
        }
    }

    /// Whether values are compared by more than bytes.
    pub(crate) fn has_order(&self) -> bool {
        match self {
            Derived::Row(fields) => fields.iter().any(Derived::has_order),
            known => known.collation().is_some_and(|collation| collation.icu.is_some()),
        }
    }
}

/// 42P22 for what needs a collation and has two.
pub(crate) fn undecided(what: &str) -> Error {
    let message = format!("could not determine which collation to use for {what}");
    Error::new(SqlState::IndeterminateCollation, message)
        .hint("Use the COLLATE clause to set the collation explicitly.")
}
