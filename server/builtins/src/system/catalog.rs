//! Names and definitions of catalog objects: `format_type`, `pg_get_indexdef`, comments,
//! visibility, `to_regclass`.

use braid_types::{Datum, Error, Result, SqlState, SqlType};

use crate::names::procedures::{Procedure, procedure};
use crate::names::reg::lookup_name;
use crate::names::type_names::{type_is_visible, type_name, with_schema};
use crate::registry::call::text;
use crate::registry::tables::Registry;
use crate::strings::{split_identifier, split_object_name};
use crate::{Call, Writable};

fn or_null(value: Option<String>) -> Result<Datum> {
    Ok(value.map_or(Datum::Null, Datum::text))
}

/// Whether a type's modifier is one of times.
fn is_time(ty: &SqlType) -> bool {
    matches!(
        ty.innermost(),
        SqlType::Time
            | SqlType::Timetz
            | SqlType::Timestamp
            | SqlType::Timestamptz
            | SqlType::Interval
    )
}

fn format_type(call: &Call<'_>) -> Result<Datum> {
    if call.is_null(0) {
        return Ok(Datum::Null);
    }
    let oid = call.oid(0)?;
    if oid == 0 {
        return text("-");
    }
    let Some(ty) = SqlType::from_oid(oid) else {
        return text(type_name(oid, call.env.lookup()).unwrap_or_else(|| "???".to_owned()));
    };
    match call.datum(1) {
        Datum::Int(-1) if matches!(ty, SqlType::Char(_)) => text("bpchar"),
        Datum::Int(typmod) if *typmod >= 0 && is_time(&ty) => {
            text(braid_types::datetime::typmod::type_name(&ty, *typmod as i32))
        }
        Datum::Int(typmod) => {
            let name = ty.clone().with_typmod(*typmod as i32).display_name();
            text(with_schema(&ty, name, call.env.lookup()))
        }
        _ => text(with_schema(&ty, ty.plain_name().to_owned(), call.env.lookup())),
    }
}

fn view_definition(call: &Call<'_>) -> Result<Datum> {
    let oid = match call.datum(0) {
        Datum::Text(name) => {
            let found = crate::cast_reg(
                &Datum::Text(name.clone()),
                &SqlType::Text,
                &SqlType::Regclass,
                call.env,
            )?;
            u32::try_from(found.as_int().unwrap_or(0)).unwrap_or(0)
        }
        _ => call.oid(0)?,
    };
    // A column to wrap at asks for the pretty form, too.
    let (pretty, wrap) = match call.args.get(1).map(|_| call.datum(1)) {
        None => (false, 0),
        Some(Datum::Bool(pretty)) => (*pretty, 0),
        Some(Datum::Int(wrap)) => (true, i32::try_from(*wrap).unwrap_or(0)),
        Some(_) => return Ok(Datum::Null),
    };
    or_null(call.env.lookup().view_definition(oid, pretty, wrap))
}

fn index_definition(call: &Call<'_>) -> Result<Datum> {
    let column = if call.args.len() > 1 { call.int4(1)? } else { 0 };
    let pretty = is_pretty(call, 2);
    or_null(call.env.lookup().index_definition(call.oid(0)?, column, pretty))
}

/// Whether an argument asks for a text without parentheses that are not needed.
fn is_pretty(call: &Call<'_>, index: usize) -> bool {
    index < call.args.len() && call.datum(index).as_bool() == Some(true)
}

fn expression(call: &Call<'_>) -> Result<Datum> {
    let (node, relation) = (call.text(0)?, call.oid(1)?);
    or_null(call.env.lookup().expression(node, relation, is_pretty(call, 2)))
}

fn constraint_definition(call: &Call<'_>) -> Result<Datum> {
    let pretty = is_pretty(call, 1);
    or_null(call.env.lookup().constraint_definition(call.oid(0)?, pretty))
}

/// The catalogs whose objects have comments in `pg_description`.
const DESCRIBED: [&str; 9] = [
    "pg_class",
    "pg_constraint",
    "pg_namespace",
    "pg_collation",
    "pg_statistic_ext",
    "pg_type",
    "pg_policy",
    "pg_trigger",
    "pg_proc",
];

fn comment(call: &Call<'_>) -> Result<Datum> {
    let (oid, lookup) = (call.oid(0)?, call.env.lookup());
    if call.args.len() > 1 {
        return or_null(lookup.comment(oid, call.text(1)?, 0));
    }
    // Without a catalog any object of a database with that number is meant.
    or_null(DESCRIBED.iter().find_map(|catalog| lookup.comment(oid, catalog, 0)))
}

fn user_by_id(call: &Call<'_>) -> Result<Datum> {
    let oid = call.oid(0)?;
    text(call.env.lookup().role_name(oid).unwrap_or_else(|| format!("unknown (OID={oid})")))
}

