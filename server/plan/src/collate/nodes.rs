//! Operators: the collations of their columns, and the orders by which they work.

use braid_types::{Error, Result, SqlState, SqlType};

use super::Settler;
use super::derived::Derived;
use super::functions::{check_routine, refuse_nondeterministic};
use crate::rules::walk;
use crate::tree::expr::{Expr, Slot};
use crate::tree::node::{
    Append, Cte, CteScan, Distinct, FunctionCall, Node, Scan, SetOp, SetOpKind, Sort, SortKey,
    Values,
};

impl Settler<'_, '_> {
    /// Looks through an operator, after its inputs.
    pub(super) fn node(&mut self, node: &mut Node) -> Result<()> {
        match node {
            Node::Values(values) => self.values(values),
            Node::Scan(scan) => self.scan(scan),
            Node::Virtual(scan) => self.exprs(&mut scan.filter),
            Node::Function(scan) => self.functions(&mut scan.functions),
            Node::Filter(filter) => {
                self.node(&mut filter.input)?;
                self.exprs(&mut filter.predicates)
            }
            Node::Project(project) => {
                self.node(&mut project.input)?;
                self.columns(&mut project.exprs)
            }
            Node::ProjectSet(set) => {
                self.node(&mut set.input)?;
                self.functions(&mut set.functions)
            }
            Node::Join(join) => {
                self.node(&mut join.left)?;
                self.node(&mut join.right)?;
                self.exprs(&mut join.on)?;
                self.exprs(&mut join.outer)
            }
            Node::Aggregate(aggregate) => self.aggregate(aggregate),
            Node::Window(window) => self.window(window),
            Node::Sort(sort) => {
                self.node(&mut sort.input)?;
                self.sort_keys(&mut sort.keys)
            }
            Node::Limit(limit) => {
                self.node(&mut limit.input)?;
                for e in &mut limit.ties {
                    self.ordered(e)?;
                }
                Ok(())
            }
            Node::Distinct(distinct) => self.distinct(distinct),
            Node::SetOp(_) => self.set_op(node),
            Node::Append(append) => self.append(append),
            Node::With(with) => {
                for cte in &mut with.ctes {
                    self.cte(cte)?;
                }
                self.node(&mut with.body)
            }
            Node::CteScan(scan) => {
                self.cte_columns(scan);
                Ok(())
            }
            Node::LockRows(lock) => {
                self.node(&mut lock.input)?;
                self.others(node)
            }
            Node::Insert(_) | Node::Update(_) | Node::Delete(_) | Node::Merge(_) => {
                self.change(node)
            }
        }
    }

    fn append(&mut self, append: &mut Append) -> Result<()> {
        for input in &mut append.inputs {
            self.node(input)?;
        }
        let first = append.inputs.first().map(Node::slots).unwrap_or_default();
        for (slot, from) in append.slots.iter().zip(first) {
            let derived = self.output(from);
            self.slots.insert(*slot, derived);
        }
        Ok(())
    }

    /// The columns of a WITH entry where it is read.
    fn cte_columns(&mut self, scan: &CteScan) {
        for (slot, place) in &scan.columns {
            let known = self.ctes.get(&scan.id).and_then(|list| list.get(*place));
            if let Some(derived) = known.cloned() {
                self.slots.insert(*slot, derived);
            }
        }
    }

    fn exprs(&mut self, list: &mut [Expr]) -> Result<()> {
        list.iter_mut().try_for_each(|e| self.expr(e).map(|_| ()))
    }

    /// The columns of a projection.
    fn columns(&mut self, columns: &mut [(Slot, Expr)]) -> Result<()> {
        for (slot, e) in columns {
            let derived = self.expr(e)?.of_column();
            self.slots.insert(*slot, derived);
        }
        Ok(())
    }

    /// Looks through the expressions of an operator that has no order of its own.
    fn others(&mut self, node: &mut Node) -> Result<()> {
        let mut result = Ok(());
        walk::exprs_mut(node, &mut |e| {
            if result.is_ok() {
                result = self.expr(e).map(|_| ());
            }
        });
        result
    }

    fn values(&mut self, values: &mut Values) -> Result<()> {
        let mut columns = vec![Derived::None; values.slots.len()];
        for row in &mut values.rows {
            for (column, e) in columns.iter_mut().zip(row) {
                let derived = self.expr(e)?;
                *column = std::mem::replace(column, Derived::None).join(derived)?;
            }
        }
        for (slot, derived) in values.slots.iter().zip(columns) {
            self.slots.insert(*slot, derived.of_column());
        }
        Ok(())
    }

    fn scan(&mut self, scan: &mut Scan) -> Result<()> {
        self.table_slots(&scan.table, scan.columns.iter().map(|(slot, place)| (*place, *slot)));
        self.exprs(&mut scan.filter)
    }

    fn functions(&mut self, functions: &mut [FunctionCall]) -> Result<()> {
        for call in functions {
            let derived = self.join_all(&mut call.args)?;
            if let Some(routine) = &call.routine {
                check_routine(&routine.routine, &derived)?;
            }
            for (slot, ty) in &call.columns {
                self.slots.insert(*slot, derived.clone().of_column().for_type(ty));
            }
        }
        Ok(())
    }

