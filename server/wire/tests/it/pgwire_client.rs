//! What another implementation of the protocol writes, this one reads.

use braid_wire::messages::{Frontend, Header, Target};
use bytes::{Bytes, BytesMut};
use pgwire::messages::Message;
use pgwire::messages::extendedquery::{Bind, Describe, Execute, Parse, Sync};
use pgwire::messages::simplequery::Query;

fn read<M: Message>(message: M, check: impl FnOnce(Frontend<'_>)) {
    let mut buffer = BytesMut::new();
    message.encode(&mut buffer).expect("encodes");
    let header = Header::read(&buffer, 1 << 20).expect("a header").expect("a whole one");
    let body = &buffer[Header::LEN..];
    assert_eq!(body.len(), header.body_len);
    check(Frontend::parse(header.kind, body).expect("a message"));
}

#[test]
fn its_messages_are_understood() {
    read(Query::new("SELECT 'ä'".to_owned()), |message| {
        assert_eq!(message, Frontend::Query("SELECT 'ä'"));
    });
    let parse = Parse::new(Some("s".to_owned()), "SELECT $1".to_owned(), vec![23, 0]);
    read(parse, |message| {
        let types = vec![23, 0];
        assert_eq!(message, Frontend::Parse { name: "s", sql: "SELECT $1", types });
    });
    let values = vec![Some(Bytes::from_static(b"\x00\x01")), None];
    let bind = Bind::new(Some("p".to_owned()), Some("s".to_owned()), vec![1], values, vec![0, 1]);
    read(bind, |message| {
        let Frontend::Bind(bind) = message else { panic!("a Bind") };
        assert_eq!((bind.portal, bind.statement), ("p", "s"));
        assert_eq!(bind.params, vec![Some(&b"\x00\x01"[..]), None]);
        assert_eq!((bind.param_formats, bind.result_formats), (vec![1], vec![0, 1]));
    });
    read(Describe::new(b'P', None), |message| {
        assert_eq!(message, Frontend::Describe(Target::Portal("")));
    });
    read(Execute::new(Some("p".to_owned()), 7), |message| {
        assert_eq!(message, Frontend::Execute { portal: "p", rows_max: 7 });
    });
    read(Sync::new(), |message| assert_eq!(message, Frontend::Sync));
}
