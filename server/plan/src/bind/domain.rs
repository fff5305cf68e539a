//! Casts to domains: the cast to the type below, and the check of the domain's constraints.
//!
//! ```text
//!   '5'::positive      Domain(Const 5, positive: VALUE > 0)      of type int4
//! ```
//!
//! Rule: the type of such an expression is the type below the domain, so that operators, functions
//! and the protocol treat it as one.

use std::sync::Arc;

use braid_catalog::{Column, Domain, DomainCheck, Id};
use braid_types::sql_type::row_name;
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use super::Binder;
use super::expr::operators::coerce_bool;
use super::scope::columns::Scopes;
use super::stored::bind_stored_table_expr;
use crate::collate::{assign_collations_over, is_collated_row};
use crate::context::PlanContext;
use crate::layout;
use crate::tree::expr::{CaseExpr, DomainExpr, DomainPart, DomainRules, Expr};

/// How many domains the conditions of domains may cast to, one inside the other.
const NESTED_MAX: usize = 20;

/// A value of the base type, with the check that makes it one of the domain.
pub(crate) fn check_domain(binder: &mut Binder<'_>, value: Expr, domain: &Domain) -> Result<Expr> {
    let rules = Arc::new(rules_of(binder, domain)?);
    Ok(Expr::Domain(Box::new(DomainExpr { expr: value, rules })))
}

/// A value of a domain's base type, with the check of the domain of that id.
pub(crate) fn check_domain_of(binder: &mut Binder<'_>, value: Expr, id: Id) -> Result<Expr> {
    let domain = known(binder.cx.catalog, id)?.clone();
    check_domain(binder, value, &domain)
}

/// A value of a column's type, with the check of the column's domain, if it has one with
/// constraints.
pub(crate) fn check_column(binder: &mut Binder<'_>, value: Expr, column: &Column) -> Result<Expr> {
    let Some(id) = column.domain else { return Ok(value) };
    let domain = known(binder.cx.catalog, id)?.clone();
    // A cast to the same domain has checked it.
    if matches!(&value, Expr::Domain(checked) if checked.rules.id == id) {
        return Ok(value);
    }
    let rules = rules_of(binder, &domain)?;
    if !rules.not_null && rules.checks.is_empty() && rules.parts.is_empty() {
        return Ok(value);
    }
    Ok(Expr::Domain(Box::new(DomainExpr { expr: value, rules: Arc::new(rules) })))
}

/// The check of a domain over an input of one column. For stored rows, and for COPY.
pub fn bind_domain_check(cx: &PlanContext<'_>, domain: &Domain) -> Result<Expr> {
    let base = cx.catalog.domains().base(domain);
    check_domain(&mut Binder::new(cx), Expr::Input(0, base), domain)
}

/// One condition of a domain over an input of one column. For a new one.
pub fn bind_domain_condition(
    cx: &PlanContext<'_>,
    domain: &Domain,
    check: &DomainCheck,
) -> Result<Expr> {
    let mut binder = Binder::new(cx);
    binder.domain_depth += 1;
    bind_check(&mut binder, domain, check)
}

/// The check of the domains inside of a type over an input of one column; `None` without any.
pub fn bind_parts_check(cx: &PlanContext<'_>, ty: &SqlType) -> Result<Option<Expr>> {
    let checked = check_parts(&mut Binder::new(cx), Expr::Input(0, ty.clone()), ty)?;
    Ok(Some(checked).filter(|checked| matches!(checked, Expr::Domain(_))))
}

fn known(catalog: &braid_catalog::Catalog, id: Id) -> Result<&Arc<Domain>> {
    catalog.domains().get(id).ok_or_else(|| Error::broken(format!("domain {id} is missing")))
}

/// What the values of a domain have to satisfy. Those of the domains below come first.
fn rules_of(binder: &mut Binder<'_>, domain: &Domain) -> Result<DomainRules> {
    if binder.domain_depth >= NESTED_MAX {
        let message = "stack depth limit exceeded";
        return Err(Error::new(SqlState::StatementTooComplex, message));
    }
    let catalog = binder.cx.catalog;
    let domains = catalog.domains();
    // Its values have that collation: it counts as `COLLATE` does.
    binder.has_collate |= domain.collation.is_some();
    let mut rules = DomainRules {
        id: domain.id,
        name: domain.name.clone(),
        shown: domains.text(Some(binder.cx.path), domain),
        schema: catalog.schema_name(domain.schema),
        not_null: domain.not_null,
        checks: Vec::new(),
        parts: Vec::new(),
    };
    let levels: Vec<&Domain> = domains.chain(domain).collect();
    binder.domain_depth += 1;
    let notes = binder.notes.take();
    let parts = match domain.element.map(|id| known(catalog, id)) {
        Some(element) => element
            .and_then(|element| rules_of(binder, element))
            .map(|rules| vec![(DomainPart::Elements, rules)]),
        None => parts_of(binder, &domains.base(domain)),
    };
    let mut bound = parts.map(|parts| rules.parts = parts);
    for level in levels.into_iter().rev() {
        rules.not_null |= level.not_null;
        bound = bound.and_then(|()| bind_level(binder, level, &mut rules));
    }
    binder.notes = notes;
    binder.domain_depth -= 1;
    bound.map(|()| rules)
}

/// A value of a type with the check of the domains that the type is made of, if there are any.
pub(crate) fn check_parts(binder: &mut Binder<'_>, value: Expr, ty: &SqlType) -> Result<Expr> {
    if row_name(ty).is_none() {
        return Ok(value);
    }
    // The collations of its fields count as `COLLATE` does.
    binder.has_collate |= is_collated_row(binder.cx.catalog, ty);
    let parts = parts_of(binder, ty)?;
    if parts.is_empty() {
        return Ok(value);
    }
    let rules = Arc::new(type_rules(ty, parts));
    Ok(Expr::Domain(Box::new(DomainExpr { expr: value, rules })))
}

