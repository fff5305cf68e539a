//! CREATE, ALTER, DROP and COMMENT ON STATISTICS.
//!
//! An object stands in the descriptor of its table, so that it goes with that. A column that it
//! reads takes it along as well. The planner does not use it.

use std::sync::Arc;

use braid_catalog::names::choose_name;
use braid_catalog::{
    Column, ColumnId, ExtendedStatistics, Id, Object, Relation, Schema, StatisticsKind,
    StatisticsObjects, StoredExpr, Table, is_temporary,
};
use braid_codec::key::is_orderable;
use braid_sql::ast::{AlterStatistics, CreateStatistics, Expr, Ident, ObjectName, RenameKind};
use braid_sql::{field_mark, fold};
use braid_types::{Error, Result, SqlState, SqlType};

use crate::context::DdlContext;
use crate::names::lookup::{lacks_schema, parts, skip, undefined};
use crate::names::owner::check_new_owner;
use crate::table::descriptor::change_table;
use crate::table::expr_text::expr_reads;
use crate::table::exprs::{check_written, restate_expr, statistics_expr};

/// Columns and expressions of an object, at most.
const ITEMS_MAX: usize = 8;
/// The highest target.
const TARGET_MAX: i64 = 10_000;

/// `CREATE STATISTICS`
pub(crate) fn create(cx: &mut DdlContext<'_>, create: &CreateStatistics) -> Result<()> {
    let Some(written) = &create.table else {
        let message = "only a single relation is allowed in CREATE STATISTICS";
        return Err(Error::new(SqlState::FeatureNotSupported, message));
    };
    let table = table_named(cx, written)?;
    let (schema, name) = cx.target(&create.name)?;
    if is_temporary(schema.id) != is_temporary(table.id) && is_temporary(schema.id) {
        return Err(Error::unsupported("a temporary statistics object of a permanent table"));
    }
    if StatisticsObjects::of(&cx.catalog()).in_schema(schema.id, &name).is_some() {
        let message = format!("statistics object \"{name}\" already exists");
        if create.if_not_exists {
            cx.notice(SqlState::DuplicateObject, format!("{message}, skipping"));
            return Ok(());
        }
        return Err(Error::new(SqlState::DuplicateObject, message));
    }
    if create.items.len() > ITEMS_MAX {
        let message = format!("cannot have more than {ITEMS_MAX} columns in statistics");
        return Err(Error::new(SqlState::TooManyColumns, message));
    }
    let items = items(cx, &table, &create.items)?;
    let kinds = kinds(&create.kinds, &items)?;
    let Items { columns, exprs } = items;
    let (id, owner) = (cx.draft()?.allocate_id(table.id), cx.user());
    let schema = schema.id;
    let exprs = exprs.into_iter().map(|(expr, _)| expr).collect();
    let made = ExtendedStatistics {
        id,
        schema,
        name,
        owner,
        kinds,
        columns,
        exprs,
        target: -1,
        comment: None,
    };
    change_table(cx, table.id, |table| table.statistics.push(made))
}

/// `LIKE … INCLUDING STATISTICS`: objects of a table that is not in the catalog yet, over the
/// columns of the same names.
pub(crate) fn copy(
    cx: &mut DdlContext<'_>,
    table: &mut Table,
    source: &Table,
    with_comments: bool,
) -> Result<()> {
    for object in &source.statistics {
        let names: Vec<String> = object
            .columns
            .iter()
            .filter_map(|id| source.column(*id))
            .map(|column| column.name.clone())
            .collect();
        let mut columns: Vec<ColumnId> = names
            .iter()
            .filter_map(|name| table.column_by_name(name))
            .map(|place| table.columns[place].id)
            .collect();
        columns.sort_unstable();
        let shape = Arc::new(table.clone());
        let mut exprs = Vec::with_capacity(object.exprs.len());
        for expr in &object.exprs {
            let expr = restate_expr(cx, source, expr);
            exprs.push(statistics_expr(cx, &shape, expr.sql())?.0);
        }
        let words = names.into_iter().chain(exprs.iter().map(|_| "expr".to_owned()));
        let words = words.collect::<Vec<_>>().join("_");
        let catalog = cx.catalog();
        let is_taken = |name: &str| {
            StatisticsObjects::of(&catalog).in_schema(table.schema, name).is_some()
                || table.statistics.iter().any(|made| made.name == name)
        };
        let name = choose_name(&table.name, Some(&words), "stat", is_taken);
        let (id, owner) = (cx.draft()?.allocate_id(table.id), cx.user());
        table.statistics.push(ExtendedStatistics {
            id,
            schema: table.schema,
            name,
            owner,
            columns,
            exprs,
            target: -1,
            comment: object.comment.clone().filter(|_| with_comments),
            ..object.clone()
        });
    }
    Ok(())
}