fn to_reg(call: &Call<'_>) -> Result<Datum> {
    let name = call.text(0)?;
    let parts = split_object_name(name);
    match call.returns {
        SqlType::Regclass if parts.as_ref().is_some_and(|parts| parts.len() > 3) => {
            let message =
                format!("improper relation name (too many dotted names): {}", name.trim());
            return Err(Error::new(SqlState::SyntaxError, message));
        }
        SqlType::Regnamespace | SqlType::Regrole
            if parts.as_ref().is_none_or(|parts| parts.len() > 1) =>
        {
            return Err(Error::new(SqlState::InvalidName, "invalid name syntax"));
        }
        SqlType::Regclass | SqlType::Regproc | SqlType::Regcollation if name.trim().is_empty() => {
            return Err(Error::new(SqlState::InvalidName, "invalid name syntax"));
        }
        _ => {}
    }
    // An operator of several types, or a schema that is not there, is none.
    let found = match lookup_name(name, call.returns, call.env) {
        Err(error) if error.state() == SqlState::AmbiguousFunction => None,
        Err(error) if error.state() == SqlState::InvalidSchemaName => None,
        found => found?,
    };
    Ok(found.map_or(Datum::Null, |oid| Datum::Int(oid.into())))
}

fn function_is_visible(call: &Call<'_>) -> Result<Datum> {
    match call.env.lookup().routine(call.oid(0)?) {
        Some(found) => Ok(Datum::Bool(found.is_visible)),
        None => Ok(Datum::Bool(call.int(0)? != 0)),
    }
}

fn serial_sequence(call: &Call<'_>) -> Result<Datum> {
    or_null(call.env.lookup().serial_sequence(call.text(0)?, call.text(1)?)?)
}

/// Bytes of a name with its end.
const NAME_BYTES: i64 = 64;

/// A byte of a name, from 0: what a subscript of a name means. Bytes after its end are empty.
fn name_letter(call: &Call<'_>) -> Result<Datum> {
    let (name, at) = (call.text(0)?, call.int(1)?);
    if !(0..NAME_BYTES).contains(&at) {
        return Ok(Datum::Null);
    }
    match usize::try_from(at).ok().and_then(|at| name.as_bytes().get(at)) {
        None => text(""),
        Some(byte) if byte.is_ascii() => text(char::from(*byte).to_string()),
        Some(byte) => text(format!("\\{byte:03o}")),
    }
}

fn register_writable(registry: &mut Registry) {
    registry.add("pg_relation_is_updatable(regclass, bool) -> int4 stable", |c| {
        let found = c.env.lookup().writable(c.oid(0)?, c.bool(1)?);
        Ok(Datum::Int(found.map_or(0, |found| found.bits())))
    });
    registry.add("pg_column_is_updatable(regclass, int2, bool) -> bool stable", |c| {
        let (oid, column) = (c.oid(0)?, c.int(1)?);
        let found = c.env.lookup().writable(oid, c.bool(2)?);
        let holds = |found: Writable| {
            let is_written = |own: &i16| i64::from(*own) == column;
            let is_own = found == Writable::ALL || found.columns.iter().any(is_written);
            column > 0 && is_own
        };
        Ok(Datum::Bool(found.is_some_and(holds)))
    });
    registry.add("pg_relation_filenode(regclass) -> oid stable", |c| {
        let oid = c.oid(0)?;
        let has_storage = c.env.lookup().has_storage(oid);
        Ok(if has_storage { Datum::Int(i64::from(oid)) } else { Datum::Null })
    });
}

