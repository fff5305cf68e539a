//! Expressions: the collation of each, and the comparisons inside.

use std::sync::Arc;

use braid_types::{Datum, Result, SqlType};

use super::assigner::Assigner;
use super::collation::{is_collatable, stored_collation};
use super::derived::Derived;
use super::functions::{check_comparison, check_function, check_routine, comparison, quoted_name};
use super::nodes::assign_node;
use super::rows::row_of;
use crate::bind::in_set;
use crate::tree::expr::{CompareOp, Expr, QuantifiedExpr, SubqueryExpr, SubqueryKind};

/// The collations by which the fields of two rows are compared; `None` if neither is a row with
/// collations.
fn joined_rows(x: &Derived, y: &Derived) -> Result<Option<Derived>> {
    Ok(match (x, y) {
        (Derived::Row(xs), Derived::Row(ys)) => {
            let pairs = xs.iter().cloned().zip(ys.iter().cloned());
            Some(Derived::Row(pairs.map(|(x, y)| x.join(y)).collect::<Result<_>>()?))
        }
        (Derived::Row(fields), _) | (_, Derived::Row(fields)) => Some(Derived::Row(fields.clone())),
        _ => None,
    })
}

impl Assigner<'_, '_> {
    /// Looks through an expression, and gives its collation.
    pub(super) fn expr(&mut self, e: &mut Expr) -> Result<Derived> {
        Ok(match e {
            Expr::Const(_, ty) | Expr::Outer(_, ty) | Expr::Param(_, ty) => self.of_type(ty),
            Expr::Input(place, ty) => {
                self.inputs.get(*place).cloned().unwrap_or_else(|| self.of_type(ty))
            }
            Expr::Local(level, ty) => {
                self.locals.get(level).cloned().unwrap_or_else(|| self.of_type(ty))
            }
            Expr::Column(slot, ty) => {
                let derived = self.of_slot(*slot, ty);
                if let Some(other) = self.replaced.get(slot) {
                    *e = other.clone();
                }
                derived
            }
            Expr::Compare(op, a, b) => {
                let ordered = !matches!(op, CompareOp::Eq | CompareOp::Ne);
                self.compare(ordered, a, b)?
            }
            Expr::IsDistinct(a, b) => self.compare(false, a, b)?,
            Expr::Call(_) => self.call(e)?,
            Expr::Cast(cast) => {
                let inner = self.expr(&mut cast.expr)?;
                let row = row_of(self.binder.context().catalog, &cast.to);
                row.unwrap_or_else(|| inner.for_type(&cast.to))
            }
            Expr::Domain(domain) => {
                let inner = self.expr(&mut domain.expr)?;
                let catalog = self.binder.context().catalog;
                let own = catalog.domains().get(domain.rules.id);
                match own.and_then(|own| own.collation.as_deref()) {
                    Some(stored) => Derived::Implicit(stored_collation(catalog, stored)),
                    None => inner,
                }
            }
            Expr::Extreme(..) => self.extreme(e)?,
            Expr::InList(..) | Expr::InSet(..) => self.in_list(e)?,
            Expr::Quantified(quantified) => self.quantified(quantified)?,
            Expr::Subquery(subquery) => self.subquery(subquery)?,
            other => self.compound(other)?,
        })
    }

