//! Fuzz target: messages of a client.
//!
//! Bounded under `cargo test`. For longer, with no other tool:
//! `BOLERO_RANDOM_TEST_TIME_MS=600000
//! cargo test --release -p braid-wire --test it -- fuzz_messages::`.
//! What was found stays here as a test of its own.

use braid_wire::messages::{Bind, Frontend, Header, Startup, Target, parse_startup};

const BODY_MAX: usize = 1 << 16;
const KINDS: &[u8; 14] = b"BCDEFHPQSXcdfp";

/// A stream of bytes, read as the connection reads it: header, body, header, body…
fn check_stream(mut bytes: &[u8]) {
    while let Ok(Some(header)) = Header::read(bytes, BODY_MAX) {
        assert!(header.body_len <= BODY_MAX);
        let Some(body) = bytes[Header::LEN..].get(..header.body_len) else { return };
        check_message(header.kind, body);
        bytes = &bytes[Header::LEN + header.body_len..];
    }
}

fn check_message(kind: u8, body: &[u8]) {
    let Ok(message) = Frontend::parse(kind, body) else { return };
    if let Some(written) = write(&message) {
        assert_eq!(written, body, "{message:?} reads back");
    }
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

fn put_codes(out: &mut Vec<u8>, codes: &[i16]) {
    out.extend((codes.len() as u16).to_be_bytes());
    codes.iter().for_each(|code| out.extend(code.to_be_bytes()));
}

/// The body of a message, for those whose fields tell all of it.
fn write(message: &Frontend<'_>) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    match message {
        Frontend::Query(sql) => put_text(&mut out, sql),
        Frontend::Parse { name, sql, types } => {
            put_text(&mut out, name);
            put_text(&mut out, sql);
            out.extend((types.len() as u16).to_be_bytes());
            types.iter().for_each(|oid| out.extend(oid.to_be_bytes()));
        }
        Frontend::Bind(Bind { portal, statement, param_formats, params, result_formats }) => {
            put_text(&mut out, portal);
            put_text(&mut out, statement);
            put_codes(&mut out, param_formats);
            out.extend((params.len() as u16).to_be_bytes());
            for param in params {
                let len = param.map_or(-1, |param| param.len() as i32);
                out.extend(len.to_be_bytes());
                out.extend_from_slice(param.unwrap_or_default());
            }
            put_codes(&mut out, result_formats);
        }
        Frontend::Describe(target) | Frontend::Close(target) => {
            let (kind, name) = match target {
                Target::Statement(name) => (b'S', name),
                Target::Portal(name) => (b'P', name),
            };
            out.push(kind);
            put_text(&mut out, name);
        }
        Frontend::CopyFail(reason) => put_text(&mut out, reason),
        // Negative row counts read as 0, so Execute does not say which it was.
        _ => return None,
    }
    Some(out)
}

#[test]
fn any_stream() {
    bolero::check!().for_each(check_stream);
}

#[test]
fn any_body_of_any_kind() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let Some((kind, body)) = bytes.split_first() else { return };
        check_message(KINDS[usize::from(*kind) % KINDS.len()], body);
    });
}

/// Fields that are mostly right: names, counts and lengths come from small numbers.
#[test]
fn nearly_right_bodies() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let Some((kind, rest)) = bytes.split_first() else { return };
        let mut body = Vec::new();
        for byte in rest {
            match byte % 8 {
                0 => body.push(0),
                1 => body.extend([0, byte >> 6]),
                2 => body.extend([0, 0, 0, byte >> 5]),
                3 => body.extend([0xff; 4]),
                4 => body.extend(b"S\0"),
                5 => body.extend(b"abc\0"),
                6 => body.extend((-i32::from(*byte)).to_be_bytes()),
                _ => body.push(*byte),
            }
        }
        check_message(KINDS[usize::from(*kind) % KINDS.len()], &body);
    });
}

#[test]
fn any_start() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let _ = parse_startup(bytes);
        let version = [&[0, 3, 0, 0], bytes].concat();
        if let Ok(Startup::Session { parameters, .. }) = parse_startup(&version) {
            let text: usize = parameters.iter().map(|(name, value)| name.len() + value.len()).sum();
            assert!(text < bytes.len());
        }
    });
}
