//! CREATE TYPE … AS ENUM, ALTER TYPE, and the names of types in definitions.
//!
//! A label keeps its number whatever becomes of its name, so no form of ALTER TYPE touches a row.
//! What is kept as text (defaults, checks, views) has literals by name: RENAME VALUE changes them.

use std::sync::Arc;

use braid_catalog::{
    Catalog, DefaultKind, Enum, Id, Label, Named, Owned, Queries, Relation, StoredDatum,
    StoredExpr, Table, View, enums_named, is_temporary, names,
};
use braid_sql::ast::{AlterType, AlterTypeAction, LabelPlace, ObjectName, RenameKind};
use braid_sql::fold;
use braid_types::enums::{LABEL_BYTES_MAX, order_between};
use braid_types::{Error, FormatSettings, Result, SqlState, SqlType, text};

use crate::context::DdlContext;
use crate::names::lookup::{WrongKind, parts};
use crate::names::owner::check_new_owner;
use crate::names::types::{duplicate_type, enum_name, own_enum};
use crate::names::user_types::new_schema;
use crate::roles::default_privileges::new_grants;

/// 42602 for a label that is too long.
fn check_label(label: &str) -> Result<()> {
    if label.len() <= LABEL_BYTES_MAX {
        return Ok(());
    }
    Err(Error::new(SqlState::InvalidName, format!("invalid enum label \"{label}\""))
        .detail(format!("Labels must be {LABEL_BYTES_MAX} bytes or less.")))
}

pub(crate) fn create(cx: &mut DdlContext<'_>, name: &ObjectName, written: &[String]) -> Result<()> {
    let (schema, name) = cx.target(name)?;
    if is_temporary(schema.id) {
        return Err(Error::unsupported("a type in a temporary schema"));
    }
    make_name_free(cx, schema.id, &name)?;
    let id = cx.draft()?.allocate_id(0);
    let array = cx.draft()?.allocate_id(0);
    let mut labels: Vec<Label> = Vec::with_capacity(written.len());
    for label in written {
        check_label(label)?;
        if labels.iter().any(|known| known.name == *label) {
            let message =
                "duplicate key value violates unique constraint \"pg_enum_typid_label_index\"";
            return Err(Error::new(SqlState::UniqueViolation, message)
                .detail(format!("Key (enumtypid, enumlabel)=({id}, {label}) already exists.")));
        }
        let order = order_between(labels.last().map(|label| label.order), None);
        labels.push(Label {
            id: cx.draft()?.allocate_id(0),
            order: order.ok_or_else(|| no_room(&name))?,
            name: label.clone(),
            is_uncommitted: false,
        });
    }
    let made = Enum {
        id,
        array,
        database: schema.database,
        schema: schema.id,
        array_name: free_array_name(cx, schema.id, &name),
        name,
        owner: cx.user(),
        labels,
        grants: new_grants(cx, cx.user(), Some(schema.id), DefaultKind::Types),
        comment: None,
    };
    cx.draft()?.put(made);
    Ok(())
}

/// 42710 if a type of the schema has the name. An array type makes room for it.
pub(crate) fn make_name_free(cx: &mut DdlContext<'_>, schema: Id, name: &str) -> Result<()> {
    let catalog = cx.catalog();
    let is_row_type = matches!(
        catalog.names().find(schema, name),
        Some(Named::Table(_) | Named::View(_) | Named::Composite(_))
    );
    match catalog.enums().find(schema, name) {
        Some((_, false)) => Err(duplicate_type(name)),
        _ if is_row_type || catalog.domains().find(schema, name).is_some() => {
            Err(duplicate_type(name))
        }
        Some((found, true)) => {
            let array_name = free_array_name(cx, schema, name);
            cx.draft()?.put(Enum { array_name, ..Enum::clone(found) });
            Ok(())
        }
        None => Ok(()),
    }
}

/// The name of a type with as many underscores before it as make it free.
fn free_array_name(cx: &DdlContext<'_>, schema: Id, name: &str) -> String {
    let catalog = cx.catalog();
    let mut array_name = name.to_owned();
    loop {
        array_name = names::truncate_name(&format!("_{array_name}")).to_owned();
        let is_taken = catalog.enums().find(schema, &array_name).is_some()
            || catalog.domains().find(schema, &array_name).is_some();
        if !is_taken || array_name.bytes().all(|byte| byte == b'_') {
            return array_name;
        }
    }
}

/// 54000: no number is left for a label.
fn no_room(name: &str) -> Error {
    let message = format!("enum {name} has no room for another value at this place");
    Error::new(SqlState::ProgramLimitExceeded, message).hint(
        "Add the value at another place, or make a new type with the values in the order that is \
         wanted and change the columns to it.",
    )
}

