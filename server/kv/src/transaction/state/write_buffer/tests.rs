//! The write buffer beside a plain list of everything that was written.

use super::*;

const KEYS: u8 = 10;

/// A plain list of everything that was written.
#[derive(Clone, Default)]
struct List(Vec<(u32, Span, Option<u64>)>);

impl List {
    /// What the list says about a key: untouched, deleted or put.
    fn get(&self, seq: u32, key: &[u8]) -> Option<Option<u64>> {
        let seen = self.0.iter().filter(|(s, span, _)| *s < seq && span.contains(key));
        // Of one statement, the last one counts.
        seen.enumerate().max_by_key(|(i, op)| (op.0, *i)).map(|(_, op)| op.2)
    }
}

fn as_number(value: &Value) -> u64 {
    u64::from_be_bytes(value.as_ref().try_into().expect("the test writes numbers"))
}

/// Looks at every key, and at every range, from some statements.
fn check(buffer: &mut WriteBuffer, list: &List, seqs: &[u32]) {
    for seq in seqs.iter().copied().map(Seq) {
        for key in 0..KEYS {
            let expected = match list.get(seq.0, &[key]) {
                None => Buffered::Untouched,
                Some(None) => Buffered::Deleted,
                Some(Some(n)) => Buffered::Put(Value::copy_from_slice(&n.to_be_bytes())),
            };
            assert_eq!(buffer.get(seq, &[key]), expected);
        }
        for from in 0..KEYS {
            let span = Span::new([from], [from + 3]);
            let overlay = buffer.overlay(seq, &span);
            for key in from..from + 3 {
                let own = overlay.ops.iter().find(|(k, _)| **k == [key]);
                let seen = match own {
                    Some((_, value)) => Some(value.as_ref().map(as_number)),
                    None => overlay.deleted.contains(&[key]).then_some(None),
                };
                assert_eq!(seen, list.get(seq.0, &[key]));
            }
            let touched = (from..from + 3).any(|key| list.get(seq.0, &[key]).is_some());
            assert_eq!(buffer.touches(seq, &span), touched);
        }
    }
}

/// Puts, deletes, range deletes, savepoints and restarts: the buffer says what a list says.
#[test]
fn buffer_answers_like_a_list_through_savepoints_and_restarts() {
    let mut seed = 5u64;
    let mut random = |n: u64| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) % n
    };
    for round in 0..80 {
        let (mut buffer, mut list) = (WriteBuffer::default(), List::default());
        // In every other round, writes are collected, and looked at now and then.
        let collects = round % 2 == 1;
        buffer.late_from = if collects { 0 } else { LATE_FROM };
        let mut savepoints: Vec<(BufferMark, u32)> = Vec::new();
        let mut number = 0;
        for _ in 0..40 {
            number += 1;
            let key = random(KEYS.into()) as u8;
            let span = Span::new([key], [key + 1 + random(6) as u8]);
            // Now and then an earlier statement goes on beside the newest one. The two never
            // write the same key.
            let earlier = number.max(3) - 2;
            let is_later = |op: &(u32, Span, _)| op.0 > earlier << 1 && op.1.overlaps(&span);
            let goes_on = random(5) == 0 && !list.0.iter().any(is_later);
            let seq = Seq(if goes_on { earlier } else { number } << 1);
            match random(6) {
                0 => {
                    buffer.write_span(seq, span.clone(), false);
                    list.0.push((seq.0, span, None));
                }
                1 => savepoints.push((buffer.savepoint(number << 1), number << 1)),
                2 => {
                    if let Some((savepoint, seq)) = savepoints.pop() {
                        buffer.rollback_to(savepoint);
                        list.0.retain(|op| op.0 <= seq);
                    }
                }
                3 => {
                    buffer.forget_statement(seq);
                    list.0.retain(|op| op.0 != seq.0);
                }
                _ => {
                    let n = random(1_000);
                    let value = (random(3) > 0).then_some(n);
                    let bytes = value.map(|n| Value::copy_from_slice(&n.to_be_bytes()));
                    buffer.write(seq, &[key], bytes).expect("no later write of the key");
                    list.0.push((seq.0, Span::key([key]), value));
                }
            }
            if !collects || random(4) == 0 {
                check(&mut buffer, &list, &[2, number, number << 1, (number << 1) | 1]);
                check(&mut buffer, &list, &[u32::MAX]);
            }
        }
        buffer.rollback_to(WriteBuffer::default().savepoint(0));
        assert!(buffer.is_empty());
        assert_eq!(buffer.bytes(), 0);
    }
}

#[test]
fn taking_back_keeps_the_mark_of_checked_duties_right() {
    let mut buffer = WriteBuffer::default();
    let new = |buffer: &mut WriteBuffer, seq: u32, key: u8| {
        buffer.write_new(Seq(seq), &[key], Value::new()).expect("a new key");
    };
    let left =
        |buffer: &WriteBuffer| -> Vec<u8> { buffer.unchecked().map(|duty| duty.key[0]).collect() };
    (1..=4).for_each(|i| new(&mut buffer, 2 * i, i as u8));
    let savepoint = buffer.savepoint(8);
    buffer.add_checked(4);
    new(&mut buffer, 10, 5);
    new(&mut buffer, 8, 6);
    new(&mut buffer, 10, 7);
    assert_eq!(left(&buffer), [5, 6, 7]);
    buffer.forget_statement(Seq(4));
    assert_eq!(left(&buffer), [5, 6, 7]);
    buffer.rollback_to(savepoint);
    assert_eq!(left(&buffer), [6]);
}

/// Keys in no order, put and deleted by statements of many writes, beside a buffer that
/// collects nothing.
#[test]
fn collected_writes_are_the_same_writes() {
    let (mut late, mut plain) = (WriteBuffer::default(), WriteBuffer::default());
    plain.late_from = usize::MAX;
    late.late_from = 200;
    let key = |i: u64| (i.wrapping_mul(7919) % 1_009).to_be_bytes();
    let mut collected = 0;
    for statement in 1..=4u64 {
        let seq = Seq((statement << 1) as u32);
        for i in 0..1_500 {
            let key = key(i * statement);
            let value = (i % 3 > 0).then(|| Value::copy_from_slice(&i.to_be_bytes()));
            for buffer in [&mut late, &mut plain] {
                buffer.write(seq, &key, value.clone()).expect("no later write");
            }
            collected += usize::from(!late.late.is_empty());
        }
        assert_eq!(late.get(seq, &key(3)), plain.get(seq, &key(3)));
        if statement == 3 {
            late.forget_statement(seq);
            plain.forget_statement(seq);
            assert_eq!(late.bytes(), plain.bytes());
        }
    }
    assert!(collected > 1_000, "{collected}");
    late.write_new(Seq(10), &[9; 20], Value::new()).expect("a new key");
    plain.write_new(Seq(10), &[9; 20], Value::new()).expect("a new key");
    assert_eq!(late.bytes(), plain.bytes());
    assert_eq!(late.drain().2, plain.drain().2);
}
