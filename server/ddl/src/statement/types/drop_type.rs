//! DROP TYPE and DROP DOMAIN, and what depends on the type: columns, and what reads these; domains
//! over it; views, checks and defaults that name it.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_catalog::partitions::with_partitions;
use braid_catalog::{
    Catalog, Column, Domain, Id, Index, Mentioning, OwnCollation, Policy, Queries, Routine,
    StoredExpr, Table, View, enums_named,
};
use braid_sql::ast::DropBehavior;
use braid_sql::quote_ident;
use braid_types::sql_type::{relation_of_row_type, row_name, row_type_oid, user_types};
use braid_types::{Error, Result, SqlState, SqlType};

use crate::context::DdlContext;
use crate::names::describe::{describe, describe_routine};
use crate::names::user_types::UserType;
use crate::partitions::refuse::is_in_key;
use crate::statement::drop::relations::drop_relations;
use crate::statement::index::drop_index::drop_index_of;
use crate::statement::object::view::view_reads;
use crate::statement::table::drop_column::drop_column;
use crate::statement::trigger::refuse_drop_of_function;
use crate::statement::types::row_users::forget_attribute;
use crate::table::descriptor::change_table;
use crate::table::expr_text::columns_used;

/// What needs a type.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Dependent {
    Column(Id, u16),
    /// An attribute of a composite type.
    Attribute(Id, u16),
    View(Id),
    Check(Id, Id),
    Default(Id, u16),
    Index(Id, u16),
    Domain(Id),
    DomainCheck(Id, Id),
    Routine(Id),
    Policy(Id, Id),
    Statistics(Id, Id),
}

/// The dependents that have been found, with the lines that tell of them.
#[derive(Default)]
pub(crate) struct Dependents {
    dependents: Vec<Dependent>,
    known: BTreeSet<Dependent>,
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

    /// The lines of the report.
    pub(crate) fn cascades(&self) -> Vec<String> {
        self.texts().map(|text| format!("drop cascades to {text}")).collect()
    }

