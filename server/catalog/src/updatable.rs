//! Views that can be written to: those that show columns of one table, or of another such view.
//!
//! ```text
//!   view v ── item 1: view w ── item 1: table t          layers: v, w
//!   column n of an item ─▶ place among the columns of t
//! ```
//!
//! What it does not do: check privileges, bind the views' conditions (`plan`).

use std::sync::Arc;

use braid_sql::ast::{
    Expr, GroupByExpr, ObjectName, Query, Select, SelectItem, SetExpr, TableFactor,
};

use crate::{Catalog, Id, Relation, Table, View};

/// A view and what it is over, down to a table.
pub struct WritableView {
    /// The table.
    pub table: Arc<Table>,
    /// The views, the outermost first.
    pub layers: Vec<ViewLayer>,
    /// The place in the table of each column of the outermost view; `None` if it is computed, or
    /// shown by a column before it.
    pub columns: Vec<Option<usize>>,
    /// The same, and the place for every column that shows it.
    pub written: Vec<Option<usize>>,
}

/// What a column of a view is.
pub enum ViewOutput {
    /// The column of its item of FROM with this number.
    Column(u16),
    /// Computed, in the stored form.
    Computed(Box<Expr>),
}

/// Whether a built-in function of a name is an aggregate or gives rows: what such views are
/// called.
pub(crate) type RefusedFunction<'f> = &'f dyn Fn(&str) -> Option<&'static str>;

/// One of the views on the way to a table.
pub struct ViewLayer {
    /// The view.
    pub view: Arc<View>,
    /// The number of its item of FROM.
    pub item: u32,
    /// What the columns of that item are: their numbers there, and their places in the table.
    pub columns: Vec<(u16, usize)>,
    /// Its condition, in the stored form.
    pub selection: Option<Expr>,
    /// Its own columns.
    pub output: Vec<ViewOutput>,
    /// The numbers of the columns of its item that its query reads.
    pub reads: Vec<u16>,
}

/// Why a view cannot be written to: `Views containing GROUP BY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotWritable(pub &'static str);

const SEVERAL: NotWritable = NotWritable("Views that do not select from a single table or view");
const NO_COLUMN: NotWritable = NotWritable("Views that have no updatable columns");
/// The most views on the way to a table.
const LAYERS_MAX: usize = 100;

/// What a view's query is, if it is simple enough.
struct Simple {
    relation: Id,
    item: u32,
    /// What its columns are.
    columns: Vec<ViewOutput>,
    selection: Option<Expr>,
    reads: Vec<u16>,
}

impl WritableView {
    /// A view down to its table.
    pub fn open(
        catalog: &Catalog,
        view: &Arc<View>,
        refused: RefusedFunction<'_>,
    ) -> Result<Self, NotWritable> {
        let mut found: Vec<(Arc<View>, Simple)> = Vec::new();
        let mut view = view.clone();
        let table = loop {
            let simple = simple(&view)?;
            check_calls(catalog, &simple, refused)?;
            let relation = catalog.relation(simple.relation);
            found.push((view, simple));
            view = match relation {
                Some(Relation::Table(table)) if table.materialized.is_none() => break table,
                Some(Relation::View(lower)) if found.len() < LAYERS_MAX => lower,
                _ => return Err(SEVERAL),
            };
        };
        let places = table.columns.iter().enumerate();
        let mut numbers: Vec<(u16, usize)> = places.map(|(place, c)| (c.id, place)).collect();
        let mut written: Vec<Option<usize>> = Vec::new();
        let mut layers = Vec::with_capacity(found.len());
        for (view, simple) in found.into_iter().rev() {
            written.clear();
            written.extend(simple.columns.iter().map(|output| match output {
                ViewOutput::Column(number) => {
                    let known = numbers.iter().find(|(known, _)| known == number);
                    known.map(|(_, place)| *place)
                }
                ViewOutput::Computed(_) => None,
            }));
            let next = (1..).zip(&written).filter_map(|(n, place)| Some((n, (*place)?)));
            let next = next.collect();
            let columns = std::mem::replace(&mut numbers, next);
            layers.push(ViewLayer {
                view,
                item: simple.item,
                columns,
                selection: simple.selection,
                output: simple.columns,
                reads: simple.reads,
            });
        }
        layers.reverse();
        // A column that is shown twice is read as the first one.
        let is_first = |at: usize, place: usize| !written[..at].contains(&Some(place));
        let columns = written.iter().enumerate();
        let columns = columns.map(|(at, place)| place.filter(|place| is_first(at, *place)));
        let columns = columns.collect();
        Ok(WritableView { table, layers, columns, written })
    }

