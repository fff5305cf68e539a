//! The output of a select: window functions, set-returning functions, the select list, DISTINCT
//! and ORDER BY.
//!
//! With ORDER BY, volatile items of the select list are computed above the sort, and so are
//! set-returning functions if no key reads one. So a LIMIT bounds how often they are called:
//!
//! ```text
//!   without:  Sort ── Project ── ProjectSet ── …
//!   with:     Project ── ProjectSet ── Sort ── Project ── …
//! ```

use std::collections::HashSet;

use braid_sql::ast::{Distinct as DistinctClause, OrderByExpr};
use braid_types::cast::CastContext;
use braid_types::{Error, Result, SqlState, SqlType};

use super::ordered::{BoundQuery, distinct, sorted};
use crate::bind::Binder;
use crate::bind::expr::operators::{check_equality, check_order, coerce};
use crate::bind::scope::places::start_of;
use crate::bind::scope::untyped::Untyped;
use crate::bind::scope::windows::BoundWindow;
use crate::context::OutputColumn;
use crate::rules::walk;
use crate::tree::expr::{Expr, Slot};
use crate::tree::node::{FunctionCall, Node, Project, ProjectSet, SortKey, Window};

/// An item of the select list.
pub(crate) struct Item {
    pub column: OutputColumn,
    pub expr: Expr,
    /// Its column in the output; ORDER BY and DISTINCT ON name it so.
    pub slot: Slot,
    /// Where it stands in the text.
    pub place: u32,
}

impl Item {
    /// The item as a column of the output.
    pub(crate) fn reference(&self) -> Expr {
        Expr::Column(self.slot, self.expr.ty())
    }
}

/// A select list and what stands around it.
pub(crate) struct Output {
    pub items: Vec<Item>,
    /// ORDER BY
    pub keys: Vec<SortKey>,
    /// DISTINCT
    pub is_distinct: bool,
    /// DISTINCT ON
    pub on: Option<Vec<Expr>>,
    /// Set-returning functions.
    pub sets: Vec<FunctionCall>,
    /// What types the literals and parameters of the select list that have none.
    pub untyped: Untyped,
    /// Where ORDER BY and DISTINCT ON stand in the text.
    pub places: OutputPlaces,
}

/// Where the expressions of ORDER BY and DISTINCT ON stand in the text.
#[derive(Default)]
pub(crate) struct OutputPlaces {
    keys: Vec<u32>,
    on: Vec<u32>,
}

impl OutputPlaces {
    pub(crate) fn of(order: &[&OrderByExpr], distinct: Option<&DistinctClause>) -> Self {
        let keys = order.iter().map(|key| start_of(&key.expr)).collect();
        let on = match distinct {
            Some(DistinctClause::On(list)) => list.iter().map(start_of).collect(),
            _ => Vec::new(),
        };
        Self { keys, on }
    }

    fn of_key(&self, place: usize) -> u32 {
        self.keys.get(place).copied().unwrap_or(0)
    }

    fn of_on(&self, place: usize) -> u32 {
        self.on.get(place).copied().unwrap_or(0)
    }
}

