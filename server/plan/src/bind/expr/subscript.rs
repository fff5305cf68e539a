//! Array constructors, subscripts, fields of rows, and assignment to parts of columns.
//!
//! All subscripts that follow each other belong to one array: `a[1][2]` is one expression.

use braid_catalog::{Column, Id};
use braid_sql::ast::{AccessExpr, Expr as Ast, Subscript, TargetColumn};
use braid_sql::offset_of;
use braid_types::array::{DIMENSIONS_MAX, too_many_dimensions};
use braid_types::cast::{CastContext, NoCast};
use braid_types::sql_type::RowType;
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use super::modified::{coerce_modified, json_element, json_key, no_json_slices, unify_at};
use super::operators::{call_operator, coerce};
use super::scalar::{bind_expr, bind_exprs, call_function};
use crate::bind::Binder;
use crate::bind::domain::check_domain_of;
use crate::bind::refusals::{UnknownColumn, WrongPart};
use crate::bind::routine::{computed_field, may_compute_field};
use crate::bind::scope::context::ExprCx;
use crate::bind::scope::places::start_of;
use crate::tree::expr::Expr;
use crate::tree::subscript::{Place, SubscriptExpr};

/// A part of a column that is assigned.
pub(crate) struct Part {
    /// The way from the column to the part.
    steps: Vec<Step>,
    /// The type of the value, and its modifier of times.
    wanted: (SqlType, Option<i32>),
    /// The domain of the field that is assigned.
    domain: Option<Id>,
    /// What messages call it.
    shown: Shown,
}

/// A step into a value.
enum Step {
    /// An element or a slice of an array.
    Array(Vec<Place>),
    /// A value inside of a jsonb: its path, and whether the first step is a place in an array.
    Json(Vec<Expr>, bool),
    /// The value of a key of an hstore.
    Key(Expr),
    /// A field of a row of that type.
    Field(usize, SqlType),
}

/// What messages call an assigned part.
enum Shown {
    /// An element of that column.
    Element(String),
    /// A field of that name.
    Field(String),
}

impl Part {
    /// The type of the value.
    pub(crate) fn wanted(&self) -> &SqlType {
        &self.wanted.0
    }
}

/// `ARRAY[…]::type[]`, whose elements are cast one by one, so that it may be empty.
pub(crate) fn cast_operand(
    binder: &mut Binder<'_>,
    e: &Ast,
    to: &SqlType,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let (Ast::Array(array), SqlType::Array(element)) = (e, to) else {
        return bind_expr(binder, e, cx);
    };
    let mut items = Vec::with_capacity(array.elem.len());
    for item in &array.elem {
        items.push(cast_operand(binder, item, to, cx)?);
        if matches!(item, Ast::Array(_)) {
            binder.note_type(item, || to.clone());
        }
    }
    let has_arrays = items.iter().any(|item| matches!(item.ty(), SqlType::Array(_)));
    let wanted = if has_arrays { to } else { &**element };
    let items = items
        .into_iter()
        .map(|item| coerce(binder, item, wanted, CastContext::Explicit))
        .collect::<Result<Vec<_>>>()?;
    Ok(Expr::Array(items, wanted.clone()))
}

pub(crate) fn bind_array(
    binder: &mut Binder<'_>,
    items: &[Ast],
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    if items.is_empty() {
        return Err(Error::new(
            SqlState::IndeterminateDatatype,
            "cannot determine type of empty array",
        )
        .hint("Explicitly cast to the desired type, for example ARRAY[]::integer[].")
        .position(braid_sql::empty_array(binder.cx.text)));
    }
    let places: Vec<u32> = items.iter().map(start_of).collect();
    let items = bind_exprs(binder, items, cx)?;
    let (items, element) = unify_at(binder, (items, &places), "ARRAY")?;
    Ok(Expr::Array(items, element))
}

