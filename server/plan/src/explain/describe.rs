//! Operators in words: a title, what it does, what goes in.

use std::collections::{HashMap, HashSet};

use braid_catalog::{Catalog, CatalogNames, Column, Index, index_column_text};
use braid_sql::quote_ident;
use braid_types::FormatSettings;

use crate::rules::{covers, planned_rows};
use crate::tree::expr::{Expr, SubqueryExpr};
use crate::tree::node::{
    AggregateNode, Bound, Cte, CteScan, FunctionScan, JoinKind, LockWait, Node, Parallel, Project,
    Reading, RowLock, Scan, SetOpKind, Values, With,
};

use super::deparse::{
    Name, Rows, name_of, show_aggregate, show_condition, show_expr, show_function, show_keys,
    show_list, shown_name, shown_output,
};
use super::join::describe_join;
use super::row_change::{describe_delete, describe_insert, describe_merge, describe_update};
use super::unary::describe_unary;

/// What describing needs besides the plan.
pub struct Describing<'a> {
    /// The catalog that the plan was made with.
    pub catalog: &'a Catalog,
    /// How constants print.
    pub settings: &'a FormatSettings,
    /// Schemas and output columns too.
    pub verbose: bool,
    /// Whether UPDATE and DELETE lock the rows they read.
    pub implicit_locks: bool,
    /// How many workers there are for a plan that may have several.
    pub workers: &'a dyn Fn(&Parallel) -> usize,
    /// The spans of a scan, if its bounds can be computed now.
    pub spans: &'a dyn Fn(&Scan) -> Option<Vec<String>>,
}

/// An operator in words.
pub struct Operator {
    /// The address of its node, under which a run counts; 0 if it has none.
    pub node: usize,
    /// What stands in front: `SubPlan 1`, `CTE x`.
    pub label: Option<String>,
    /// What it is.
    pub title: String,
    /// Estimated rows.
    pub rows: f64,
    /// What it does: names and values.
    pub lines: Vec<(&'static str, Vec<String>)>,
    /// What goes in.
    pub inputs: Vec<Operator>,
    /// It may be read by the operator above it, without a life of its own (a lookup join).
    pub inlined: bool,
}

impl Operator {
    /// Adds a line.
    pub fn line(&mut self, name: &'static str, value: impl Into<String>) {
        self.lines.push((name, vec![value.into()]));
    }

    /// Adds a line with several values; none without values.
    pub fn list(&mut self, name: &'static str, values: Vec<String>) {
        if !values.is_empty() {
            self.lines.push((name, values));
        }
    }
}

/// An operator and what its output columns are called.
pub(crate) type Described = (Operator, Vec<Name>);

/// Puts a plan into words.
pub fn describe(root: &Node, cx: &Describing<'_>) -> Operator {
    let mut relations = 0;
    count_relations(root, &mut relations);
    let mut describer = Describer {
        cx,
        qualifies: relations > 1 || cx.verbose,
        ctes: HashMap::new(),
        subplans: Vec::new(),
        known: HashSet::new(),
        labels: HashMap::new(),
        counts: [0, 0],
        locals: Vec::new(),
    };
    describe_node(&mut describer, root, &[]).0
}

/// A subquery whose plan is still to be shown.
struct SubPlan<'a> {
    label: String,
    once: bool,
    plan: &'a Node,
    outer: Vec<Name>,
}

/// Walks a plan.
pub(crate) struct Describer<'a> {
    pub(super) cx: &'a Describing<'a>,
    pub(super) qualifies: bool,
    ctes: HashMap<u32, Vec<String>>,
    subplans: Vec<SubPlan<'a>>,
    known: HashSet<u32>,
    labels: HashMap<u32, String>,
    counts: [u32; 2],
    /// The local values around what is being shown, with their levels.
    pub(super) locals: Vec<(u32, String)>,
}

