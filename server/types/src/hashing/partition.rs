//! The hashes of values: of the functions that compute them, and of the rows of hash partitions.
//!
//! They are PostgreSQL's, so that a dump of one partition can be loaded into the same partition
//! there. It is Bob Jenkins' lookup3, seeded, with PostgreSQL's way to combine several keys.

use super::lookup3;
use crate::{Datum, SqlType, citext};

/// The seed of partition hashes in PostgreSQL.
const SEED: u64 = 0x7A5B_2236_7996_DCFD;
/// The part of a NUMERIC that one digit of PostgreSQL's has.
const NUMERIC_DIGIT: usize = 4;

/// Whether values of a type have a partition hash.
pub fn has_partition_hash(ty: &SqlType) -> bool {
    match ty {
        SqlType::Bool
        | SqlType::Int2
        | SqlType::Int4
        | SqlType::Int8
        | SqlType::Oid
        | SqlType::Float4
        | SqlType::Float8
        | SqlType::Numeric(_)
        | SqlType::Text
        | SqlType::Varchar(_)
        | SqlType::Char(_)
        | SqlType::Citext
        | SqlType::Name
        | SqlType::Bytes
        | SqlType::Uuid
        | SqlType::Date
        | SqlType::Time
        | SqlType::Timestamp
        | SqlType::Timestamptz => true,
        other => other.inner_enum().is_some() && other.element().is_none(),
    }
}

/// The hash of a key; NULLs add nothing to it.
pub fn hash_of_key(values: &[Datum], types: &[SqlType]) -> u64 {
    let mut hash = 0;
    for (value, ty) in values.iter().zip(types) {
        if !value.is_null() {
            hash = combine(hash, seeded_hash(value, ty, SEED));
        }
    }
    hash
}

fn combine(a: u64, b: u64) -> u64 {
    let added = b.wrapping_add(0x49a0_f4dd_15e5_a8e3).wrapping_add(a << 54).wrapping_add(a >> 7);
    a ^ added
}

/// The hash of a value that is not NULL, as PostgreSQL's functions of hashing answer it for a seed.
/// Of values of other types it is the seed.
pub fn seeded_hash(value: &Datum, ty: &SqlType, seed: u64) -> u64 {
    let (of_word, of_long) = (|word| of_word(word, seed), |long| of_long(long, seed));
    let of_bytes = |bytes: &[u8]| of_bytes(bytes, seed);
    match value {
        Datum::Bool(value) => of_word(u32::from(*value)),
        Datum::Int(value) if matches!(ty, SqlType::Int8) => of_long(*value),
        Datum::Int(value) => of_word(*value as u32),
        Datum::Date(value) => of_word(*value as u32),
        Datum::Time(value) | Datum::Timestamp(value) | Datum::Timestamptz(value) => of_long(*value),
        Datum::Float(0.0) => seed,
        Datum::Float(value) if value.is_nan() => of_bytes(&f64::NAN.to_le_bytes()),
        Datum::Float(value) => of_bytes(&value.to_le_bytes()),
        Datum::Text(value) if matches!(ty, SqlType::Char(_)) => {
            of_bytes(value.trim_end_matches(' ').as_bytes())
        }
        Datum::Text(value) => of_bytes(value.as_bytes()),
        Datum::Citext(value) => of_bytes(citext::folded(value).as_bytes()),
        Datum::Bytes(value) => of_bytes(value),
        Datum::Uuid(value) => of_bytes(value),
        Datum::Enum(label) => of_bytes(label.name.as_bytes()),
        Datum::Numeric(value) => of_numeric(&value.to_string(), seed),
        _ => seed,
    }
}

/// A NUMERIC by its digits of base 10,000 without zeros at the ends, and its weight.
fn of_numeric(text: &str, seed: u64) -> u64 {
    let digits = text.trim_start_matches('-');
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        // NaN and the infinities have no digits.
        return seed;
    }
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let lead = whole.len().next_multiple_of(NUMERIC_DIGIT) - whole.len();
    let mut all = "0".repeat(lead);
    all.push_str(whole);
    let mut weight = (all.len() / NUMERIC_DIGIT) as i64 - 1;
    all.push_str(fraction);
    let tail = all.len().next_multiple_of(NUMERIC_DIGIT) - all.len();
    all.push_str(&"0".repeat(tail));
    let groups = all.as_bytes().chunks(NUMERIC_DIGIT);
    let groups: Vec<u16> = groups
        .map(|group| group.iter().fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0')))
        .collect();
    let first = groups.iter().position(|group| *group != 0);
    let Some(first) = first else { return seed.wrapping_sub(1) };
    let last = groups.iter().rposition(|group| *group != 0).unwrap_or(first);
    weight -= first as i64;
    let bytes: Vec<u8> =
        groups[first..=last].iter().flat_map(|group| group.to_le_bytes()).collect();
    of_bytes(&bytes, seed) ^ weight as u64
}

fn of_long(value: i64, seed: u64) -> u64 {
    let (low, high) = (value as u32, (value >> 32) as u32);
    of_word(low ^ if value >= 0 { high } else { !high }, seed)
}

fn of_word(word: u32, seed: u64) -> u64 {
    lookup3::of_word(word, seed)
}

fn of_bytes(bytes: &[u8], seed: u64) -> u64 {
    lookup3::of_bytes(bytes, seed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Numeric;

    /// What functions such as `hashint4extended` answer in PostgreSQL for the seed.
    #[test]
    fn hashes_are_those_of_postgresql() {
        let of = |value: Datum, ty: SqlType| seeded_hash(&value, &ty, SEED) as i64;
        let text = |value: &str| of(Datum::text(value), SqlType::Text);
        let numeric =
            |text: &str| of(Datum::Numeric(Numeric::parse(text).unwrap()), SqlType::Numeric(None));
        assert_eq!(of(Datum::Int(1), SqlType::Int4), 5_968_994_663_651_403_477);
        assert_eq!(of(Datum::Int(-7), SqlType::Int4), -7_298_374_200_968_567_817);
        assert_eq!(of(Datum::Int(10_000_000_000), SqlType::Int8), -5_466_866_525_559_780_214);
        assert_eq!(of(Datum::Float(1.5), SqlType::Float8), -2_826_383_321_045_882_978);
        assert_eq!(text(""), -5_700_645_584_453_517_373);
        assert_eq!(text("abcdefghijkl"), -7_876_791_541_613_377_658);
        assert_eq!(text("abcdefghijklmnop"), -2_963_246_452_690_924_729);
        assert_eq!(numeric("12345.6780"), -4_016_348_884_958_903_928);
        assert_eq!(numeric("-0.00012"), 3_073_084_697_884_637_736);
        assert_eq!(numeric("0"), 8_816_678_312_871_386_364);
    }
}