/// `value[i][j]` or `value[l:u]`.
pub(crate) fn bind_subscripts(
    binder: &mut Binder<'_>,
    value: Expr,
    chain: &[AccessExpr],
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let ty = value.ty();
    if ty == SqlType::Jsonb {
        let keys = json_keys(binder, chain, cx)?.0;
        return keys.into_iter().try_fold(value, |value, key| json_element(binder, value, key));
    }
    if ty == SqlType::Hstore {
        let key = hstore_key(binder, chain, cx)?;
        return call_operator(binder, "->", value, key);
    }
    if ty == SqlType::Name {
        return fixed_part(binder, "braid_name_letter", value, chain, cx);
    }
    if matches!(ty, SqlType::Geometry(shape) if shape.has_parts()) {
        return fixed_part(binder, "braid_part", value, chain, cx);
    }
    let Some(element) = ty.element().cloned() else { return Err(no_subscripts(&ty)) };
    let places = subscript_places(binder, chain, cx)?;
    let is_slice = matches!(places.first(), Some(Place::Slice(..)));
    // A slice of a vector is an array.
    let ty = if is_slice { element.array() } else { element };
    let part = SubscriptExpr { array: value, places, assigned: None, ty };
    Ok(Expr::Subscript(Box::new(part)))
}

/// The one subscript of an hstore, a key.
fn hstore_key(
    binder: &mut Binder<'_>,
    chain: &[AccessExpr],
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let [AccessExpr::Subscript(Subscript::Index { index })] = chain else {
        let message = "hstore allows only one subscript";
        return Err(Error::new(SqlState::FeatureNotSupported, message));
    };
    let key = bind_expr(binder, index, cx)?;
    coerce(binder, key, &SqlType::Text, CastContext::Assignment).map_err(|error| {
        if !NoCast::is_cause_of(&error) {
            return error;
        }
        let message = "hstore subscript must have type text";
        Error::new(SqlState::DatatypeMismatch, message).position(start_of(index))
    })
}

/// A subscript of a name, whose elements are its bytes.
fn fixed_part(
    binder: &mut Binder<'_>,
    function: &str,
    value: Expr,
    chain: &[AccessExpr],
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let mut places = subscript_places(binder, chain, cx)?;
    match (places.pop(), places.is_empty()) {
        (Some(Place::Element(index)), true) => call_function(binder, function, vec![value, index]),
        _ => Err(Error::new(
            SqlState::FeatureNotSupported,
            "slices of fixed-length arrays not implemented",
        )),
    }
}

/// The subscripts of an array: with one slice among them all are slices, from 1 where only one
/// bound is written.
fn subscript_places(
    binder: &mut Binder<'_>,
    chain: &[AccessExpr],
    cx: &mut ExprCx<'_, '_>,
) -> Result<Vec<Place>> {
    if chain.len() > DIMENSIONS_MAX {
        return Err(too_many_dimensions(chain.len()));
    }
    let is_slice =
        |access: &AccessExpr| matches!(access, AccessExpr::Subscript(Subscript::Slice { .. }));
    let has_slice = chain.iter().any(is_slice);
    let mut bound = |ast: &Ast| -> Result<Expr> {
        let e = bind_expr(binder, ast, cx)?;
        let coerced = coerce(binder, e, &SqlType::Int4, CastContext::Assignment);
        coerced.map_err(|error| {
            if !NoCast::is_cause_of(&error) {
                return error;
            }
            let message = "array subscript must have type integer";
            Error::new(SqlState::DatatypeMismatch, message).position(start_of(ast))
        })
    };
    let mut places = Vec::with_capacity(chain.len());
    for access in chain {
        places.push(match access {
            AccessExpr::Subscript(Subscript::Index { index }) => {
                let index = bound(index)?;
                if has_slice {
                    let one = Expr::Const(Datum::Int(1), SqlType::Int4);
                    Place::Slice(Some(one), Some(index))
                } else {
                    Place::Element(index)
                }
            }
            AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, .. }) => {
                let lower = lower_bound.as_ref().map(&mut bound).transpose()?;
                let upper = upper_bound.as_ref().map(&mut bound).transpose()?;
                Place::Slice(lower, upper)
            }
            AccessExpr::Dot(other) => {
                return Err(Error::unsupported(format!("field access .{other}")));
            }
        });
    }
    Ok(places)
}