/// The table that an object is of, which the user must own.
fn table_named(cx: &DdlContext<'_>, name: &ObjectName) -> Result<Arc<Table>> {
    let Some(found) = cx.find(name)? else {
        return Err(undefined("relation", &parts(name)));
    };
    match found {
        Relation::Table(table) => {
            cx.check_owner(Object::Table(&table))?;
            Ok(table)
        }
        Relation::Virtual(table) => {
            let message = format!("permission denied: \"{}\" is a system catalog", table.name);
            Err(Error::new(SqlState::InsufficientPrivilege, message))
        }
        other => {
            let message = format!("cannot define statistics for relation \"{}\"", other.name());
            let detail = format!("This operation is not supported for {}s.", other.kind());
            Err(Error::new(SqlState::WrongObjectType, message).detail(detail))
        }
    }
}

/// What an object is of.
#[derive(Default)]
struct Items {
    columns: Vec<ColumnId>,
    exprs: Vec<(StoredExpr, SqlType)>,
}

fn items(cx: &DdlContext<'_>, table: &Arc<Table>, written: &[Expr]) -> Result<Items> {
    let mut items = Items::default();
    for item in written {
        match column_name(table, item) {
            Some(name) => add_column(table, name, &mut items)?,
            None => {
                check_written(cx, Some(table), item, ("statistics expressions", None))?;
                items.exprs.push(statistics_expr(cx, table, &item.to_string())?);
            }
        }
    }
    let Items { columns, exprs } = &mut items;
    if written.len() > 1 {
        exprs.iter().try_for_each(|(_, ty)| check_expr_type(ty))?;
    }
    if columns.len() == 1 && exprs.is_empty() {
        let message = "extended statistics require at least 2 columns";
        return Err(Error::new(SqlState::InvalidObjectDefinition, message));
    }
    columns.sort_unstable();
    if columns.windows(2).any(|pair| pair[0] == pair[1]) {
        let message = "duplicate column name in statistics definition";
        return Err(Error::new(SqlState::DuplicateColumn, message));
    }
    for (place, (expr, _)) in exprs.iter().enumerate() {
        if exprs[..place].iter().any(|(other, _)| other == expr) {
            let message = "duplicate expression in statistics definition";
            return Err(Error::new(SqlState::DuplicateColumn, message));
        }
    }
    Ok(items)
}

/// The name of the column that an item is. In parentheses a table's name is its whole row.
fn column_name<'e>(table: &Table, item: &'e Expr) -> Option<&'e Ident> {
    let inner = match item {
        Expr::Identifier(name) => return Some(name),
        Expr::Nested(inner) => &**inner,
        _ => return None,
    };
    let Expr::Identifier(name) = inner else { return None };
    let is_column = fold(name) != table.name || table.column_by_name(&table.name).is_some();
    is_column.then_some(name)
}

