//! The collations of `pg_catalog`: those that compare bytes, and those of ICU.

/// The locales of the collations `…-x-icu`.
const ICU_LOCALES: &str = include_str!("icu_locales.txt");

/// The oid of the first collation `…-x-icu`. PostgreSQL gives them such numbers, too.
const FIRST_ICU_OID: u32 = 12_342;

/// What the name of a collation of ICU ends with.
const ICU_SUFFIX: &str = "-x-icu";

/// The collations that compare bytes, with their oids.
pub const BYTE_COLLATIONS: [(u32, &str); 4] =
    [(100, "default"), (950, "C"), (951, "POSIX"), (12_340, "ucs_basic")];

/// The locales of the collations `…-x-icu`, with their oids.
pub fn icu_locales() -> impl Iterator<Item = (u32, &'static str)> {
    (FIRST_ICU_OID..).zip(ICU_LOCALES.lines())
}

/// The locale of a collation of `pg_catalog`, if it is one of ICU.
pub fn icu_locale(name: &str) -> Option<&str> {
    let locale = name.strip_suffix(ICU_SUFFIX)?;
    ICU_LOCALES.lines().any(|known| known == locale).then_some(locale)
}

/// The oid of a collation of `pg_catalog`.
pub fn built_in_oid(name: &str) -> Option<u32> {
    if let Some((oid, _)) = BYTE_COLLATIONS.iter().find(|(_, known)| *known == name) {
        return Some(*oid);
    }
    let locale = name.strip_suffix(ICU_SUFFIX)?;
    icu_locales().find(|(_, known)| *known == locale).map(|(oid, _)| oid)
}

/// The name of a collation of `pg_catalog`.
pub fn built_in_name(oid: u32) -> Option<String> {
    if let Some((_, name)) = BYTE_COLLATIONS.iter().find(|(known, _)| *known == oid) {
        return Some((*name).to_owned());
    }
    let found = icu_locales().find(|(known, _)| *known == oid);
    found.map(|(_, locale)| format!("{locale}{ICU_SUFFIX}"))
}
