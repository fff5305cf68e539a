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
    /// The place in the table of each column of the outermost view; `None` if it is computed.
    pub columns: Vec<Option<usize>>,
}

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
    /// The column of the item that each column is.
    columns: Vec<Option<u16>>,
    selection: Option<Expr>,
}

impl WritableView {
    /// A view down to its table.
    pub fn open(catalog: &Catalog, view: &Arc<View>) -> Result<Self, NotWritable> {
        let mut found: Vec<(Arc<View>, Simple)> = Vec::new();
        let mut view = view.clone();
        let table = loop {
            let simple = simple(&view)?;
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
        let mut columns = Vec::new();
        let mut layers = Vec::with_capacity(found.len());
        for (view, simple) in found.into_iter().rev() {
            columns.clear();
            for number in simple.columns {
                let known = numbers.iter().find(|(known, _)| Some(*known) == number);
                let place = known.map(|(_, place)| *place);
                // A column that is shown twice is written by the first one.
                columns.push(place.filter(|place| !columns.contains(&Some(*place))));
            }
            let next = (1..).zip(&columns).filter_map(|(n, place)| Some((n, (*place)?)));
            let next = next.collect();
            let columns = std::mem::replace(&mut numbers, next);
            layers.push(ViewLayer {
                view,
                item: simple.item,
                columns,
                selection: simple.selection,
            });
        }
        layers.reverse();
        match columns.iter().any(Option::is_some) {
            true => Ok(WritableView { table, layers, columns }),
            false => Err(NO_COLUMN),
        }
    }
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
    let columns = select.projection.iter().map(|column| number_of(column, item)).collect();
    Ok(Simple { relation, item, columns, selection: select.selection.clone() })
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

/// The column of an item that stands in the select list by itself.
fn number_of(column: &SelectItem, item: u32) -> Option<u16> {
    let (SelectItem::ExprWithAlias { expr, .. } | SelectItem::UnnamedExpr(expr)) = column else {
        return None;
    };
    let Expr::CompoundIdentifier(parts) = expr else { return None };
    let [of, number] = &parts[..] else { return None };
    let of: u32 = of.value.parse().ok()?;
    let number: u16 = number.value.parse().ok()?;
    (of == item).then_some(number)
}