fn add_column(table: &Table, name: &Ident, items: &mut Items) -> Result<()> {
    let name = fold(name);
    let Some(column) = table.visible_columns().find(|column| column.name == name) else {
        let is_system =
            ["tableoid", "ctid", "xmin", "xmax", "cmin", "cmax"].contains(&name.as_str());
        return Err(match is_system {
            true => {
                let message = "statistics creation on system columns is not supported";
                Error::new(SqlState::FeatureNotSupported, message)
            }
            false => {
                let message = format!("column \"{name}\" does not exist");
                Error::new(SqlState::UndefinedColumn, message)
            }
        });
    };
    check_column_type(column)?;
    items.columns.push(column.id);
    Ok(())
}

/// 0A000 for a column whose values have no order.
fn check_column_type(column: &Column) -> Result<()> {
    if is_orderable(&column.ty) {
        return Ok(());
    }
    let message = format!(
        "column \"{}\" cannot be used in statistics because its type {} has no default btree \
         operator class",
        column.name,
        column.ty.display_name()
    );
    Err(Error::new(SqlState::FeatureNotSupported, message))
}

/// 0A000 for an expression among several whose values have no order.
fn check_expr_type(ty: &SqlType) -> Result<()> {
    if is_orderable(ty) {
        return Ok(());
    }
    let message = format!(
        "expression cannot be used in multivariate statistics because its type {} has no default \
         btree operator class",
        ty.display_name()
    );
    Err(Error::new(SqlState::FeatureNotSupported, message))
}

/// Reads the objects of a table again after the type of a column has changed.
pub(crate) fn restate(
    cx: &DdlContext<'_>,
    old: &Table,
    changed: &mut Table,
    column: ColumnId,
) -> Result<()> {
    let shape = Arc::new(changed.clone());
    for object in &mut changed.statistics {
        if object.columns.contains(&column)
            && let Some(column) = shape.column(column)
        {
            check_column_type(column)?;
        }
        let is_alone = object.columns.len() + object.exprs.len() == 1;
        for expr in &mut object.exprs {
            if expr_reads(old, Some(expr), column) {
                let restated = restate_expr(cx, old, expr);
                let (stored, ty) = statistics_expr(cx, &shape, restated.sql())?;
                if !is_alone {
                    check_expr_type(&ty)?;
                }
                *expr = stored;
            }
        }
    }
    Ok(())
}

/// An object with its table, in messages by its name.
pub(crate) type Found = (Id, Id, String);

/// The objects in a database that read a column of a composite type or of the rows of a table.
pub(crate) fn reading_field(
    cx: &DdlContext<'_>,
    database: Id,
    (relation, column): (Id, ColumnId),
) -> Vec<Found> {
    let (catalog, mark) = (cx.catalog(), format!("\"{}\"", field_mark(relation, column)));
    let mut found = Vec::new();
    for table in catalog.tables().in_database(database) {
        let reads = |object: &&ExtendedStatistics| {
            object.exprs.iter().any(|expr| expr.sql().contains(mark.as_str()))
        };
        let objects = table.statistics.iter().filter(reads);
        found.extend(objects.map(|object| (table.id, object.id, object.name.clone())));
    }
    found
}

/// Drops these objects.
pub(crate) fn drop_found(cx: &mut DdlContext<'_>, found: &[Found]) -> Result<()> {
    for (table, id, _) in found {
        change_table(cx, *table, |table| table.statistics.retain(|object| object.id != *id))?;
    }
    Ok(())
}

/// The kinds that an object asks for: all of them if none is written.
fn kinds(written: &[Ident], items: &Items) -> Result<Vec<StatisticsKind>> {
    let mut kinds = Vec::with_capacity(written.len());
    for word in written {
        let word = fold(word);
        let kind = StatisticsKind::ALL.into_iter().find(|kind| kind.word() == word);
        kinds.push(kind.ok_or_else(|| {
            let message = format!("unrecognized statistics kind \"{word}\"");
            Error::new(SqlState::SyntaxError, message)
        })?);
    }
    if items.columns.is_empty() && items.exprs.len() == 1 {
        if !kinds.is_empty() {
            let message = "when building statistics on a single expression, statistics kinds may \
                           not be specified";
            return Err(Error::new(SqlState::FeatureNotSupported, message));
        }
        return Ok(Vec::new());
    }
    if kinds.is_empty() {
        return Ok(StatisticsKind::ALL.to_vec());
    }
    kinds.sort_unstable();
    kinds.dedup();
    Ok(kinds)
}

