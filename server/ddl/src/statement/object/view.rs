//! CREATE VIEW.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_catalog::{
    Catalog, CheckOption, Column, ColumnId, DefaultKind, Id, NotWritable, Object, Queries,
    Relation, Schema, StoredQuery, View, ViewOptions, WritableView, is_temporary,
};
use braid_plan::{
    NoStoredForm, OutputColumn, PlanContext, PlannedStatement, identify, plan_definition,
};
use braid_sql::ast::{
    self, AlterAction, AlterColumnAction, AlterView, AlterViewAction, CreateView, Query, Statement,
};
use braid_sql::fold;
use braid_types::{Error, Result, SqlState, SqlType};

use crate::context::DdlContext;
use crate::names::lookup::{
    duplicate, folded, last, parts, skip, undefined, undefined_column, wrong_kind,
};
use crate::names::temporary::{target_of, warn_of_global};
use crate::names::types::check_free_type;
use crate::roles::default_privileges::new_grants;
use crate::table::exprs::bind_default_expr;

pub(crate) fn create(cx: &mut DdlContext<'_>, create: &CreateView) -> Result<()> {
    warn_of_global(cx, create.global);
    let statement = Statement::Query(create.query.clone());
    let planned = cx.plan(|context| plan_definition(&statement, context))?;
    let DefinedQuery { query, stored, depends_on } = define_query(cx, create, &planned)?;
    let (schema, name) = target(cx, create, &depends_on)?;
    let catalog = cx.catalog();
    let existing =
        catalog.names().find(schema.id, &name).and_then(|named| catalog.names().relation_of(named));
    if existing.is_some() && create.if_not_exists {
        let message = format!("relation \"{name}\" already exists, skipping");
        cx.notice(SqlState::DuplicateTable, message);
        return Ok(());
    }
    let existing = match existing {
        None => None,
        Some(_) if !create.or_replace => return Err(duplicate(&name)),
        Some(Relation::View(view)) => Some(view),
        Some(other) => return Err(wrong_kind(other.name(), "view")),
    };
    check_free_type(cx, schema.id, &name)?;
    if let Some(view) = &existing {
        cx.check_owner(Object::View(view))?;
    }
    let columns = columns(&planned.columns, &folded(&create.columns))?;
    if let Some(view) = &existing {
        check_replacement(view, &columns)?;
    }
    let grants = new_grants(cx, cx.user(), Some(schema.id), DefaultKind::Tables);
    let view = View {
        id: match &existing {
            Some(view) => view.id,
            None => cx.draft()?.allocate_id(schema.id),
        },
        database: schema.database,
        schema: schema.id,
        name,
        owner: existing.as_ref().map_or_else(|| cx.user(), |view| view.owner),
        columns,
        query,
        search_path: cx.path().names(false).map(str::to_owned).collect(),
        stored,
        depends_on,
        check_option: create.options.check_option.map(check_option),
        options: ViewOptions { barrier: create.options.barrier, invoker: create.options.invoker },
        domains: domains(&planned.columns),
        defaults: existing.as_ref().map_or_else(Vec::new, |view| view.defaults.clone()),
        triggers: existing.as_ref().map_or_else(Vec::new, |view| view.triggers.clone()),
        column_grants: existing.as_ref().map_or_else(Vec::new, |view| view.column_grants.clone()),
        column_comments: existing.as_ref().map_or_else(Vec::new, |v| v.column_comments.clone()),
        grants: existing.as_ref().map_or(grants, |view| view.grants.clone()),
        comment: existing.as_ref().and_then(|view| view.comment.clone()),
    };
    check_writable(&catalog, &view)?;
    cx.draft()?.put(view);
    Ok(())
}

fn check_option(option: ast::CheckOption) -> CheckOption {
    match option {
        ast::CheckOption::Local => CheckOption::Local,
        ast::CheckOption::Cascaded => CheckOption::Cascaded,
    }
}

fn writable(catalog: &Arc<Catalog>, view: &View) -> std::result::Result<(), NotWritable> {
    let view = Arc::new(view.clone());
    WritableView::open(catalog, &view, &braid_builtins::makes_other_rows)?.check_columns()
}

/// 0A000 for a check option on a view that cannot be written to.
fn check_writable(catalog: &Arc<Catalog>, view: &View) -> Result<()> {
    if view.check_option.is_some()
        && let Err(why) = writable(catalog, view)
    {
        let message = "WITH CHECK OPTION is supported only on automatically updatable views";
        return Err(Error::new(SqlState::FeatureNotSupported, message)
            .hint(format!("{} are not automatically updatable.", why.0)));
    }
    Ok(())
}