pub(crate) fn alter(cx: &mut DdlContext<'_>, alter: &AlterType) -> Result<()> {
    let (found, is_array) = own_enum(cx, &alter.name)?;
    if is_array {
        let message = format!("{}[] is not an enum", enum_name(cx, &found));
        return Err(Error::new(SqlState::WrongObjectType, message));
    }
    match &alter.action {
        AlterTypeAction::AddValue { label, if_not_exists, place } => {
            add_value(cx, &found, label, *if_not_exists, place.as_ref())
        }
        AlterTypeAction::RenameValue { from, to } => rename_value(cx, &found, from, to),
        AlterTypeAction::Attributes(_) => Err(Error::internal("an enum has no attributes")),
    }
}

/// 22023: the enum has no such label.
fn unknown_label(label: &str) -> Error {
    let message = format!("\"{label}\" is not an existing enum label");
    Error::new(SqlState::InvalidParameterValue, message)
}

fn duplicate_label(label: &str) -> Error {
    Error::new(SqlState::DuplicateObject, format!("enum label \"{label}\" already exists"))
}

fn add_value(
    cx: &mut DdlContext<'_>,
    found: &Enum,
    label: &str,
    if_not_exists: bool,
    place: Option<&LabelPlace>,
) -> Result<()> {
    check_label(label)?;
    let labels = &found.labels;
    if labels.iter().any(|known| known.name == label) {
        if !if_not_exists {
            return Err(duplicate_label(label));
        }
        let message = format!("enum label \"{label}\" already exists, skipping");
        cx.notice(SqlState::DuplicateObject, message);
        return Ok(());
    }
    let at = match place {
        None => labels.len(),
        Some(place) => {
            let neighbor = labels.iter().position(|known| known.name == place.neighbor);
            let neighbor = neighbor.ok_or_else(|| unknown_label(&place.neighbor))?;
            if place.before { neighbor } else { neighbor + 1 }
        }
    };
    let order_at = |at: Option<usize>| at.and_then(|at| labels.get(at)).map(|label| label.order);
    let order = order_between(order_at(at.checked_sub(1)), order_at(Some(at)));
    let order = order.ok_or_else(|| no_room(&enum_name(cx, found)))?;
    let id = cx.draft()?.allocate_id(0);
    let mut changed = found.clone();
    changed.labels.insert(at, Label { id, order, name: label.to_owned(), is_uncommitted: true });
    cx.draft()?.put(changed);
    Ok(())
}

fn rename_value(cx: &mut DdlContext<'_>, found: &Enum, from: &str, to: &str) -> Result<()> {
    check_label(to)?;
    let mut changed = found.clone();
    let is_known = changed.labels.iter().any(|label| label.name == to);
    let Some(label) = changed.labels.iter_mut().find(|label| label.name == from) else {
        return Err(unknown_label(from));
    };
    if is_known {
        return Err(duplicate_label(to));
    }
    label.name = to.to_owned();
    cx.draft()?.put(changed);
    rename_in_texts(cx, found.id, &|text, is_array| renamed(text, is_array, from, to))
}

/// A literal of an enum, or of its arrays, with a label renamed; `None` if it lacks the label.
fn renamed(literal: &str, is_array: bool, from: &str, to: &str) -> Option<String> {
    if !is_array {
        return (literal == from).then(|| to.to_owned());
    }
    let (ty, settings) = (SqlType::Text.array(), FormatSettings::default());
    let parsed = text::parse(&ty, literal, &settings, 0).ok()?;
    let mut array = parsed.as_array()?.clone();
    for item in &mut array.items {
        if item.as_str() == Some(from) {
            *item = braid_types::Datum::text(to);
        }
    }
    Some(text::to_string(&ty, &braid_types::Datum::Array(Arc::new(array)), &settings))
}

type Change<'a> = &'a dyn Fn(&str, bool) -> Option<String>;

/// Changes the values of an enum in the bound of a partition; whether there was one.
fn rename_in_bound(
    catalog: &Catalog,
    table: &mut Table,
    id: Id,
    change: Change<'_>,
) -> Result<bool> {
    let Some(part) = &mut table.partition_of else { return Ok(false) };
    let Some(parent) = catalog.table(part.parent) else { return Ok(false) };
    let keys = parent.partitioning.as_ref().map_or(&[][..], |keys| &keys.keys);
    let mut is_changed = false;
    for (place, key) in keys.iter().enumerate() {
        let ty = key.ty(parent)?;
        if ty.inner_enum().is_none_or(|of| of.oid != id) {
            continue;
        }
        for StoredDatum(text) in part.bound.values_mut(place) {
            if let Some(changed) = text.as_ref().and_then(|text| change(text, ty.is_array())) {
                *text = Some(changed);
                is_changed = true;
            }
        }
    }
    Ok(is_changed)
}