    fn cte(&mut self, cte: &mut Cte) -> Result<()> {
        self.node(&mut cte.plan)?;
        let columns: Vec<Derived> =
            cte.plan.slots().iter().map(|slot| self.output(*slot)).collect();
        let is_nondeterministic = columns.iter().any(Derived::is_nondeterministic);
        self.ctes.insert(cte.id, columns);
        if let Some((term, distinct)) = &mut cte.recursive {
            if *distinct && is_nondeterministic {
                return Err(refuse_nondeterministic("a recursive UNION"));
            }
            self.node(term)?;
        }
        let term = cte.recursive.as_ref().map(|(term, _)| term.slots()).unwrap_or_default();
        for (place, slot) in term.into_iter().enumerate() {
            self.check_recursive(cte, place, slot)?;
        }
        Ok(())
    }

    /// 42P21 for a column of a recursive query that has another collation after a step.
    fn check_recursive(&self, cte: &Cte, place: usize, slot: Slot) -> Result<()> {
        let first = self.ctes.get(&cte.id).and_then(|list| list.get(place)).cloned();
        let Some(first) = first else { return Ok(()) };
        let Some(own) = first.collation().cloned() else { return Ok(()) };
        let overall = first.join(self.output(slot))?;
        match overall.collation().filter(|overall| overall.stored != own.stored) {
            Some(overall) => {
                let message = format!(
                    "recursive query \"{}\" column {} has collation \"{}\" in non-recursive term \
                     but collation \"{}\" overall",
                    cte.name,
                    place + 1,
                    own.name,
                    overall.name
                );
                Err(Error::new(SqlState::CollationMismatch, message)
                    .hint("Use the COLLATE clause to set the collation of the non-recursive term."))
            }
            None => Ok(()),
        }
    }

    /// DISTINCT over texts that may be equal without having the same bytes becomes DISTINCT ON
    /// their keys.
    fn distinct(&mut self, distinct: &mut Distinct) -> Result<()> {
        self.node(&mut distinct.input)?;
        for e in &mut distinct.on {
            self.equal(e)?;
        }
        if !distinct.on.is_empty() {
            return Ok(());
        }
        let slots = distinct.input.slots();
        slots.iter().try_for_each(|slot| self.output(*slot).check_decided())?;
        if slots.iter().any(|slot| self.output(*slot).is_nondeterministic()) {
            let input = std::mem::replace(&mut distinct.input, Node::one_row());
            let (input, on) = self.by_keys(input, &distinct.types)?;
            (distinct.input, distinct.on) = (input, on);
            distinct.types.clear();
        }
        Ok(())
    }

    /// Rows sorted by what they are equal by.
    fn by_keys(&mut self, input: Node, types: &[SqlType]) -> Result<(Node, Vec<Expr>)> {
        let mut on = Vec::with_capacity(types.len());
        for (slot, ty) in input.slots().into_iter().zip(types) {
            let mut e = Expr::Column(slot, ty.clone());
            self.equal(&mut e)?;
            on.push(e);
        }
        let key = |e: &Expr| SortKey { expr: e.clone(), descending: false, nulls_first: false };
        let keys = on.iter().map(key).collect();
        Ok((Node::Sort(Box::new(Sort { input, keys, limit: None, offset: None })), on))
    }

    fn set_op(&mut self, node: &mut Node) -> Result<()> {
        let Node::SetOp(op) = node else { return Ok(()) };
        self.node(&mut op.left)?;
        self.node(&mut op.right)?;
        let is_union_all = op.all && op.kind == SetOpKind::Union;
        let sides = op.left.slots().into_iter().zip(op.right.slots());
        let mut is_nondeterministic = false;
        for ((left, right), slot) in sides.zip(&op.slots) {
            let derived = self.output(left).join(self.output(right))?;
            if !is_union_all {
                derived.check_decided()?;
                is_nondeterministic |= derived.is_nondeterministic();
            }
            self.slots.insert(*slot, derived);
        }
        if !is_nondeterministic {
            return Ok(());
        }
        let SetOp { kind, types, .. } = &mut **op;
        if *kind != SetOpKind::Union {
            return Err(refuse_nondeterministic("INTERSECT or EXCEPT"));
        }
        let types = types.clone();
        op.all = true;
        let union = std::mem::replace(node, Node::one_row());
        let (input, on) = self.by_keys(union, &types)?;
        *node = Node::Distinct(Box::new(Distinct { input, on, types: Vec::new() }));
        Ok(())
    }

    /// A change: the rows of its table stand for themselves.
    fn change(&mut self, node: &mut Node) -> Result<()> {
        let mut result = Ok(());
        walk::children_mut(node, &mut |child| {
            if result.is_ok() {
                result = self.node(child);
            }
        });
        result?;
        let (table, rows) = match node {
            Node::Insert(n) => {
                (n.table.clone(), vec![n.row_slots.clone(), n.existing_slots.clone()])
            }
            Node::Update(n) => (n.table.clone(), vec![n.row_slots.clone()]),
            Node::Merge(n) => (n.table.clone(), vec![n.row_slots.clone()]),
            Node::Delete(n) => (n.table.clone(), Vec::new()),
            _ => return Ok(()),
        };
        for slots in rows {
            self.table_slots(&table, slots.into_iter().enumerate());
        }
        // Each expression is looked through once.
        let mut returning = returning(node).map(std::mem::take).unwrap_or_default();
        self.columns(&mut returning)?;
        self.others(node)?;
        if let Some(place) = self::returning(node) {
            *place = returning;
        }
        Ok(())
    }
}

fn returning(node: &mut Node) -> Option<&mut Vec<(Slot, Expr)>> {
    match node {
        Node::Insert(n) => Some(&mut n.returning),
        Node::Update(n) => Some(&mut n.returning),
        Node::Delete(n) => Some(&mut n.returning),
        _ => None,
    }
}
