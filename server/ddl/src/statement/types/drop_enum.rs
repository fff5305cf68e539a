//! DROP TYPE of an enum, and what depends on it: columns, and what reads these; views, checks and
//! defaults that name it.

use std::collections::BTreeSet;

use braid_catalog::{Catalog, Column, Enum, Id, StoredExpr, Table, enums_named};
use braid_sql::ast::{DropBehavior, ObjectName};
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::names::describe::describe;
use crate::names::types::{enum_name, find_enum};
use crate::statement::drop::relations::drop_relations;
use crate::statement::index::drop_index::drop_index_of;
use crate::statement::object::view::view_reads;
use crate::statement::table::drop_column::drop_column;
use crate::table::descriptor::change_table;
use crate::table::expr_text::columns_used;

/// What needs an enum.
#[derive(Clone, PartialEq, Eq)]
enum Dependent {
    Column(Id, u16),
    View(Id),
    Check(Id, Id),
    Default(Id, u16),
    Index(Id, u16),
}

/// The dependents that have been found, with the lines that tell of them.
#[derive(Default)]
pub(crate) struct Dependents {
    dependents: Vec<Dependent>,
    lines: Vec<(String, String)>,
}

impl Dependents {
    /// The lines as an error has them.
    pub(crate) fn details(&self) -> Vec<String> {
        self.lines.iter().map(|(text, on)| format!("{text} depends on {on}")).collect()
    }

    /// The lines as a notice has them, without its words.
    pub(crate) fn texts(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.lines.iter().map(|(text, _)| text.as_str())
    }

    fn add(&mut self, dependent: Dependent, text: String, on: &str) -> bool {
        if self.dependents.contains(&dependent) {
            return false;
        }
        self.dependents.push(dependent);
        self.lines.push((text, on.to_owned()));
        true
    }
}

/// Drops an enum that a statement has named.
pub(crate) async fn drop_named(
    cx: &mut DdlContext<'_>,
    name: &ObjectName,
    behavior: DropBehavior,
) -> Result<()> {
    let (found, is_array) = find_enum(cx, name)?;
    cx.check_owner(braid_catalog::Object::Enum(&found))?;
    if is_array {
        let name = enum_name(cx, &found);
        let message = format!("cannot drop type {name}[] because type {name} requires it");
        return Err(Error::new(SqlState::DependentObjectsStillExist, message)
            .hint(format!("You can drop type {name} instead.")));
    }
    drop_enum(cx, &found, behavior).await
}

/// Drops an enum with all dependent objects, and reports them.
pub(crate) async fn drop_enum(
    cx: &mut DdlContext<'_>,
    found: &Enum,
    behavior: DropBehavior,
) -> Result<()> {
    let dependents = dependents(cx, found, &BTreeSet::new());
    let lines = &dependents.lines;
    if behavior == DropBehavior::Restrict && !lines.is_empty() {
        let name = enum_name(cx, found);
        let message = format!("cannot drop type {name} because other objects depend on it");
        return Err(Error::new(SqlState::DependentObjectsStillExist, message)
            .detail(dependents.details().join("\n"))
            .hint("Use DROP ... CASCADE to drop the dependent objects too."));
    }
    let texts: Vec<String> =
        lines.iter().map(|(text, _)| format!("drop cascades to {text}")).collect();
    carry_out(cx, found, dependents).await?;
    match texts.as_slice() {
        [] => {}
        [only] => cx.notice(SqlState::SuccessfulCompletion, only.clone()),
        several => {
            let message = format!("drop cascades to {} other objects", several.len());
            let notice = Error::new(SqlState::SuccessfulCompletion, message);
            cx.notices.push(notice.detail(several.join("\n")));
        }
    }
    Ok(())
}

/// Drops an enum and these dependents without telling of it.
pub(crate) async fn carry_out(
    cx: &mut DdlContext<'_>,
    found: &Enum,
    dependents: Dependents,
) -> Result<()> {
    let told = cx.notices.len();
    for dependent in dependents.dependents {
        drop_dependent(cx, dependent).await?;
    }
    cx.notices.truncate(told);
    cx.draft()?.remove(found.id);
    Ok(())
}

/// What needs an enum. Tables and views that go with it are not asked.
pub(crate) fn dependents(cx: &DdlContext<'_>, found: &Enum, doomed: &BTreeSet<Id>) -> Dependents {
    let catalog = &*cx.catalog();
    let mut all = Dependents::default();
    let name = enum_name(cx, found);
    let tables =
        || catalog.tables().in_database(found.database).filter(|table| !doomed.contains(&table.id));
    for is_array in [true, false] {
        let on = if is_array { format!("type {name}[]") } else { format!("type {name}") };
        for table in tables() {
            for column in &table.columns {
                let of_enum = column.ty.inner_enum().is_some_and(|ty| ty.oid == found.id);
                if of_enum && column.ty.is_array() == is_array {
                    add_column(cx, catalog, table, column, &on, &mut all);
                }
            }
        }
    }
    let on = format!("type {name}");
    for table in tables() {
        add_texts(cx, catalog, table, found.id, &on, &mut all);
    }
    for view in
        catalog.views().in_database(found.database).filter(|view| !doomed.contains(&view.id))
    {
        let query = view.stored.as_ref().map_or("", |stored| stored.query.as_str());
        if enums_named(query).contains(&found.id) {
            add_view(cx, catalog, view.id, &on, &mut all);
        }
    }
    all
}

