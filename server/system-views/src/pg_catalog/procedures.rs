//! `pg_proc`, with the routines of users; `pg_aggregate` and `pg_operator`.

use braid_builtins::{Volatility, arg_oid, operators, procedures};
use braid_types::{Datum, Result, Row, SqlType};

use crate::cell::{acl_items, count, flag, int, letter, optional, text, texts, vector};
use crate::context::{RowsOf, VirtualContext};
use crate::lookup::DEFAULT_COST;
use crate::row_builder::RowBuilder;
use braid_catalog::{Object, ROOT, Routine, RoutineParameter};

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "pg_proc" => pg_proc,
        "pg_aggregate" => pg_aggregate,
        "pg_operator" => pg_operator,
        _ => return None,
    })
}

/// The oid of the pseudo-type that trigger functions return.
const TRIGGER: u32 = 2279;

fn pg_proc(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
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
            "proleakproof",
            "proisstrict",
            "proretset",
            "provolatile",
            "proparallel",
            "pronargs",
            "pronargdefaults",
            "prorettype",
            "proargtypes",
            "proargnames",
            "proargdefaults",
            "prosrc",
            "proacl",
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
            flag(false),
            flag(procedure.strict),
            flag(procedure.set),
            text(match procedure.volatility {
                Volatility::Immutable => "i",
                Volatility::Stable => "s",
                Volatility::Volatile => "v",
            }),
            text("s"),
            count(procedure.args.len()),
            int(0),
            int(procedure.returns),
            vector(SqlType::Oid, procedure.args.iter().map(|arg| i64::from(arg_oid(arg)))),
            Datum::Null,
            Datum::Null,
            text(procedure.name),
            Datum::Null,
        ]);
    }
    for routine in cx.catalog.names().routines().in_database(cx.path.database) {
        push_routine(&mut builder, cx, routine);
    }
    builder.rows()
}

/// A function or procedure of a user.
fn push_routine(builder: &mut RowBuilder, cx: &VirtualContext<'_>, routine: &Routine) {
    let has_names = routine.parameters.iter().any(|parameter| parameter.name.is_some());
    let name = |parameter: &RoutineParameter| parameter.name.clone().unwrap_or_default();
    let names = has_names.then(|| routine.parameters.iter().map(name).collect());
    let places = 0..routine.parameters.len();
    let defaults: Vec<String> =
        places.filter_map(|place| cx.names().parameter_default(routine, place)).collect();
    builder.push([
        int(routine.id),
        text(&routine.name),
        int(routine.schema),
        int(routine.owner),
        int(routine.language.oid()),
        Datum::Float(routine.cost.unwrap_or(DEFAULT_COST)),
        Datum::Float(0.0),
        int(0),
        letter(if routine.is_procedure { 'p' } else { 'f' }),
        flag(routine.leakproof),
        flag(routine.strict),
        flag(false),
        text(routine.volatility.letter()),
        letter(routine.parallel),
        count(routine.parameters.len()),
        count(defaults.len()),
        int(if routine.is_for_triggers() { TRIGGER } else { routine.result_type().oid() }),
        vector(SqlType::Oid, routine.types().map(|ty| i64::from(ty.oid()))),
        texts(names),
        optional((!defaults.is_empty()).then(|| defaults.join(", "))),
        text(&routine.body),
        acl_items(cx.catalog.privileges().acl(Object::Routine(routine))),
    ]);
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