/// Describes an operator, its inputs and the subqueries of its expressions.
fn describe_node<'a>(describer: &mut Describer<'a>, node: &'a Node, outer: &[Name]) -> Described {
    let waiting = std::mem::take(&mut describer.subplans);
    let (mut operator, names) = describe_operator(describer, node, outer);
    let mut first = Vec::new();
    for subplan in std::mem::replace(&mut describer.subplans, waiting) {
        let (mut plan, _) = describe_node(describer, subplan.plan, &subplan.outer);
        plan.label = Some(subplan.label);
        // What is computed once stands in front of the inputs.
        if subplan.once { first.push(plan) } else { operator.inputs.push(plan) }
    }
    operator.inputs.splice(0..0, first);
    (operator, names)
}

/// The label of a subquery, whose plan is shown under the operator that is being described.
pub(crate) fn describe_subplan<'a>(
    describer: &mut Describer<'a>,
    subquery: &'a SubqueryExpr,
    outer: Vec<Name>,
) -> String {
    if describer.known.insert(subquery.id) {
        // One that reads nothing of the row around it runs once.
        let (place, word) =
            if subquery.outer.is_empty() { (0, "InitPlan") } else { (1, "SubPlan") };
        describer.counts[place] += 1;
        let label = format!("{word} {}", describer.counts[place]);
        describer.labels.insert(subquery.id, label.clone());
        let once = subquery.outer.is_empty();
        describer.subplans.push(SubPlan { label, once, plan: &subquery.plan, outer });
    }
    describer.labels.get(&subquery.id).cloned().unwrap_or_default()
}

/// An operator without lines and inputs.
pub(crate) fn plain_operator<'a>(
    describer: &Describer<'a>,
    node: &'a Node,
    title: impl Into<String>,
) -> Operator {
    Operator {
        node: std::ptr::from_ref(node) as usize,
        label: None,
        title: title.into(),
        rows: planned_rows(node, describer.cx.catalog),
        lines: Vec::new(),
        inputs: Vec::new(),
        inlined: false,
    }
}

fn describe_operator<'a>(
    describer: &mut Describer<'a>,
    node: &'a Node,
    outer: &[Name],
) -> Described {
    match node {
        Node::Values(values) => describe_values(describer, node, values, outer),
        Node::Scan(scan) => describe_scan(describer, node, scan, outer),
        Node::Virtual(scan) => {
            let mut operator = plain_operator(
                describer,
                node,
                format!("Scan on {}", quote_ident(scan.table.name)),
            );
            let column = |place: usize| {
                let name = scan.table.columns.get(place).map_or("?column?", |c| c.0);
                Name::Column(scan.table.name.to_owned(), name.to_owned())
            };
            let names: Vec<Name> = scan.columns.iter().map(|(_, p)| column(*p)).collect();
            describe_filter(describer, &mut operator, &scan.filter, Rows { input: &names, outer });
            (operator, names)
        }
        Node::Function(scan) => describe_function_scan(describer, node, scan, outer),
        Node::Project(project) => describe_project(describer, node, project, outer),
        Node::Join(join) => describe_join(describer, node, join, outer),
        Node::Aggregate(aggregate) => describe_aggregation(describer, node, aggregate, outer),
        Node::Filter(_)
        | Node::ProjectSet(_)
        | Node::Window(_)
        | Node::Sort(_)
        | Node::LockRows(_)
        | Node::Limit(_)
        | Node::Distinct(_) => describe_unary(describer, node, outer),
        Node::SetOp(op) => {
            let title = match (op.kind, op.all) {
                (SetOpKind::Union, true) => "Append",
                (SetOpKind::Union, false) => "Union",
                (SetOpKind::Intersect, true) => "Intersect All",
                (SetOpKind::Intersect, false) => "Intersect",
                (SetOpKind::Except, true) => "Except All",
                (SetOpKind::Except, false) => "Except",
            };
            let mut operator = plain_operator(describer, node, title);
            let names = describe_input(describer, &mut operator, &op.left, outer);
            describe_input(describer, &mut operator, &op.right, outer);
            (operator, names)
        }
        Node::Append(append) => {
            let title = if append.merge.is_empty() { "Append" } else { "Merge Append" };
            let mut operator = plain_operator(describer, node, title);
            let mut names = Vec::new();
            for input in &append.inputs {
                let own = describe_input(describer, &mut operator, input, outer);
                names = if names.is_empty() { own } else { names };
            }
            let rows = Rows { input: &names, outer };
            operator.list("Merge Key", show_keys(describer, &append.merge, rows));
            (operator, names)
        }
        Node::With(with) => describe_with(describer, with, outer),
        Node::CteScan(scan) => describe_cte_scan(describer, node, scan),
        Node::Insert(insert) => describe_insert(describer, node, insert, outer),
        Node::Update(update) => describe_update(describer, node, update, outer),
        Node::Delete(delete) => describe_delete(describer, node, delete, outer),
        Node::Merge(merge) => describe_merge(describer, node, merge, outer),
    }
}