/// A row that a function of this name fills from an object, with the checks of the domains that
/// the type of its first argument is, or is made of. `scopes` has the columns that it may name.
pub(crate) fn check_filled(
    binder: &mut Binder<'_>,
    (function, base): (&str, Option<&Expr>),
    scopes: &Scopes<'_>,
    value: Expr,
) -> Result<Expr> {
    let Some(base) = base.filter(|_| fills_rows(function)) else { return Ok(value) };
    if let Expr::Domain(domain) = base {
        let rules = domain.rules.clone();
        return Ok(Expr::Domain(Box::new(DomainExpr { expr: value, rules })));
    }
    match declared_domain(binder, base, scopes) {
        Some(id) => check_domain_of(binder, value, id),
        None => check_parts(binder, value, &base.ty()),
    }
}

fn fills_rows(function: &str) -> bool {
    matches!(
        function,
        "json_populate_record"
            | "jsonb_populate_record"
            | "json_populate_recordset"
            | "jsonb_populate_recordset"
            | "populate_record"
    )
}

/// The rules of a type that is no domain itself.
fn type_rules(ty: &SqlType, parts: Vec<(DomainPart, DomainRules)>) -> DomainRules {
    DomainRules {
        id: ty.oid(),
        name: ty.short_name().to_owned(),
        shown: ty.display_name(),
        schema: String::new(),
        not_null: false,
        checks: Vec::new(),
        parts,
    }
}

/// What the domains inside of a type ask of its values: those of the columns of a row type with a
/// name, also in arrays.
fn parts_of(binder: &mut Binder<'_>, ty: &SqlType) -> Result<Vec<(DomainPart, DomainRules)>> {
    let row = match ty {
        SqlType::Record(row) => row,
        SqlType::Array(element) => {
            let parts = parts_of(binder, element)?;
            let has_rules = !parts.is_empty();
            let rules = has_rules.then(|| (DomainPart::Elements, type_rules(element, parts)));
            return Ok(rules.into_iter().collect());
        }
        _ => return Ok(Vec::new()),
    };
    let mut found = Vec::new();
    for (place, attribute) in row.attributes().iter().enumerate() {
        let Some((_, ty)) = row.get(place) else { continue };
        match attribute.domain {
            Some(id) => {
                let domain = known(binder.cx.catalog, id)?.clone();
                found.push((DomainPart::Field(place), rules_of(binder, &domain)?));
            }
            None => {
                let parts = parts_of(binder, ty)?;
                if !parts.is_empty() {
                    found.push((DomainPart::Field(place), type_rules(ty, parts)));
                }
            }
        }
    }
    Ok(found)
}

/// The conditions of one domain, by name, over its value as the only input.
fn bind_level(binder: &mut Binder<'_>, level: &Domain, rules: &mut DomainRules) -> Result<()> {
    let mut checks: Vec<_> = level.checks.iter().collect();
    checks.sort_by(|a, b| a.name.cmp(&b.name));
    for check in checks {
        let condition = bind_check(binder, level, check)?;
        rules.checks.push((check.name.clone(), condition));
    }
    Ok(())
}

/// One condition of a domain, over its value as the only input.
fn bind_check(binder: &mut Binder<'_>, domain: &Domain, check: &DomainCheck) -> Result<Expr> {
    let row = domain.row("value", binder.cx.catalog.domains().base(domain));
    let (slots, clause) = ([binder.slot()], "check constraints");
    let condition = bind_stored_table_expr(binder, &row, &slots, &check.expr, clause)?;
    let mut condition = coerce_bool(binder, condition, "CHECK")?;
    assign_collations_over(binder, &row, &[&slots], &mut condition)?;
    layout::layout_expr(&mut condition, &slots)?;
    Ok(condition)
}

/// The default of a column that has none of its own: that of its domain.
pub(crate) fn domain_default(
    binder: &Binder<'_>,
    column: &Column,
) -> Result<Option<braid_catalog::StoredExpr>> {
    let Some(id) = column.domain else { return Ok(None) };
    let catalog = binder.cx.catalog;
    Ok(known(catalog, id)?.default.clone())
}

/// `pg_typeof` of a domain's value; `None` for every other expression. The value is evaluated, so
/// that its checks are made.
pub(crate) fn typeof_domain(
    binder: &Binder<'_>,
    value: &Expr,
    scopes: &Scopes<'_>,
) -> Option<Expr> {
    let id = declared_domain(binder, value, scopes)?;
    let oid = Expr::Const(Datum::Int(i64::from(id)), SqlType::Regtype);
    let is_null = Expr::IsNull(Box::new(value.clone()));
    let whens = vec![(is_null, oid.clone())];
    Some(Expr::Case(Box::new(CaseExpr { whens, otherwise: oid, ty: SqlType::Regtype })))
}

/// The domain that an expression is of: that of its cast, or of the column that it is.
pub(crate) fn declared_domain(
    binder: &Binder<'_>,
    value: &Expr,
    scopes: &Scopes<'_>,
) -> Option<Id> {
    let slot = match value {
        Expr::Domain(domain) => return Some(domain.rules.id),
        Expr::Column(slot, _) => *slot,
        _ => return None,
    };
    let around = std::iter::successors(Some(scopes), |scopes| scopes.parent);
    let column = around.flat_map(|scopes| &scopes.scope.columns).find(|c| c.slot == slot)?;
    let table = binder.cx.catalog.table(column.origin.0)?;
    table.column(column.origin.1)?.domain
}
