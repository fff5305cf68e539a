//! The way in of triggers: their variables, and the row that they give.
//!
//! ```text
//!   slots:  new  old  tg_name  tg_when  …  tg_argv  │ transition tables │ found │ declared ones
//! ```
//!
//! A function is compiled once for each trigger: the columns of `new` and `old` are those of the
//! trigger's table.

use std::sync::Arc;

use braid_catalog::{Catalog, Language, Routine, SearchPath, Table, Trigger};
use braid_exec::{ExecContext, TriggerCall};
use braid_types::{Array, Datum, Error, Result, Row, SqlState, SqlType};
use futures_util::future::BoxFuture;

use crate::body::Code;
use crate::built_in_trigger::call_built_in;
use crate::cache::{Compiled, Key, RoutineCache};
use crate::deep::Deep;
use crate::host::{Host, Nested};
use crate::interpret::run_code;
use crate::plpgsql::{ResultKind, TriggerNames, parse_trigger};

/// The variables that every trigger's function has, in the order of their slots.
fn variables(row: SqlType) -> Vec<(&'static str, SqlType)> {
    vec![
        ("new", row.clone()),
        ("old", row),
        ("tg_name", SqlType::Name),
        ("tg_when", SqlType::Text),
        ("tg_level", SqlType::Text),
        ("tg_op", SqlType::Text),
        ("tg_relid", SqlType::Oid),
        ("tg_relname", SqlType::Name),
        ("tg_table_name", SqlType::Name),
        ("tg_table_schema", SqlType::Name),
        ("tg_nargs", SqlType::Int4),
        ("tg_argv", SqlType::Array(Box::new(SqlType::Text))),
    ]
}

/// The type of a table's rows, as users see them.
fn row_type(table: &Table) -> SqlType {
    let columns = table.visible_columns();
    let fields: Vec<_> = columns.map(|column| (column.name.clone(), column.ty.clone())).collect();
    SqlType::Record(fields.into())
}

/// The same as the type of the relation, whose columns may have collations.
fn named_row_type(table: &Table, catalog: &Arc<Catalog>) -> SqlType {
    let row = row_type(table);
    let relation = catalog.relation(table.id);
    let named = relation.and_then(|found| catalog.names().row_types().of_relation(&found));
    match (named, &row) {
        (Some(named), SqlType::Record(fields)) if named.iter().eq(fields.iter()) => {
            SqlType::Record(named)
        }
        _ => row,
    }
}

/// The names and types of the transition tables.
fn transitions(trigger: &Trigger, table: &Table) -> Vec<(String, SqlType)> {
    let names = trigger.old_table.iter().chain(&trigger.new_table);
    names.map(|name| (name.clone(), SqlType::Array(Box::new(row_type(table))))).collect()
}

/// 42601 and others for a body that cannot run: what CREATE FUNCTION looks for.
pub fn check_trigger_body(routine: &Routine) -> Result<()> {
    // The columns of the rows are not known yet.
    let variables = variables(SqlType::Record(Vec::new().into()));
    let names = TriggerNames { variables, tables: Vec::new() };
    parse_trigger(&routine.body, &routine.name, names).map(drop)
}

impl Code {
    /// The body of a trigger's function, for one trigger.
    fn of_trigger(
        routine: &Routine,
        (trigger, table): (&Trigger, &Table),
        catalog: &Arc<Catalog>,
        path: &SearchPath,
    ) -> Result<Self> {
        let row = named_row_type(table, catalog);
        let tables = transitions(trigger, table);
        let names = TriggerNames { variables: variables(row.clone()), tables };
        let inputs = names.variables.len() + names.tables.len();
        let body =
            parse_trigger(&routine.body, &routine.name, names).map_err(Error::without_position)?;
        let signature = catalog.names().routines().signature(Some(path), routine, ",");
        let returns = Some(row);
        let named = (format!("function {signature}"), returns, ResultKind::TRIGGER);
        let mut code = Self::new(body, &[], named, catalog, path)?;
        code.is_trigger = true;
        code.inputs = (0..inputs).collect();
        Ok(code)
    }
}

/// Calls a trigger's function; the row that it gives, by the table's columns.
pub fn call_trigger<'a>(
    cache: &'a RoutineCache,
    cx: &'a Arc<ExecContext>,
    call: TriggerCall<'a>,
) -> BoxFuture<'a, Result<Option<Row>>> {
    Box::pin(Deep::new(Box::pin(async move {
        if call.function.language == Language::Internal {
            return call_built_in(call);
        }
        let is_volatile = call.function.volatility == braid_catalog::RoutineVolatility::Volatile;
        let mut host = Nested::of_trigger(cx, is_volatile)?;
        let code = compiled(cache, &*host.current().await?, &call)?;
        let args = arguments(cx, &call);
        // Of a trigger before DELETE the row only says that it may go.
        let base = call.new.as_ref().or(call.old.as_ref());
        let result = run_code(code, args, &mut host, None).await?;
        let (Some(base), Datum::Record(fields)) = (base, result) else { return Ok(None) };
        let mut row = base.clone();
        let visible = call.table.columns.iter().enumerate().filter(|(_, column)| !column.hidden);
        for ((place, _), value) in visible.zip(fields.iter()) {
            row[place] = value.clone();
        }
        Ok(Some(row))
    })))
}

fn compiled(cache: &RoutineCache, cx: &ExecContext, call: &TriggerCall<'_>) -> Result<Arc<Code>> {
    if call.function.language != Language::Plpgsql {
        let message = "a function in SQL cannot be called as a trigger";
        return Err(Error::new(SqlState::InvalidFunctionDefinition, message));
    }
    let key = Key::of_trigger(call.function.id, call.trigger.id);
    let compiled = cache.kept(cx, key, || {
        let of = (call.trigger, &**call.table);
        let code = Code::of_trigger(call.function, of, &cx.catalog, &cx.path)?;
        Ok(Compiled::Plpgsql(Arc::new(code)))
    })?;
    match compiled {
        Compiled::Plpgsql(code) => Ok(code),
        Compiled::Sql(_) => Err(Error::internal("a trigger's function is of another language")),
    }
}

/// The values of the variables.
fn arguments(cx: &ExecContext, call: &TriggerCall<'_>) -> Vec<Datum> {
    let visible = |row: &Row| {
        let columns = call.table.columns.iter().zip(row).filter(|(column, _)| !column.hidden);
        Datum::Record(columns.map(|(_, value)| value.clone()).collect())
    };
    let row = |row: &Option<Row>| row.as_ref().map_or(Datum::Null, visible);
    let (trigger, table) = (call.trigger, call.table);
    let level = if trigger.for_each_row { "ROW" } else { "STATEMENT" };
    let argv = trigger.arguments.iter().map(|argument| Datum::text(argument.as_str())).collect();
    let mut values = vec![
        row(&call.new),
        row(&call.old),
        Datum::text(trigger.name.as_str()),
        Datum::text(trigger.timing.words()),
        Datum::text(level),
        Datum::text(call.event.word()),
        Datum::Int(i64::from(table.id)),
        Datum::text(table.name.as_str()),
        Datum::text(table.name.as_str()),
        Datum::text(cx.catalog.schema_name(table.schema)),
        Datum::Int(trigger.arguments.len() as i64),
        match trigger.arguments.is_empty() {
            true => Datum::Null,
            false => Array::from_lower(SqlType::Text, 0, argv).into(),
        },
    ];
    // In the order of the slots: the old table first.
    values.extend(call.tables.iter().map(|(_, rows)| rows.clone()));
    values
}