/// Changes the literals of an enum in everything that is kept as text.
fn rename_in_texts(cx: &mut DdlContext<'_>, id: Id, change: Change<'_>) -> Result<()> {
    let catalog = cx.catalog();
    for table in catalog.tables().iter() {
        let mut changed = Table::clone(table);
        let mut is_changed = false;
        for expr in stored_exprs(&mut changed) {
            is_changed |= rename_in_expr(expr, id, change)?;
        }
        for column in &mut changed.columns {
            let of_enum = column.ty.inner_enum().is_some_and(|ty| ty.oid == id);
            if let Some(StoredDatum(Some(missing))) = &mut column.missing
                && of_enum
                && let Some(changed) = change(missing, column.ty.is_array())
            {
                *missing = changed;
                is_changed = true;
            }
        }
        is_changed |= rename_in_bound(&catalog, &mut changed, id, change)?;
        if is_changed {
            cx.draft()?.put(changed);
        }
    }
    for view in Queries::of(&catalog).iter() {
        let Some(stored) = &view.stored else { continue };
        if !enums_named(&stored.query).contains(&id) {
            continue;
        }
        let mut query = braid_sql::parse_query(&stored.query)?;
        braid_sql::change_enum_literals(&mut *query, id, change);
        let mut changed = View::clone(&view);
        if let Some(stored) = &mut changed.stored {
            stored.query = braid_sql::stored_text(&query)?;
        }
        cx.draft()?.put_query(changed);
    }
    Ok(())
}

/// Every expression of a table's definition.
fn stored_exprs(table: &mut Table) -> impl Iterator<Item = &mut StoredExpr> {
    let checks = table.checks.iter_mut().map(|check| &mut check.expr);
    let predicates = table.indexes.iter_mut().filter_map(|index| index.predicate.as_mut());
    let columns = table
        .columns
        .iter_mut()
        .flat_map(|column| column.default.as_mut().into_iter().chain(column.generated.as_mut()));
    let statistics = table.statistics.iter_mut().flat_map(|object| &mut object.exprs);
    checks.chain(predicates).chain(columns).chain(statistics)
}

/// Changes the literals of an enum in an expression; whether there are any.
fn rename_in_expr(expr: &mut StoredExpr, id: Id, change: Change<'_>) -> Result<bool> {
    let StoredExpr::Identified(found) = expr else { return Ok(false) };
    if !enums_named(&found.sql).contains(&id) {
        return Ok(false);
    }
    let mut syntax = braid_sql::parse_expr(&found.sql)?;
    braid_sql::change_enum_literals(&mut syntax, id, change);
    found.sql = braid_sql::stored_expr_text(&syntax)?;
    Ok(true)
}

/// `ALTER TYPE … RENAME TO`, `SET SCHEMA`, `OWNER TO`.
pub(crate) fn rename(cx: &mut DdlContext<'_>, name: &ObjectName, kind: &RenameKind) -> Result<()> {
    let written = parts(name);
    if let (None, Some(found @ (Relation::Table(_) | Relation::View(_)))) =
        (cx.catalog().enums().resolve(cx.path(), &written)?, cx.find(name)?)
    {
        let message = format!("{} is a table's row type", found.name());
        let kind = if found.kind() == "view" { "VIEW" } else { "TABLE" };
        return Err(Error::new(SqlState::WrongObjectType, message)
            .hint(format!("Use ALTER {kind} instead.")));
    }
    let (found, is_array) = own_enum(cx, name).map_err(|error| match error.cause() {
        Some(WrongKind { name }) => {
            let message = format!("must be owner of type {name}");
            Error::new(SqlState::InsufficientPrivilege, message)
        }
        None => error,
    })?;
    if is_array {
        let name = enum_name(cx, &found);
        let message = format!("cannot alter array type {name}[]");
        return Err(Error::new(SqlState::WrongObjectType, message)
            .hint(format!("You can alter type {name}, which will alter the array type as well.")));
    }
    let mut changed = Enum::clone(&found);
    match kind {
        RenameKind::To(new) => {
            let new = fold(new);
            make_name_free(cx, found.schema, &new)?;
            changed.array_name = free_array_name(cx, found.schema, &new);
            changed.name = new;
        }
        RenameKind::SetSchema(schema) => {
            let Some(schema) = new_schema(cx, schema, (found.schema, &found.name))? else {
                return Ok(());
            };
            changed.array_name = free_array_name(cx, schema, &found.name);
            changed.schema = schema;
        }
        RenameKind::OwnerTo(role) => {
            let owner = cx.role(role)?;
            check_new_owner(cx, owner)?;
            changed.set_owner(owner);
        }
        _ => return Err(Error::unsupported("this form of ALTER TYPE")),
    }
    cx.draft()?.put(changed);
    Ok(())
}

/// `COMMENT ON TYPE`.
pub(crate) fn comment(
    cx: &mut DdlContext<'_>,
    name: &ObjectName,
    comment: Option<String>,
) -> Result<()> {
    let (found, _) = own_enum(cx, name).map_err(|error| match error.cause::<WrongKind>() {
        Some(_) => Error::unsupported("COMMENT ON TYPE of anything but an enum"),
        None => error,
    })?;
    cx.draft()?.put(Enum { comment, ..Enum::clone(&found) });
    Ok(())
}
