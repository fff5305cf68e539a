//! Values that become those of a variable: casts as PL/pgSQL makes them.

use std::sync::{Arc, OnceLock};

use braid_catalog::{Catalog, Id, Routine, SearchPath};
use braid_exec::ExecContext;
use braid_plan::eval::{EvalContext, eval};
use braid_plan::{Expr, PlanContext, bind_assignment_cast, bind_domain_check, bind_parts_check};
use braid_types::{Datum, Error, Result, SqlState, SqlType, text};

/// What binding an expression needs.
pub(crate) fn plan_context(cx: &ExecContext) -> PlanContext<'_> {
    PlanContext {
        catalog: &cx.catalog,
        path: &cx.path,
        env: &*cx.env,
        text: "",
        param_types: &[],
        variables: None,
    }
}

/// A value of one type as another one: by an assignment cast, or else by its text.
pub(crate) fn assign(
    cx: &ExecContext,
    value: Datum,
    from: &SqlType,
    to: &SqlType,
) -> Result<Datum> {
    if from == to || matches!(to, SqlType::Void) {
        return Ok(value);
    }
    if let (SqlType::Record(_), SqlType::Record(fields)) = (from, to) {
        let row = assign_record(cx, value, from, fields)?;
        return check_parts(cx, row, to);
    }
    if value.is_null() {
        return Ok(Datum::Null);
    }
    let plan = plan_context(cx);
    if let Ok(cast) = bind_assignment_cast(&plan, from, to, "") {
        let cx = EvalContext { env: &*cx.env, params: &[], outer: &[] };
        return eval(&cast, &[value], &cx);
    }
    let settings = cx.env.settings();
    let shown = text::to_string(from, &value, settings);
    let parsed = text::parse(to, &shown, settings, cx.env.transaction_micros())?;
    check_parts(cx, parsed, to)
}

/// A value that the domains inside of its type have let pass.
fn check_parts(cx: &ExecContext, value: Datum, ty: &SqlType) -> Result<Datum> {
    match bind_parts_check(&plan_context(cx), ty)? {
        Some(check) => eval_over(cx, &check, value),
        None => Ok(value),
    }
}

/// A value of one type as a field of a row, which the field's domain has to let pass.
pub(crate) fn assign_to_field(
    cx: &ExecContext,
    value: Datum,
    from: &SqlType,
    (row, place): (&SqlType, usize),
) -> Result<Datum> {
    let SqlType::Record(fields) = row else { return Ok(value) };
    let ty = fields.get(place).map_or(&SqlType::Unknown, |(_, ty)| ty);
    let value = assign(cx, value, from, ty)?;
    let domain = fields.attributes().get(place).and_then(|attribute| attribute.domain);
    check_domain(cx, value, domain)
}

/// A value that a domain has let pass, if there is one.
pub(crate) fn check_domain(cx: &ExecContext, value: Datum, domain: Option<Id>) -> Result<Datum> {
    match domain.and_then(|id| cx.catalog.domains().get(id)) {
        Some(domain) => {
            let check = bind_domain_check(&plan_context(cx), domain)?;
            eval_over(cx, &check, value)
        }
        None => Ok(value),
    }
}

/// The domains of what a routine gives, as far as its body has to check them: those of OUT
/// parameters and of rows of a set.
#[derive(Default)]
pub(crate) struct ResultDomains {
    /// The domain of each value.
    whole: Option<Id>,
    /// The domains of the columns of each row.
    columns: Vec<Option<Id>>,
    /// Their checks: of the whole value, or of the columns.
    checks: OnceLock<Vec<Option<Expr>>>,
}

impl ResultDomains {
    /// Those of a routine.
    pub(crate) fn of(routine: &Routine) -> Self {
        let outputs: Vec<Option<Id>> = routine.outputs().map(|output| output.domain).collect();
        let (whole, columns) = match outputs.as_slice() {
            [] => (routine.result_domain.filter(|_| routine.returns_set), Vec::new()),
            [only] if !routine.is_procedure => (*only, Vec::new()),
            _ if outputs.iter().all(Option::is_none) => (None, Vec::new()),
            _ => (None, outputs),
        };
        Self { whole, columns, checks: OnceLock::new() }
    }

