//! `pg_proc`, with the routines of users; `pg_aggregate` and `pg_operator`.

use braid_builtins::{Operator, Volatility, arg_oid, function_oid, operators, procedures};
use braid_types::sql_type::AnyType;
use braid_types::{Datum, Result, Row, SqlType};

use crate::cell::{acl_items, count, flag, int, letter, optional, text, texts, vector};
use crate::context::{RowsOf, VirtualContext};
use crate::lookup::{DEFAULT_COST, DEFAULT_ROWS};
use crate::row_builder::RowBuilder;
use braid_catalog::{FunctionRef, Object, ParameterMode, ROOT, Routine, RoutineParameter};

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "pg_proc" => pg_proc,
        "pg_aggregate" => pg_aggregate,
        "pg_operator" => pg_operator,
        _ => return None,
    })
}

/// The columns of `pg_proc` that have values.
const PROC_COLUMNS: [&str; 27] = [
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
    "prosecdef",
    "proargtypes",
    "proallargtypes",
    "proargmodes",
    "proargnames",
    "proargdefaults",
    "prosrc",
    "prosqlbody",
    "proconfig",
    "proacl",
];

/// The oid of the pseudo-type that trigger functions return.
const TRIGGER: u32 = 2279;

/// The language of built-in functions, and of aggregates.
const INTERNAL_LANGUAGE: u32 = 12;

fn pg_proc(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new("pg_proc", &PROC_COLUMNS);
    for procedure in procedures() {
        let variadic = procedure.args.last().filter(|_| procedure.variadic);
        builder.push([
            int(procedure.oid),
            text(procedure.name),
            int(11),
            int(ROOT),
            int(INTERNAL_LANGUAGE),
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
            flag(false),
            vector(SqlType::Oid, procedure.args.iter().map(|arg| i64::from(arg_oid(arg)))),
            Datum::Null,
            Datum::Null,
            Datum::Null,
            Datum::Null,
            text(procedure.name),
            Datum::Null,
            Datum::Null,
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
    let is_plain = routine.parameters.iter().all(|known| known.mode == ParameterMode::In);
    let oid = |known: &RoutineParameter| i64::from(known.domain.unwrap_or_else(|| known.ty.oid()));
    let all = routine.parameters.iter().map(|known| Datum::Int(oid(known)));
    let modes = routine.parameters.iter().map(|known| letter_of(known.mode));
    let rows = if routine.returns_set { routine.rows.unwrap_or(DEFAULT_ROWS) } else { 0.0 };
    let config = routine.settings.iter().map(|(name, value)| format!("{name}={value}"));
    let (all, modes): (Vec<Datum>, Vec<Datum>) = (all.collect(), modes.collect());
    let listed = |ty: SqlType, items: Vec<Datum>| match is_plain {
        true => Datum::Null,
        false => Datum::array(ty, items),
    };
    let (kind, language, cost, body) = match &routine.aggregate {
        Some(_) => ('a', INTERNAL_LANGUAGE, 1.0, "aggregate_dummy"),
        None => {
            let kind = if routine.is_procedure { 'p' } else { 'f' };
            (kind, routine.language.oid(), DEFAULT_COST, routine.body.as_str())
        }
    };
    builder.push([
        int(routine.id),
        text(&routine.name),
        int(routine.schema),
        int(routine.owner),
        int(language),
        Datum::Float(routine.cost.unwrap_or(cost)),
        Datum::Float(rows),
        int(routine.variadic().map_or(0, variadic_oid)),
        letter(kind),
        flag(routine.leakproof),
        flag(routine.strict),
        flag(routine.returns_set),
        text(routine.volatility.letter()),
        letter(routine.parallel),
        count(routine.inputs().count()),
        count(defaults.len()),
        int(match routine.result_domain {
            _ if routine.is_for_triggers() => TRIGGER,
            Some(domain) => domain,
            None => routine.result_type().oid(),
        }),
        flag(routine.security_definer),
        vector(SqlType::Oid, routine.inputs().map(oid)),
        listed(SqlType::Oid, all),
        listed(SqlType::InternalChar, modes),
        texts(names),
        optional((!defaults.is_empty()).then(|| defaults.join(", "))),
        text(body),
        optional(routine.standard.map(|_| routine.body.clone())),
        texts((!routine.settings.is_empty()).then(|| config.collect())),
        acl_items(cx.catalog.privileges().acl(Object::Routine(routine))),
    ]);
}

fn letter_of(mode: ParameterMode) -> Datum {
    Datum::text(mode.letter())
}

/// The type of the elements of a VARIADIC parameter.
fn variadic_oid(array: &SqlType) -> u32 {
    match array {
        SqlType::Any(AnyType::Array) => SqlType::Any(AnyType::Element).oid(),
        SqlType::Any(AnyType::CompatibleArray) => SqlType::Any(AnyType::Compatible).oid(),
        other => other.element().map_or(0, SqlType::oid),
    }
}

fn pg_aggregate(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "pg_aggregate",
        &[
            "aggfnoid",
            "aggkind",
            "aggnumdirectargs",
            "aggtransfn",
            "aggfinalfn",
            "aggcombinefn",
            "aggfinalextra",
            "aggfinalmodify",
            "aggmfinalmodify",
            "aggsortop",
            "aggtranstype",
            "aggtransspace",
            "aggmtransspace",
            "agginitval",
        ],
    );
    let function = |part: Option<&FunctionRef>| match part {
        None => int(0),
        Some(FunctionRef::BuiltIn(name)) => int(function_oid(name)),
        Some(FunctionRef::Routine(id)) => int(*id),
    };
    for procedure in procedures().iter().filter(|procedure| procedure.kind == 'a') {
        builder.push([
            int(procedure.oid),
            text("n"),
            int(0),
            int(0),
            int(0),
            int(0),
            flag(false),
            text("r"),
            text("r"),
            int(0),
            int(0),
            int(0),
            int(0),
            Datum::Null,
        ]);
    }
    for routine in cx.catalog.names().routines().in_database(cx.path.database) {
        let Some(parts) = &routine.aggregate else { continue };
        builder.push([
            int(routine.id),
            text("n"),
            int(0),
            function(Some(&parts.step)),
            function(parts.finish.as_ref()),
            function(parts.combine.as_ref()),
            flag(parts.finish_takes_arguments),
            letter(parts.finish_modifies),
            text("r"),
            int(sort_operator(routine)),
            int(parts.state.oid()),
            Datum::Int(i64::from(parts.state_bytes)),
            int(0),
            optional(parts.initial.clone()),
        ]);
    }
    builder.rows()
}

/// The number of an aggregate's sort operator over its only argument; 0 without one.
fn sort_operator(routine: &Routine) -> u32 {
    let symbol = routine.aggregate.as_ref().and_then(|parts| parts.sort_operator.as_deref());
    let (Some(symbol), Some(argument)) = (symbol, routine.types().next()) else { return 0 };
    let oid = argument.oid();
    let of_argument =
        |known: &&Operator| known.name == symbol && known.left == oid && known.right == oid;
    operators().iter().find(of_argument).map_or(0, |found| found.oid)
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
            "oprcode",
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
            int(operator.code),
        ]);
    }
    builder.rows()
}