    /// The same for an expression that is made of others and compares none of them.
    fn compound(&mut self, e: &mut Expr) -> Result<Derived> {
        Ok(match e {
            Expr::And(list) | Expr::Or(list) => {
                list.iter_mut().try_for_each(|item| self.expr(item).map(|_| ()))?;
                Derived::None
            }
            Expr::Not(inner)
            | Expr::IsNull(inner)
            | Expr::IsNullRow(inner, _)
            | Expr::IsBool(inner, _) => {
                self.expr(inner)?;
                Derived::None
            }
            Expr::Case(case) => {
                let mut joined = Derived::None;
                for (when, then) in &mut case.whens {
                    self.expr(when)?;
                    joined = joined.join(self.expr(then)?)?;
                }
                joined.join(self.expr(&mut case.otherwise)?)?.for_type(&case.ty)
            }
            Expr::Coalesce(_) => {
                let ty = e.ty();
                let Expr::Coalesce(list) = e else { return Ok(Derived::None) };
                self.join_all(list)?.for_type(&ty)
            }
            Expr::Array(list, element) => self.join_all(list)?.for_type(element),
            Expr::Subscript(part) => {
                let mut array = Derived::None;
                for (place, child) in part.children_mut().enumerate() {
                    let derived = self.expr(child)?;
                    if place == 0 {
                        array = derived;
                    }
                }
                array.for_type(&part.ty)
            }
            Expr::Row(list, ty) => {
                let fields: Vec<_> =
                    list.iter_mut().map(|e| self.expr(e)).collect::<Result<_>>()?;
                row_of(self.binder.context().catalog, ty).unwrap_or(Derived::Row(fields))
            }
            Expr::Field(row, place, ty) => {
                let known = match self.expr(row)? {
                    known @ Derived::Row(_) => Some(known),
                    _ => row_of(self.binder.context().catalog, &row.ty()),
                };
                match known {
                    Some(Derived::Row(fields)) => {
                        fields.into_iter().nth(*place).unwrap_or(Derived::None).for_type(ty)
                    }
                    _ => self.of_type(ty),
                }
            }
            Expr::Routine(call) => {
                let joined = self.join_all(&mut call.args)?;
                check_routine(&call.routine, &joined)?;
                self.of_result(joined, &call.ty, &[])
            }
            Expr::Let(once) => {
                let value = self.expr(&mut once.value)?;
                self.locals.insert(once.level, value);
                self.expr(&mut once.body)?
            }
            _ => Derived::None,
        })
    }

    pub(super) fn join_all(&mut self, list: &mut [Expr]) -> Result<Derived> {
        let mut joined = Derived::None;
        for item in list {
            joined = joined.join(self.expr(item)?)?;
        }
        Ok(joined)
    }

    fn compare(&mut self, ordered: bool, a: &mut Expr, b: &mut Expr) -> Result<Derived> {
        let (x, y) = (self.expr(a)?, self.expr(b)?);
        let joined = match joined_rows(&x, &y)? {
            Some(joined) => joined,
            None => x.join(y)?,
        };
        self.put_compared(a, &joined, ordered)?;
        self.put_compared(b, &joined, ordered)?;
        Ok(Derived::None)
    }

    fn call(&mut self, e: &mut Expr) -> Result<Derived> {
        let Expr::Call(call) = e else { return Ok(Derived::None) };
        if let ("braid_collate", [value, Expr::Const(Datum::Text(stored), _)]) =
            (call.function.name, call.args.as_mut_slice())
        {
            self.expr(value)?;
            let collation = stored_collation(self.binder.context().catalog, stored);
            let value = std::mem::replace(value, Expr::bool(true));
            *e = value;
            return Ok(Derived::Explicit(collation));
        }
        let mut list = Vec::with_capacity(call.args.len());
        for arg in &mut call.args {
            list.push(self.expr(arg)?);
        }
        if let (Some(ordered), [a, b], [x, y]) =
            (comparison(call.function.name), call.args.as_mut_slice(), list.as_slice())
            && let Some(joined) = joined_rows(x, y)?
        {
            self.put_compared(a, &joined, ordered)?;
            self.put_compared(b, &joined, ordered)?;
            call.types = call.args.iter().map(Expr::ty).collect();
            return Ok(Derived::None);
        }
        check_comparison(call.function.name, &list)?;
        let joined = list.into_iter().try_fold(Derived::None, Derived::join)?;
        if call.function.name == "pg_collation_for" {
            if let Some(ty) = call.types.first().filter(|ty| is_collatable(ty)) {
                let shown = quoted_name(joined.for_type(ty).collation());
                *e = Expr::Const(shown, SqlType::Text);
            }
            return Ok(Derived::of_type(&SqlType::Text));
        }
        check_function(call.function.name, &call.types, &joined)?;
        Ok(self.of_result(joined, &call.returns, &call.types))
    }

