//! What another implementation of the protocol writes, this one reads: that of tokio-postgres.

use std::io;

use braid_wire::messages::{Frontend, Header, Target};
use bytes::BytesMut;
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend;

fn read(write: impl FnOnce(&mut BytesMut) -> io::Result<()>, check: impl FnOnce(Frontend<'_>)) {
    let mut buffer = BytesMut::new();
    write(&mut buffer).expect("is written");
    let header = Header::read(&buffer, 1 << 20).expect("a header").expect("a whole one");
    let body = &buffer[Header::LEN..];
    assert_eq!(body.len(), header.body_len);
    check(Frontend::parse(header.kind, body).expect("a message"));
}

/// Writes a Bind with binary parameters.
fn bind(values: [Option<&[u8]>; 2], buffer: &mut BytesMut) {
    let value = |value: Option<&[u8]>, buffer: &mut BytesMut| {
        let Some(value) = value else { return Ok(IsNull::Yes) };
        buffer.extend_from_slice(value);
        Ok(IsNull::No)
    };
    let written = frontend::bind("p", "s", [1], values, value, [0, 1], buffer);
    assert!(written.is_ok(), "is written");
}

#[test]
fn its_messages_are_understood() {
    read(
        |buffer| frontend::query("SELECT 'ä'", buffer),
        |message| assert_eq!(message, Frontend::Query("SELECT 'ä'")),
    );
    read(
        |buffer| frontend::parse("s", "SELECT $1", [23, 0], buffer),
        |message| {
            let types = vec![23, 0];
            assert_eq!(message, Frontend::Parse { name: "s", sql: "SELECT $1", types });
        },
    );
    let write_bind = |buffer: &mut BytesMut| {
        bind([Some(b"\x00\x01"), None], buffer);
        Ok(())
    };
    read(write_bind, |message| {
        let Frontend::Bind(bind) = message else { panic!("a Bind") };
        assert_eq!((bind.portal, bind.statement), ("p", "s"));
        assert_eq!(bind.params, vec![Some(&b"\x00\x01"[..]), None]);
        assert_eq!((bind.param_formats, bind.result_formats), (vec![1], vec![0, 1]));
    });
    read(
        |buffer| frontend::describe(b'P', "", buffer),
        |message| assert_eq!(message, Frontend::Describe(Target::Portal(""))),
    );
    read(
        |buffer| frontend::execute("p", 7, buffer),
        |message| assert_eq!(message, Frontend::Execute { portal: "p", rows_max: 7 }),
    );
    let write_sync = |buffer: &mut BytesMut| {
        frontend::sync(buffer);
        Ok(())
    };
    read(write_sync, |message| assert_eq!(message, Frontend::Sync));
}
