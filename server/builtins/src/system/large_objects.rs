//! The functions of large objects, which `exec` carries out.

use crate::registry::tables::Registry;
use crate::{LargeObjectCall, Special};

pub(super) fn register(registry: &mut Registry) {
    use LargeObjectCall::{
        Close, Creat, Create, FromBytes, Get, Open, Put, Read, Seek, Tell, Truncate, Unlink, Write,
    };
    let signatures = [
        ("lo_create(oid) -> oid volatile", Create),
        ("lo_creat(int4) -> oid volatile", Creat),
        ("lo_open(oid, int4) -> int4 volatile", Open),
        ("lo_close(int4) -> int4 volatile", Close),
        ("loread(int4, int4) -> bytea volatile", Read),
        ("lowrite(int4, bytea) -> int4 volatile", Write),
        ("lo_lseek(int4, int4, int4) -> int4 volatile", Seek { is_wide: false }),
        ("lo_lseek64(int4, int8, int4) -> int8 volatile", Seek { is_wide: true }),
        ("lo_tell(int4) -> int4 volatile", Tell { is_wide: false }),
        ("lo_tell64(int4) -> int8 volatile", Tell { is_wide: true }),
        ("lo_truncate(int4, int4) -> int4 volatile", Truncate),
        ("lo_truncate64(int4, int8) -> int4 volatile", Truncate),
        ("lo_unlink(oid) -> int4 volatile", Unlink),
        ("lo_get(oid) -> bytea volatile", Get),
        ("lo_get(oid, int8, int4) -> bytea volatile", Get),
        ("lo_put(oid, int8, bytea) -> void volatile", Put),
        ("lo_from_bytea(oid, bytea) -> oid volatile", FromBytes),
    ];
    for (signature, call) in signatures {
        registry.special(signature, Special::LargeObject(call));
    }
}
