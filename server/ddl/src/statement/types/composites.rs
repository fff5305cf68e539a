//! CREATE TYPE … AS (…), and the forms of ALTER TYPE and COMMENT for composite types.
//!
//! Stored values name their attributes by number, so no form of ALTER TYPE touches a row. What the
//! stored rows could not follow is refused: another type of an attribute, as in PostgreSQL, and any
//! change of a type that keys of an index contain.

use std::sync::Arc;

use braid_catalog::{
    Catalog, Column, Composite, DefaultKind, Id, Object, Queries, Relation, StoredExpr, Table,
    View, enums_named, is_temporary,
};
use braid_sql::ast::{Attribute, AttributeAction, DropBehavior, ObjectName, RenameKind};
use braid_sql::{field_mark, fold};
use braid_types::sql_type::{relation_of_row_type, row_type_oid};
use braid_types::{Error, Result, SqlState, SqlType};

use crate::context::DdlContext;
use crate::names::describe::describe;
use crate::names::lookup::{parts, undefined, undefined_column};
use crate::names::owner::check_new_owner;
use crate::names::types::column_type;
use crate::names::user_types::{column_domain, new_schema};
use crate::roles::default_privileges::new_grants;
use crate::statement::drop::relations::drop_relations;
use crate::statement::object::view::{store_views, view_reads};
use crate::statement::types::enums::make_name_free;
use crate::table::columns::{check_column_type, collation_of};

/// The most attributes of a type.
const ATTRIBUTES_MAX: usize = 1600;

/// The composite type of that name; `None` if the name means anything else.
pub(crate) fn named_composite(
    cx: &DdlContext<'_>,
    name: &ObjectName,
) -> Result<Option<Arc<Composite>>> {
    Ok(match cx.find(name)? {
        Some(Relation::Composite(found)) => Some(found),
        _ => None,
    })
}

/// 42809: ALTER TABLE and its like do not change composite types.
pub(crate) fn refuse_composite(cx: &DdlContext<'_>, name: &ObjectName) -> Result<()> {
    let Some(found) = named_composite(cx, name)? else { return Ok(()) };
    let message = format!("\"{}\" is a composite type", found.name);
    Err(Error::new(SqlState::WrongObjectType, message).hint("Use ALTER TYPE instead."))
}

pub(crate) fn create(
    cx: &mut DdlContext<'_>,
    name: &ObjectName,
    attributes: &[Attribute],
) -> Result<()> {
    let (schema, name) = cx.target(name)?;
    if is_temporary(schema.id) {
        return Err(Error::unsupported("a type in a temporary schema"));
    }
    make_name_free(cx, schema.id, &name)?;
    cx.check_free(schema.id, &name)?;
    let owner = cx.user();
    let mut made = Composite {
        id: cx.draft()?.allocate_id(0),
        database: schema.database,
        schema: schema.id,
        name,
        owner,
        columns: Vec::with_capacity(attributes.len()),
        next_column: 1,
        grants: new_grants(cx, owner, Some(schema.id), DefaultKind::Types),
        comment: None,
    };
    for attribute in attributes {
        let name = fold(&attribute.name);
        if made.column_by_name(&name).is_some() {
            let message = format!("column \"{name}\" specified more than once");
            return Err(Error::new(SqlState::DuplicateColumn, message));
        }
        add(cx, &mut made, attribute)?;
    }
    cx.draft()?.put(made);
    Ok(())
}

/// Adds an attribute at the end.
fn add(cx: &DdlContext<'_>, made: &mut Composite, attribute: &Attribute) -> Result<()> {
    if made.columns.len() >= ATTRIBUTES_MAX {
        let message = format!("tables can have at most {ATTRIBUTES_MAX} columns");
        return Err(Error::new(SqlState::TooManyColumns, message));
    }
    let column = column_of(cx, made.id, made.next_column, attribute)?;
    made.next_column += 1;
    made.columns.push(column);
    Ok(())
}

fn column_of(cx: &DdlContext<'_>, own: Id, number: u16, attribute: &Attribute) -> Result<Column> {
    let name = fold(&attribute.name);
    let ty = column_type(cx, &attribute.data_type)?;
    check_column_type(&name, &ty)?;
    check_no_member_of_itself(&cx.catalog(), own, &ty)?;
    check_no_temporary_rows(own, &ty)?;
    let collation = collation_of(attribute.collation.as_ref(), &ty)?;
    let mut column = Column::plain(number, &name, ty);
    column.modifier = braid_plan::time_modifier_of(&attribute.data_type);
    column.more_dimensions = braid_plan::more_dimensions_of(&attribute.data_type);
    column.collation = collation;
    if let Some(domain) = column_domain(cx, &attribute.data_type)? {
        domain.give_to(&mut column);
    }
    Ok(column)
}