/// `ALTER VIEW … SET`, `RESET` and `ALTER COLUMN … SET DEFAULT`.
pub(crate) fn alter(cx: &mut DdlContext<'_>, alter: &AlterView) -> Result<()> {
    let Some(found) = cx.find(&alter.name)? else {
        let written = parts(&alter.name);
        let message = format!("relation \"{}\" does not exist", written.join("."));
        return match alter.if_exists {
            true => skip(cx, SqlState::UndefinedTable, message, true),
            false => Err(undefined("relation", &written)),
        };
    };
    let Relation::View(view) = &found else { return Err(wrong_kind(found.name(), "view")) };
    cx.check_owner(Object::View(view))?;
    let mut changed = View::clone(view);
    match &alter.action {
        AlterViewAction::Set(set) => {
            let options = &mut changed.options;
            options.barrier = set.barrier.or(options.barrier);
            options.invoker = set.invoker.or(options.invoker);
            changed.check_option = set.check_option.map(check_option).or(changed.check_option);
            check_writable(&cx.catalog(), &changed)?;
        }
        AlterViewAction::Reset(names) => {
            for name in names {
                match name.as_str() {
                    "security_barrier" => changed.options.barrier = None,
                    "security_invoker" => changed.options.invoker = None,
                    "check_option" => changed.check_option = None,
                    _ => {}
                }
            }
        }
        AlterViewAction::Default { column, default } => {
            set_default(cx, &mut changed, &fold(column), default.as_deref())?;
        }
    }
    cx.draft()?.put(changed);
    Ok(())
}

/// `ALTER TABLE … ALTER COLUMN … SET DEFAULT` of a view; false if the action is another one.
pub(crate) fn alter_default(
    cx: &mut DdlContext<'_>,
    view: &View,
    action: &AlterAction,
) -> Result<bool> {
    let AlterAction::AlterColumn { name, action } = action else { return Ok(false) };
    let default = match action {
        AlterColumnAction::SetDefault(expr) => Some(expr),
        AlterColumnAction::DropDefault => None,
        _ => return Ok(false),
    };
    cx.check_owner(Object::View(view))?;
    let mut changed = View::clone(view);
    set_default(cx, &mut changed, &fold(name), default)?;
    cx.draft()?.put(changed);
    Ok(true)
}

/// Gives a column of a view a default, or takes it away.
fn set_default(
    cx: &DdlContext<'_>,
    view: &mut View,
    name: &str,
    default: Option<&ast::Expr>,
) -> Result<()> {
    let table = view.as_table();
    let Some(place) = table.column_by_name(name) else {
        return Err(undefined_column(&view.name, name));
    };
    let column = &table.columns[place];
    view.defaults.retain(|(known, _)| *known != column.id);
    if let Some(expr) = default
        && let Some(stored) = bind_default_expr(cx, expr, column)?
    {
        view.defaults.push((column.id, stored));
    }
    Ok(())
}

/// A query as a view keeps it.
pub(crate) struct DefinedQuery {
    /// Its text as it was written.
    pub query: String,
    /// Its stored form, if it has one.
    pub stored: Option<StoredQuery>,
    /// What it reads.
    pub depends_on: Vec<Id>,
}

/// What is kept of the query of CREATE VIEW. 42P02 if it has parameters.
pub(crate) fn define_query(
    cx: &DdlContext<'_>,
    create: &CreateView,
    planned: &PlannedStatement,
) -> Result<DefinedQuery> {
    if !planned.params.is_empty() {
        let message = "there is no parameter $1";
        return Err(Error::new(SqlState::UndefinedParameter, message));
    }
    let query = match cx.text.get(create.query_text.clone()) {
        Some(text) if !text.is_empty() => text.to_owned(),
        _ => create.query.to_string(),
    };
    let stored = stored(cx, &create.query)?;
    let depends_on = match &stored {
        Some(stored) => depended_on(stored),
        None => dependencies(cx, &query, &planned.tables),
    };
    Ok(DefinedQuery { query, stored, depends_on })
}

/// Where the view goes: a view of something temporary is temporary itself, with a NOTICE.
fn target(
    cx: &mut DdlContext<'_>,
    create: &CreateView,
    depends_on: &[Id],
) -> Result<(Arc<Schema>, String)> {
    let reads_temporary = depends_on.iter().any(|id| is_temporary(*id));
    if reads_temporary && !create.temporary {
        let message = format!("view \"{}\" will be a temporary view", last(&create.name));
        cx.notice(SqlState::SuccessfulCompletion, message);
    }
    target_of(cx, &create.name, create.temporary || reads_temporary)
}

fn columns(output: &[OutputColumn], names: &[String]) -> Result<Vec<(String, SqlType)>> {
    if names.len() > output.len() {
        let message = "CREATE VIEW specifies more column names than columns";
        return Err(Error::new(SqlState::SyntaxError, message));
    }
    let mut columns: Vec<(String, SqlType)> = Vec::with_capacity(output.len());
    for (place, column) in output.iter().enumerate() {
        let name = names.get(place).unwrap_or(&column.name);
        if columns.iter().any(|(other, _)| other == name) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(Error::new(SqlState::DuplicateColumn, message));
        }
        if column.is_undecided {
            let message =
                format!("could not determine which collation to use for view column \"{name}\"");
            return Err(Error::new(SqlState::IndeterminateCollation, message)
                .hint("Use the COLLATE clause to set the collation explicitly."));
        }
        // A literal of no type is text, as in PostgreSQL.
        let ty = match &column.ty {
            SqlType::Unknown => SqlType::Text,
            ty => ty.clone(),
        };
        columns.push((name.clone(), ty));
    }
    Ok(columns)
}