/// Describes an input and gives its columns' names.
pub(crate) fn describe_input<'a>(
    describer: &mut Describer<'a>,
    operator: &mut Operator,
    input: &'a Node,
    outer: &[Name],
) -> Vec<Name> {
    let (input, names) = describe_node(describer, input, outer);
    operator.inputs.push(input);
    names
}

/// The line of a filter, if there is one.
pub(crate) fn describe_filter<'a>(
    describer: &mut Describer<'a>,
    operator: &mut Operator,
    filter: &'a [Expr],
    rows: Rows<'_>,
) {
    if !filter.is_empty() {
        operator.line("Filter", show_condition(describer, filter, rows));
    }
}

fn describe_values<'a>(
    describer: &mut Describer<'a>,
    node: &'a Node,
    values: &'a Values,
    outer: &[Name],
) -> Described {
    let rows = Rows { input: &[], outer };
    let names: Vec<Name> = match &values.rows[..] {
        [row] => row.iter().map(|e| name_of(describer, e, rows)).collect(),
        _ => (1..=values.slots.len())
            .map(|n| Name::Column("*VALUES*".to_owned(), format!("column{n}")))
            .collect(),
    };
    // Subqueries in further rows are to be shown too.
    for e in values.rows.iter().flatten().filter(|e| e.waits()) {
        show_expr(describer, e, rows);
    }
    let title = if values.rows.len() == 1 { "Result" } else { "Values Scan on \"*VALUES*\"" };
    (plain_operator(describer, node, title), names)
}

/// What a scan is called; `points` if it reads single keys.
fn scan_title(describer: &Describer<'_>, scan: &Scan, index: &Index, points: bool) -> String {
    let mut title = match (index.number == 1 && points, scan.access.reverse) {
        (true, _) => "Point Lookup on ".to_owned(),
        (false, true) => "Reverse Scan on ".to_owned(),
        (false, false) => "Scan on ".to_owned(),
    };
    title.push_str(&shown_table_name(describer, &scan.table));
    if scan.alias != scan.table.name {
        title.push_str(&format!(" {}", quote_ident(&scan.alias)));
    }
    title.push_str(&format!(" using {}", quote_ident(&index.name)));
    if index.number != 1 && covers(scan, index) {
        title.push_str(" (covering)");
    }
    title
}

