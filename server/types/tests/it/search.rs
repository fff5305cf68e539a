//! Vectors and queries: their forms, their order, what matches, and input that is odd.

use braid_types::search::{Query, Vector};
use braid_types::{Datum, FormatSettings, Result, SqlState, SqlType, binary, text};

fn parsed(ty: &SqlType, literal: &str) -> Result<Datum> {
    text::parse(ty, literal, &FormatSettings::default(), 0)
}

fn value(ty: &SqlType, literal: &str) -> Datum {
    parsed(ty, literal).unwrap_or_else(|error| panic!("{literal}: {error}"))
}

fn shown(ty: &SqlType, datum: &Datum) -> String {
    text::to_string(ty, datum, &FormatSettings::default())
}

const VECTORS: [&str; 8] = [
    "",
    "a",
    "a:1",
    "b:3A,1C a 'it''s':2",
    "a:16383,99999",
    "'x y':1 x y",
    "ä:4 \\\\:1",
    "a b c:1B",
];
const QUERIES: [&str; 9] = [
    "",
    "a",
    "a:*AB",
    "!a & (b | c)",
    "a <-> (b <2> c) & !!d",
    "'x y' | \\&",
    "!(a <-> b)",
    "(a & b) & (c & d)",
    "ä:D",
];

#[test]
fn values_survive_their_text_and_binary_forms() {
    for (ty, literals) in [(SqlType::TsVector, &VECTORS[..]), (SqlType::TsQuery, &QUERIES[..])] {
        for literal in literals {
            let datum = value(&ty, literal);
            // Parentheses that change nothing are not shown.
            let again = value(&ty, &shown(&ty, &datum));
            assert_eq!(shown(&ty, &again), shown(&ty, &datum), "{literal}");
            let mut bytes = Vec::new();
            binary::encode(&ty, &datum, &mut bytes);
            assert_eq!(binary::decode(&ty, &bytes).expect("its own form"), datum, "{literal}");
            // What is cut or changed is an error or another value, and no panic.
            for end in 0..bytes.len() {
                let _ = binary::decode(&ty, &bytes[..end]);
                let mut changed = bytes.clone();
                changed[end] ^= 0x55;
                let _ = binary::decode(&ty, &changed);
            }
        }
    }
}

/// As PostgreSQL orders them.
#[test]
fn vectors_and_queries_are_ordered() {
    let vectors = ["", "a:1 b", "a:1 c", "b:1 c", "a:1,2 c"];
    let queries = ["a", "b", "!a", "!b", "a | b", "a & b"];
    let mut sorted: Vec<Datum> = vectors.map(|v| value(&SqlType::TsVector, v)).to_vec();
    sorted.sort();
    assert_eq!(shown(&SqlType::TsVector, &sorted[0]), "");
    assert!(sorted.is_sorted());
    let mut sorted: Vec<Datum> = queries.map(|q| value(&SqlType::TsQuery, q)).to_vec();
    sorted.sort();
    let shown: Vec<String> = sorted.iter().map(|q| shown(&SqlType::TsQuery, q)).collect();
    assert_eq!(shown[..1], ["'a'".to_owned()][..], "{shown:?}");
}

#[test]
fn long_and_deep_queries_neither_fail_nor_overflow_the_stack() {
    let deep = format!("{}a{}", "(".repeat(100_000), ")".repeat(100_000));
    assert_eq!(shown(&SqlType::TsQuery, &value(&SqlType::TsQuery, &deep)), "'a'");
    let not = format!("{}a", "!".repeat(100_000));
    let long = vec!["a"; 50_000].join(" | ");
    let vector = value(&SqlType::TsVector, "a:1");
    let vector = Vector::read(vector.as_bytes().unwrap_or_default()).expect("a vector");
    for (text, answer) in [(deep, true), (not, true), (long, true)] {
        let query = value(&SqlType::TsQuery, &text);
        let query = Query::read(query.as_bytes().unwrap_or_default()).expect("a query");
        assert_eq!(query.matches_vector(&vector).expect("an answer"), answer);
    }
}

#[test]
fn limits_are_errors() {
    let long = "x".repeat(2_047);
    let many: String = (0..200_000).map(|n| format!("w{n} ")).collect();
    for (ty, literal, state) in [
        (SqlType::TsVector, long.as_str(), SqlState::ProgramLimitExceeded),
        (SqlType::TsQuery, &long, SqlState::ProgramLimitExceeded),
        (SqlType::TsVector, &many, SqlState::ProgramLimitExceeded),
        (SqlType::TsVector, "a:0", SqlState::SyntaxError),
        (SqlType::TsQuery, "a &", SqlState::SyntaxError),
        (SqlType::TsQuery, "a <99999> b", SqlState::InvalidParameterValue),
        (SqlType::Regconfig, "nosuch", SqlState::UndefinedObject),
    ] {
        assert_eq!(parsed(&ty, literal).expect_err("too much").state(), state);
    }
}