/// The domains of a view's columns, by their numbers.
fn domains(output: &[OutputColumn]) -> Vec<(ColumnId, Id)> {
    let domain = |(number, column): (ColumnId, &OutputColumn)| Some((number, column.domain?));
    (1..).zip(output).filter_map(domain).collect()
}

/// OR REPLACE may only add columns at the end.
fn check_replacement(view: &View, columns: &[(String, SqlType)]) -> Result<()> {
    let invalid = |message: String| Err(Error::new(SqlState::InvalidTableDefinition, message));
    if columns.len() < view.columns.len() {
        return invalid("cannot drop columns from view".to_owned());
    }
    for ((old, old_type), (new, new_type)) in view.columns.iter().zip(columns) {
        if old != new {
            let message = format!("cannot change name of view column \"{old}\" to \"{new}\"");
            return Err(Error::new(SqlState::InvalidTableDefinition, message).hint(
                "Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.",
            ));
        }
        if old_type != new_type {
            return invalid(format!(
                "cannot change data type of view column \"{old}\" from {} to {}",
                old_type.display_name(),
                new_type.display_name()
            ));
        }
    }
    Ok(())
}

/// Whether a query's text has a word.
fn mentions(query: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    query.split(|c| !is_word(c)).any(|word| word.eq_ignore_ascii_case(name)) || query.contains('*')
}

/// Whether a view reads a column. Of one that is kept as it was written only the words are known.
pub(crate) fn view_reads(view: &View, table: Id, column: &Column) -> bool {
    match &view.stored {
        Some(stored) => {
            stored.uses.iter().any(|(id, columns)| *id == table && columns.contains(&column.id))
        }
        None => view.depends_on.contains(&table) && mentions(&view.query, &column.name),
    }
}

/// Gives stored forms to views that have none, before something that they name is renamed. Views of
/// older databases have none. 0A000 for one whose query can only be kept as it was written.
/// With `kept` such a view stays as it is.
pub(crate) fn store_views(
    cx: &mut DdlContext<'_>,
    concerns: impl Fn(&View) -> bool,
    kept: bool,
) -> Result<()> {
    let catalog = cx.catalog();
    let here = cx.path().database;
    for view in Queries::of(&catalog).in_database(here) {
        if view.stored.is_some() || !concerns(&view) {
            continue;
        }
        let query = braid_sql::parse_query(&view.query)?;
        let path = view.path(cx.path());
        let stored = cx.plan(|context| {
            let context = PlanContext { path: &path, ..*context };
            identify(&query, &context, Some(view.owner))
        });
        if kept && stored.is_err() {
            continue;
        }
        let stored = stored.map_err(|error| {
            let name = &view.name;
            let message = format!("renaming what view \"{name}\" uses is not supported yet");
            Error::new(SqlState::FeatureNotSupported, message)
                .detail(error.message().to_owned())
                .hint("Drop the view, rename, and create the view again.")
        })?;
        let mut changed = View::clone(&view);
        changed.depends_on = depended_on(&stored);
        changed.stored = Some(stored);
        cx.draft()?.put_query(changed);
    }
    Ok(())
}

/// The query with ids in place of names; `None` for a form that is only kept as it was written.
fn stored(cx: &DdlContext<'_>, query: &Query) -> Result<Option<StoredQuery>> {
    match cx.plan(|context| identify(query, context, None)) {
        Ok(stored) => Ok(Some(stored)),
        Err(error) if error.cause::<NoStoredForm>().is_some() => Ok(None),
        Err(error) => Err(error),
    }
}

/// The relations of a stored query.
fn depended_on(stored: &StoredQuery) -> Vec<Id> {
    stored.uses.iter().map(|(id, _)| *id).collect()
}

/// What the query needs: the tables and functions that its plan has, and the views and sequences
/// among the names in its text.
fn dependencies(cx: &DdlContext<'_>, query: &str, tables: &[Id]) -> Vec<Id> {
    let catalog = cx.catalog();
    let is_routine = |id: &Id| catalog.names().routines().get(*id).is_some();
    let mut found: BTreeSet<Id> = tables.iter().copied().filter(is_routine).collect();
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '"');
    for word in query.split(|c| !is_word(c)).filter(|word| !word.is_empty()) {
        let Ok(parts) = braid_catalog::names::split_name(word) else { continue };
        if let Ok(Some(relation)) = cx.catalog().names().resolve(cx.path(), &parts) {
            match relation {
                Relation::Table(table) if tables.contains(&table.id) => {
                    found.insert(table.id);
                }
                Relation::View(view) => {
                    found.insert(view.id);
                }
                Relation::Sequence(sequence) => {
                    found.insert(sequence.id);
                }
                _ => {}
            }
        }
    }
    found.into_iter().collect()
}
