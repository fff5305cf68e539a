//! `pg_proc`, `pg_aggregate` and `pg_operator`, from the registry of built-in functions.

use std::collections::HashSet;

use braid_builtins::{
    Arg, Returns, Volatility, all_aggregates, all_functions, all_set_functions, function_oid,
};
use braid_types::{Datum, Result, Row, SqlType};

use super::registry::{RowsOf, VirtualContext};
use super::sheet::{Sheet, count, flag, int, letter, text, vector};
use crate::ROOT;

pub(super) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "pg_proc" => pg_proc,
        "pg_aggregate" => pg_aggregate,
        "pg_operator" => pg_operator,
        _ => return None,
    })
}

/// PostgreSQL's pseudo-types.
const ANY: u32 = 2276;
const ANYELEMENT: u32 = 2283;
const ANYARRAY: u32 = 2277;
const ANYNONARRAY: u32 = 2776;
const ANYCOMPATIBLE: u32 = 5077;
const ANYCOMPATIBLEARRAY: u32 = 5078;

fn arg_oid(arg: &Arg) -> i64 {
    i64::from(match arg {
        Arg::Is(ty) => ty.oid(),
        Arg::Any => ANY,
        Arg::Element => ANYELEMENT,
        Arg::Array => ANYARRAY,
        Arg::NonArray => ANYNONARRAY,
        Arg::Compatible => ANYCOMPATIBLE,
        Arg::CompatibleArray => ANYCOMPATIBLEARRAY,
    })
}

fn returns_oid(returns: &Returns) -> u32 {
    match returns {
        Returns::Is(ty) => ty.oid(),
        Returns::Element => ANYELEMENT,
        Returns::Array => ANYARRAY,
        Returns::Compatible => ANYCOMPATIBLE,
        Returns::CompatibleArray => ANYCOMPATIBLEARRAY,
    }
}

/// An operator's name has no letter in it.
fn is_operator(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

struct Procedure<'a> {
    name: &'a str,
    kind: char,
    args: &'a [Arg],
    variadic: bool,
    returns: u32,
    strict: bool,
    set: bool,
    volatility: Volatility,
}

/// Gives each overload an oid: the first of a name has the one that `regproc` knows.
struct Oids(HashSet<u32>);

impl Oids {
    fn next(&mut self, name: &str) -> u32 {
        let mut oid = function_oid(name);
        while !self.0.insert(oid) {
            oid = oid.wrapping_add(1) | 0xf000_0000;
        }
        oid
    }
}

fn procedures() -> Vec<Procedure<'static>> {
    let functions = all_functions().into_iter().filter(|function| !is_operator(function.name));
    let functions = functions.map(|function| Procedure {
        name: function.name,
        kind: 'f',
        args: &function.args,
        variadic: function.variadic,
        returns: returns_oid(&function.returns),
        strict: function.strict,
        set: false,
        volatility: function.volatility,
    });
    let sets = all_set_functions().into_iter().map(|function| Procedure {
        name: function.name,
        kind: 'f',
        args: &function.args,
        variadic: function.variadic,
        returns: match function.columns.as_slice() {
            [(_, returns)] => returns_oid(returns),
            _ => SqlType::Record(Vec::new()).oid(),
        },
        strict: function.strict,
        set: true,
        volatility: Volatility::Immutable,
    });
    let aggregates = all_aggregates().into_iter().map(|(aggregate, args, returns)| Procedure {
        name: aggregate.name,
        kind: 'a',
        args,
        variadic: false,
        returns: returns_oid(returns),
        strict: false,
        set: false,
        volatility: Volatility::Immutable,
    });
    functions.chain(sets).chain(aggregates).collect()
}

fn pg_proc(_: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut sheet = Sheet::new(
        "pg_proc",
        &[
            "oid",
            "proname",
            "pronamespace",
            "proowner",
            "prolang",
            "procost",
            "prorows",
            "provariadic",
            "prokind",
            "proisstrict",
            "proretset",
            "provolatile",
            "proparallel",
            "pronargs",
            "prorettype",
            "proargtypes",
            "prosrc",
        ],
    );
    let mut oids = Oids(HashSet::new());
    for procedure in procedures() {
        let variadic = procedure.args.last().filter(|_| procedure.variadic);
        sheet.push([
            int(oids.next(procedure.name)),
            text(procedure.name),
            int(11),
            int(ROOT),
            int(12),
            Datum::Float(1.0),
            Datum::Float(if procedure.set { 1000.0 } else { 0.0 }),
            variadic.map_or(int(0), |arg| int(arg_oid(arg))),
            letter(procedure.kind),
            flag(procedure.strict),
            flag(procedure.set),
            text(match procedure.volatility {
                Volatility::Immutable => "i",
                Volatility::Stable => "s",
                Volatility::Volatile => "v",
            }),
            text("s"),
            count(procedure.args.len()),
            int(procedure.returns),
            vector(SqlType::Oid, procedure.args.iter().map(arg_oid)),
            text(procedure.name),
        ]);
    }
    sheet.rows()
}

fn pg_aggregate(_: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut sheet = Sheet::new("pg_aggregate", &["aggfnoid", "aggkind"]);
    let mut oids = Oids(HashSet::new());
    for procedure in procedures() {
        let oid = oids.next(procedure.name);
        if procedure.kind == 'a' {
            sheet.push([int(oid), text("n")]);
        }
    }
    sheet.rows()
}

fn pg_operator(_: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut sheet = Sheet::new(
        "pg_operator",
        &[
            "oid",
            "oprname",
            "oprnamespace",
            "oprowner",
            "oprkind",
            "oprleft",
            "oprright",
            "oprresult",
        ],
    );
    let mut oids = Oids(HashSet::new());
    for function in all_functions().into_iter().filter(|function| is_operator(function.name)) {
        let (kind, left, right) = match function.args.as_slice() {
            [right] => ("l", 0, arg_oid(right)),
            [left, right] => ("b", arg_oid(left), arg_oid(right)),
            _ => continue,
        };
        sheet.push([
            int(oids.next(function.name)),
            text(function.name),
            int(11),
            int(ROOT),
            text(kind),
            int(left),
            int(right),
            int(returns_oid(&function.returns)),
        ]);
    }
    sheet.rows()
}
