//! PostgreSQL's input functions. They cannot be called here, but drivers tell types by them: all
//! arrays have `array_in`.

use super::reg::function_oid;

/// Their names.
pub(crate) const INPUT_FUNCTIONS: &[&str] = &[
    "aclitemin",
    "any_in",
    "anyarray_in",
    "anycompatible_in",
    "anycompatiblearray_in",
    "anycompatiblemultirange_in",
    "anycompatiblenonarray_in",
    "anycompatiblerange_in",
    "anyelement_in",
    "anyenum_in",
    "anymultirange_in",
    "anynonarray_in",
    "anyrange_in",
    "array_in",
    "bit_in",
    "boolin",
    "bpcharin",
    "byteain",
    "charin",
    "cidin",
    "cidr_in",
    "citextin",
    "cstring_in",
    "date_in",
    "enum_in",
    "event_trigger_in",
    "fdw_handler_in",
    "float4in",
    "float8in",
    "hstore_in",
    "index_am_handler_in",
    "inet_in",
    "int2in",
    "int2vectorin",
    "int4in",
    "int8in",
    "internal_in",
    "interval_in",
    "json_in",
    "jsonb_in",
    "jsonpath_in",
    "language_handler_in",
    "macaddr8_in",
    "macaddr_in",
    "multirange_in",
    "namein",
    "numeric_in",
    "oidin",
    "oidvectorin",
    "pg_ddl_command_in",
    "pg_lsn_in",
    "range_in",
    "record_in",
    "regclassin",
    "regcollationin",
    "regnamespacein",
    "regoperatorin",
    "regoperin",
    "regprocedurein",
    "regprocin",
    "regrolein",
    "regtypein",
    "table_am_handler_in",
    "textin",
    "tidin",
    "time_in",
    "timestamp_in",
    "timestamptz_in",
    "timetz_in",
    "trigger_in",
    "tsm_handler_in",
    "unknownin",
    "uuid_in",
    "varbit_in",
    "varcharin",
    "void_in",
    "xid8in",
    "xidin",
];

/// The oid of the input function of a type by its name in `pg_type`; 0 for a type that PostgreSQL
/// does not have.
pub fn input_function(name: &str) -> u32 {
    let known = |name: &str| INPUT_FUNCTIONS.contains(&name);
    if name.starts_with('_') {
        return function_oid("array_in");
    }
    let found = [format!("{name}in"), format!("{name}_in")].into_iter().find(|name| known(name));
    found.map_or(0, |name| function_oid(&name))
}
