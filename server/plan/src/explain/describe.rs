//! Operators in words: a title, what it does, what goes in.

use std::collections::{HashMap, HashSet};

use braid_catalog::{Catalog, CatalogNames, Column};
use braid_sql::quote_ident;
use braid_types::FormatSettings;

use crate::expr::{Expr, SubqueryExpr};
use crate::node::{
    AggregateNode, Bound, Cte, CteScan, FunctionScan, JoinKind, LockWait, Node, Project, RowLock,
    Scan, SetOpKind, Values, With,
};
use crate::rules::{covers, planned_rows};

use super::deparse::{Name, Rows};

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
pub type Described = (Operator, Vec<Name>);

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
    };
    describer.node(root, &[]).0
}

/// A subquery whose plan is still to be shown.
struct SubPlan<'a> {
    label: String,
    once: bool,
    plan: &'a Node,
    outer: Vec<Name>,
}

/// Walks a plan.
pub struct Describer<'a> {
    pub(super) cx: &'a Describing<'a>,
    pub(super) qualifies: bool,
    ctes: HashMap<u32, Vec<String>>,
    subplans: Vec<SubPlan<'a>>,
    known: HashSet<u32>,
    labels: HashMap<u32, String>,
    counts: [u32; 2],
}

impl<'a> Describer<'a> {
    /// Describes an operator, its inputs and the subqueries of its expressions.
    pub fn node(&mut self, node: &'a Node, outer: &[Name]) -> Described {
        let waiting = std::mem::take(&mut self.subplans);
        let (mut operator, names) = self.operator(node, outer);
        let mut first = Vec::new();
        for subplan in std::mem::replace(&mut self.subplans, waiting) {
            let (mut plan, _) = self.node(subplan.plan, &subplan.outer);
            plan.label = Some(subplan.label);
            // What is computed once stands in front of the inputs.
            if subplan.once { first.push(plan) } else { operator.inputs.push(plan) }
        }
        operator.inputs.splice(0..0, first);
        (operator, names)
    }

    /// The label of a subquery, whose plan is shown under the operator that is being described.
    pub fn subplan(&mut self, subquery: &'a SubqueryExpr, outer: Vec<Name>) -> String {
        if self.known.insert(subquery.id) {
            // One that reads nothing of the row around it runs once.
            let (place, word) =
                if subquery.outer.is_empty() { (0, "InitPlan") } else { (1, "SubPlan") };
            self.counts[place] += 1;
            let label = format!("{word} {}", self.counts[place]);
            self.labels.insert(subquery.id, label.clone());
            let once = subquery.outer.is_empty();
            self.subplans.push(SubPlan { label, once, plan: &subquery.plan, outer });
        }
        self.labels.get(&subquery.id).cloned().unwrap_or_default()
    }

    /// An operator without lines and inputs.
    pub fn plain(&self, node: &'a Node, title: impl Into<String>) -> Operator {
        Operator {
            node: std::ptr::from_ref(node) as usize,
            label: None,
            title: title.into(),
            rows: planned_rows(node, self.cx.catalog),
            lines: Vec::new(),
            inputs: Vec::new(),
            inlined: false,
        }
    }

    fn operator(&mut self, node: &'a Node, outer: &[Name]) -> Described {
        match node {
            Node::Values(values) => self.values(node, values, outer),
            Node::Scan(scan) => self.scan(node, scan, outer),
            Node::Virtual(scan) => {
                let mut operator =
                    self.plain(node, format!("Scan on {}", quote_ident(scan.table.name)));
                let column = |place: usize| {
                    let name = scan.table.columns.get(place).map_or("?column?", |c| c.0);
                    Name::Column(scan.table.name.to_owned(), name.to_owned())
                };
                let names: Vec<Name> = scan.columns.iter().map(|(_, p)| column(*p)).collect();
                self.filter(&mut operator, &scan.filter, Rows { input: &names, outer });
                (operator, names)
            }
            Node::Function(scan) => self.function_scan(node, scan, outer),
            Node::Project(project) => self.project(node, project, outer),
            Node::Join(join) => self.join(node, join, outer),
            Node::Aggregate(aggregate) => self.aggregation(node, aggregate, outer),
            Node::Filter(_)
            | Node::ProjectSet(_)
            | Node::Window(_)
            | Node::Sort(_)
            | Node::LockRows(_)
            | Node::Limit(_)
            | Node::Distinct(_) => self.unary(node, outer),
            Node::SetOp(op) => {
                let title = match (op.kind, op.all) {
                    (SetOpKind::Union, true) => "Append",
                    (SetOpKind::Union, false) => "Union",
                    (SetOpKind::Intersect, true) => "Intersect All",
                    (SetOpKind::Intersect, false) => "Intersect",
                    (SetOpKind::Except, true) => "Except All",
                    (SetOpKind::Except, false) => "Except",
                };
                let mut operator = self.plain(node, title);
                let names = self.input(&mut operator, &op.left, outer);
                self.input(&mut operator, &op.right, outer);
                (operator, names)
            }
            Node::With(with) => self.with(with, outer),
            Node::CteScan(scan) => self.cte_scan(node, scan),
            Node::Insert(insert) => self.insert(node, insert, outer),
            Node::Update(update) => self.update(node, update, outer),
            Node::Delete(delete) => self.delete(node, delete, outer),
        }
    }