fn describe_scan<'a>(
    describer: &mut Describer<'a>,
    node: &'a Node,
    scan: &'a Scan,
    outer: &[Name],
) -> Described {
    let table = &scan.table;
    let Some(index) = table.index(scan.access.index) else {
        debug_assert!(false, "table \"{}\" has no index {}", table.name, scan.access.index);
        let title = format!("Scan on {} using an unknown index", quote_ident(&table.name));
        return (plain_operator(describer, node, title), Vec::new());
    };
    let points = scan.access.bounds.len() == index.keys.len()
        && scan.access.bounds.iter().all(Bound::is_of_values)
        && scan.access.reading == Reading::InOrder;
    let title = scan_title(describer, scan, index, points);
    let mut operator = plain_operator(describer, node, title);
    let shown = CatalogNames { catalog: describer.cx.catalog, path: None };
    let column = |place: usize| match &table.columns[place] {
        column @ Column { is_key_expr: true, .. } => {
            Name::Bare(index_column_text(shown, table, column.id, false))
        }
        column => Name::Column(scan.alias.clone(), column.name.clone()),
    };
    let names: Vec<Name> = scan.columns.iter().map(|(_, place)| column(*place)).collect();
    if describer.cx.verbose {
        operator.list("Output", shown_output(describer, &names));
    }
    let places = index.keys.iter().filter_map(|key| table.position_of(key.column));
    let mut keys: Vec<String> =
        places.map(|place| shown_name(describer, Some(&column(place)))).collect();
    match (describer.cx.spans)(scan) {
        Some(spans) => operator.list("Spans", spans),
        None => {
            let conditions = show_bounds(describer, &scan.access.bounds, &keys, outer);
            operator.line("Index Cond", conditions);
        }
    }
    match scan.access.reading {
        Reading::InOrder => {}
        Reading::Merged(columns) => operator.list("Merge Key", keys.split_off(columns)),
        Reading::FirstOfEach(columns) => {
            keys.truncate(columns);
            operator.list("First Of Each", keys);
        }
    }
    describe_filter(describer, &mut operator, &scan.filter, Rows { input: &names, outer });
    if !scan.pruning.is_empty() {
        operator.line("Partition Pruning", "when the scan starts");
    }
    let page = [("Limit", &scan.access.limit), ("Offset", &scan.access.offset)];
    for (name, e) in page.into_iter().filter_map(|(name, e)| Some((name, e.as_ref()?))) {
        operator.line(name, show_expr(describer, e, Rows { input: &[], outer }));
    }
    if let Some(lock) = scan.lock
        && (!scan.implicit_lock || describer.cx.implicit_locks)
    {
        operator.line("Lock", lock_text(lock));
    }
    (operator, names)
}

/// A table's name, with its schema if that is asked for.
pub(crate) fn shown_table_name(describer: &Describer<'_>, table: &braid_catalog::Table) -> String {
    let name = quote_ident(&table.name);
    match describer.cx.catalog.schemas().get(table.schema) {
        Some(schema) if describer.cx.verbose => format!("{}.{name}", quote_ident(&schema.name)),
        _ => name,
    }
}

fn show_bounds<'a>(
    describer: &mut Describer<'a>,
    bounds: &'a [Bound],
    keys: &[String],
    outer: &[Name],
) -> String {
    let rows = Rows { input: &[], outer };
    let mut conditions = Vec::new();
    for (i, (bound, key)) in bounds.iter().zip(keys).enumerate() {
        match bound {
            Bound::In(list) => match &list[..] {
                [one] => conditions.push(format!("({key} = {})", show_expr(describer, one, rows))),
                list => {
                    let list = show_list(describer, list, rows);
                    conditions.push(format!("({key} = ANY (ARRAY[{list}]))"));
                }
            },
            Bound::Any(array) => {
                conditions.push(format!("({key} = ANY ({}))", show_expr(describer, array, rows)));
            }
            Bound::Rows(list) => {
                let width = list.first().map_or(0, Vec::len);
                let names = keys.get(i..i + width).unwrap_or_default().join(", ");
                let list: Vec<String> = list
                    .iter()
                    .map(|row| format!("({})", show_list(describer, row, rows)))
                    .collect();
                conditions.push(format!("(({names}) IN ({}))", list.join(", ")));
            }
            Bound::OfRows => {}
            Bound::Branches(branches) => {
                let show =
                    |branch: &'a Vec<Bound>| show_bounds(describer, branch, &keys[i..], outer);
                let branches: Vec<String> = branches.iter().map(show).collect();
                conditions.push(format!("({})", branches.join(" OR ")));
            }
            Bound::Terms(search) => {
                let mut value = |e: &'a Expr| show_expr(describer, e, rows);
                conditions.push(search.bound.show(keys, &mut value));
            }
            Bound::Null => conditions.push(format!("({key} IS NULL)")),
            Bound::Range { lower: None, upper: None } => {
                conditions.push(format!("({key} IS NOT NULL)"));
            }
            Bound::Range { lower, upper } => {
                for (end, sign) in [(lower, '>'), (upper, '<')] {
                    if let Some((e, inclusive)) = end {
                        let equal = if *inclusive { "=" } else { "" };
                        let e = show_expr(describer, e, rows);
                        conditions.push(format!("({key} {sign}{equal} {e})"));
                    }
                }
            }
        }
    }
    match &conditions[..] {
        [one] => one.clone(),
        all => format!("({})", all.join(" AND ")),
    }
}