/// Select list, DISTINCT, ORDER BY, and away with the columns only they needed.
pub(crate) fn finish_select(
    binder: &mut Binder<'_>,
    node: Node,
    output: Output,
) -> Result<BoundQuery> {
    let Output { items, mut keys, is_distinct, mut on, sets, untyped, places } = output;
    let mut exprs: Vec<(Slot, Expr)> = Vec::with_capacity(items.len());
    let mut columns = Vec::with_capacity(items.len());
    for (place, item) in items.into_iter().enumerate() {
        let mut read = keys.iter().map(|key| &key.expr).chain(on.iter().flatten());
        let is_compared = is_distinct || read.any(|e| is_output(e, item.slot, &item.expr));
        let expr = typed(binder, item.expr, untyped.type_of(place, is_compared))?;
        if is_distinct {
            check_equality(&expr.ty()).map_err(|error| error.position(item.place))?;
        }
        columns.push(OutputColumn { ty: expr.ty(), ..item.column });
        exprs.push((item.slot, expr));
    }
    let width = exprs.len();
    // Sort keys and DISTINCT ON refer to the projection; what it lacks is added to it.
    for (number, key) in keys.iter_mut().enumerate() {
        let placed = place_output(binder, &mut key.expr, &mut exprs, is_distinct);
        placed
            .and_then(|()| check_order(&key.expr.ty()))
            .map_err(|error| error.position(places.of_key(number)))?;
    }
    for (number, e) in on.iter_mut().flatten().enumerate() {
        place_output(binder, e, &mut exprs, is_distinct)?;
        check_equality(&e.ty()).map_err(|error| error.position(places.of_on(number)))?;
    }
    let read = |e: &Expr| walk::columns_read(e).into_iter().map(|(slot, _)| slot);
    let key_slots: HashSet<Slot> =
        keys.iter().map(|key| &key.expr).chain(on.iter().flatten()).flat_map(read).collect();
    let late = if is_distinct || keys.is_empty() {
        Late::default()
    } else {
        Late::split(&mut exprs, &key_slots, sets.clone(), &node.slots())
    };
    let mut node = if late.sets.is_empty() { set_nodes(node, sets) } else { node };
    let extra = !late.is_empty() || exprs.len() > width;
    let early: Vec<(Slot, SqlType)> = exprs.iter().map(|(slot, e)| (*slot, e.ty())).collect();
    node = Node::Project(Box::new(Project { input: node, exprs }));
    if is_distinct {
        let types = early.iter().map(|(_, ty)| ty.clone()).collect();
        node = distinct(node, Vec::new(), types);
    }
    node = match on {
        Some(on) => {
            let on_keys = distinct_on_order(&on, &keys, &places)?;
            distinct(sorted(node, on_keys), on, Vec::new())
        }
        None => sorted(node, keys),
    };
    node = set_nodes(node, late.sets);
    if extra {
        let mut late_exprs = late.exprs.into_iter().peekable();
        let mut early = early.into_iter();
        let mut exprs = Vec::with_capacity(width);
        for place in 0..width {
            if let Some((_, item)) = late_exprs.next_if(|(known, _)| *known == place) {
                exprs.push(item);
            } else if let Some((slot, ty)) = early.next() {
                exprs.push((binder.slot(), Expr::Column(slot, ty)));
            }
        }
        node = Node::Project(Box::new(Project { input: node, exprs }));
    }
    Ok(BoundQuery { node, columns })
}

/// An item of the select list with that type, if it has none and is given one.
fn typed(binder: &mut Binder<'_>, item: Expr, ty: Option<SqlType>) -> Result<Expr> {
    match ty.filter(|_| item.ty() == SqlType::Unknown) {
        Some(ty) => coerce(binder, item, &ty, CastContext::Assignment),
        None => Ok(item),
    }
}

/// Whether an expression of ORDER BY or DISTINCT ON is an item of the select list.
fn is_output(e: &Expr, slot: Slot, item: &Expr) -> bool {
    match e {
        Expr::Column(read, _) if *read == slot => true,
        e => item.alike(e),
    }
}

/// Makes an expression of ORDER BY or DISTINCT ON a column of the projection.
fn place_output(
    binder: &mut Binder<'_>,
    e: &mut Expr,
    exprs: &mut Vec<(Slot, Expr)>,
    is_distinct: bool,
) -> Result<()> {
    if let Some((slot, known)) = exprs.iter().find(|(slot, known)| is_output(e, *slot, known)) {
        *e = Expr::Column(*slot, known.ty());
        return Ok(());
    }
    if is_distinct {
        return Err(Error::new(
            SqlState::InvalidColumnReference,
            "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
        ));
    }
    let slot = binder.slot();
    let ty = e.ty();
    exprs.push((slot, std::mem::replace(e, Expr::Column(slot, ty))));
    Ok(())
}

/// What is computed above the sort.
#[derive(Default)]
struct Late {
    /// Items of the select list, each with its place there.
    exprs: Vec<(usize, (Slot, Expr))>,
    sets: Vec<FunctionCall>,
}

impl Late {
    /// Takes out of a projection what can wait, and adds the columns that this will read.
    /// `keys` are the columns that are sorted by, `input` those of the projection's input.
    fn split(
        exprs: &mut Vec<(Slot, Expr)>,
        keys: &HashSet<Slot>,
        sets: Vec<FunctionCall>,
        input: &[Slot],
    ) -> Self {
        let set_slots: HashSet<Slot> =
            sets.iter().flat_map(|set| set.columns.iter().map(|(slot, _)| *slot)).collect();
        let reads_set =
            |e: &Expr| walk::columns_read(e).iter().any(|(slot, _)| set_slots.contains(slot));
        let sets_wait = !exprs.iter().any(|(slot, e)| keys.contains(slot) && reads_set(e));
        let mut late = Self::default();
        let mut early = Vec::with_capacity(exprs.len());
        for (place, (slot, e)) in std::mem::take(exprs).into_iter().enumerate() {
            let waits = if reads_set(&e) { sets_wait } else { e.is_volatile() };
            if waits && !keys.contains(&slot) {
                late.exprs.push((place, (slot, e)));
            } else {
                early.push((slot, e));
            }
        }
        if sets_wait {
            late.sets = sets;
        }
        let args = late.sets.iter().flat_map(|set| &set.args);
        for e in late.exprs.iter().map(|(_, (_, e))| e).chain(args) {
            for (slot, ty) in walk::columns_read(e) {
                if input.contains(&slot) && !early.iter().any(|(known, _)| *known == slot) {
                    early.push((slot, Expr::Column(slot, ty)));
                }
            }
        }
        *exprs = early;
        late
    }

