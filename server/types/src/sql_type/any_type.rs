//! Polymorphic types: what parameters of functions are declared with to take values of any type.

/// A polymorphic type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum AnyType {
    /// `anyelement`: one type for all of them.
    Element,
    /// `anyarray`: the arrays of that type.
    Array,
    /// `anynonarray`: that type, which is no array.
    NonArray,
    /// `anyenum`: that type, which is an enum.
    Enum,
    /// `anyrange`: the range of that type.
    Range,
    /// `anymultirange`: the multirange of that type.
    Multirange,
    /// `anycompatible`: one type to which all of them are cast.
    Compatible,
    /// `anycompatiblearray`: its arrays.
    CompatibleArray,
    /// `anycompatiblenonarray`: that type, which is no array.
    CompatibleNonArray,
}

impl AnyType {
    /// The polymorphic type of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "anyelement" => AnyType::Element,
            "anyarray" => AnyType::Array,
            "anynonarray" => AnyType::NonArray,
            "anyenum" => AnyType::Enum,
            "anyrange" => AnyType::Range,
            "anymultirange" => AnyType::Multirange,
            "anycompatible" => AnyType::Compatible,
            "anycompatiblearray" => AnyType::CompatibleArray,
            "anycompatiblenonarray" => AnyType::CompatibleNonArray,
            _ => return None,
        })
    }

    /// Whether it belongs to `anycompatible` and not to `anyelement`.
    pub fn is_compatible(self) -> bool {
        matches!(self, AnyType::Compatible | AnyType::CompatibleArray | AnyType::CompatibleNonArray)
    }
}