fn describe_function_scan<'a>(
    describer: &mut Describer<'a>,
    node: &'a Node,
    scan: &'a FunctionScan,
    outer: &[Name],
) -> Described {
    fn title(call: &crate::tree::node::FunctionCall) -> &str {
        let of_user = call.routine.as_ref().map_or("value", |call| &call.routine.name);
        call.function.map_or(of_user, |function| function.name)
    }
    let all: Vec<&str> = scan.functions.iter().map(title).collect();
    let mut operator =
        plain_operator(describer, node, format!("Function Scan on {}", all.join(", ")));
    let rows = Rows { input: &[], outer };
    let calls = scan.functions.iter().map(|call| show_function(describer, call, rows)).collect();
    operator.list("Function Call", calls);
    let mut names = Vec::new();
    for call in &scan.functions {
        let relation = title(call);
        for place in 0..call.columns.len() {
            let own = call.function.and_then(|f| f.columns.get(place)).map(|(name, _)| *name);
            let own = own.filter(|own| !own.is_empty()).unwrap_or(relation);
            names.push(Name::Column(relation.to_owned(), own.to_owned()));
        }
    }
    if scan.ordinality.is_some() {
        names.push(Name::Column(all.concat(), "ordinality".to_owned()));
    }
    (operator, names)
}

fn describe_project<'a>(
    describer: &mut Describer<'a>,
    node: &'a Node,
    project: &'a Project,
    outer: &[Name],
) -> Described {
    let hidden = project.exprs.iter().all(|(_, e)| matches!(e, Expr::Input(..)))
        || matches!(&project.input, Node::Values(values) if values.slots.is_empty());
    let (input, names) = describe_node(describer, &project.input, outer);
    let rows = Rows { input: &names, outer };
    let names: Vec<Name> = project.exprs.iter().map(|(_, e)| name_of(describer, e, rows)).collect();
    let output = shown_output(describer, &names);
    if hidden && !describer.cx.verbose {
        return (input, names);
    }
    let mut operator = plain_operator(describer, node, "Project");
    operator.list("Output", output);
    operator.inputs.push(input);
    (operator, names)
}

fn describe_aggregation<'a>(
    describer: &mut Describer<'a>,
    node: &'a Node,
    aggregate: &'a AggregateNode,
    outer: &[Name],
) -> Described {
    let grouped = !aggregate.group.is_empty();
    let title = if grouped { "HashAggregate" } else { "Aggregate" };
    let mut operator = plain_operator(describer, node, title);
    let input = describe_input(describer, &mut operator, &aggregate.input, outer);
    let rows = Rows { input: &input, outer };
    let group: Vec<String> =
        aggregate.group.iter().map(|(_, e)| show_expr(describer, e, rows)).collect();
    if aggregate.sets.is_empty() {
        operator.list("Group Key", group);
    } else {
        for set in &aggregate.sets {
            let set: Vec<String> =
                set.iter().filter_map(|place| group.get(*place).cloned()).collect();
            let set = if set.is_empty() { vec!["()".to_owned()] } else { set };
            operator.list("Group Key", set);
        }
    }
    let workers = aggregate.parallel.as_ref().map_or(1, describer.cx.workers);
    if workers > 1 {
        operator.line("Workers Planned", workers.to_string());
    }
    let mut names: Vec<Name> =
        aggregate.group.iter().map(|(_, e)| name_of(describer, e, rows)).collect();
    names.extend(aggregate.grouping.map(|_| Name::Bare("GROUPING()".to_owned())));
    for (_, call) in &aggregate.aggregates {
        let call = show_aggregate(describer, call, rows);
        names.push(Name::Expr(call));
    }
    (operator, names)
}

