//! `information_schema.routines` and `parameters`: functions and procedures of users.

use std::sync::Arc;

use braid_catalog::{Language, Object, ParameterMode, ROOT, Routine, RoutineVolatility};
use braid_types::{Datum, Result, Row, SqlType};

use crate::access::may_see;
use crate::cell::{count, optional, text, yes_no};
use crate::context::{RowsOf, VirtualContext};
use crate::information_schema::columns::{data_type, schema_of};
use crate::information_schema::privileges::grantee;
use crate::information_schema::tables::database;
use crate::row_builder::RowBuilder;

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "routines" => routines,
        "parameters" => parameters,
        "routine_privileges" => |cx| routine_grants(cx, "information_schema.routine_privileges"),
        "role_routine_grants" => |cx| routine_grants(cx, "information_schema.role_routine_grants"),
        _ => return None,
    })
}

fn visible<'c>(cx: &'c VirtualContext<'_>) -> impl Iterator<Item = &'c Arc<Routine>> {
    let all = cx.catalog.names().routines().in_database(cx.path.database);
    all.filter(|routine| may_see(cx, Object::Routine(routine)))
}

/// Who may call the routines of users.
fn routine_grants(cx: &VirtualContext<'_>, name: &str) -> Result<Vec<Row>> {
    let columns = [
        "grantor",
        "grantee",
        "specific_catalog",
        "specific_schema",
        "specific_name",
        "routine_catalog",
        "routine_schema",
        "routine_name",
        "privilege_type",
        "is_grantable",
    ];
    let mut builder = RowBuilder::new(name, &columns);
    for routine in visible(cx) {
        let granted = routine.grants.iter().map(|grant| (grant.role, grant.grant_option));
        for (role, option) in std::iter::once((routine.owner, true)).chain(granted) {
            let schema = text(cx.catalog.schema_name(routine.schema));
            builder.push([
                text(cx.catalog.role_name(routine.owner)),
                grantee(cx, role),
                database(cx),
                schema.clone(),
                specific_name(routine),
                database(cx),
                schema,
                text(&routine.name),
                text("EXECUTE"),
                yes_no(option),
            ]);
        }
    }
    builder.rows()
}

/// The name that no other routine has.
fn specific_name(routine: &Routine) -> Datum {
    text(format!("{}_{}", routine.name, routine.id))
}

/// What it is; NULL for an aggregate.
fn kind(routine: &Routine) -> Datum {
    match (&routine.aggregate, routine.is_procedure) {
        (Some(_), _) => Datum::Null,
        (None, true) => text("PROCEDURE"),
        (None, false) => text("FUNCTION"),
    }
}

fn routines(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "information_schema.routines",
        &[
            "specific_catalog",
            "specific_schema",
            "specific_name",
            "routine_catalog",
            "routine_schema",
            "routine_name",
            "routine_type",
            "data_type",
            "type_udt_catalog",
            "type_udt_schema",
            "type_udt_name",
            "dtd_identifier",
            "routine_body",
            "routine_definition",
            "external_language",
            "parameter_style",
            "is_deterministic",
            "sql_data_access",
            "is_null_call",
            "schema_level_routine",
            "max_dynamic_result_sets",
            "security_type",
            "as_locator",
            "is_udt_dependent",
        ],
    );
    let user = cx.env.current_user();
    let role = cx.catalog.names().role(user).map_or(ROOT, |role| role.id);
    for routine in visible(cx) {
        let schema = text(cx.catalog.schema_name(routine.schema));
        let ty = (!routine.is_procedure).then(|| routine.result_type());
        let is_trigger = routine.is_for_triggers();
        let is_sql = routine.language == Language::Sql && routine.aggregate.is_none();
        let owns = cx.catalog.privileges().acts_as(role, routine.owner);
        let of_type = |value: fn(&VirtualContext<'_>, &SqlType) -> Datum| {
            ty.map_or(Datum::Null, |ty| value(cx, ty))
        };
        builder.push([
            database(cx),
            schema.clone(),
            specific_name(routine),
            database(cx),
            schema,
            text(&routine.name),
            kind(routine),
            if is_trigger { text("trigger") } else { of_type(|_, ty| data_type(ty)) },
            of_type(|cx, _| database(cx)),
            if is_trigger { text("pg_catalog") } else { of_type(|cx, ty| text(schema_of(cx, ty))) },
            if is_trigger { text("trigger") } else { of_type(|_, ty| text(ty.short_name())) },
            of_type(|_, _| text("0")),
            text(if is_sql { "SQL" } else { "EXTERNAL" }),
            optional((owns && routine.standard.is_none()).then_some(&routine.body)),
            text(routine.language.name().to_uppercase()),
            text("GENERAL"),
            yes_no(routine.volatility == RoutineVolatility::Immutable),
            text("MODIFIES"),
            ty.map_or(Datum::Null, |_| yes_no(routine.strict)),
            text("YES"),
            count(0),
            text(if routine.security_definer { "DEFINER" } else { "INVOKER" }),
            text("NO"),
            text("NO"),
        ]);
    }
    builder.rows()
}

fn parameters(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "information_schema.parameters",
        &[
            "specific_catalog",
            "specific_schema",
            "specific_name",
            "ordinal_position",
            "parameter_mode",
            "is_result",
            "as_locator",
            "parameter_name",
            "data_type",
            "udt_catalog",
            "udt_schema",
            "udt_name",
            "dtd_identifier",
            "parameter_default",
        ],
    );
    for routine in visible(cx) {
        for (place, parameter) in routine.parameters.iter().enumerate() {
            let mode = match parameter.mode {
                ParameterMode::In | ParameterMode::Variadic => "IN",
                ParameterMode::InOut => "INOUT",
                ParameterMode::Out | ParameterMode::Table => "OUT",
            };
            builder.push([
                database(cx),
                text(cx.catalog.schema_name(routine.schema)),
                specific_name(routine),
                count(place + 1),
                text(mode),
                text("NO"),
                text("NO"),
                optional(parameter.name.as_deref()),
                data_type(&parameter.ty),
                database(cx),
                text(schema_of(cx, &parameter.ty)),
                text(parameter.ty.short_name()),
                text((place + 1).to_string()),
                optional(cx.names().parameter_default(routine, place)),
            ]);
        }
    }
    builder.rows()
}
