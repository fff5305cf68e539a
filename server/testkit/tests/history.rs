//! The history checker on histories known to be bad, one for each class, and known to be good.

use braid_testkit::history::{History, Key, Kind, Op, Outcome, Report, Transaction, check};

/// One transaction a line: `sent-answered outcome: steps`, a process each. Steps: `a1:5` appends 5
/// to list 1, `r1:[5,6]` reads it, `w1:5` and `q1:5` or `q1:` are the same for registers, `{` is
/// a savepoint and `}` goes back to it.
fn history(text: &str) -> History {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    History { transactions: lines.enumerate().map(|(at, line)| transaction(at, line)).collect() }
}

fn transaction(at: usize, line: &str) -> Transaction {
    let (head, steps) = line.split_once(": ").expect("a head");
    let (times, outcome) = head.split_once(' ').expect("an outcome");
    let (sent, answered) = times.split_once('-').expect("two times");
    Transaction {
        process: at as u32,
        sent_ns: sent.parse().expect("a time"),
        answered_ns: answered.parse().expect("a time"),
        ops: steps.split_whitespace().map(op).collect(),
        outcome: match outcome {
            "ok" => Outcome::Committed,
            "fail" => Outcome::Failed,
            "info" => Outcome::Unknown,
            other => panic!("no outcome: {other}"),
        },
    }
}

fn op(step: &str) -> Op {
    match step {
        "{" => return Op::Savepoint,
        "}" => return Op::RollbackTo,
        _ => {}
    }
    let (key, value) = step[1..].split_once(':').expect("a key and a value");
    let number = key.parse().expect("a number");
    let values = value.trim_matches(['[', ']']).split(',').filter(|value| !value.is_empty());
    let values: Vec<i64> = values.map(|value| value.parse().expect("a value")).collect();
    match &step[..1] {
        "a" => Op::Write(Key::List(number), values[0]),
        "w" => Op::Write(Key::Register(number), values[0]),
        "r" => Op::Read(Key::List(number), values),
        "q" => Op::Read(Key::Register(number), values),
        other => panic!("no step: {other}"),
    }
}

fn checked(text: &str) -> Report {
    check(&history(text))
}

fn assert_clean(text: &str) {
    let report = checked(text);
    assert!(report.is_clean(), "{report}");
}

/// The history has an anomaly of that class, and none of a simpler one.
fn assert_kind(kind: Kind, text: &str) {
    let report = checked(text);
    assert_eq!(report.anomalies.first().map(|anomaly| anomaly.kind), Some(kind), "{report}");
}

#[test]
fn serial_and_concurrent_histories_that_have_an_order_are_clean() {
    assert_clean("");
    assert_clean(
        "0-10 ok: a1:1 a2:2
         20-30 ok: r1:[1] a1:3
         40-50 ok: r1:[1,3] r2:[2]",
    );
    // Side by side: the reader stands between the two writers, though it was sent first.
    assert_clean(
        "0-100 ok: r1:[1] r2:[]
         10-90 ok: a1:1
         20-90 ok: a2:2 r1:[1]
         200-210 ok: r1:[1] r2:[2]",
    );
    assert_clean(
        "0-10 ok: w1:1
         20-60 ok: q1:1 w1:2
         20-60 ok: q1:1
         70-80 ok: q1:2",
    );
}

#[test]
fn own_writes_and_undone_ones_are_no_anomaly() {
    assert_clean(
        "0-10 ok: a1:1 r1:[1] { a1:2 r1:[1,2] a2:3 } r1:[1] r2:[] a1:4
         20-30 ok: r1:[1,4] r2:[]",
    );
    assert_clean(
        "0-10 ok: q1: w1:1 q1:1 { w1:2 q1:2 } q1:1
         20-30 ok: q1:1",
    );
}

#[test]
fn an_unknown_outcome_is_settled_by_who_read_it() {
    assert_clean("0-10 info: a1:1\n 20-30 ok: r1:[]");
    assert_clean("0-10 info: a1:1\n 20-30 ok: r1:[]\n 40-50 ok: r1:[1]");
    // It did commit, and so did what it had read.
    assert_kind(
        Kind::WriteSkew,
        "0-100 info: r2:[] a1:1
         0-100 ok: r1:[] a2:2
         200-210 ok: r1:[1] r2:[2]",
    );
}

#[test]
fn an_aborted_read_is_found() {
    assert_kind(Kind::AbortedRead, "0-10 fail: a1:1\n 5-30 ok: r1:[1]");
    assert_kind(Kind::AbortedRead, "0-10 fail: w1:1\n 5-30 ok: q1:1");
    assert_kind(Kind::AbortedRead, "0-10 ok: a1:1 { a1:2 }\n 20-30 ok: r1:[1,2]");
}

#[test]
fn an_intermediate_read_is_found() {
    assert_kind(Kind::IntermediateRead, "0-50 ok: a1:1 a1:2\n 5-30 ok: r1:[1]");
    assert_kind(Kind::IntermediateRead, "0-50 ok: w1:1 w1:2\n 5-30 ok: q1:1");
}

#[test]
fn what_nobody_wrote_and_what_stands_twice_is_found() {
    assert_kind(Kind::GarbageRead, "0-10 ok: r1:[7]");
    assert_kind(Kind::Duplicate, "0-10 ok: a1:1\n 20-30 ok: r1:[1,1]");
    assert_kind(Kind::Duplicate, "0-10 ok: a1:1\n 20-30 ok: a1:1");
}