/// The relation whose rows a type is made of, if it is.
fn relation_of(ty: &SqlType) -> Option<Id> {
    match ty.innermost() {
        SqlType::Record(row) => {
            row.name().and_then(|name| relation_of_row_type(name.oid)).map(|(relation, _)| relation)
        }
        _ => None,
    }
}

/// Whether values of a type hold rows of a relation.
pub(crate) fn holds_rows(ty: &SqlType, relation: Id) -> bool {
    match ty.innermost() {
        SqlType::Record(row) => {
            relation_of(ty) == Some(relation) || row.iter().any(|(_, ty)| holds_rows(ty, relation))
        }
        _ => false,
    }
}

/// 42P16 for a column of a relation that would hold rows of the same relation.
pub(crate) fn check_no_member_of_itself(catalog: &Catalog, own: Id, ty: &SqlType) -> Result<()> {
    if !holds_rows(ty, own) {
        return Ok(());
    }
    let name = catalog.relation(own).map_or_else(String::new, |own| own.name().to_owned());
    let message = format!("composite type {name} cannot be made a member of itself");
    Err(Error::new(SqlState::InvalidTableDefinition, message))
}

/// 0A000 for a permanent column of rows of a temporary table, which end with its session.
pub(crate) fn check_no_temporary_rows(own: Id, ty: &SqlType) -> Result<()> {
    match relation_of(ty) {
        Some(relation) if is_temporary(relation) && !is_temporary(own) => {
            Err(Error::unsupported("a permanent column of rows of a temporary table"))
        }
        _ => Ok(()),
    }
}

/// The composite type whose attributes a statement changes. 42P01 if there is no relation of that
/// name, 42809 if it is of another kind.
fn own_composite(cx: &DdlContext<'_>, name: &ObjectName) -> Result<Arc<Composite>> {
    match cx.find(name)? {
        Some(Relation::Composite(found)) => {
            cx.check_owner(Object::Composite(&found))?;
            Ok(found)
        }
        Some(other) => {
            let message = format!("\"{}\" is not a composite type", other.name());
            Err(Error::new(SqlState::WrongObjectType, message))
        }
        None => Err(undefined("relation", &parts(name))),
    }
}

pub(crate) fn alter(
    cx: &mut DdlContext<'_>,
    name: &ObjectName,
    actions: &[AttributeAction],
) -> Result<()> {
    for action in actions {
        let found = own_composite(cx, name)?;
        let mut changed = Composite::clone(&found);
        match action {
            AttributeAction::Add(attribute) => {
                check_free_attribute(&found, &fold(&attribute.name))?;
                refuse_keys_and_literals(cx, &found)?;
                add(cx, &mut changed, attribute)?;
            }
            AttributeAction::Drop { name, if_exists, behavior } => {
                let name = fold(name);
                let Some(place) = found.column_by_name(&name) else {
                    let error = undefined_column(&found.name, &name);
                    if !if_exists {
                        return Err(error);
                    }
                    let message = format!("{}, skipping", error.message());
                    cx.notice(SqlState::SuccessfulCompletion, message);
                    continue;
                };
                refuse_keys_and_literals(cx, &found)?;
                drop_readers(cx, &found, &found.columns[place], *behavior)?;
                changed.columns.remove(place);
            }
            AttributeAction::Type(attribute) => {
                let name = fold(&attribute.name);
                let place = found.column_by_name(&name);
                let place = place.ok_or_else(|| undefined_column(&found.name, &name))?;
                let number = found.columns[place].id;
                let column = column_of(cx, found.id, number, attribute)?;
                refuse_users(cx, found.id, "type")?;
                refuse_keys_and_literals(cx, &found)?;
                refuse_readers(cx, &found, &found.columns[place])?;
                let comment = changed.columns[place].comment.take();
                changed.columns[place] = Column { comment, ..column };
            }
            AttributeAction::Rename { from, to } => {
                let (from, to) = (fold(from), fold(to));
                let Some(place) = found.column_by_name(&from) else {
                    let message = format!("column \"{from}\" does not exist");
                    return Err(Error::new(SqlState::UndefinedColumn, message));
                };
                check_free_attribute(&found, &to)?;
                store_views(cx, |view| view.depends_on.contains(&found.id), false)?;
                changed.columns[place].name = to;
            }
        }
        cx.draft()?.put(changed);
    }
    Ok(())
}

/// 42701 if the type has an attribute of that name.
fn check_free_attribute(found: &Composite, name: &str) -> Result<()> {
    if found.column_by_name(name).is_none() {
        return Ok(());
    }
    let message = format!("column \"{name}\" of relation \"{}\" already exists", found.name);
    Err(Error::new(SqlState::DuplicateColumn, message))
}