fn describe_with<'a>(describer: &mut Describer<'a>, with: &'a With, outer: &[Name]) -> Described {
    let entries: Vec<Operator> =
        with.ctes.iter().map(|cte| describe_cte(describer, cte, outer)).collect();
    let (mut operator, names) = describe_node(describer, &with.body, outer);
    operator.inputs.splice(0..0, entries);
    (operator, names)
}

fn describe_cte<'a>(describer: &mut Describer<'a>, cte: &'a Cte, outer: &[Name]) -> Operator {
    let (mut plan, names) = describe_node(describer, &cte.plan, outer);
    let columns = names.iter().enumerate().map(|(place, name)| match name {
        Name::Column(_, column) => column.clone(),
        _ => format!("column{}", place + 1),
    });
    describer.ctes.insert(cte.id, columns.collect());
    if let Some((term, distinct)) = &cte.recursive {
        let (term, _) = describe_node(describer, term, outer);
        let title = if *distinct { "Recursive Union" } else { "Recursive Union All" };
        plan = Operator {
            node: 0,
            label: None,
            title: title.to_owned(),
            rows: plan.rows,
            lines: Vec::new(),
            inputs: vec![plan, term],
            inlined: false,
        };
    }
    plan.label = Some(format!("CTE {}", quote_ident(&cte.name)));
    plan
}

fn describe_cte_scan<'a>(
    describer: &mut Describer<'a>,
    node: &'a Node,
    scan: &'a CteScan,
) -> Described {
    let word = if scan.working { "WorkTable Scan" } else { "CTE Scan" };
    let operator =
        plain_operator(describer, node, format!("{word} on {}", quote_ident(&scan.name)));
    let known = describer.ctes.get(&scan.id);
    let name = |place: usize| {
        let column = known.and_then(|columns| columns.get(place)).cloned();
        let column = column.unwrap_or_else(|| format!("column{}", place + 1));
        Name::Column(scan.name.clone(), column)
    };
    (operator, scan.columns.iter().map(|(_, place)| name(*place)).collect())
}

/// What a join gives of its right side.
pub(crate) fn gives_right(kind: JoinKind) -> bool {
    !matches!(kind, JoinKind::Semi | JoinKind::Anti)
}

/// Counts what columns could come from: with one relation, names need no qualification.
fn count_relations(node: &Node, count: &mut usize) {
    let own = match node {
        Node::Scan(_) | Node::Virtual(_) | Node::Function(_) | Node::CteScan(_) => 1,
        Node::Values(values) => usize::from(values.rows.len() > 1),
        _ => 0,
    };
    *count += own;
    node.for_each_child(&mut |child| count_relations(child, count));
    node.for_each_expr(&mut |e| count_in(e, count));
}

fn count_in(e: &Expr, count: &mut usize) {
    if let Expr::Subquery(subquery) = e {
        count_relations(&subquery.plan, count);
    }
    e.for_each_child(&mut |child| count_in(child, count));
}

/// How a row is locked, in words.
pub(super) fn lock_text(lock: RowLock) -> String {
    let strength = if lock.is_exclusive() { "exclusive" } else { "shared" };
    let wait = match lock.wait {
        LockWait::Block => "",
        LockWait::SkipLocked => " skip locked",
        LockWait::NoWait => " nowait",
    };
    format!("{strength}{wait}")
}
