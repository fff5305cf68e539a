//! ALTER DOMAIN: the default and the constraints of a domain.
//!
//! Rule: a new constraint is checked on the stored rows of every table with a column of the
//! domain. Writers of these tables wait until the statement's transaction ends.

use std::sync::Arc;

use braid_catalog::{Catalog, Domain, Id, Table};
use braid_plan::{Expr, bind_domain_condition};
use braid_sql::ast::{AlterDomain, AlterDomainAction, DomainConstraint, DomainConstraintKind};
use braid_sql::fold;
use braid_types::{Error, Result, SqlState, SqlType};

use crate::context::DdlContext;
use crate::names::user_types::own_domain;
use crate::rows::reader::{block_writers, table_reader};
use crate::statement::types::domains::{add_check, check_place, stored_default};
use crate::table::exprs::evaluate;

pub(crate) async fn run(cx: &mut DdlContext<'_>, alter: &AlterDomain) -> Result<()> {
    let found = own_domain(cx, &alter.name)?;
    let mut changed = Domain::clone(&found);
    match &alter.action {
        AlterDomainAction::Default(None) => changed.default = None,
        AlterDomainAction::Default(Some(expr)) => {
            changed.default = stored_default(cx, &found, expr)?;
        }
        AlterDomainAction::NotNull(wanted) => {
            if *wanted && !found.not_null {
                validate(cx, &found, None).await?;
            }
            changed.not_null = *wanted;
        }
        AlterDomainAction::Add { constraint, not_valid } => {
            add(cx, &mut changed, constraint, *not_valid).await?;
        }
        AlterDomainAction::Drop { name, if_exists, .. } => {
            let name = fold(name);
            let of = format!("of domain \"{}\"", found.name);
            match check_place(&found, &name, &of) {
                Ok(place) => _ = changed.checks.remove(place),
                Err(error) if *if_exists => {
                    let message = format!("{}, skipping", error.message());
                    cx.notice(SqlState::SuccessfulCompletion, message);
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        AlterDomainAction::Validate(name) => {
            let of = format!("of domain \"{}\"", found.name);
            let place = check_place(&found, &fold(name), &of)?;
            if changed.checks[place].validated {
                return Ok(());
            }
            validate(cx, &found, Some(place)).await?;
            changed.checks[place].validated = true;
        }
    }
    cx.draft()?.put(changed);
    Ok(())
}

async fn add(
    cx: &mut DdlContext<'_>,
    domain: &mut Domain,
    constraint: &DomainConstraint,
    not_valid: bool,
) -> Result<()> {
    let DomainConstraintKind::Check(expr) = &constraint.kind else {
        return Err(Error::unsupported("this form of ALTER DOMAIN"));
    };
    add_check(cx, domain, constraint.name.as_ref(), expr, !not_valid)?;
    if not_valid {
        return Ok(());
    }
    validate(cx, domain, Some(domain.checks.len() - 1)).await
}

/// The tables that have columns of a domain, or of one over it, with the places of the columns.
pub(crate) fn tables_with(catalog: &Catalog, domain: Id) -> Vec<(Arc<Table>, Vec<usize>)> {
    let domains = catalog.domains();
    let is_scalar = |id: Id| domains.get(id).is_some_and(|found| found.element.is_none());
    let places = |table: &Table| -> Vec<usize> {
        let columns = table.columns.iter().enumerate();
        let of_domain = columns.filter(|(_, c)| {
            c.domain.is_some_and(|id| is_scalar(id) && domains.is_over(id, domain))
        });
        of_domain.map(|(place, _)| place).collect()
    };
    let tables = catalog.tables().iter().map(|table| (table.clone(), places(table)));
    tables.filter(|(_, places)| !places.is_empty()).collect()
}

/// Whether a type is made of rows with values of a domain.
fn holds_domain(catalog: &Catalog, ty: &SqlType, domain: Id) -> bool {
    let SqlType::Record(row) = ty.innermost() else { return false };
    let own = row.attributes().iter().filter_map(|attribute| attribute.domain);
    own.into_iter().any(|id| catalog.domains().is_over(id, domain))
        || row.iter().any(|(_, ty)| holds_domain(catalog, ty, domain))
}

/// 0A000, as in PostgreSQL, if a column holds values of the domain in arrays or in rows.
fn refuse_containers(catalog: &Catalog, domain: &Domain) -> Result<()> {
    let domains = catalog.domains();
    let is_array = |id: Id| domains.get(id).is_some_and(|found| found.element.is_some());
    for table in catalog.tables().in_database(domain.database) {
        let mut columns = table.visible_columns();
        let found = columns.find(|column| {
            let of_arrays = |id: Id| is_array(id) && domains.is_over(id, domain.id);
            column.domain.is_some_and(of_arrays) || holds_domain(catalog, &column.ty, domain.id)
        });
        if let Some(column) = found {
            let (name, table, column) = (&domain.name, &table.name, &column.name);
            let message =
                format!("cannot alter type \"{name}\" because column \"{table}.{column}\" uses it");
            return Err(Error::new(SqlState::FeatureNotSupported, message));
        }
    }
    Ok(())
}

/// Checks the stored values of a domain: one of its conditions, or NOT NULL.
async fn validate(cx: &DdlContext<'_>, domain: &Domain, check: Option<usize>) -> Result<()> {
    refuse_containers(&cx.catalog(), domain)?;
    let check = check.and_then(|place| domain.checks.get(place));
    let bind = |check| cx.plan(|context| bind_domain_condition(context, domain, check));
    let condition: Option<Expr> = check.map(bind).transpose()?;
    for (table, places) in tables_with(&cx.catalog(), domain.id) {
        block_writers(cx, &table).await?;
        let mut reader = table_reader(cx, &table)?;
        while let Some(rows) = reader.next().await? {
            cx.exec.check_interrupts().await?;
            for (row, place) in rows.iter().flat_map(|row| places.iter().map(move |p| (row, *p))) {
                let value = std::slice::from_ref(&row[place]);
                let is_wrong = match &condition {
                    Some(condition) => evaluate(cx, condition, value)?.as_bool() == Some(false),
                    None => value[0].is_null(),
                };
                if is_wrong {
                    return Err(violated(&cx.catalog(), &table, place, condition.is_none()));
                }
            }
        }
    }
    Ok(())
}

/// 23502 or 23514: a stored value does not satisfy a new constraint.
fn violated(catalog: &Catalog, table: &Table, place: usize, is_null: bool) -> Error {
    let (column, relation) = (&table.columns[place].name, &table.name);
    let (state, what) = match is_null {
        true => (SqlState::NotNullViolation, "contains null values"),
        false => (SqlState::CheckViolation, "contains values that violate the new constraint"),
    };
    let message = format!("column \"{column}\" of table \"{relation}\" {what}");
    Error::new(state, message).table(&catalog.schema_name(table.schema), relation).column(column)
}