/// 0A000 if a table keeps rows of a relation whose columns are to be stored in another form.
pub(crate) fn refuse_users(cx: &DdlContext<'_>, relation: Id, kind: &str) -> Result<()> {
    let catalog = cx.catalog();
    let tables = catalog.names().row_types().users(row_type_oid(relation));
    for table in tables.into_iter().filter_map(|id| catalog.table(id)) {
        // As in PostgreSQL, arrays are looked at first.
        let holds = |column: &&Column| holds_rows(&column.ty, relation);
        let array = table.visible_columns().filter(holds).find(|column| column.ty.is_array());
        if let Some(column) = array.or_else(|| table.visible_columns().find(holds)) {
            let name = catalog.relation(relation).map(|found| found.name().to_owned());
            let uses = if kind == "type" { "uses it" } else { "uses its row type" };
            let message = format!(
                "cannot alter {kind} \"{}\" because column \"{}.{}\" {uses}",
                name.unwrap_or_default(),
                table.name,
                column.name
            );
            return Err(Error::new(SqlState::FeatureNotSupported, message));
        }
    }
    Ok(())
}

/// 0A000 if keys of an index hold rows of a relation whose columns are to change: keys have no
/// numbers of columns.
pub(crate) fn refuse_keys(cx: &DdlContext<'_>, relation: Id, kind: &str) -> Result<()> {
    let catalog = cx.catalog();
    let tables = catalog.names().row_types().users(row_type_oid(relation));
    for table in tables.into_iter().filter_map(|id| catalog.table(id)) {
        let holds = |column: u16| {
            table.column(column).is_some_and(|column| holds_rows(&column.ty, relation))
        };
        let mut indexes = table.all_indexes();
        if let Some(index) = indexes.find(|index| index.keys.iter().any(|key| holds(key.column))) {
            let name = catalog.relation(relation).map(|found| found.name().to_owned());
            let name = name.unwrap_or_default();
            let message = format!(
                "cannot alter {kind} \"{name}\" because index \"{}\" has keys of it",
                index.name
            );
            return Err(Error::new(SqlState::FeatureNotSupported, message)
                .hint("Drop the index and create it again afterwards."));
        }
    }
    Ok(())
}

/// 0A000 if keys hold values of the type, or a stored text has literals or casts of it.
fn refuse_keys_and_literals(cx: &DdlContext<'_>, found: &Composite) -> Result<()> {
    refuse_keys(cx, found.id, "type")?;
    let oid = row_type_oid(found.id);
    match named_in_text(cx, found.database, |text| enums_named(text).contains(&oid)) {
        Some(object) => {
            let message = format!("cannot alter type \"{}\" because {object} names it", found.name);
            Err(Error::new(SqlState::FeatureNotSupported, message))
        }
        None => Ok(()),
    }
}

/// What has such a stored text: a table by its expressions, or a view.
fn named_in_text(
    cx: &DdlContext<'_>,
    database: Id,
    concerns: impl Fn(&str) -> bool,
) -> Option<String> {
    let catalog = cx.catalog();
    let mut tables = catalog.tables().in_database(database);
    let table = tables.find(|table| expressions(table).any(|expr| concerns(expr.sql())));
    if let Some(table) = table {
        return Some(describe(cx, &catalog, table.id));
    }
    let mut views = Queries::of(&catalog).in_database(database);
    let stored = |view: &View| view.stored.as_ref().is_some_and(|stored| concerns(&stored.query));
    let view = views.find(|view| stored(view));
    view.map(|view| describe(cx, &catalog, view.id))
}

/// Every expression of a table's definition.
fn expressions(table: &Table) -> impl Iterator<Item = &StoredExpr> {
    let checks = table.checks.iter().map(|check| &check.expr);
    let predicates = table.indexes.iter().filter_map(|index| index.predicate.as_ref());
    let columns = table
        .columns
        .iter()
        .flat_map(|column| column.default.iter().chain(column.generated.as_ref()));
    checks.chain(predicates).chain(columns)
}

/// Views that read an attribute, and a constraint of a domain or a table with an expression that
/// does.
fn readers(
    cx: &DdlContext<'_>,
    found: &Composite,
    attribute: &Column,
) -> (Vec<Id>, Option<String>) {
    let catalog = cx.catalog();
    let views = Queries::of(&catalog).in_database(found.database);
    let views = views.filter(|view| view_reads(view, found.id, attribute)).map(|view| view.id);
    let mark = format!("\"{}\"", field_mark(found.id, attribute.id));
    let reads = |expr: &StoredExpr| expr.sql().contains(mark.as_str());
    let mut tables = catalog.tables().in_database(found.database);
    let table = tables.find(|table| expressions(table).any(reads));
    let mut checks = catalog.domains().iter().flat_map(|domain| &domain.checks);
    let check = checks.find(|check| reads(&check.expr));
    let check = check.map(|check| format!("constraint {}", check.name));
    let other = check.or_else(|| table.map(|table| describe(cx, &catalog, table.id)));
    (views.collect(), other)
}

