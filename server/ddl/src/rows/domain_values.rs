//! Values of columns with a domain: the domain's default, and the check of its constraints.

use braid_catalog::{Column, Domain, StoredExpr};
use braid_plan::{Expr, bind_domain_check};
use braid_types::{Datum, Result};

use crate::context::DdlContext;
use crate::table::exprs::evaluate;

/// The check of a domain over its value.
pub(crate) fn domain_check(cx: &DdlContext<'_>, domain: Option<&Domain>) -> Result<Option<Expr>> {
    domain.map(|domain| cx.plan(|context| bind_domain_check(context, domain))).transpose()
}

/// The check of a column's domain over its value.
pub(crate) fn column_check(cx: &DdlContext<'_>, column: &Column) -> Result<Option<Expr>> {
    let catalog = cx.catalog();
    let domain = column.domain.and_then(|id| catalog.domains().get(id));
    domain_check(cx, domain.map(|domain| &**domain))
}

/// A value that a domain's check lets pass.
pub(crate) fn checked(cx: &DdlContext<'_>, check: Option<&Expr>, value: Datum) -> Result<Datum> {
    match check {
        Some(check) => evaluate(cx, check, &[value]),
        None => Ok(value),
    }
}

/// The default of a column: its own, or that of its domain.
pub(crate) fn default_of(cx: &DdlContext<'_>, column: &Column) -> Option<StoredExpr> {
    let catalog = cx.catalog();
    let domain = column.domain.and_then(|id| catalog.domains().get(id));
    let of_domain = || domain?.default.clone();
    column.default.clone().or_else(of_domain)
}
