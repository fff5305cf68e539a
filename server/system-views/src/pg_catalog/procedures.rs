//! `pg_proc`, `pg_aggregate` and `pg_operator`, from the registry of built-in functions.

use braid_builtins::{Volatility, arg_oid, operators, procedures};
use braid_types::{Datum, Result, Row, SqlType};

use crate::cell::{count, flag, int, letter, text, vector};
use crate::context::{RowsOf, VirtualContext};
use crate::row_builder::RowBuilder;
use braid_catalog::ROOT;

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "pg_proc" => pg_proc,
        "pg_aggregate" => pg_aggregate,
        "pg_operator" => pg_operator,
        _ => return None,
    })
}

fn pg_proc(_: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
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
    for procedure in procedures() {
        let variadic = procedure.args.last().filter(|_| procedure.variadic);
        builder.push([
            int(procedure.oid),
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
            vector(SqlType::Oid, procedure.args.iter().map(|arg| i64::from(arg_oid(arg)))),
            text(procedure.name),
        ]);
    }
    builder.rows()
}

fn pg_aggregate(_: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new("pg_aggregate", &["aggfnoid", "aggkind"]);
    for procedure in procedures().iter().filter(|procedure| procedure.kind == 'a') {
        builder.push([int(procedure.oid), text("n")]);
    }
    builder.rows()
}

fn pg_operator(_: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
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
    for operator in operators() {
        builder.push([
            int(operator.oid),
            text(operator.name),
            int(11),
            int(ROOT),
            text(if operator.left == 0 { "l" } else { "b" }),
            int(operator.left),
            int(operator.right),
            int(operator.result),
        ]);
    }
    builder.rows()
}