/// 0A000 if a view or an expression reads an attribute.
fn refuse_readers(cx: &DdlContext<'_>, found: &Composite, attribute: &Column) -> Result<()> {
    let (views, other) = readers(cx, found, attribute);
    let view = views.first().map(|view| describe(cx, &cx.catalog(), *view));
    match view.or(other) {
        Some(reader) => {
            let (name, kind) = (&attribute.name, &found.name);
            let message = format!("cannot alter type \"{kind}\" because {reader} reads \"{name}\"");
            Err(Error::new(SqlState::FeatureNotSupported, message))
        }
        None => Ok(()),
    }
}

/// Drops the views that read an attribute. 2BP01 without CASCADE.
fn drop_readers(
    cx: &mut DdlContext<'_>,
    found: &Composite,
    attribute: &Column,
    behavior: DropBehavior,
) -> Result<()> {
    let (views, other) = readers(cx, found, attribute);
    let catalog = cx.catalog();
    let shown = describe(cx, &catalog, found.id);
    let on = format!("column {} of composite {shown}", attribute.name);
    let view_lines = views.iter().map(|view| describe(cx, &catalog, *view));
    let lines: Vec<String> = other.clone().into_iter().chain(view_lines).collect();
    if lines.is_empty() {
        return Ok(());
    }
    if behavior == DropBehavior::Restrict {
        let message = format!("cannot drop {on} because other objects depend on it");
        let detail: Vec<String> =
            lines.iter().map(|line| format!("{line} depends on {on}")).collect();
        return Err(Error::new(SqlState::DependentObjectsStillExist, message)
            .detail(detail.join("\n"))
            .hint("Use DROP ... CASCADE to drop the dependent objects too."));
    }
    if other.is_some() {
        let what = "DROP ATTRIBUTE ... CASCADE of an attribute that a constraint or default reads";
        return Err(Error::unsupported(what));
    }
    for line in &lines {
        cx.notice(SqlState::SuccessfulCompletion, format!("drop cascades to {line}"));
    }
    drop_relations(cx, views.into_iter().collect(), DropBehavior::Cascade)
}

/// Drops an attribute of a type that goes itself.
pub(crate) fn forget_attribute(cx: &mut DdlContext<'_>, id: Id, number: u16) -> Result<()> {
    let Some(found) = cx.catalog().composites().get(id).cloned() else { return Ok(()) };
    refuse_keys(cx, id, "type")?;
    let mut changed = Composite::clone(&found);
    changed.columns.retain(|column| column.id != number);
    cx.draft()?.put(changed);
    Ok(())
}

/// `ALTER TYPE … RENAME TO`, `SET SCHEMA`, `OWNER TO`.
pub(crate) fn rename(
    cx: &mut DdlContext<'_>,
    found: &Arc<Composite>,
    kind: &RenameKind,
) -> Result<()> {
    cx.check_owner(Object::Composite(found))?;
    let mut changed = Composite::clone(found);
    match kind {
        RenameKind::To(new) => {
            let new = fold(new);
            cx.check_free(found.schema, &new)?;
            make_name_free(cx, found.schema, &new)?;
            changed.name = new;
        }
        RenameKind::SetSchema(schema) => {
            let Some(schema) = new_schema(cx, schema, (found.schema, &found.name))? else {
                return Ok(());
            };
            changed.schema = schema;
        }
        RenameKind::OwnerTo(role) => {
            changed.owner = cx.role(role)?;
            check_new_owner(cx, changed.owner)?;
        }
        _ => return Err(Error::unsupported("this form of ALTER TYPE")),
    }
    cx.draft()?.put(changed);
    Ok(())
}

/// `COMMENT ON TYPE`.
pub(crate) fn comment(
    cx: &mut DdlContext<'_>,
    found: &Arc<Composite>,
    comment: Option<String>,
) -> Result<()> {
    cx.check_owner(Object::Composite(found))?;
    cx.draft()?.put(Composite { comment, ..Composite::clone(found) });
    Ok(())
}

/// `COMMENT ON COLUMN` of an attribute.
pub(crate) fn comment_attribute(
    cx: &mut DdlContext<'_>,
    found: &Arc<Composite>,
    attribute: &str,
    comment: Option<String>,
) -> Result<()> {
    cx.check_owner(Object::Composite(found))?;
    let mut changed = Composite::clone(found);
    let Some(place) = found.column_by_name(attribute) else {
        return Err(undefined_column(&found.name, attribute));
    };
    changed.columns[place].comment = comment;
    cx.draft()?.put(changed);
    Ok(())
}