    /// The lines of the report. 2BP01 if there are any and nothing may go along.
    fn check(&self, name: &str, behavior: DropBehavior) -> Result<Vec<String>> {
        if behavior == DropBehavior::Restrict && !self.lines.is_empty() {
            let message = format!("cannot drop {name} because other objects depend on it");
            return Err(Error::new(SqlState::DependentObjectsStillExist, message)
                .detail(self.details().join("\n"))
                .hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        Ok(self.cascades())
    }

    fn add(&mut self, dependent: Dependent, text: String, on: &str) -> bool {
        if !self.known.insert(dependent.clone()) {
            return false;
        }
        self.dependents.push(dependent);
        self.lines.push((text, on.to_owned()));
        true
    }

    /// Whether one of these columns of a table is among them.
    fn has_column(&self, table: Id, columns: impl IntoIterator<Item = u16>) -> bool {
        let mut columns = columns.into_iter();
        columns.any(|column| self.known.contains(&Dependent::Column(table, column)))
    }
}

/// Drops a type that a statement has named, maybe by the name of its arrays' type.
pub(crate) async fn drop_named(
    cx: &mut DdlContext<'_>,
    (found, is_array): (&UserType, bool),
    behavior: DropBehavior,
) -> Result<()> {
    cx.check_owner(found.object())?;
    if is_array {
        let name = found.shown(cx);
        let message = format!("cannot drop type {name}[] because type {name} requires it");
        return Err(Error::new(SqlState::DependentObjectsStillExist, message)
            .hint(format!("You can drop type {name} instead.")));
    }
    drop_type(cx, found, behavior).await
}

/// Drops a type with all dependent objects, and reports them.
pub(crate) async fn drop_type(
    cx: &mut DdlContext<'_>,
    found: &UserType,
    behavior: DropBehavior,
) -> Result<()> {
    let dependents = dependents(cx, found, &BTreeSet::new());
    let name = format!("type {}", found.shown(cx));
    let texts = dependents.check(&name, behavior)?;
    carry_out(cx, found.id(), dependents).await?;
    report(cx, &texts);
    Ok(())
}

/// Drops a routine with all dependent objects, and reports them.
pub(crate) async fn drop_routine(
    cx: &mut DdlContext<'_>,
    routine: &Routine,
    behavior: DropBehavior,
) -> Result<()> {
    drop_routine_of(cx, routine, &BTreeSet::new(), behavior).await
}

/// The same for one of several objects that go: these are no reason to stay.
pub(crate) async fn drop_routine_of(
    cx: &mut DdlContext<'_>,
    routine: &Routine,
    going: &BTreeSet<Id>,
    behavior: DropBehavior,
) -> Result<()> {
    if routine.is_for_triggers() {
        refuse_drop_of_function(cx, routine, behavior)?;
    }
    let dependents = routine_dependents(cx, routine, going);
    let texts = dependents.check(&describe_routine(cx, routine), behavior)?;
    carry_out(cx, routine.id, dependents).await?;
    report(cx, &texts);
    Ok(())
}

/// What needs a routine, except what goes anyway.
pub(crate) fn routine_dependents(
    cx: &DdlContext<'_>,
    routine: &Routine,
    doomed: &BTreeSet<Id>,
) -> Dependents {
    let (name, catalog) = (describe_routine(cx, routine), cx.catalog());
    let mut all = Dependents::default();
    add_routine(cx, &catalog, (routine, &name), doomed, &mut all);
    all
}

/// What needs a routine: what names it, and the aggregates that it is a part of.
fn add_routine(
    cx: &DdlContext<'_>,
    catalog: &Catalog,
    (routine, name): (&Routine, &str),
    doomed: &BTreeSet<Id>,
    all: &mut Dependents,
) {
    for other in Mentioning::of(catalog, routine.id).routines() {
        if other.is_aggregate_of(routine.id) && !doomed.contains(&other.id) {
            take_routine(cx, catalog, (other, name), doomed, all);
        }
    }
    for domain in Mentioning::of(catalog, routine.id).domains() {
        if !doomed.contains(&domain.id) {
            add_domain_checks(domain, (routine.id, name), all);
        }
    }
    add_named(cx, catalog, (routine.id, routine.database, name), doomed, all);
}

/// Takes a routine along, and what needs it.
fn take_routine(
    cx: &DdlContext<'_>,
    catalog: &Catalog,
    (routine, on): (&Routine, &str),
    doomed: &BTreeSet<Id>,
    all: &mut Dependents,
) {
    let text = describe_routine(cx, routine);
    if all.add(Dependent::Routine(routine.id), text.clone(), on) {
        add_routine(cx, catalog, (routine, &text), doomed, all);
    }
}

/// Says what CASCADE has taken along.
pub(crate) fn report(cx: &mut DdlContext<'_>, texts: &[String]) {
    match texts {
        [] => {}
        [only] => cx.notice(SqlState::SuccessfulCompletion, only.clone()),
        several => {
            let message = format!("drop cascades to {} other objects", several.len());
            let notice = Error::new(SqlState::SuccessfulCompletion, message);
            cx.notices.push(notice.detail(several.join("\n")));
        }
    }
}

/// Drops a type or routine and these dependents without telling of it.
pub(crate) async fn carry_out(
    cx: &mut DdlContext<'_>,
    id: Id,
    dependents: Dependents,
) -> Result<()> {
    drop_dependents(cx, dependents).await?;
    cx.draft()?.remove(id);
    Ok(())
}

/// Drops dependents without telling of it.
pub(crate) async fn drop_dependents(cx: &mut DdlContext<'_>, dependents: Dependents) -> Result<()> {
    let told = cx.notices.len();
    for dependent in dependents.dependents {
        drop_dependent(cx, dependent).await?;
    }
    cx.notices.truncate(told);
    Ok(())
}

/// The columns, statistics objects and views that need a collation, except of what goes anyway.
pub(crate) fn collation_dependents(
    cx: &DdlContext<'_>,
    found: &OwnCollation,
    doomed: &BTreeSet<Id>,
) -> Dependents {
    let (catalog, stored) = (cx.catalog(), found.stored());
    let on = format!("collation {}", found.name);
    let mut all = Dependents::default();
    for table in catalog.tables().iter().filter(|table| !doomed.contains(&table.id)) {
        let has = |column: &&Column| column.collation.as_deref() == Some(stored.as_str());
        for column in table.columns.iter().filter(has) {
            if table.materialized.is_none() {
                add_column(cx, &catalog, table, column, &on, &mut all);
            }
        }
        let names = |expr: &StoredExpr| expr.sql().contains(&format!("{stored}\""));
        for object in table.statistics.iter().filter(|object| object.exprs.iter().any(names)) {
            let text = format!("statistics object {}", object.name);
            all.add(Dependent::Statistics(table.id, object.id), text, &on);
        }
    }
    let names = |view: &View| {
        let query = view.stored.as_ref().map_or("", |stored| stored.query.as_str());
        query.contains(&format!("{stored}\""))
    };
    for view in Queries::of(&catalog).iter().filter(|view| names(view)) {
        if !doomed.contains(&view.id) {
            add_view(cx, &catalog, view.id, &on, &mut all);
        }
    }
    all
}

/// What needs a type. Tables, views and types that go with it are not asked.
pub(crate) fn dependents(
    cx: &DdlContext<'_>,
    found: &UserType,
    doomed: &BTreeSet<Id>,
) -> Dependents {
    let mut all = Dependents::default();
    add_type(cx, &cx.catalog(), found, doomed, &mut all);
    all
}

/// Whether a column is of the type, or of its arrays.
fn is_of(column: &Column, found: &UserType, is_array: bool) -> bool {
    match found {
        UserType::Domain(found) => match is_array {
            true => found.array != 0 && column.domain == Some(found.array),
            false => column.domain == Some(found.id),
        },
        UserType::Enum(_) | UserType::Composite(_) => {
            let has_type = column.domain.is_none() && is_base(&column.ty, found);
            has_type && column.ty.is_array() == is_array
        }
    }
}

/// Whether a type is an enum or the row type of a composite type, or an array of it.
fn is_base(ty: &SqlType, found: &UserType) -> bool {
    match found {
        UserType::Domain(_) => false,
        UserType::Enum(found) => ty.inner_enum().is_some_and(|ty| ty.oid == found.id),
        UserType::Composite(found) => {
            row_name(ty).is_some_and(|row| row.oid == row_type_oid(found.id))
        }
    }
}

/// Whether an expression names a type or a routine.
fn names(expr: &StoredExpr, id: Id) -> bool {
    enums_named(expr.sql()).contains(&id)
}

/// What needs a type, the domains over it and what needs these included.
fn add_type(
    cx: &DdlContext<'_>,
    catalog: &Catalog,
    found: &UserType,
    doomed: &BTreeSet<Id>,
    all: &mut Dependents,
) {
    let (id, name, database) = (found.oid(), found.shown(cx), found.database());
    let arrays = match found {
        UserType::Domain(found) => Some(found.array).filter(|array| *array != 0),
        _ => None,
    };
    for is_array in [true, false] {
        let on = if is_array { format!("type {name}[]") } else { format!("type {name}") };
        let mentioning = Mentioning::of(catalog, arrays.filter(|_| is_array).unwrap_or(id));
        let tables = mentioning.tables().filter(|table| !doomed.contains(&table.id));
        // A materialized view goes with what its query reads.
        for table in tables.filter(|table| table.materialized.is_none()) {
            for column in table.columns.iter().filter(|column| is_of(column, found, is_array)) {
                add_column(cx, catalog, table, column, &on, all);
            }
        }
        for other in mentioning.composites() {
            let of_type = other.columns.iter().filter(|column| is_of(column, found, is_array));
            for attribute in of_type.filter(|_| !doomed.contains(&other.id)) {
                let composite = describe(cx, catalog, other.id);
                let text = format!("column {} of composite {composite}", attribute.name);
                all.add(Dependent::Attribute(other.id, attribute.id), text, &on);
            }
        }
    }
    let on = format!("type {name}");
    for domain in Mentioning::of(catalog, id).domains() {
        add_domain(cx, catalog, (domain, found), doomed, all);
    }
    let mentioning = arrays.into_iter().chain([id]).map(|id| Mentioning::of(catalog, id));
    let routines: BTreeSet<Id> = mentioning
        .flat_map(|found| found.routines().map(|routine| routine.id).collect::<Vec<_>>())
        .collect();
    for routine in routines.into_iter().filter_map(|id| catalog.names().routines().get(id)) {
        let is_own = |ty: &SqlType| user_types(ty).contains(&id);
        let is_used = routine.uses_type(is_own)
            || routine.uses_domain(id)
            || arrays.is_some_and(|arrays| routine.uses_domain(arrays));
        if !doomed.contains(&routine.id) && is_used {
            take_routine(cx, catalog, (routine, &on), doomed, all);
        }
    }
    for id in arrays.into_iter().chain([id]) {
        add_named(cx, catalog, (id, database, &on), doomed, all);
    }
}

/// What names an object in its text: expressions of tables, views, defaults of parameters.
fn add_named(
    cx: &DdlContext<'_>,
    catalog: &Catalog,
    (id, database, on): (Id, Id, &str),
    doomed: &BTreeSet<Id>,
    all: &mut Dependents,
) {
    let mentioning = Mentioning::of(catalog, id);
    let here = |table: &&Arc<Table>| table.database == database && !doomed.contains(&table.id);
    for table in mentioning.tables().filter(here) {
        add_texts(cx, catalog, table, id, on, all);
    }
    let here = |view: &Arc<View>| view.database == database && !doomed.contains(&view.id);
    for view in mentioning.queries().filter(here) {
        let query = view.stored.as_ref().map_or("", |stored| stored.query.as_str());
        let is_read = relation_of_row_type(id).map_or(id, |(relation, _)| relation);
        if enums_named(query).contains(&id) || view.depends_on.contains(&is_read) {
            add_view(cx, catalog, view.id, on, all);
        }
    }
    for other in mentioning.routines() {
        let mut defaults = other.parameters.iter().filter_map(|known| known.default.as_ref());
        if defaults.any(|expr| names(expr, id)) && !doomed.contains(&other.id) {
            take_routine(cx, catalog, (other, on), doomed, all);
        }
    }
}

/// A domain that is over a type or names it in its default, or the conditions that name it.
fn add_domain(
    cx: &DdlContext<'_>,
    catalog: &Catalog,
    (domain, found): (&Arc<Domain>, &UserType),
    doomed: &BTreeSet<Id>,
    all: &mut Dependents,
) {
    let id = found.oid();
    if doomed.contains(&domain.id) || domain.id == id {
        return;
    }
    let on = format!("type {}", found.shown(cx));
    let is_over = match found {
        UserType::Domain(_) => domain.parent == Some(id),
        UserType::Enum(_) | UserType::Composite(_) => {
            domain.parent.is_none() && is_base(&domain.base, found)
        }
    };
    if is_over || domain.default.as_ref().is_some_and(|expr| names(expr, id)) {
        let above = UserType::Domain(domain.clone());
        let text = format!("type {}", above.shown(cx));
        if all.add(Dependent::Domain(domain.id), text, &on) {
            add_type(cx, catalog, &above, doomed, all);
        }
        return;
    }
    add_domain_checks(domain, (id, &on), all);
}

/// The conditions of a domain that name something.
fn add_domain_checks(domain: &Domain, (id, on): (Id, &str), all: &mut Dependents) {
    for check in domain.checks.iter().filter(|check| names(&check.expr, id)) {
        let text = format!("constraint {}", check.name);
        all.add(Dependent::DomainCheck(domain.id, check.id), text, on);
    }
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
    if column.is_key_expr {
        return add_keyed_indexes(table, column, on, all);
    }
    let text = format!("column {} of {}", column.name, describe(cx, catalog, table.id));
    if !all.add(Dependent::Column(table.id, column.id), text.clone(), on) {
        return;
    }
    for view in Mentioning::of(catalog, table.id).queries() {
        if view_reads(&view, table.id, column) {
            add_view(cx, catalog, view.id, &text, all);
        }
    }
    for other in &table.columns {
        let reads = |expr: &StoredExpr| columns_used(table, expr).contains(&column.id);
        let is_enum = !user_types(&other.ty).is_empty();
        // Indexes on expressions go with their columns, without a word.
        let is_shown = other.id != column.id && !is_enum && !other.is_key_expr;
        if is_shown && other.generated.as_ref().is_some_and(reads) {
            add_column(cx, catalog, table, other, &text, all);
        }
    }
}

/// The indexes that have an expression as a key.
fn add_keyed_indexes(table: &Table, key: &Column, on: &str, all: &mut Dependents) {
    // A part of a partitioned index goes with it.
    let has_key = |index: &&Index| {
        index.part_of.is_none() && index.keys.iter().any(|part| part.column == key.id)
    };
    for index in table.indexes.iter().filter(has_key) {
        let dependent = Dependent::Index(table.id, index.number);
        all.add(dependent, format!("index {}", quote_ident(&index.name)), on);
    }
}

/// A view, and the views that read it.
fn add_view(cx: &DdlContext<'_>, catalog: &Catalog, id: Id, on: &str, all: &mut Dependents) {
    let text = describe(cx, catalog, id);
    if all.add(Dependent::View(id), text.clone(), on) {
        let mentioning = Mentioning::of(catalog, id);
        for view in mentioning.queries().filter(|view| view.depends_on.contains(&id)) {
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
    let is_named = |expr: Option<&StoredExpr>| expr.is_some_and(|expr| names(expr, id));
    for column in table.columns.iter().filter(|column| is_named(column.generated.as_ref())) {
        let read = column.generated.as_ref().map(|expr| columns_used(table, expr));
        // An index on an expression goes with a column that it reads, without a word.
        let is_gone = column.is_key_expr && all.has_column(table.id, read.unwrap_or_default());
        if !all.has_column(table.id, [column.id]) && !is_gone {
            add_column(cx, catalog, table, column, on, all);
        }
    }
    for column in table.columns.iter().filter(|column| is_named(column.default.as_ref())) {
        if !all.has_column(table.id, [column.id]) {
            let text = format!("default value for column {} of {shown}", column.name);
            all.add(Dependent::Default(table.id, column.id), text, on);
        }
    }
    for check in table.checks.iter().filter(|check| names(&check.expr, id)) {
        if !all.has_column(table.id, check.columns.iter().copied()) {
            let text = format!("constraint {} on {shown}", check.name);
            all.add(Dependent::Check(table.id, check.id), text, on);
        }
    }
    let of_policy = |policy: &&Policy| {
        policy.uses(id) || policy.conditions().any(|condition| names(&condition.expr, id))
    };
    for policy in table.security.policies.iter().filter(of_policy) {
        let text = format!("policy {} on {shown}", policy.name);
        all.add(Dependent::Policy(table.id, policy.id), text, on);
    }
    for object in &table.statistics {
        if object.exprs.iter().any(|expr| names(expr, id)) {
            let text = format!("statistics object {}", object.name);
            all.add(Dependent::Statistics(table.id, object.id), text, on);
        }
    }
    let is_own = |index: &&Index| index.part_of.is_none() && is_named(index.predicate.as_ref());
    for index in table.indexes.iter().filter(is_own) {
        let predicate = index.predicate.as_ref();
        let mut columns = predicate.map(|expr| columns_used(table, expr)).unwrap_or_default();
        columns.extend(index.keys.iter().map(|key| key.column));
        if !all.has_column(table.id, columns) {
            let text = format!("index {}", quote_ident(&index.name));
            all.add(Dependent::Index(table.id, index.number), text, on);
        }
    }
}

/// The partitions of a table that are partitioned themselves, by a column of this name.
fn partitions_keyed_by(catalog: &Catalog, table: &Arc<Table>, name: &str) -> Result<BTreeSet<Id>> {
    let reads = |part: &&Arc<Table>| {
        let mut columns = part.visible_columns();
        columns.any(|column| column.name == name && is_in_key(part, column.id))
    };
    let parts = with_partitions(catalog, table)?;
    Ok(parts.iter().filter(reads).map(|part| part.id).collect())
}

async fn drop_dependent(cx: &mut DdlContext<'_>, dependent: Dependent) -> Result<()> {
    match dependent {
        Dependent::View(id) => {
            if Queries::of(&cx.catalog()).get(id).is_some() {
                drop_relations(cx, BTreeSet::from([id]), DropBehavior::Cascade)?;
            }
        }
        Dependent::Column(table, column) => {
            let Some(table) = cx.catalog().table(table).cloned() else { return Ok(()) };
            let Some(column) = table.column(column) else { return Ok(()) };
            // A table without its partition key cannot stay.
            if is_in_key(&table, column.id) {
                let relations = BTreeSet::from([table.id]);
                return drop_relations(cx, relations, DropBehavior::Cascade);
            }
            let name = column.name.clone();
            let lost = partitions_keyed_by(&cx.catalog(), &table, &name)?;
            drop_relations(cx, lost, DropBehavior::Cascade)?;
            let Some(table) = cx.catalog().table(table.id).cloned() else { return Ok(()) };
            drop_column(cx, table, &name, true, DropBehavior::Cascade).await?;
        }
        Dependent::Attribute(id, number) => forget_attribute(cx, id, number)?,
        Dependent::Check(table, check) => {
            change_table(cx, table, |table| table.checks.retain(|other| other.id != check))?;
        }
        Dependent::Policy(table, policy) => change_table(cx, table, |table| {
            table.security.policies.retain(|other| other.id != policy);
        })?,
        Dependent::Statistics(table, object) => change_table(cx, table, |table| {
            table.statistics.retain(|other| other.id != object);
        })?,
        Dependent::Default(table, column) => change_table(cx, table, |table| {
            table.columns.iter_mut().filter(|other| other.id == column).for_each(|column| {
                column.default = None;
            });
        })?,
        Dependent::Index(table, number) => {
            drop_index_of(cx, table, number)?;
        }
        Dependent::Domain(id) | Dependent::Routine(id) => cx.draft()?.remove(id),
        Dependent::DomainCheck(id, check) => {
            let Some(found) = cx.catalog().domains().get(id).cloned() else { return Ok(()) };
            let mut changed = Domain::clone(&found);
            changed.checks.retain(|other| other.id != check);
            cx.draft()?.put(changed);
        }
    }
    Ok(())
}
