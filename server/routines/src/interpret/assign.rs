//! Values of expressions, and their way into variables.

use braid_builtins::resolve_function;
use braid_exec::ExecContext;
use braid_plan::eval::{EvalContext, eval};
use braid_plan::{CallExpr, Expr};
use braid_types::{Array, Datum, Error, Result, Row, SqlState, SqlType};

use super::at_once::now;
use super::sql::catch_up;
use super::state::Run;
use crate::plpgsql::{Slot, Sql, Step, Subscript, Target};
use crate::query::{Given, finish, in_expression, start, value_type};
use crate::values::{assign, assign_to_field, check_domain};

/// Where an assignment to an array goes.
enum Place {
    At(i64),
    Between(Option<i64>, Option<i64>),
}

impl Run<'_> {
    /// The parameters of a piece of SQL: every variable.
    pub(super) fn given<'s>(&mut self, sql: &'s Sql) -> Given<'s> {
        self.frame.show_all();
        Given {
            values: self.frame.values.clone(),
            types: self.frame.types.clone(),
            numbered: self.code.parameters,
            variables: Some(&sql.variables),
        }
    }

    /// The value of an expression and its type.
    pub(super) async fn value(&mut self, sql: &Sql) -> Result<(Datum, SqlType)> {
        if let Some(slot) = sql.only {
            self.frame.show(&[slot]);
            return Ok((self.frame.values[slot].clone(), self.frame.types[slot].clone()));
        }
        catch_up(self).await?;
        if let Some((simple, value)) = now(self, sql) {
            return Ok((value?, simple.ty.clone()));
        }
        let statement = self.code.statement(sql)?;
        let given = self.given(sql);
        let plan = statement.plan(&self.cx, &given).map_err(|error| in_expression(error, sql))?;
        let [column] = plan.columns.as_slice() else {
            let message = format!("query returned {} columns", plan.columns.len());
            return Err(Error::new(SqlState::SyntaxError, message));
        };
        let ty = value_type(&column.ty);
        self.is_settled = false;
        let cx = self.host.next().await?;
        let mut execution = start(&cx, &plan, given.values, self.host.is_volatile())?;
        let rows = finish(&mut execution, &cx, 2).await?;
        drop(execution);
        self.done_with(&cx);
        if rows.len() > 1 {
            let message = "query returned more than one row";
            return Err(Error::new(SqlState::CardinalityViolation, message));
        }
        let value = rows.into_iter().next().and_then(|row| row.into_iter().next());
        Ok((value.unwrap_or(Datum::Null), ty))
    }

    /// Gives a target a value of a type.
    pub(super) async fn assign(
        &mut self,
        target: &Target,
        value: Datum,
        from: &SqlType,
    ) -> Result<()> {
        match target {
            Target::Variable(slot) => self.assign_variable(*slot, value, from),
            Target::Field(slot, field) => self.assign_field(*slot, field, value, from),
            Target::Part(slot, steps) => {
                if let ([Step::Subscripts(list)], SqlType::Jsonb) =
                    (steps.as_slice(), &self.frame.types[*slot])
                {
                    let value = with_json_part(self, *slot, list, (value, from)).await?;
                    return self.assign_variable(*slot, value, &SqlType::Jsonb);
                }
                let mut known = Vec::with_capacity(steps.len());
                for step in steps {
                    known.push(match step {
                        Step::Field(field) => KnownStep::Field(field),
                        Step::Subscripts(list) => KnownStep::Places(self.places(list).await?),
                    });
                }
                if let Some(KnownStep::Field(field)) = known.first() {
                    self.field(*slot, field)?;
                }
                let domain = self.code.domains.get(*slot).copied().flatten();
                let (mut value, mut from) = (value, from.clone());
                if let (Some(at), None) = (only_place(&known), domain)
                    && let Some(element) = self.frame.types[*slot].element().cloned()
                {
                    let item = assign(&self.cx, value, &from, &element)?;
                    let Some(item) = self.frame.set_element(*slot, at, item)? else {
                        return Ok(());
                    };
                    (value, from) = (item, element);
                }
                let (ty, held) = (&self.frame.types[*slot], &self.frame.values[*slot]);
                let value = with_part(&self.cx, (ty, held), &known, value, &from)?;
                self.frame.set(*slot, check_domain(&self.cx, value, domain)?)
            }
        }
    }

    /// The values of subscripts: places, or the bounds of slices. 22004 for NULL.
    async fn places(&mut self, subscripts: &[Subscript]) -> Result<Vec<Place>> {
        let mut places = Vec::with_capacity(subscripts.len());
        for subscript in subscripts {
            places.push(match subscript {
                Subscript::Place(place) => Place::At(self.bound(place).await?),
                Subscript::Range(low, high) => {
                    let mut bounds = [None, None];
                    for (bound, written) in bounds.iter_mut().zip([low, high]) {
                        if let Some(written) = written {
                            *bound = Some(self.bound(written).await?);
                        }
                    }
                    Place::Between(bounds[0], bounds[1])
                }
            });
        }
        Ok(places)
    }

    async fn bound(&mut self, subscript: &Sql) -> Result<i64> {
        let (place, ty) = self.value(subscript).await?;
        subscript_of(&self.cx, place, &ty)
    }

    pub(super) fn assign_variable(
        &mut self,
        slot: Slot,
        value: Datum,
        from: &SqlType,
    ) -> Result<()> {
        let Some(to) = &self.code.types[slot] else {
            return self.assign_record(slot, value, from);
        };
        let is_row = matches!(to, SqlType::Record(row) if row.name().is_none());
        if is_row && !matches!(from, SqlType::Record(_)) && !value.is_null() {
            let message = "cannot assign non-composite value to a row variable";
            return Err(Error::new(SqlState::DatatypeMismatch, message));
        }
        let value = assign(&self.cx, value, from, to)?;
        let domain = self.code.domains.get(slot).copied().flatten();
        self.frame.set(slot, check_domain(&self.cx, value, domain)?)
    }

    /// A record of any columns takes the columns of what it is given.
    fn assign_record(&mut self, slot: Slot, value: Datum, from: &SqlType) -> Result<()> {
        if !matches!(from, SqlType::Record(_)) {
            if value.is_null() {
                return self.frame.set(slot, Datum::Null);
            }
            let message = "cannot assign non-composite value to a record variable";
            return Err(Error::new(SqlState::DatatypeMismatch, message));
        }
        self.frame.set_type(slot, from);
        self.frame.set(slot, value)
    }

    pub(super) fn assign_field(
        &mut self,
        slot: Slot,
        field: &str,
        value: Datum,
        from: &SqlType,
    ) -> Result<()> {
        let place = self.field(slot, field)?;
        let value = assign_to_field(&self.cx, value, from, (&self.frame.types[slot], place))?;
        let Some(value) = self.frame.set_field(slot, place, value)? else { return Ok(()) };
        let width = match &self.frame.types[slot] {
            SqlType::Record(fields) => fields.len(),
            _ => 0,
        };
        let mut items: Row = match &self.frame.values[slot] {
            Datum::Record(items) => items.to_vec(),
            _ => vec![Datum::Null; width],
        };
        if let Some(item) = items.get_mut(place) {
            *item = value;
        }
        self.frame.set(slot, Datum::Record(items.into()))
    }

    /// The place of a record's field.
    fn field(&self, slot: Slot, field: &str) -> Result<usize> {
        let SqlType::Record(fields) = &self.frame.types[slot] else {
            let message = "a field of a variable that is not a record";
            return Err(Error::new(SqlState::WrongObjectType, message));
        };
        let found = fields.iter().position(|(name, _)| name == field);
        found.ok_or_else(|| {
            let variable = self.code.body.names.get(slot).cloned().flatten().unwrap_or_default();
            if fields.is_empty() {
                let message = format!("record \"{variable}\" is not assigned yet");
                return Error::new(SqlState::ObjectNotInPrerequisiteState, message)
                    .detail("The tuple structure of a not-yet-assigned record is indeterminate.");
            }
            let message = format!("record \"{variable}\" has no field \"{field}\"");
            Error::new(SqlState::UndefinedColumn, message)
        })
    }

    /// Gives targets the columns of a row, or NULLs without one.
    pub(super) async fn assign_row(
        &mut self,
        targets: &[Target],
        row: Option<Row>,
        fields: &[(String, SqlType)],
    ) -> Result<()> {
        if let [Target::Variable(slot)] = targets
            && matches!(self.code.types[*slot], None | Some(SqlType::Record(_)))
        {
            let row = row.unwrap_or_else(|| vec![Datum::Null; fields.len()]);
            if self.code.types[*slot].is_none() && is_row_of(&self.frame.types[*slot], fields) {
                return self.frame.set(*slot, Datum::Record(row.into()));
            }
            let from = SqlType::Record(fields.to_vec().into());
            return self.assign_variable(*slot, Datum::Record(row.into()), &from);
        }
        let mut row = row.unwrap_or_default().into_iter();
        for (place, target) in targets.iter().enumerate() {
            let from = fields.get(place).map_or(SqlType::Text, |(_, ty)| ty.clone());
            let value = row.next().unwrap_or(Datum::Null);
            self.assign(target, value, &from).await?;
        }
        Ok(())
    }
}