    /// A value of the result that its domains have let pass.
    pub(crate) fn check(&self, cx: &ExecContext, value: Datum) -> Result<Datum> {
        if self.whole.is_none() && self.columns.is_empty() {
            return Ok(value);
        }
        let checks = match self.checks.get() {
            Some(checks) => checks,
            None => {
                let bound = self.bind(cx)?;
                self.checks.get_or_init(|| bound)
            }
        };
        match (&value, checks.as_slice()) {
            (_, [Some(check)]) if self.whole.is_some() => {
                return eval_over(cx, check, value);
            }
            (Datum::Record(fields), checks) => {
                for (field, check) in fields.iter().zip(checks) {
                    if let Some(check) = check {
                        eval_over(cx, check, field.clone())?;
                    }
                }
            }
            _ => {}
        }
        Ok(value)
    }

    fn bind(&self, cx: &ExecContext) -> Result<Vec<Option<Expr>>> {
        let domains = match self.whole {
            Some(_) => std::slice::from_ref(&self.whole),
            None => &self.columns,
        };
        let bind = |id: &Option<Id>| match id.and_then(|id| cx.catalog.domains().get(id)) {
            Some(domain) => bind_domain_check(&plan_context(cx), domain).map(Some),
            None => Ok(None),
        };
        domains.iter().map(bind).collect()
    }
}

fn eval_over(cx: &ExecContext, check: &Expr, value: Datum) -> Result<Datum> {
    let cx = EvalContext { env: &*cx.env, params: &[], outer: &[] };
    eval(check, &[value], &cx)
}

/// A row as one of other columns, by their places.
fn assign_record(
    cx: &ExecContext,
    value: Datum,
    from: &SqlType,
    fields: &[(String, SqlType)],
) -> Result<Datum> {
    let (Datum::Record(items), SqlType::Record(types)) = (&value, from) else {
        return Ok(value);
    };
    let mut row = Vec::with_capacity(fields.len());
    for (place, (_, ty)) in fields.iter().enumerate() {
        row.push(match (items.get(place), types.get(place)) {
            (Some(item), Some((_, from))) => assign(cx, item.clone(), from, ty)?,
            _ => Datum::Null,
        });
    }
    Ok(Datum::Record(row.into()))
}

/// A row of other columns as a row of these types, as a result or a row of one. 42804 with
/// `message` unless the types are the same.
pub(crate) fn check_row(
    from: &[(String, SqlType)],
    to: &[(String, SqlType)],
    message: &str,
) -> Result<()> {
    let refuse =
        |detail: String| Err(Error::new(SqlState::DatatypeMismatch, message).detail(detail));
    for (place, ((_, from), (_, to))) in from.iter().zip(to).enumerate() {
        if !from.same_base(to) {
            return refuse(format!(
                "Returned type {} does not match expected type {} in column {}.",
                from.plain_name(),
                to.plain_name(),
                place + 1
            ));
        }
    }
    match from.len() == to.len() {
        true => Ok(()),
        false => refuse(format!(
            "Number of returned columns ({}) does not match expected column count ({}).",
            from.len(),
            to.len()
        )),
    }
}

/// The type that a declaration's text means.
pub(crate) fn named_type(
    catalog: &Arc<Catalog>,
    path: &SearchPath,
    written: &str,
) -> Result<SqlType> {
    let data_type = braid_sql::parse_data_type(written).map_err(Error::without_position)?;
    let names = braid_plan::TypeNames { catalog, path };
    braid_plan::sql_type_of(&data_type, names).map_err(Error::without_position)
}

/// The domain that a declaration's text means.
pub(crate) fn named_domain(
    catalog: &Arc<Catalog>,
    path: &SearchPath,
    written: &str,
) -> Result<Option<Id>> {
    let data_type = braid_sql::parse_data_type(written).map_err(Error::without_position)?;
    let names = braid_plan::TypeNames { catalog, path };
    Ok(braid_plan::domain_of(&data_type, names)?.map(|domain| domain.id))
}