#[test]
fn readings_that_do_not_fit_each_other_are_found() {
    assert_kind(
        Kind::IncompatibleOrder,
        "0-50 ok: a1:1
         0-50 ok: a1:2
         0-50 ok: r1:[1,2]
         0-50 ok: r1:[2]",
    );
    assert_kind(Kind::Internal, "0-50 ok: a1:1\n 0-50 ok: r1:[] r1:[1]");
    assert_kind(Kind::Internal, "0-50 ok: a1:1 r1:[]");
    assert_kind(Kind::Internal, "0-50 ok: w1:1 q1:");
}

#[test]
fn a_lost_write_is_found() {
    assert_kind(Kind::LostWrite, "0-10 ok: a1:1\n 20-30 ok: a1:2\n 40-50 ok: r1:[2]");
}

#[test]
fn g0_is_found() {
    // Each stands behind the other in one of two lists.
    assert_kind(
        Kind::WriteCycle,
        "0-50 ok: a1:1 a2:1001
         0-50 ok: a1:2 a2:1002
         60-70 ok: r1:[1,2] r2:[1002,1001]",
    );
}

#[test]
fn g1c_is_found() {
    assert_kind(
        Kind::CircularInformation,
        "0-50 ok: a1:1 r2:[2]
         0-50 ok: a2:2 r1:[1]",
    );
}

#[test]
fn read_skew_and_lost_update_are_found() {
    assert_kind(
        Kind::ReadSkew,
        "0-50 ok: r1:[] r2:[2]
         0-50 ok: a1:1 a2:2
         60-70 ok: r1:[1]",
    );
    assert_kind(
        Kind::ReadSkew,
        "0-50 ok: r1:[] a1:1
         0-50 ok: r1:[] a1:2
         60-70 ok: r1:[1,2]",
    );
    assert_kind(Kind::ReadSkew, "0-50 ok: q1: q2:2\n 0-50 ok: q1: w1:1 w2:2");
}

#[test]
fn write_skew_is_found() {
    let report = checked(
        "0-50 ok: r1:[] r2:[] a1:1
         0-50 ok: r1:[] r2:[] a2:2
         60-70 ok: r1:[1] r2:[2]",
    );
    assert_eq!(report.anomalies.len(), 1, "{report}");
    assert!(report.has(Kind::WriteSkew));
    let text = report.to_string();
    assert!(text.contains("a cycle of 2 transactions"), "{text}");
    assert!(text.contains("T0 before T1: T0 did not see T1 append 2 to list 2"), "{text}");
    assert!(text.contains("T1 before T0: T1 did not see T0 append 1 to list 1"), "{text}");
    assert_kind(
        Kind::WriteSkew,
        "0-50 ok: q1: q2: w1:1
         0-50 ok: q1: q2: w2:2
         60-70 ok: q1:1 q2:2",
    );
}

/// A cycle over a reader that changes nothing, which snapshot isolation does not prevent either.
#[test]
fn an_anomaly_of_a_reader_alone_is_found() {
    assert_kind(
        Kind::WriteSkew,
        "0-90 ok: r1:[] r2:[] a1:1
         10-20 ok: a2:2
         30-40 ok: r1:[] r2:[2]
         100-110 ok: r1:[1] r2:[2]",
    );
}

#[test]
fn a_stale_read_is_a_violation_of_real_time_alone() {
    assert_kind(
        Kind::RealTime,
        "0-10 ok: a1:1
         20-30 ok: r1:[1]
         40-50 ok: r1:[]",
    );
    assert_kind(Kind::RealTime, "0-10 ok: w1:1\n 20-30 ok: w1:2\n 40-50 ok: q1:1");
    assert_kind(Kind::RealTime, "0-10 ok: w1:1\n 40-50 ok: q1:");
}

/// A minimal cycle is reported, not a long way around.
#[test]
fn the_shortest_cycle_is_reported() {
    let mut text = String::from("0-900 ok: r1:[] r2:[] a1:1\n0-900 ok: r1:[] r2:[] a2:2\n");
    for number in 3..60 {
        text.push_str(&format!("0-900 ok: r{number}:[] a{}:{number}\n", number + 1));
    }
    text.push_str("0-900 ok: r60:[59] a3:100\n");
    let report = checked(&text);
    assert_eq!(report.anomalies[0].kind, Kind::WriteSkew, "{report}");
    assert!(report.anomalies.iter().any(|a| a.description.contains("of 2 transactions")));
}

#[test]
fn a_history_can_be_read_by_others() {
    let history = history("0-10 ok: a1:1 { a1:2 r1:[1,2] } r2:[]\n 5-20 info: w1:3 r1:[1]");
    assert_eq!(
        history.to_jsonl(true),
        "{\"type\":\"invoke\",\"process\":0,\"value\":[[\"append\",1,1],[\"r\",2,null]]}\n\
         {\"type\":\"invoke\",\"process\":1,\"value\":[[\"r\",1,null]]}\n\
         {\"type\":\"ok\",\"process\":0,\"value\":[[\"append\",1,1],[\"r\",2,[]]]}\n\
         {\"type\":\"info\",\"process\":1,\"value\":[[\"r\",1,null]]}\n"
    );
    assert!(history.to_jsonl(false).contains("[[\"w\",1,3]]"));
}