    /// Refuses a view without a column that can be written to. Its rows can be deleted.
    pub fn check_columns(&self) -> Result<(), NotWritable> {
        match self.columns.iter().any(Option::is_some) {
            true => Ok(()),
            false => Err(NO_COLUMN),
        }
    }
}

/// Refuses a view whose columns call a function that makes other rows of those that it reads.
fn check_calls(
    catalog: &Catalog,
    simple: &Simple,
    refused: RefusedFunction<'_>,
) -> Result<(), NotWritable> {
    for output in &simple.columns {
        let ViewOutput::Computed(expr) = output else { continue };
        for (name, has_window) in braid_sql::called_functions(expr) {
            if has_window {
                return Err(NotWritable("Views that return window functions"));
            }
            if let Some(id) = braid_sql::relation_id(&name) {
                let routine = catalog.names().routines().get(id);
                if routine.is_some_and(|routine| routine.aggregate.is_some()) {
                    return Err(NotWritable("Views that return aggregate functions"));
                }
                if routine.is_some_and(|routine| routine.returns_set) {
                    return Err(NotWritable("Views that return set-returning functions"));
                }
                continue;
            }
            let last = name.0.last().and_then(|part| part.as_ident());
            if let Some(what) = last.and_then(|name| refused(&name.value)) {
                return Err(NotWritable(what));
            }
        }
    }
    Ok(())
}

/// The parts of a query that selects from one relation and does nothing else with its rows.
fn simple(view: &View) -> Result<Simple, NotWritable> {
    // A query without a stored form is none of these.
    let stored = view.stored.as_ref().ok_or(SEVERAL)?;
    let query = braid_sql::parse_query(&stored.query).map_err(|_| SEVERAL)?;
    let select = select_of(&query)?;
    let [from] = &select.from[..] else { return Err(SEVERAL) };
    let TableFactor::Table { name, alias: Some(alias), args: None, sample, .. } = &from.relation
    else {
        return Err(SEVERAL);
    };
    if !from.joins.is_empty() {
        return Err(SEVERAL);
    }
    if sample.is_some() {
        return Err(NotWritable("Views containing TABLESAMPLE"));
    }
    let relation = relation_of(name).ok_or(SEVERAL)?;
    let (item, _) = braid_sql::split_label(&alias.name.value).ok_or(SEVERAL)?;
    let columns = select.projection.iter().map(|column| output_of(column, item));
    let columns = columns.collect::<Option<Vec<_>>>().ok_or(SEVERAL)?;
    let reads = braid_sql::columns_read(&query, item);
    Ok(Simple { relation, item, columns, selection: select.selection.clone(), reads })
}

fn relation_of(name: &ObjectName) -> Option<Id> {
    braid_sql::relation_id(name)
}

/// The SELECT of a query; what else there is, in the order in which PostgreSQL looks for it.
fn select_of(query: &Query) -> Result<&Select, NotWritable> {
    let select = match &*query.body {
        SetExpr::Select(select) => select,
        SetExpr::SetOperation { .. } => {
            return Err(NotWritable("Views containing UNION, INTERSECT, or EXCEPT"));
        }
        _ => return Err(SEVERAL),
    };
    let is_grouped = match &select.group_by {
        GroupByExpr::All(_) => true,
        GroupByExpr::Expressions(keys, more) => !keys.is_empty() || !more.is_empty(),
    };
    let limits = query.limit_clause.is_some() || query.fetch.is_some();
    let refused = [
        (select.distinct.is_some(), "Views containing DISTINCT"),
        (is_grouped, "Views containing GROUP BY"),
        (select.having.is_some(), "Views containing HAVING"),
        (query.with.is_some(), "Views containing WITH"),
        (limits, "Views containing LIMIT or OFFSET"),
    ];
    match refused.iter().find(|(found, _)| *found) {
        Some((_, what)) => Err(NotWritable(what)),
        None => Ok(select),
    }
}

/// What an item of the select list is; none for `*`, which no stored query has.
fn output_of(column: &SelectItem, item: u32) -> Option<ViewOutput> {
    let (SelectItem::ExprWithAlias { expr, .. } | SelectItem::UnnamedExpr(expr)) = column else {
        return None;
    };
    Some(match number_of(expr, item) {
        Some(number) => ViewOutput::Column(number),
        None => ViewOutput::Computed(Box::new(expr.clone())),
    })
}

/// The column of an item that an expression is.
fn number_of(expr: &Expr, item: u32) -> Option<u16> {
    let Expr::CompoundIdentifier(parts) = expr else { return None };
    let [of, number] = &parts[..] else { return None };
    let of: u32 = of.value.parse().ok()?;
    let number: u16 = number.value.parse().ok()?;
    // System columns are none of the item's own.
    (of == item && number < braid_sql::DELETED_BY_COLUMN).then_some(number)
}