/// A column, and what reads it.
fn add_column(
    cx: &DdlContext<'_>,
    catalog: &Catalog,
    table: &Table,
    column: &Column,
    on: &str,
    all: &mut Dependents,
) {
    let text = format!("column {} of {}", column.name, describe(cx, catalog, table.id));
    if !all.add(Dependent::Column(table.id, column.id), text.clone(), on) {
        return;
    }
    for view in catalog.views().in_database(table.database) {
        if view_reads(view, table.id, column) {
            add_view(cx, catalog, view.id, &text, all);
        }
    }
    for other in &table.columns {
        let reads = |expr: &StoredExpr| columns_used(table, expr).contains(&column.id);
        let is_enum = other.ty.inner_enum().is_some();
        if other.id != column.id && !is_enum && other.generated.as_ref().is_some_and(reads) {
            add_column(cx, catalog, table, other, &text, all);
        }
    }
}

/// A view, and the views that read it.
fn add_view(cx: &DdlContext<'_>, catalog: &Catalog, id: Id, on: &str, all: &mut Dependents) {
    let text = describe(cx, catalog, id);
    if all.add(Dependent::View(id), text.clone(), on) {
        for view in catalog.views().iter().filter(|view| view.depends_on.contains(&id)) {
            add_view(cx, catalog, view.id, &text, all);
        }
    }
}

/// Expressions of a table that name the enum, of columns that stay.
fn add_texts(
    cx: &DdlContext<'_>,
    catalog: &Catalog,
    table: &Table,
    id: Id,
    on: &str,
    all: &mut Dependents,
) {
    let shown = describe(cx, catalog, table.id);
    let names =
        |expr: Option<&StoredExpr>| expr.is_some_and(|expr| enums_named(expr.sql()).contains(&id));
    let goes = |all: &Dependents, column: u16| {
        all.dependents.contains(&Dependent::Column(table.id, column))
    };
    for column in table.columns.iter().filter(|column| names(column.generated.as_ref())) {
        if !goes(all, column.id) {
            add_column(cx, catalog, table, column, on, all);
        }
    }
    for column in table.columns.iter().filter(|column| names(column.default.as_ref())) {
        if !goes(all, column.id) {
            let text = format!("default value for column {} of {shown}", column.name);
            all.add(Dependent::Default(table.id, column.id), text, on);
        }
    }
    for check in table.checks.iter().filter(|check| names(Some(&check.expr))) {
        if !check.columns.iter().any(|column| goes(all, *column)) {
            let text = format!("constraint {} on {shown}", check.name);
            all.add(Dependent::Check(table.id, check.id), text, on);
        }
    }
    for index in table.indexes.iter().filter(|index| names(index.predicate.as_ref())) {
        let predicate = index.predicate.as_ref();
        let mut columns = predicate.map(|expr| columns_used(table, expr)).unwrap_or_default();
        columns.extend(index.keys.iter().map(|key| key.column));
        if !columns.iter().any(|column| goes(all, *column)) {
            let text = format!("index {}", index.name);
            all.add(Dependent::Index(table.id, index.number), text, on);
        }
    }
}

async fn drop_dependent(cx: &mut DdlContext<'_>, dependent: Dependent) -> Result<()> {
    match dependent {
        Dependent::View(id) => {
            if cx.catalog().views().get(id).is_some() {
                drop_relations(cx, BTreeSet::from([id]), DropBehavior::Cascade)?;
            }
        }
        Dependent::Column(table, column) => {
            let Some(table) = cx.catalog().table(table).cloned() else { return Ok(()) };
            let Some(column) = table.column(column) else { return Ok(()) };
            let name = column.name.clone();
            drop_column(cx, table, &name, true, DropBehavior::Cascade).await?;
        }
        Dependent::Check(table, check) => {
            change_table(cx, table, |table| table.checks.retain(|other| other.id != check))?;
        }
        Dependent::Default(table, column) => change_table(cx, table, |table| {
            table.columns.iter_mut().filter(|other| other.id == column).for_each(|column| {
                column.default = None;
            });
        })?,
        Dependent::Index(table, number) => {
            drop_index_of(cx, table, number)?;
        }
    }
    Ok(())
}
