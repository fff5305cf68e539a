//! COMMENT ON.

use braid_catalog::{Database, Index, Object, Relation, Role, Schema, Sequence, Table, View};
use braid_sql::ast::{Comment, CommentTarget, ObjectName};
use braid_sql::fold;
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::names::lookup::{last, parts, undefined, undefined_column, wrong_kind};
use crate::names::user_types::named_domain;
use crate::roles::role::check_may_change;
use crate::statement::extension::check_language;
use crate::statement::object::{collation, statistics};
use crate::statement::policy;
use crate::statement::routine;
use crate::statement::trigger;
use crate::statement::types::composites::{self, named_composite};
use crate::statement::types::{domains, enums};
use crate::table::descriptor::undefined_constraint;

pub(crate) fn run(cx: &mut DdlContext<'_>, statement: &Comment) -> Result<()> {
    // An empty comment is none.
    let text = statement.text.clone().filter(|text| !text.is_empty());
    match &statement.target {
        CommentTarget::Table(name) => relation(cx, name, "table", text),
        CommentTarget::View(name) => relation(cx, name, "view", text),
        CommentTarget::MaterializedView(name) => relation(cx, name, "materialized view", text),
        CommentTarget::Sequence(name) => relation(cx, name, "sequence", text),
        CommentTarget::Index(name) => relation(cx, name, "index", text),
        CommentTarget::Column(name) => column(cx, name, text),
        CommentTarget::Schema(name) => {
            let schema = cx.schema(&last(name))?;
            cx.check_owner(Object::Schema(&schema))?;
            let mut schema = Schema::clone(&schema);
            schema.comment = text;
            cx.draft()?.put(schema);
            Ok(())
        }
        CommentTarget::Database(name) => {
            let name = last(name);
            let found = cx.catalog().names().database(&name).cloned();
            let Some(database) = found else {
                let message = format!("database \"{name}\" does not exist");
                return Err(Error::new(SqlState::InvalidCatalogName, message));
            };
            cx.check_owner(Object::Database(&database))?;
            let mut database = Database::clone(&database);
            database.comment = text;
            cx.draft()?.put(database);
            Ok(())
        }
        CommentTarget::Type(name) => match named_domain(cx, name)? {
            Some(_) => domains::comment(cx, name, text),
            None => match named_composite(cx, name)? {
                Some(found) => composites::comment(cx, &found, text),
                None => enums::comment(cx, name, text),
            },
        },
        CommentTarget::Collation(name) => collation::comment(cx, name, text),
        CommentTarget::Statistics(name) => statistics::comment(cx, name, text),
        CommentTarget::Domain(name) => domains::comment(cx, name, text),
        CommentTarget::Routine(name) => routine::comment(cx, name, text),
        CommentTarget::Trigger { name, table } => trigger::comment(cx, &fold(name), table, text),
        CommentTarget::Policy { name, table } => policy::comment(cx, &fold(name), table, text),
        CommentTarget::DomainConstraint { name, domain } => {
            domains::comment_check(cx, (name, domain), text)
        }
        CommentTarget::Role(name) => {
            let name = last(name);
            let Some(role) = cx.catalog().names().role(&name).cloned() else {
                let message = format!("role \"{name}\" does not exist");
                return Err(Error::new(SqlState::UndefinedObject, message));
            };
            check_may_change(cx, Some(&role))?;
            let mut role = Role::clone(&role);
            role.comment = text;
            cx.draft()?.put(role);
            Ok(())
        }
        CommentTarget::Constraint { name, table } => constraint(cx, &fold(name), table, text),
        // They are not in the catalog.
        CommentTarget::LargeObject(_) => Ok(()),
        // Extensions and languages are built in; nothing keeps a comment on one.
        CommentTarget::Extension(_) => Ok(()),
        CommentTarget::Language(name) => check_language(&last(name)).map(|_| ()),
    }
}

