//! Operators over one input in words.

use braid_sql::quote_ident;

use crate::node::{LockRows, Node, Window};

use super::deparse::{Name, Rows};
use super::describe::{Described, Describer, lock_text};

impl<'a> Describer<'a> {
    /// Describes an operator that passes on the columns of its only input.
    pub fn unary(&mut self, node: &'a Node, outer: &[Name]) -> Described {
        match node {
            Node::Filter(filter) => {
                let mut operator = self.plain(node, "Filter");
                let names = self.input(&mut operator, &filter.input, outer);
                self.filter(&mut operator, &filter.predicates, Rows { input: &names, outer });
                (operator, names)
            }
            Node::ProjectSet(set) => {
                let mut operator = self.plain(node, "ProjectSet");
                let mut names = self.input(&mut operator, &set.input, outer);
                let width = names.len();
                for call in &set.functions {
                    let rows = Rows { input: &names[..width], outer };
                    let call = self.function(call, rows);
                    names.push(Name::Expr(call));
                }
                operator.list("Function Calls", self.output(&names[width..]));
                (operator, names)
            }
            Node::Window(window) => self.windowing(node, window, outer),
            Node::Sort(sort) => {
                let mut operator = self.plain(node, "Sort");
                let names = self.input(&mut operator, &sort.input, outer);
                operator.list("Sort Key", self.keys(&sort.keys, Rows { input: &names, outer }));
                if let Some(limit) = &sort.limit {
                    operator.line("Top", self.expr(limit, Rows { input: &[], outer }));
                }
                (operator, names)
            }
            Node::LockRows(lock) => self.locking(node, lock, outer),
            Node::Limit(limit) => {
                let mut operator = self.plain(node, "Limit");
                let names = self.input(&mut operator, &limit.input, outer);
                let rows = Rows { input: &names, outer };
                for (name, e) in [("Limit", &limit.limit), ("Offset", &limit.offset)] {
                    if let Some(e) = e {
                        operator.line(name, self.expr(e, rows));
                    }
                }
                let ties = limit.ties.iter().map(|e| self.expr(e, rows)).collect();
                operator.list("With Ties", ties);
                (operator, names)
            }
            Node::Distinct(distinct) => {
                let mut operator = self.plain(node, "Distinct");
                let names = self.input(&mut operator, &distinct.input, outer);
                let rows = Rows { input: &names, outer };
                let on = distinct.on.iter().map(|e| self.expr(e, rows)).collect();
                operator.list("Distinct On", on);
                (operator, names)
            }
            // Every other kind is described by its own function.
            other => (self.plain(other, "Operator"), Vec::new()),
        }
    }

    fn locking(&mut self, node: &'a Node, lock: &'a LockRows, outer: &[Name]) -> Described {
        let mut operator = self.plain(node, "LockRows");
        let inside = self.input(&mut operator, &lock.input, outer);
        let given = lock.input.slots();
        let name = |slot| given.iter().position(|known| *known == slot);
        let passed = lock.passed().into_iter().filter_map(name);
        let mut names: Vec<Name> = passed.map(|place| inside[place].clone()).collect();
        let mut locks = Vec::with_capacity(lock.targets.len());
        for target in &lock.targets {
            let columns = target.columns.iter().map(|(_, place)| {
                Name::Column(target.alias.clone(), target.table.columns[*place].name.clone())
            });
            names.extend(columns);
            if !target.implicit || self.cx.implicit_locks {
                locks.push(format!("{} on {}", lock_text(target.lock), quote_ident(&target.alias)));
            }
        }
        operator.list("Lock", locks);
        (operator, names)
    }

    fn windowing(&mut self, node: &'a Node, window: &'a Window, outer: &[Name]) -> Described {
        let mut operator = self.plain(node, "WindowAgg");
        let mut names = self.input(&mut operator, &window.input, outer);
        let rows = Rows { input: &names, outer };
        let partition = window.partition.iter().map(|e| self.expr(e, rows)).collect();
        operator.list("Partition By", partition);
        operator.list("Order By", self.keys(&window.order, rows));
        let calls: Vec<Name> =
            window.calls.iter().map(|(_, call)| Name::Expr(self.window(call, rows))).collect();
        names.extend(calls);
        (operator, names)
    }
}