    /// GREATEST and LEAST: the text of the greatest key.
    fn extreme(&mut self, e: &mut Expr) -> Result<Derived> {
        let ty = e.ty();
        let Expr::Extreme(_, list) = e else { return Ok(Derived::None) };
        let joined = self.join_all(list)?.for_type(&ty);
        if let Some(icu) = joined.keys(true)? {
            list.iter_mut().try_for_each(|item| self.put_sort_key(item, &icu))?;
            let key = std::mem::replace(e, Expr::bool(true));
            *e = self.text_of(key, &ty)?;
        }
        Ok(joined)
    }

    fn in_list(&mut self, e: &mut Expr) -> Result<Derived> {
        match e {
            Expr::InList(value, list) => {
                let joined = self.expr(value)?.join(self.join_all(list)?)?;
                self.put_compared(value, &joined, false)?;
                list.iter_mut().try_for_each(|item| self.put_compared(item, &joined, false))?;
            }
            Expr::InSet(value, set, has_null) => {
                let derived = self.expr(value)?;
                let Some(icu) = derived.keys(false)? else { return Ok(Derived::None) };
                let ty = value.ty();
                let constant = |datum: &Datum| Expr::Const(datum.clone(), ty.clone());
                let mut items: Vec<Expr> = set.iter().map(constant).collect();
                items.iter_mut().try_for_each(|item| self.put_key(item, &icu))?;
                self.put_key(value, &icu)?;
                if *has_null {
                    items.push(Expr::null(SqlType::Bytes));
                }
                let value = std::mem::replace(&mut **value, Expr::bool(true));
                *e = in_set(value, items);
            }
            _ => {}
        }
        Ok(Derived::None)
    }

    fn quantified(&mut self, quantified: &mut QuantifiedExpr) -> Result<Derived> {
        let left = self.expr(&mut quantified.left)?;
        let array = self.expr(&mut quantified.array)?;
        self.compare_inputs(vec![left, array], &mut quantified.compare)?;
        Ok(Derived::None)
    }

    /// A comparison over [`Expr::Input`], whose collations are these.
    fn compare_inputs(&mut self, inputs: Vec<Derived>, compare: &mut Expr) -> Result<()> {
        let outer = std::mem::replace(&mut self.inputs, inputs);
        let result = self.expr(compare);
        self.inputs = outer;
        result.map(|_| ())
    }

    fn subquery(&mut self, subquery: &mut SubqueryExpr) -> Result<Derived> {
        let mut inputs = Vec::new();
        if let SubqueryKind::Quantified { left, .. } = &mut subquery.kind {
            for field in left {
                inputs.push(self.expr(field)?);
            }
        }
        subquery.outer.iter_mut().try_for_each(|e| self.expr(e).map(|_| ()))?;
        let plan = Arc::make_mut(&mut subquery.plan);
        assign_node(self, plan)?;
        let row: Vec<Derived> = plan.slots().iter().map(|slot| self.output(*slot)).collect();
        Ok(match &mut subquery.kind {
            SubqueryKind::Exists => Derived::None,
            SubqueryKind::Scalar | SubqueryKind::Array(_) => {
                row.into_iter().next().unwrap_or(Derived::None).for_type(&subquery.ty)
            }
            SubqueryKind::Row => Derived::Row(row),
            SubqueryKind::Quantified { compare, hashable, .. } => {
                inputs.extend(row);
                self.compare_inputs(inputs, compare)?;
                *hashable &= matches!(compare, Expr::Compare(CompareOp::Eq, a, b)
                    if matches!((&**a, &**b), (Expr::Input(..), Expr::Input(..))));
                Derived::None
            }
        })
    }

    /// The collation of a column of a subquery's result.
    pub(super) fn output(&self, slot: crate::Slot) -> Derived {
        self.slots.get(&slot).cloned().unwrap_or(Derived::None).of_column()
    }
}