/// The object of that name with its table.
fn found(
    cx: &DdlContext<'_>,
    name: &ObjectName,
) -> Result<Option<(Arc<Table>, ExtendedStatistics)>> {
    let catalog = cx.catalog();
    let found = StatisticsObjects::of(&catalog).resolve(cx.path(), &parts(name))?;
    Ok(found.map(|(table, object)| (table.clone(), object.clone())))
}

/// The same for one that must be there.
fn existing(cx: &DdlContext<'_>, name: &ObjectName) -> Result<(Arc<Table>, ExtendedStatistics)> {
    found(cx, name)?.ok_or_else(|| Error::new(SqlState::UndefinedObject, missing(name)))
}

fn missing(name: &ObjectName) -> String {
    format!("statistics object \"{}\" does not exist", parts(name).join("."))
}

fn check_owner(cx: &DdlContext<'_>, object: &ExtendedStatistics) -> Result<()> {
    match cx.catalog().privileges().is_member(cx.user(), object.owner) {
        true => Ok(()),
        false => {
            let message = format!("must be owner of statistics object {}", object.name);
            Err(Error::new(SqlState::InsufficientPrivilege, message))
        }
    }
}

fn change(
    cx: &mut DdlContext<'_>,
    (table, id): (&Table, Id),
    change: impl FnOnce(&mut ExtendedStatistics),
) -> Result<()> {
    change_table(cx, table.id, |table| {
        table.statistics.iter_mut().find(|object| object.id == id).map(change);
    })
}

/// `ALTER STATISTICS … SET STATISTICS`
pub(crate) fn set_target(cx: &mut DdlContext<'_>, alter: &AlterStatistics) -> Result<()> {
    if alter.target < -1 {
        let message = format!("statistics target {} is too low", alter.target);
        return Err(Error::new(SqlState::InvalidParameterValue, message));
    }
    if alter.target > TARGET_MAX {
        let message = format!("lowering statistics target to {TARGET_MAX}");
        cx.notices.push(Error::new(SqlState::Warning, message));
    }
    let target = i32::try_from(alter.target.min(TARGET_MAX)).unwrap_or(-1);
    if alter.if_exists && lacks_schema(cx, &parts(&alter.name), true)? {
        return Ok(());
    }
    let Some((table, object)) = found(cx, &alter.name)? else {
        return skip(cx, SqlState::UndefinedObject, missing(&alter.name), alter.if_exists);
    };
    check_owner(cx, &object)?;
    change(cx, (&table, object.id), |object| object.target = target)
}

pub(crate) fn rename(cx: &mut DdlContext<'_>, name: &ObjectName, kind: &RenameKind) -> Result<()> {
    let (table, object) = existing(cx, name)?;
    let catalog = cx.catalog();
    let refuse_taken = |schema: Id, name: &str| {
        if StatisticsObjects::of(&catalog).in_schema(schema, name).is_none() {
            return Ok(());
        }
        let schema = catalog.schema_name(schema);
        let message = format!("statistics object \"{name}\" already exists in schema \"{schema}\"");
        Err(Error::new(SqlState::DuplicateObject, message))
    };
    match kind {
        RenameKind::To(new) => {
            let new = fold(new);
            check_owner(cx, &object)?;
            check_create(cx, cx.user(), object.schema)?;
            refuse_taken(object.schema, &new)?;
            change(cx, (&table, object.id), |object| object.name = new)
        }
        RenameKind::OwnerTo(role) => {
            let owner = cx.role(role)?;
            if owner != object.owner {
                check_owner(cx, &object)?;
                check_new_owner(cx, owner)?;
                check_create(cx, owner, object.schema)?;
            }
            change(cx, (&table, object.id), |object| object.owner = owner)
        }
        RenameKind::SetSchema(to) => {
            let target = cx.schema(&fold(to))?.id;
            check_owner(cx, &object)?;
            check_create(cx, cx.user(), target)?;
            if target == object.schema {
                return Ok(());
            }
            refuse_taken(target, &object.name)?;
            change(cx, (&table, object.id), |object| object.schema = target)
        }
        _ => Err(Error::new(SqlState::SyntaxError, "a statistics object has no such parts")),
    }
}

