//! CREATE TYPE … AS (…), and the forms of ALTER TYPE and COMMENT for composite types.
//!
//! Stored values name their attributes by number, so no form of ALTER TYPE touches a row. What the
//! stored rows could not follow is refused: another type of an attribute, as in PostgreSQL, and any
//! change of a type that keys of an index contain.

use std::sync::Arc;

use braid_catalog::{
    Column, Composite, DefaultKind, Domain, Id, Object, Owned, Queries, Relation, StoredExpr,
    Table, View, enums_named, is_temporary,
};
use braid_sql::ast::{Attribute, AttributeAction, DropBehavior, ObjectName, RenameKind};
use braid_sql::{field_mark, fold};
use braid_types::sql_type::row_type_oid;
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::names::describe::describe;
use crate::names::lookup::{parts, undefined, undefined_column};
use crate::names::owner::check_new_owner;
use crate::names::types::column_type;
use crate::names::user_types::{column_domain, new_schema};
use crate::roles::default_privileges::new_grants;
use crate::statement::drop::relations::drop_relations;
use crate::statement::object::statistics::{Found, drop_found, reading_field};
use crate::statement::object::view::{store_views, view_reads};
use crate::statement::types::enums::make_name_free;
use crate::statement::types::row_users::{
    check_no_member_of_itself, check_no_temporary_rows, refuse_keys, refuse_users,
};
use crate::table::columns::{check_column_type, collation_of, refuse_icu};
use crate::table::descriptor::change_table;

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
    let collation = collation_of(cx, attribute.collation.as_ref(), &ty)?;
    refuse_icu(cx, collation.as_deref(), "an attribute of a composite type")?;
    let mut column = Column::plain(number, &name, ty);
    column.modifier = braid_plan::time_modifier_of(&attribute.data_type);
    column.more_dimensions = braid_plan::more_dimensions_of(&attribute.data_type);
    column.collation = collation;
    if let Some(domain) = column_domain(cx, &attribute.data_type)? {
        domain.give_to(&mut column);
        refuse_icu(cx, column.collation.as_deref(), "an attribute of a composite type")?;
    }
    Ok(column)
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
                drop_readers(cx, &found, &found.columns[place], *behavior)?;
                refuse_keys_and_literals(cx, &found)?;
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
    let statistics = table.statistics.iter().flat_map(|object| &object.exprs);
    checks.chain(predicates).chain(columns).chain(statistics)
}

/// What reads an attribute.
#[derive(Default)]
struct Readers {
    /// Constraints of domains: domain and constraint.
    domain_checks: Vec<(Id, Id)>,
    /// Constraints of tables: table and constraint.
    checks: Vec<(Id, Id)>,
    /// Objects of CREATE STATISTICS.
    statistics: Vec<Found>,
    /// Views.
    views: Vec<Id>,
    /// A table with another expression that does, and one line for each of all.
    table: Option<Id>,
    lines: Vec<String>,
}

fn readers(cx: &DdlContext<'_>, found: &Composite, attribute: &Column) -> Readers {
    let catalog = cx.catalog();
    let mark = format!("\"{}\"", field_mark(found.id, attribute.id));
    let reads = |expr: &StoredExpr| expr.sql().contains(mark.as_str());
    let mut all = Readers::default();
    for domain in catalog.domains().in_database(found.database) {
        for check in domain.checks.iter().filter(|check| reads(&check.expr)) {
            all.domain_checks.push((domain.id, check.id));
            all.lines.push(format!("constraint {}", check.name));
        }
    }
    for table in catalog.tables().in_database(found.database) {
        let shown = describe(cx, &catalog, table.id);
        for check in table.checks.iter().filter(|check| reads(&check.expr)) {
            all.checks.push((table.id, check.id));
            all.lines.push(format!("constraint {} on {shown}", check.name));
        }
        let is_apart = |expr: &StoredExpr| {
            table.checks.iter().any(|check| check.expr == *expr)
                || table.statistics.iter().any(|object| object.exprs.contains(expr))
        };
        if all.table.is_none() && expressions(table).any(|expr| reads(expr) && !is_apart(expr)) {
            all.table = Some(table.id);
            all.lines.push(shown);
        }
    }
    all.statistics = reading_field(cx, found.database, (found.id, attribute.id));
    all.lines.extend(all.statistics.iter().map(|(.., name)| format!("statistics object {name}")));
    for view in Queries::of(&catalog).in_database(found.database) {
        if view_reads(&view, found.id, attribute) {
            all.views.push(view.id);
            all.lines.push(describe(cx, &catalog, view.id));
        }
    }
    all
}

/// 0A000 if a view or an expression reads an attribute.
fn refuse_readers(cx: &DdlContext<'_>, found: &Composite, attribute: &Column) -> Result<()> {
    match readers(cx, found, attribute).lines.first() {
        Some(reader) => {
            let (name, kind) = (&attribute.name, &found.name);
            let message = format!("cannot alter type \"{kind}\" because {reader} reads \"{name}\"");
            Err(Error::new(SqlState::FeatureNotSupported, message))
        }
        None => Ok(()),
    }
}

/// Drops the constraints and views that read an attribute. 2BP01 without CASCADE.
fn drop_readers(
    cx: &mut DdlContext<'_>,
    found: &Composite,
    attribute: &Column,
    behavior: DropBehavior,
) -> Result<()> {
    let readers = readers(cx, found, attribute);
    if readers.lines.is_empty() {
        return Ok(());
    }
    if behavior == DropBehavior::Restrict {
        let shown = describe(cx, &cx.catalog(), found.id);
        let on = format!("column {} of composite {shown}", attribute.name);
        let message = format!("cannot drop {on} because other objects depend on it");
        let detail: Vec<String> =
            readers.lines.iter().map(|line| format!("{line} depends on {on}")).collect();
        return Err(Error::new(SqlState::DependentObjectsStillExist, message)
            .detail(detail.join("\n"))
            .hint("Use DROP ... CASCADE to drop the dependent objects too."));
    }
    if readers.table.is_some() {
        let what = "DROP ATTRIBUTE ... CASCADE of an attribute that an index or a column reads";
        return Err(Error::unsupported(what));
    }
    for line in &readers.lines {
        cx.notice(SqlState::SuccessfulCompletion, format!("drop cascades to {line}"));
    }
    for (table, check) in readers.checks {
        change_table(cx, table, |table| table.checks.retain(|known| known.id != check))?;
    }
    drop_found(cx, &readers.statistics)?;
    for (domain, check) in readers.domain_checks {
        let Some(domain) = cx.catalog().domains().get(domain).cloned() else { continue };
        let mut changed = Domain::clone(&domain);
        changed.checks.retain(|known| known.id != check);
        cx.draft()?.put(changed);
    }
    drop_relations(cx, readers.views.into_iter().collect(), DropBehavior::Cascade)
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