fn relation(
    cx: &mut DdlContext<'_>,
    name: &ObjectName,
    kind: &str,
    text: Option<String>,
) -> Result<()> {
    let Some(found) = cx.find(name)? else { return Err(undefined("relation", &parts(name))) };
    if found.kind() != kind {
        return Err(wrong_kind(found.name(), kind));
    }
    cx.check_owner(Object::from(&found))?;
    match found {
        Relation::Table(table) => {
            let mut table = Table::clone(&table);
            table.comment = text;
            cx.draft()?.put(table);
        }
        Relation::View(view) => {
            let mut view = View::clone(&view);
            view.comment = text;
            cx.draft()?.put(view);
        }
        Relation::Sequence(sequence) => {
            let mut sequence = Sequence::clone(&sequence);
            sequence.comment = text;
            cx.draft()?.put(sequence);
        }
        Relation::Index(table, index) => {
            let mut table = Table::clone(&table);
            if table.primary.number == index.number {
                table.primary.comment = text;
            } else if let Some(own) =
                table.indexes.iter_mut().find(|own| own.number == index.number)
            {
                own.comment = text;
            }
            cx.draft()?.put(table);
        }
        Relation::Virtual(_) | Relation::Composite(_) => {}
    }
    Ok(())
}

fn column(cx: &mut DdlContext<'_>, name: &ObjectName, text: Option<String>) -> Result<()> {
    let mut table_name = name.0.clone();
    table_name.pop();
    let table_name = ObjectName(table_name);
    if table_name.0.is_empty() {
        return Err(Error::new(SqlState::SyntaxError, "column name must be qualified"));
    }
    let column = last(name);
    if let Some(found) = named_composite(cx, &table_name)? {
        return composites::comment_attribute(cx, &found, &column, text);
    }
    if let Some(Relation::View(view)) = cx.find(&table_name)? {
        return view_column(cx, &view, &column, text);
    }
    let table = cx.table_or_materialized(&table_name)?;
    cx.check_owner(Object::Table(&table))?;
    let mut changed = Table::clone(&table);
    let found = changed.columns.iter_mut().find(|found| found.name == column && !found.hidden);
    let Some(found) = found else { return Err(undefined_column(&table.name, &column)) };
    found.comment = text;
    cx.draft()?.put(changed);
    Ok(())
}

fn view_column(
    cx: &mut DdlContext<'_>,
    view: &View,
    column: &str,
    text: Option<String>,
) -> Result<()> {
    cx.check_owner(Object::View(view))?;
    let mut columns = (1..).zip(&view.columns);
    let Some((id, _)) = columns.find(|(_, (name, _))| name == column) else {
        return Err(undefined_column(&view.name, column));
    };
    let mut changed = View::clone(view);
    changed.column_comments.retain(|(known, _)| *known != id);
    changed.column_comments.extend(text.map(|text| (id, text)));
    cx.draft()?.put(changed);
    Ok(())
}

fn constraint(
    cx: &mut DdlContext<'_>,
    name: &str,
    table: &ObjectName,
    text: Option<String>,
) -> Result<()> {
    let table = cx.own_table(table)?;
    let mut changed = Table::clone(&table);
    if let Some(check) = changed.checks.iter_mut().find(|check| check.name == name) {
        check.comment = text;
    } else if let Some(key) = changed.foreign_keys.iter_mut().find(|key| key.name == name) {
        key.comment = text;
    } else if let Some(index) = key_constraint(&mut changed, name) {
        index.constraint_comment = text;
    } else {
        let message = format!("constraint \"{name}\" for table \"{}\" does not exist", table.name);
        return Err(Error::new(undefined_constraint(&table, name).state(), message));
    }
    cx.draft()?.put(changed);
    Ok(())
}

/// The index of a key constraint or exclusion constraint.
fn key_constraint<'t>(table: &'t mut Table, name: &str) -> Option<&'t mut Index> {
    let mut indexes = std::iter::once(&mut table.primary).chain(&mut table.indexes);
    indexes.find(|index| index.name == name && index.constraint.is_some())
}
