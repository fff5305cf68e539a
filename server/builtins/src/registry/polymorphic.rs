//! Polymorphic arguments: what `anyelement` and `anycompatible` stand for in one call.
//!
//! Rules: every `anyelement` is one type, `anyarray` its array, `anyrange` and `anymultirange` its
//! range and multirange; `anycompatible` arguments are cast to the one type that all of them reach
//! implicitly (text if all are unknown literals).

use braid_types::cast::{self, CastContext};
use braid_types::sql_type::{category, is_preferred};
use braid_types::{RangeKind, SqlType};

use crate::{Arg, Returns};

/// What the polymorphic names stand for; `None` while only unknown literals were seen.
#[derive(Default)]
pub(crate) struct Binding {
    element: Option<SqlType>,
    /// What `anyarray` stands for, if it is not the array of `element` (`int2vector`).
    vector: Option<SqlType>,
    /// What `anyrange` and `anymultirange` are ranges of.
    range: Option<RangeKind>,
    compatible: Option<SqlType>,
}

/// Without modifiers.
fn plain(ty: &SqlType) -> SqlType {
    ty.bare()
}

fn implicit(from: &SqlType, to: &SqlType) -> bool {
    from.same_base(to) || cast::context(from, to) == Some(CastContext::Implicit)
}

impl Binding {
    /// The binding for these arguments; `None` if they contradict each other.
    pub(crate) fn of(wanted: &[Arg], actual: &[SqlType]) -> Option<Binding> {
        let mut binding = Binding::default();
        let mut members: Vec<SqlType> = Vec::new();
        let mut any_compatible = false;
        let mut array: Option<&SqlType> = None;
        for (arg, ty) in wanted.iter().zip(actual) {
            any_compatible |= matches!(arg, Arg::Compatible | Arg::CompatibleArray);
            if matches!(ty, SqlType::Unknown) {
                continue;
            }
            match arg {
                Arg::Is(_) | Arg::Any => {}
                Arg::NonArray if ty.is_array() => return None,
                Arg::Enum if !ty.is_enum() => return None,
                Arg::NonArray | Arg::Element | Arg::Enum => binding.unify_element(ty)?,
                Arg::Array => {
                    if array.replace(ty).is_some_and(|known| known.is_vector() != ty.is_vector()) {
                        return None;
                    }
                    binding.vector = ty.is_vector().then(|| ty.clone());
                    binding.unify_element(ty.element()?)?;
                }
                Arg::Range => match ty {
                    SqlType::Range(kind) => binding.unify_range(*kind)?,
                    _ => return None,
                },
                Arg::Multirange => match ty {
                    SqlType::Multirange(kind) => binding.unify_range(*kind)?,
                    _ => return None,
                },
                Arg::Compatible => members.push(plain(ty)),
                Arg::CompatibleArray => members.push(plain(ty.element()?)),
            }
        }
        // No literal is an enum by itself.
        if wanted.contains(&Arg::Enum) && binding.element.is_none() {
            return None;
        }
        if any_compatible {
            binding.compatible = Some(common_type(&members)?);
        }
        Some(binding)
    }

    /// What `anyarray` stands for.
    fn array(&self) -> Option<SqlType> {
        self.vector.clone().or_else(|| self.element.clone().map(SqlType::array))
    }

    fn unify_element(&mut self, ty: &SqlType) -> Option<()> {
        match &self.element {
            Some(known) if known.same_base(ty) => Some(()),
            Some(_) => None,
            None => {
                self.element = Some(plain(ty));
                Some(())
            }
        }
    }

    fn unify_range(&mut self, kind: RangeKind) -> Option<()> {
        if self.range.replace(kind).is_some_and(|known| known != kind) {
            return None;
        }
        self.unify_element(kind.subtype())
    }

    /// The type an argument is to be cast to; `None` if it stays undecided.
    pub(crate) fn arg(&self, arg: &Arg, actual: &SqlType) -> Option<SqlType> {
        let wanted = match arg {
            Arg::Is(ty) => ty.clone(),
            Arg::Any | Arg::NonArray if matches!(actual, SqlType::Unknown) => SqlType::Text,
            Arg::Any | Arg::NonArray => actual.clone(),
            Arg::Element | Arg::Enum => self.element.clone()?,
            Arg::Array => self.array()?,
            Arg::Range => SqlType::Range(self.range?),
            Arg::Multirange => SqlType::Multirange(self.range?),
            Arg::Compatible => self.compatible.clone()?,
            Arg::CompatibleArray => self.compatible.clone()?.array(),
        };
        // What is right but for modifiers needs no cast; nor does a row where any may stand.
        let is_any_row = matches!((&wanted, actual), (SqlType::Record(row), SqlType::Record(_))
            if row.is_empty());
        Some(if is_any_row || actual.same_base(&wanted) { actual.clone() } else { wanted })
    }

    /// The type of a result; `None` if it stays undecided.
    pub(crate) fn returns(&self, returns: &Returns) -> Option<SqlType> {
        match returns {
            Returns::Is(ty) => Some(ty.clone()),
            Returns::Element => self.element.clone(),
            Returns::Array => self.array(),
            Returns::Range => self.range.map(SqlType::Range),
            Returns::Multirange => self.range.map(SqlType::Multirange),
            Returns::Compatible => self.compatible.clone(),
            Returns::CompatibleArray => Some(self.compatible.clone()?.array()),
        }
    }
}

/// The type that all of these reach implicitly, as CASE and UNION choose it.
fn common_type(types: &[SqlType]) -> Option<SqlType> {
    let Some((first, rest)) = types.split_first() else { return Some(SqlType::Text) };
    let mut chosen = first;
    for ty in rest {
        if ty.same_base(chosen) {
            continue;
        }
        if category(ty) != category(chosen) {
            return None;
        }
        if !is_preferred(chosen) && implicit(chosen, ty) && !implicit(ty, chosen) {
            chosen = ty;
        }
    }
    types.iter().all(|ty| implicit(ty, chosen)).then(|| chosen.clone())
}