pub(super) fn register(registry: &mut Registry) {
    registry.add("format_type(oid, int4) -> text stable lax", format_type);
    registry.add("pg_typeof(any) -> regtype stable lax", |c| Ok(Datum::Int(c.ty(0).oid().into())));
    registry.add("pg_get_userbyid(oid) -> name stable", user_by_id);
    registry.add("pg_get_expr(text, oid) -> text stable", expression);
    registry.add("pg_get_expr(text, oid, bool) -> text stable", expression);
    registry.add("pg_get_indexdef(oid) -> text stable", index_definition);
    registry.add("pg_get_indexdef(oid, int4, bool) -> text stable", index_definition);
    for signature in [
        "pg_get_constraintdef(oid) -> text stable",
        "pg_get_constraintdef(oid, bool) -> text stable",
    ] {
        registry.add(signature, constraint_definition);
    }
    for signature in [
        "pg_get_viewdef(oid) -> text stable",
        "pg_get_viewdef(oid, bool) -> text stable",
        "pg_get_viewdef(oid, int4) -> text stable",
        "pg_get_viewdef(text) -> text stable",
        "pg_get_viewdef(text, bool) -> text stable",
    ] {
        registry.add(signature, view_definition);
    }
    register_routines(registry);
    for signature in
        ["pg_get_triggerdef(oid) -> text stable", "pg_get_triggerdef(oid, bool) -> text stable"]
    {
        registry.add(signature, |call| {
            let pretty = is_pretty(call, 1);
            or_null(call.env.lookup().trigger_definition(call.oid(0)?, pretty))
        });
    }
    // There are no rules.
    for signature in
        ["pg_get_ruledef(oid) -> text stable", "pg_get_ruledef(oid, bool) -> text stable"]
    {
        registry.add(signature, |_| Ok(Datum::Null));
    }
    register_writable(registry);
    registry.add("pg_tablespace_location(oid) -> text stable", |_| text(""));
    registry.add("pg_relation_is_publishable(regclass) -> bool stable", |_| Ok(Datum::Bool(false)));
    registry.add("pg_get_serial_sequence(text, text) -> text stable", serial_sequence);
    registry.add("obj_description(oid) -> text stable", comment);
    registry.add("obj_description|shobj_description(oid, name) -> text stable", comment);
    registry.add("col_description(oid, int4) -> text stable", |c| {
        or_null(c.env.lookup().comment(c.oid(0)?, "pg_class", c.int4(1)?))
    });
    registry.add("pg_table_is_visible(oid) -> bool stable", |c| {
        Ok(Datum::Bool(c.env.lookup().relation_is_visible(c.oid(0)?)))
    });
    registry.add("pg_type_is_visible(oid) -> bool stable", |c| {
        Ok(type_is_visible(c.oid(0)?, c.env.lookup()).map_or(Datum::Null, Datum::Bool))
    });
    registry.add(
        "pg_function_is_visible|pg_operator_is_visible|pg_collation_is_visible|\
         pg_opclass_is_visible|pg_opfamily_is_visible|pg_conversion_is_visible|\
         pg_ts_config_is_visible|pg_ts_dict_is_visible|pg_ts_parser_is_visible|\
         pg_ts_template_is_visible(oid) -> bool stable",
        function_is_visible,
    );
    registry.add("braid_name_letter(name, int4) -> \"char\"", name_letter);
    register_names(registry);
}

/// Functions and procedures, built in or of users.
fn register_routines(registry: &mut Registry) {
    registry.add("pg_get_function_result(oid) -> text stable", |c| {
        let of_user = |oid| c.env.lookup().routine(oid).and_then(|found| found.result);
        let oid = c.oid(0)?;
        or_null(procedure(oid).map(|found| found.result.clone()).or_else(|| of_user(oid)))
    });
    registry.add("pg_get_function_arguments(oid) -> text stable", |c| {
        let of_user = |oid| c.env.lookup().routine(oid).map(|found| found.arguments);
        let oid = c.oid(0)?;
        or_null(procedure(oid).map(Procedure::arguments).or_else(|| of_user(oid)))
    });
    registry.add("pg_get_function_identity_arguments(oid) -> text stable", |c| {
        let of_user = |oid| c.env.lookup().routine(oid).map(|found| found.identity_arguments);
        let oid = c.oid(0)?;
        or_null(procedure(oid).map(Procedure::arguments).or_else(|| of_user(oid)))
    });
    // A body that is not a string has no names with schemas, so that pg_dump writes it as one.
    registry.add("pg_get_function_sqlbody(oid) -> text stable", |_| Ok(Datum::Null));
    registry.add("pg_get_functiondef(oid) -> text stable", |c| {
        let Some(found) = c.env.lookup().routine(c.oid(0)?) else { return Ok(Datum::Null) };
        let Some(definition) = found.definition else {
            let parts = split_identifier(&found.name).unwrap_or_default();
            let name = parts.last().map_or("", String::as_str);
            let message = format!("\"{name}\" is an aggregate function");
            return Err(Error::new(SqlState::WrongObjectType, message));
        };
        Ok(Datum::text(definition))
    });
    registry.add("pg_get_function_arg_default(oid, int4) -> text stable", |c| {
        let place = usize::try_from(c.int(1)? - 1).ok();
        let found = c.env.lookup().routine(c.oid(0)?);
        let default = found.and_then(|found| found.defaults.into_iter().nth(place?).flatten());
        or_null(default)
    });
}

fn register_names(registry: &mut Registry) {
    registry.add("to_regclass(text) -> regclass stable", to_reg);
    registry.add("to_regtype(text) -> regtype stable", to_reg);
    registry.add("to_regproc(text) -> regproc stable", to_reg);
    registry.add("to_regprocedure(text) -> regprocedure stable", to_reg);
    registry.add("to_regoper(text) -> regoper stable", to_reg);
    registry.add("to_regoperator(text) -> regoperator stable", to_reg);
    registry.add("to_regcollation(text) -> regcollation stable", to_reg);
    registry.add("to_regnamespace(text) -> regnamespace stable", to_reg);
    registry.add("to_regrole(text) -> regrole stable", to_reg);
    registry.add("pg_collation_for(any) -> text stable lax", |c| match c.ty(0).innermost() {
        SqlType::Name => text("\"C\""),
        SqlType::Unknown | SqlType::Citext => text("\"default\""),
        ty if ty.is_string() => text("\"default\""),
        ty => {
            let message = format!("collations are not supported by type {}", ty.plain_name());
            Err(Error::new(SqlState::DatatypeMismatch, message))
        }
    });
}