    /// Describes an input and gives its columns' names.
    pub fn input(&mut self, operator: &mut Operator, input: &'a Node, outer: &[Name]) -> Vec<Name> {
        let (input, names) = self.node(input, outer);
        operator.inputs.push(input);
        names
    }

    /// The line of a filter, if there is one.
    pub fn filter(&mut self, operator: &mut Operator, filter: &'a [Expr], rows: Rows<'_>) {
        if !filter.is_empty() {
            operator.line("Filter", self.condition(filter, rows));
        }
    }

    fn values(&mut self, node: &'a Node, values: &'a Values, outer: &[Name]) -> Described {
        let rows = Rows { input: &[], outer };
        let names: Vec<Name> = match &values.rows[..] {
            [row] => row.iter().map(|e| self.name_of(e, rows)).collect(),
            _ => (1..=values.slots.len())
                .map(|n| Name::Column("*VALUES*".to_owned(), format!("column{n}")))
                .collect(),
        };
        // Subqueries in further rows are to be shown too.
        for e in values.rows.iter().flatten().filter(|e| e.waits()) {
            self.expr(e, rows);
        }
        let title = if values.rows.len() == 1 { "Result" } else { "Values Scan on \"*VALUES*\"" };
        (self.plain(node, title), names)
    }

    fn scan(&mut self, node: &'a Node, scan: &'a Scan, outer: &[Name]) -> Described {
        let table = &scan.table;
        let index = table.all_indexes().find(|index| index.number == scan.access.index);
        let index = index.unwrap_or(&table.primary);
        let points = scan.access.bounds.len() == index.keys.len()
            && scan.access.bounds.iter().all(Bound::is_of_values);
        let mut title = match (index.number == 1 && points, scan.access.reverse) {
            (true, _) => "Point Lookup on ".to_owned(),
            (false, true) => "Reverse Scan on ".to_owned(),
            (false, false) => "Scan on ".to_owned(),
        };
        title.push_str(&self.table_name(table));
        if scan.alias != table.name {
            title.push_str(&format!(" {}", quote_ident(&scan.alias)));
        }
        title.push_str(&format!(" using {}", quote_ident(&index.name)));
        if index.number != 1 && covers(scan, index) {
            title.push_str(" (covering)");
        }
        let mut operator = self.plain(node, title);
        let shown = CatalogNames { catalog: self.cx.catalog, path: None };
        let column = |place: usize| match &table.columns[place] {
            Column { is_key_expr: true, generated: Some(expr), .. } => {
                Name::Bare(shown.key_expr(table, expr, false))
            }
            column => Name::Column(scan.alias.clone(), column.name.clone()),
        };
        let names: Vec<Name> = scan.columns.iter().map(|(_, place)| column(*place)).collect();
        if self.cx.verbose {
            operator.list("Output", self.output(&names));
        }
        match (self.cx.spans)(scan) {
            Some(spans) => operator.list("Spans", spans),
            None => {
                let keys: Vec<String> = index
                    .keys
                    .iter()
                    .filter_map(|key| table.columns.iter().position(|c| c.id == key.column))
                    .map(|place| self.name(Some(&column(place))))
                    .collect();
                let conditions = self.bounds(&scan.access.bounds, &keys, outer);
                operator.line("Index Cond", conditions);
            }
        }
        self.filter(&mut operator, &scan.filter, Rows { input: &names, outer });
        if let Some(limit) = &scan.access.limit {
            operator.line("Limit", self.expr(limit, Rows { input: &[], outer }));
        }
        if let Some(lock) = scan.lock
            && (!scan.implicit_lock || self.cx.implicit_locks)
        {
            operator.line("Lock", lock_text(lock));
        }
        (operator, names)
    }

    /// A table's name, with its schema if that is asked for.
    pub fn table_name(&self, table: &braid_catalog::Table) -> String {
        let name = quote_ident(&table.name);
        match self.cx.catalog.schema(table.schema) {
            Some(schema) if self.cx.verbose => format!("{}.{name}", quote_ident(&schema.name)),
            _ => name,
        }
    }