/// Whether it is the type of anonymous rows with these columns.
fn is_row_of(ty: &SqlType, fields: &[(String, SqlType)]) -> bool {
    matches!(ty, SqlType::Record(row) if row.name().is_none() && row.as_slice() == fields)
}

/// A value as the subscript of an element that is assigned to. 22004 for NULL.
pub(super) fn subscript_of(cx: &ExecContext, value: Datum, ty: &SqlType) -> Result<i64> {
    let place = assign(cx, value, ty, &SqlType::Int4)?.as_int();
    place.ok_or_else(|| {
        let message = "array subscript in assignment must not be null";
        Error::new(SqlState::NullValueNotAllowed, message)
    })
}

/// Gives a variable a copy of its array with another element.
pub(super) fn set_element_in_copy(
    run: &mut Run<'_>,
    slot: Slot,
    place: i64,
    (value, element): (Datum, &SqlType),
) -> Result<()> {
    let held = (&run.frame.types[slot], &run.frame.values[slot]);
    let changed = with_element(&run.cx, held, &[Place::At(place)], value, element)?;
    run.frame.set(slot, changed)
}

/// The subscript of an assignment to one element of an array of one dimension.
fn only_place(steps: &[KnownStep<'_>]) -> Option<i64> {
    match steps {
        [KnownStep::Places(places)] => match places.as_slice() {
            [Place::At(place)] => Some(*place),
            _ => None,
        },
        _ => None,
    }
}

/// The value of a jsonb variable with another part.
async fn with_json_part(
    run: &mut Run<'_>,
    slot: Slot,
    subscripts: &[Subscript],
    (value, from): (Datum, &SqlType),
) -> Result<Datum> {
    let mut steps = Vec::with_capacity(subscripts.len());
    let mut begins_with_place = None;
    for subscript in subscripts {
        let Subscript::Place(step) = subscript else {
            let message = "jsonb subscript does not support slices";
            return Err(Error::new(SqlState::DatatypeMismatch, message));
        };
        let (step, ty) = run.value(step).await?;
        begins_with_place.get_or_insert(ty.is_integer());
        steps.push(assign(&run.cx, step, &ty, &SqlType::Text)?);
    }
    let value = assign(&run.cx, value, from, &SqlType::Jsonb)?;
    let args = [
        (run.frame.values[slot].clone(), SqlType::Jsonb),
        (Datum::array(SqlType::Text, steps), SqlType::Text.array()),
        (value, SqlType::Jsonb),
        (Datum::Bool(begins_with_place == Some(true)), SqlType::Bool),
    ];
    let (args, types): (Vec<Expr>, Vec<SqlType>) =
        args.into_iter().map(|(value, ty)| (Expr::Const(value, ty.clone()), ty)).unzip();
    let found = resolve_function("braid_jsonb_assign", &types)?;
    let (function, returns) = (found.function, found.returns);
    let call = CallExpr { function, args, types, spread: false, returns };
    let cx = EvalContext { env: &*run.cx.env, params: &[], outer: &[] };
    eval(&Expr::Call(Box::new(call)), &[], &cx)
}

/// A step into a value, with the values of its subscripts.
enum KnownStep<'t> {
    Field(&'t str),
    Places(Vec<Place>),
}

/// A value with another part.
fn with_part(
    cx: &ExecContext,
    (ty, held): (&SqlType, &Datum),
    steps: &[KnownStep<'_>],
    value: Datum,
    from: &SqlType,
) -> Result<Datum> {
    let (step, rest) = match steps {
        [] => return assign(cx, value, from, ty),
        [KnownStep::Places(places)] => return with_element(cx, (ty, held), places, value, from),
        [step, rest @ ..] => (step, rest),
    };
    match step {
        KnownStep::Field(field) => {
            let SqlType::Record(fields) = ty else {
                let shown = ty.display_name();
                let message = format!(
                    "cannot assign to field \"{field}\" because its type {shown} is not a composite \
                     type"
                );
                return Err(Error::new(SqlState::DatatypeMismatch, message));
            };
            let found = fields.iter().enumerate().find(|(_, (name, _))| name == field);
            let row = ty;
            let domain =
                |place: usize| fields.attributes().get(place).and_then(|known| known.domain);
            let Some((place, (_, ty))) = found else {
                let shown = ty.display_name();
                let message = format!("column \"{field}\" not found in data type {shown}");
                return Err(Error::new(SqlState::UndefinedColumn, message));
            };
            let mut items: Row = match held {
                Datum::Record(items) => items.to_vec(),
                _ => vec![Datum::Null; fields.len()],
            };
            if let Some(item) = items.get_mut(place) {
                *item = match rest {
                    [] => assign_to_field(cx, value, from, (row, place))?,
                    rest => {
                        let value = with_part(cx, (ty, &*item), rest, value, from)?;
                        check_domain(cx, value, domain(place))?
                    }
                };
            }
            Ok(Datum::Record(items.into()))
        }
        KnownStep::Places(places) => {
            let element = ty.element().cloned().unwrap_or(SqlType::Unknown);
            let at = |place: &Place| match place {
                Place::At(place) => *place,
                Place::Between(..) => 1,
            };
            let at: Vec<i64> = places.iter().map(at).collect();
            let old = held.as_array().map_or(Datum::Null, |array| array.item(&at));
            let value = with_part(cx, (&element, &old), rest, value, from)?;
            with_element(cx, (ty, held), places, value, &element)
        }
    }
}

/// An array with another element or slice.
fn with_element(
    cx: &ExecContext,
    (ty, held): (&SqlType, &Datum),
    places: &[Place],
    value: Datum,
    from: &SqlType,
) -> Result<Datum> {
    let Some(element) = ty.element().cloned() else {
        let message = "cannot subscript a variable that is not an array";
        return Err(Error::new(SqlState::DatatypeMismatch, message));
    };
    let empty = || Array::new(element.clone(), Vec::new());
    let array = held.as_array().cloned().unwrap_or_else(empty);
    let is_slice = places.iter().any(|place| matches!(place, Place::Between(..)));
    if !is_slice {
        let value = assign(cx, value, from, &element)?;
        let at = |place: &Place| match place {
            Place::At(place) => *place,
            Place::Between(..) => 1,
        };
        let places: Vec<i64> = places.iter().map(at).collect();
        return Ok(array.with_item(&places, value)?.into());
    }
    let value = assign(cx, value, from, ty)?;
    let Some(source) = value.as_array() else { return Ok(held.clone()) };
    let bounds = |place: &Place| match place {
        // A place among slices is the upper bound of one.
        Place::At(place) => (Some(1), Some(*place)),
        Place::Between(low, high) => (*low, *high),
    };
    let bounds: Vec<_> = places.iter().map(bounds).collect();
    Ok(array.with_slice(&bounds, source)?.into())
}