/// 42501 unless a role may make objects in the schema, or the user is a superuser.
fn check_create(cx: &DdlContext<'_>, role: Id, schema: Id) -> Result<()> {
    let catalog = cx.catalog();
    let Some(schema): Option<&Arc<Schema>> = catalog.schemas().get(schema) else { return Ok(()) };
    match catalog.privileges().is_superuser(cx.user()) {
        true => Ok(()),
        false => catalog.privileges().check(role, Object::Schema(schema), "CREATE"),
    }
}

pub(crate) fn comment(
    cx: &mut DdlContext<'_>,
    name: &ObjectName,
    text: Option<String>,
) -> Result<()> {
    let (table, object) = existing(cx, name)?;
    check_owner(cx, &object)?;
    change(cx, (&table, object.id), |object| object.comment = text)
}

/// Drops an object. False if there is none of that name.
pub(crate) fn drop_statistics(cx: &mut DdlContext<'_>, name: &ObjectName) -> Result<bool> {
    let Some((table, object)) = found(cx, name)? else { return Ok(false) };
    let catalog = cx.catalog();
    let schema = catalog.schemas().get(object.schema);
    let owns = |object: Object<'_>| catalog.privileges().acts_as_owner(cx.user(), object);
    if !schema.is_some_and(|schema| owns(Object::Schema(schema))) {
        check_owner(cx, &object)?;
    }
    change_table(cx, table.id, |table| table.statistics.retain(|other| other.id != object.id))?;
    Ok(true)
}

/// Gives the objects that roles own in a database to another role, or drops them without one.
pub(crate) fn leave_owners(
    cx: &mut DdlContext<'_>,
    database: Id,
    roles: &[Id],
    to: Option<Id>,
) -> Result<()> {
    let catalog = cx.catalog();
    let is_owned = |object: &ExtendedStatistics| roles.contains(&object.owner);
    for table in catalog.tables().in_database(database) {
        if !table.statistics.iter().any(is_owned) {
            continue;
        }
        change_table(cx, table.id, |table| match to {
            Some(owner) => {
                let owned = table.statistics.iter_mut().filter(|object| is_owned(object));
                owned.for_each(|object| object.owner = owner);
            }
            None => table.statistics.retain(|object| !is_owned(object)),
        })?;
    }
    Ok(())
}

/// Drops the objects in a schema that belong to tables of other schemas; their lines for messages.
pub(crate) fn drop_in_schema(cx: &mut DdlContext<'_>, schema: &Schema) -> Result<Vec<String>> {
    let catalog = cx.catalog();
    let here = StatisticsObjects::of(&catalog).iter();
    let here =
        here.filter(|(table, object)| object.schema == schema.id && table.schema != schema.id);
    let mut lines = Vec::new();
    for (table, object) in here {
        lines.push(format!("statistics object {}.{}", schema.name, object.name));
        change_table(cx, table.id, |table| table.statistics.retain(|other| other.id != object.id))?;
    }
    Ok(lines)
}

/// Whether a schema has objects of tables of other schemas.
pub(crate) fn in_schema(cx: &DdlContext<'_>, schema: &Schema) -> Vec<String> {
    let catalog = cx.catalog();
    let here = StatisticsObjects::of(&catalog).iter();
    let here =
        here.filter(|(table, object)| object.schema == schema.id && table.schema != schema.id);
    here.map(|(_, object)| format!("statistics object {}.{}", schema.name, object.name)).collect()
}