/// The subscripts of a jsonb as texts, and whether the first one is a number.
fn json_keys(
    binder: &mut Binder<'_>,
    chain: &[AccessExpr],
    cx: &mut ExprCx<'_, '_>,
) -> Result<(Vec<Expr>, bool)> {
    let mut keys = Vec::with_capacity(chain.len());
    let mut begins_with_number = false;
    for access in chain {
        let index = match access {
            AccessExpr::Subscript(Subscript::Index { index }) => index,
            AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, .. }) => {
                let bound = upper_bound.as_ref().or(lower_bound.as_ref());
                return Err(no_json_slices().position(bound.map_or(0, start_of)));
            }
            AccessExpr::Dot(_) => return Err(no_json_slices()),
        };
        let place = start_of(index);
        let index = bind_expr(binder, index, cx)?;
        if keys.is_empty() {
            begins_with_number = matches!(index.ty(), SqlType::Int2 | SqlType::Int4);
        }
        keys.push(json_key(binder, index).map_err(|error| error.position(place))?);
    }
    Ok((keys, begins_with_number))
}

/// The part of a column that is assigned.
pub(crate) fn part_of(
    binder: &mut Binder<'_>,
    column: &Column,
    target: &TargetColumn,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Part> {
    part_in(binder, column, &target.part, cx).map_err(|error| at_target(error, target))
}

fn part_in(
    binder: &mut Binder<'_>,
    column: &Column,
    chain: &[AccessExpr],
    cx: &mut ExprCx<'_, '_>,
) -> Result<Part> {
    let mut part = Part {
        steps: Vec::new(),
        wanted: (column.ty.clone(), column.modifier),
        domain: None,
        shown: Shown::Element(column.name.clone()),
    };
    let mut chain = chain;
    while let [access, rest @ ..] = chain {
        if let AccessExpr::Dot(field) = access {
            step_to_field(&mut part, field)?;
            chain = rest;
            continue;
        }
        let is_subscript = |access: &&AccessExpr| matches!(access, AccessExpr::Subscript(_));
        let run = chain.iter().take_while(is_subscript).count();
        let (subscripts, rest) = chain.split_at(run);
        part.domain = None;
        match &part.wanted.0 {
            SqlType::Array(element) => {
                let places = subscript_places(binder, subscripts, cx)?;
                if let Some(Place::Element(_)) = places.first() {
                    part.wanted.0 = (**element).clone();
                }
                part.steps.push(Step::Array(places));
                chain = rest;
            }
            SqlType::Jsonb => {
                let (keys, begins_with_number) = json_keys(binder, chain, cx)?;
                part.steps.push(Step::Json(keys, begins_with_number));
                chain = &[];
            }
            SqlType::Hstore => {
                part.steps.push(Step::Key(hstore_key(binder, subscripts, cx)?));
                part.wanted = (SqlType::Text, None);
                chain = rest;
            }
            ty => return Err(no_subscripts(ty)),
        }
        if let Shown::Field(name) = part.shown {
            part.shown = Shown::Element(name);
        }
    }
    Ok(part)
}

/// Goes on to a field. 42804 for a value that is no row, 42703 for a row without that field.
fn step_to_field(part: &mut Part, field: &Ast) -> Result<()> {
    let field = match field {
        Ast::Identifier(name) => braid_sql::fold(name),
        other => other.to_string(),
    };
    let name = match &part.shown {
        Shown::Element(name) | Shown::Field(name) => name,
    };
    let shown = part.wanted.0.bare().display_name();
    let row = match &part.wanted.0 {
        SqlType::Record(row) => row,
        _ => {
            let message = format!(
                "cannot assign to field \"{field}\" of column \"{name}\" because its type {shown} \
                 is not a composite type"
            );
            return Err(Error::new(SqlState::DatatypeMismatch, message).caused_by(WrongPart));
        }
    };
    let place = row.iter().position(|(known, _)| *known == field);
    let Some((place, (_, ty))) = place.and_then(|place| Some((place, row.get(place)?))) else {
        let message = format!(
            "cannot assign to field \"{field}\" of column \"{name}\" because there is no such \
             column in data type {shown}"
        );
        return Err(Error::new(SqlState::UndefinedColumn, message).caused_by(WrongPart));
    };
    let attribute = row.attributes().get(place).copied().unwrap_or_default();
    let ty = ty.clone();
    part.steps.push(Step::Field(place, part.wanted.0.clone()));
    part.wanted = (ty, attribute.modifier);
    part.domain = attribute.domain;
    part.shown = Shown::Field(field);
    Ok(())
}

/// A value cast for a part of a column; 42804 if it cannot be.
pub(crate) fn assign_to_part(binder: &mut Binder<'_>, value: Expr, part: &Part) -> Result<Expr> {
    let (wanted, modifier) = &part.wanted;
    let from = value.ty();
    let coerced = coerce_modified(binder, value, wanted, *modifier, CastContext::Assignment);
    let value = coerced.map_err(|error| {
        if !NoCast::is_cause_of(&error) {
            return error;
        }
        let (wanted, from) = (wanted.bare().display_name(), from.bare().display_name());
        let message = match &part.shown {
            Shown::Element(name) => format!(
                "subscripted assignment to \"{name}\" requires type {wanted} but expression is of \
                 type {from}"
            ),
            Shown::Field(name) => {
                format!("subfield \"{name}\" is of type {wanted} but expression is of type {from}")
            }
        };
        Error::new(SqlState::DatatypeMismatch, message)
            .hint("You will need to rewrite or cast the expression.")
            .caused_by(WrongPart)
    })?;
    match part.domain {
        Some(domain) => check_domain_of(binder, value, domain),
        None => Ok(value),
    }
}

/// The column after `value` was assigned to a part of it; `base` is the column before.
pub(crate) fn with_part(
    binder: &mut Binder<'_>,
    base: Expr,
    part: Part,
    value: Expr,
) -> Result<Expr> {
    with_steps(binder, base, part.steps.into_iter(), value)
}

fn with_steps(
    binder: &mut Binder<'_>,
    base: Expr,
    mut steps: std::vec::IntoIter<Step>,
    value: Expr,
) -> Result<Expr> {
    let Some(step) = steps.next() else { return Ok(value) };
    match step {
        Step::Array(places) => {
            let ty = base.ty();
            let assigned = if steps.as_slice().is_empty() {
                value
            } else {
                let element = ty.element().cloned().unwrap_or(SqlType::Unknown);
                let (array, places) = (base.clone(), places.clone());
                let old = SubscriptExpr { array, places, assigned: None, ty: element };
                with_steps(binder, Expr::Subscript(Box::new(old)), steps, value)?
            };
            let part = SubscriptExpr { array: base, places, assigned: Some(assigned), ty };
            Ok(Expr::Subscript(Box::new(part)))
        }
        Step::Key(key) => {
            let pair = call_function(binder, "hstore", vec![key, value])?;
            let none = Expr::Const(Datum::text(""), SqlType::Hstore);
            let base = Expr::Coalesce(vec![base, none]);
            call_operator(binder, "||", base, pair)
        }
        Step::Json(keys, begins_with_number) => {
            let path = Expr::Array(keys, SqlType::Text);
            let args = vec![base, path, value, Expr::bool(begins_with_number)];
            call_function(binder, "braid_jsonb_assign", args)
        }
        Step::Field(place, ty) => {
            let SqlType::Record(row) = &ty else {
                return Err(Error::broken("a field of a type that is no row"));
            };
            let mut items: Vec<Expr> = match &base {
                Expr::Row(items, _) => items.clone(),
                base => {
                    let fields = row.iter().enumerate();
                    let field = |(place, (_, ty)): (usize, &(String, SqlType))| {
                        Expr::Field(Box::new(base.clone()), place, ty.clone())
                    };
                    fields.map(field).collect()
                }
            };
            let Some(item) = items.get_mut(place) else {
                return Err(Error::broken("a row without a field of its type"));
            };
            let old = std::mem::replace(item, Expr::null(SqlType::Unknown));
            let is_inside = !steps.as_slice().is_empty();
            let domain = row.attributes().get(place).and_then(|attribute| attribute.domain);
            let new = with_steps(binder, old, steps, value)?;
            // The value itself has been checked if it is the whole field.
            *item = match domain.filter(|_| is_inside) {
                Some(domain) => check_domain_of(binder, new, domain)?,
                None => new,
            };
            Ok(Expr::Row(items, ty))
        }
    }
}

/// Points at the column whose part is of another type.
pub(crate) fn at_target(error: Error, target: &TargetColumn) -> Error {
    match error.cause() {
        Some(WrongPart) => error.position(offset_of(target.name.span)),
        None => error,
    }
}

fn no_subscripts(ty: &SqlType) -> Error {
    let name = ty.display_name();
    if matches!(ty, SqlType::Geometry(shape) if shape.has_parts()) {
        return Error::unsupported(format_args!("assignment to a part of type {name}"));
    }
    let message = format!("cannot subscript type {name} because it does not support subscripting");
    Error::new(SqlState::DatatypeMismatch, message).caused_by(WrongPart)
}

/// A field of a row, or what a subscript gives.
pub(super) fn bind_access(
    binder: &mut Binder<'_>,
    value: Expr,
    access: &AccessExpr,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    match access {
        AccessExpr::Dot(Ast::Identifier(name)) => {
            let name = braid_sql::fold(name);
            if name == braid_sql::ROW_EXPANSION {
                let message = "row expansion via \"*\" is not supported here";
                return Err(Error::new(SqlState::FeatureNotSupported, message));
            }
            match value.ty() {
                SqlType::Record(fields) => match field_place(binder, &fields, &name) {
                    Some(place) => {
                        let ty = fields[place].1.clone();
                        Ok(Expr::Field(Box::new(value), place, ty))
                    }
                    None if may_compute_field(binder, &name) => {
                        let computed = computed_field(binder, &value, &name, cx)?;
                        computed.ok_or_else(|| no_field(&fields, &name))
                    }
                    None => Err(no_field(&fields, &name)),
                },
                ty => Err(Error::new(
                    SqlState::WrongObjectType,
                    format!(
                        "column notation .{name} applied to type {}, which is not a composite \
                         type",
                        ty.display_name()
                    ),
                )),
            }
        }
        AccessExpr::Dot(other) => Err(Error::unsupported(format!("field access .{other}"))),
        AccessExpr::Subscript(_) => {
            bind_subscripts(binder, value, std::slice::from_ref(access), cx)
        }
    }
}

/// 42703 for a field that a row does not have.
fn no_field(row: &RowType, name: &str) -> Error {
    let message = match row.name() {
        Some(ty) => format!("column \"{name}\" not found in data type {}", ty.display),
        None => format!("could not identify column \"{name}\" in record data type"),
    };
    Error::new(SqlState::UndefinedColumn, message).caused_by(UnknownColumn)
}

/// The place of a field in a row. In the stored form fields of row types with a name have numbers.
fn field_place(binder: &Binder<'_>, row: &RowType, name: &str) -> Option<usize> {
    match braid_sql::split_field(name).filter(|_| binder.is_stored && row.name().is_some()) {
        Some((_, number)) => row.attributes().iter().position(|known| known.number == number),
        None => row.iter().position(|(field, _)| field == name),
    }
}