    fn bounds(&mut self, bounds: &'a [Bound], keys: &[String], outer: &[Name]) -> String {
        let rows = Rows { input: &[], outer };
        let mut conditions = Vec::new();
        for (i, (bound, key)) in bounds.iter().zip(keys).enumerate() {
            match bound {
                Bound::In(list) => match &list[..] {
                    [one] => conditions.push(format!("({key} = {})", self.expr(one, rows))),
                    list => {
                        let list = self.list(list, rows);
                        conditions.push(format!("({key} = ANY (ARRAY[{list}]))"));
                    }
                },
                Bound::Any(array) => {
                    conditions.push(format!("({key} = ANY ({}))", self.expr(array, rows)));
                }
                Bound::Rows(list) => {
                    let width = list.first().map_or(0, Vec::len);
                    let names = keys.get(i..i + width).unwrap_or_default().join(", ");
                    let list: Vec<String> =
                        list.iter().map(|row| format!("({})", self.list(row, rows))).collect();
                    conditions.push(format!("(({names}) IN ({}))", list.join(", ")));
                }
                Bound::OfRows => {}
                Bound::Null => conditions.push(format!("({key} IS NULL)")),
                Bound::Range { lower, upper } => {
                    for (end, sign) in [(lower, '>'), (upper, '<')] {
                        if let Some((e, inclusive)) = end {
                            let equal = if *inclusive { "=" } else { "" };
                            let e = self.expr(e, rows);
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

    fn function_scan(
        &mut self,
        node: &'a Node,
        scan: &'a FunctionScan,
        outer: &[Name],
    ) -> Described {
        let title = |call: &crate::node::FunctionCall| call.function.map_or("value", |f| f.name);
        let all: Vec<&str> = scan.functions.iter().map(title).collect();
        let mut operator = self.plain(node, format!("Function Scan on {}", all.join(", ")));
        let rows = Rows { input: &[], outer };
        let calls = scan.functions.iter().map(|call| self.function(call, rows)).collect();
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

    fn project(&mut self, node: &'a Node, project: &'a Project, outer: &[Name]) -> Described {
        let hidden = project.exprs.iter().all(|(_, e)| matches!(e, Expr::Input(..)))
            || matches!(&project.input, Node::Values(values) if values.slots.is_empty());
        let (input, names) = self.node(&project.input, outer);
        let rows = Rows { input: &names, outer };
        let names: Vec<Name> = project.exprs.iter().map(|(_, e)| self.name_of(e, rows)).collect();
        let output = self.output(&names);
        if hidden && !self.cx.verbose {
            return (input, names);
        }
        let mut operator = self.plain(node, "Project");
        operator.list("Output", output);
        operator.inputs.push(input);
        (operator, names)
    }

    fn aggregation(
        &mut self,
        node: &'a Node,
        aggregate: &'a AggregateNode,
        outer: &[Name],
    ) -> Described {
        let grouped = !aggregate.group.is_empty();
        let title = if grouped { "HashAggregate" } else { "Aggregate" };
        let mut operator = self.plain(node, title);
        let input = self.input(&mut operator, &aggregate.input, outer);
        let rows = Rows { input: &input, outer };
        let group: Vec<String> = aggregate.group.iter().map(|(_, e)| self.expr(e, rows)).collect();
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
        let mut names: Vec<Name> =
            aggregate.group.iter().map(|(_, e)| self.name_of(e, rows)).collect();
        names.extend(aggregate.grouping.map(|_| Name::Bare("GROUPING()".to_owned())));
        for (_, call) in &aggregate.aggregates {
            let call = self.aggregate(call, rows);
            names.push(Name::Expr(call));
        }
        (operator, names)
    }

    fn with(&mut self, with: &'a With, outer: &[Name]) -> Described {
        let entries: Vec<Operator> = with.ctes.iter().map(|cte| self.cte(cte, outer)).collect();
        let (mut operator, names) = self.node(&with.body, outer);
        operator.inputs.splice(0..0, entries);
        (operator, names)
    }

    fn cte(&mut self, cte: &'a Cte, outer: &[Name]) -> Operator {
        let (mut plan, names) = self.node(&cte.plan, outer);
        let columns = names.iter().enumerate().map(|(place, name)| match name {
            Name::Column(_, column) => column.clone(),
            _ => format!("column{}", place + 1),
        });
        self.ctes.insert(cte.id, columns.collect());
        if let Some((term, distinct)) = &cte.recursive {
            let (term, _) = self.node(term, outer);
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

    fn cte_scan(&mut self, node: &'a Node, scan: &'a CteScan) -> Described {
        let word = if scan.working { "WorkTable Scan" } else { "CTE Scan" };
        let operator = self.plain(node, format!("{word} on {}", quote_ident(&scan.name)));
        let known = self.ctes.get(&scan.id);
        let name = |place: usize| {
            let column = known.and_then(|columns| columns.get(place)).cloned();
            let column = column.unwrap_or_else(|| format!("column{}", place + 1));
            Name::Column(scan.name.clone(), column)
        };
        (operator, scan.columns.iter().map(|(_, place)| name(*place)).collect())
    }
}

/// What a join gives of its right side.
pub fn gives_right(kind: JoinKind) -> bool {
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