    fn is_empty(&self) -> bool {
        self.exprs.is_empty() && self.sets.is_empty()
    }
}

/// The set-returning functions that windows read, and the others; 0A000 if one of the first reads
/// a window in its turn.
pub(crate) fn sets_below_windows(
    sets: Vec<FunctionCall>,
    windows: &[BoundWindow],
) -> Result<(Vec<FunctionCall>, Vec<FunctionCall>)> {
    let keys =
        windows.iter().flat_map(|w| w.partition.iter().chain(w.order.iter().map(|k| &k.expr)));
    let mut read: HashSet<Slot> = keys.flat_map(walk::columns_read).map(|(slot, _)| slot).collect();
    let (mut below, mut above) = (Vec::new(), sets);
    loop {
        let wanted = |set: &FunctionCall| set.columns.iter().any(|(slot, _)| read.contains(slot));
        let (found, rest): (Vec<_>, Vec<_>) = above.into_iter().partition(wanted);
        above = rest;
        if found.is_empty() {
            break;
        }
        let args = found.iter().flat_map(|set| &set.args).flat_map(walk::columns_read);
        read.extend(args.map(|(slot, _)| slot));
        below.extend(found);
    }
    if windows.iter().any(|w| read.contains(&w.slot)) {
        return Err(Error::unsupported("a set-returning function between window functions"));
    }
    Ok((below, above))
}

/// Operators for set-returning functions: those whose arguments read others stand above these.
pub(crate) fn set_nodes(mut node: Node, mut sets: Vec<FunctionCall>) -> Node {
    while !sets.is_empty() {
        let open: HashSet<Slot> =
            sets.iter().flat_map(|set| set.columns.iter().map(|(slot, _)| *slot)).collect();
        let waits = |set: &FunctionCall| {
            let mut args = set.args.iter().flat_map(walk::columns_read);
            args.any(|(slot, _)| open.contains(&slot))
        };
        let (later, functions): (Vec<_>, Vec<_>) = sets.into_iter().partition(waits);
        node = Node::ProjectSet(Box::new(ProjectSet { input: node, functions }));
        sets = later;
    }
    node
}

/// One operator for each window that several functions share.
pub(crate) fn window_nodes(mut node: Node, windows: Vec<BoundWindow>) -> Node {
    let mut operators: Vec<Window> = Vec::new();
    for bound in windows {
        let same = operators.iter_mut().find(|window| {
            let keys = |a: &SortKey, b: &SortKey| {
                a.expr.same(&b.expr)
                    && a.descending == b.descending
                    && a.nulls_first == b.nulls_first
            };
            window.partition.len() == bound.partition.len()
                && window.order.len() == bound.order.len()
                && window.partition.iter().zip(&bound.partition).all(|(a, b)| a.same(b))
                && window.order.iter().zip(&bound.order).all(|(a, b)| keys(a, b))
        });
        match same {
            Some(window) => window.calls.push((bound.slot, bound.call)),
            None => operators.push(Window {
                input: Node::one_row(),
                partition: bound.partition,
                order: bound.order,
                calls: vec![(bound.slot, bound.call)],
            }),
        }
    }
    for mut window in operators {
        window.input = node;
        node = Node::Window(Box::new(window));
    }
    node
}

/// DISTINCT ON sorts by its expressions first; ORDER BY must start with them.
fn distinct_on_order(on: &[Expr], keys: &[SortKey], places: &OutputPlaces) -> Result<Vec<SortKey>> {
    let matching = keys.iter().take_while(|key| on.iter().any(|e| e.same(&key.expr))).count();
    if matching < keys.len() && matching < on.len() {
        let sorted = |keys: &[SortKey], e: &Expr| keys.iter().any(|key| key.expr.same(e));
        // PostgreSQL points at one that a later key sorts by, else at the first without a key.
        let late = on.iter().position(|e| sorted(&keys[matching..], e));
        let wrong = late.or_else(|| on.iter().position(|e| !sorted(&keys[..matching], e)));
        let message = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions";
        return Err(Error::new(SqlState::InvalidColumnReference, message)
            .position(wrong.map_or(0, |number| places.of_on(number))));
    }
    let mut result: Vec<SortKey> = keys[..matching].to_vec();
    for e in on {
        if !result.iter().any(|key| key.expr.same(e)) {
            result.push(SortKey { expr: e.clone(), descending: false, nulls_first: false });
        }
    }
    result.extend_from_slice(&keys[matching..]);
    Ok(result)
}
