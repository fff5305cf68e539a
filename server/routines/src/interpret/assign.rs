//! Values of expressions, and their way into variables.

use braid_plan::eval::{EvalContext, eval};
use braid_types::{Array, Datum, Error, Result, Row, SqlState, SqlType};

use super::state::Run;
use crate::plpgsql::{Slot, Sql, Target};
use crate::query::{Given, finish, plain_value, start};
use crate::values::assign;

impl Run<'_> {
    /// The parameters of a piece of SQL: every variable.
    pub(super) fn given<'s>(&self, sql: &'s Sql) -> Given<'s> {
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
            return Ok((self.frame.values[slot].clone(), self.frame.types[slot].clone()));
        }
        let statement = self.code.statement(sql)?;
        let given = self.given(sql);
        let plan = statement.plan(&self.cx, &given)?;
        let [column] = plan.columns.as_slice() else {
            let message = format!("query returned {} columns", plan.columns.len());
            return Err(Error::new(SqlState::SyntaxError, message));
        };
        let ty = match &column.ty {
            SqlType::Unknown => SqlType::Text,
            ty => ty.clone(),
        };
        if let Some(expr) = plain_value(&plan) {
            let env = &*self.cx.env;
            let value = eval(expr, &[], &EvalContext { env, params: &given.values, outer: &[] })?;
            return Ok((value, ty));
        }
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
            Target::Element(slot, field, subscripts) => {
                let mut places = Vec::with_capacity(subscripts.len());
                for subscript in subscripts {
                    let (place, ty) = self.value(subscript).await?;
                    let place = assign(&self.cx, place, &ty, &SqlType::Int4)?.as_int();
                    places.push(place.ok_or_else(|| {
                        let message = "array subscript in assignment must not be null";
                        Error::new(SqlState::NullValueNotAllowed, message)
                    })?);
                }
                self.assign_element(*slot, field.as_deref(), &places, (value, from))
            }
        }
    }

    fn assign_variable(&mut self, slot: Slot, value: Datum, from: &SqlType) -> Result<()> {
        let Some(to) = &self.code.types[slot] else {
            return self.assign_record(slot, value, from);
        };
        let is_row = matches!(to, SqlType::Record(_));
        if is_row && !matches!(from, SqlType::Record(_)) && !value.is_null() {
            let message = "cannot assign non-composite value to a row variable";
            return Err(Error::new(SqlState::DatatypeMismatch, message));
        }
        let value = assign(&self.cx, value, from, to)?;
        self.frame.set(slot, value)
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
        self.frame.types[slot] = from.clone();
        self.frame.set(slot, value)
    }

    fn assign_field(
        &mut self,
        slot: Slot,
        field: &str,
        value: Datum,
        from: &SqlType,
    ) -> Result<()> {
        let (fields, place) = field_of(self, slot, field)?;
        let value = assign(&self.cx, value, from, &fields[place].1)?;
        let mut items: Row = match &self.frame.values[slot] {
            Datum::Record(items) => items.to_vec(),
            _ => vec![Datum::Null; fields.len()],
        };
        items[place] = value;
        self.frame.set(slot, Datum::Record(items.into()))
    }

    fn assign_element(
        &mut self,
        slot: Slot,
        field: Option<&str>,
        places: &[i64],
        (value, from): (Datum, &SqlType),
    ) -> Result<()> {
        let (ty, before) = match field {
            None => (self.frame.types[slot].clone(), self.frame.values[slot].clone()),
            Some(field) => {
                let (fields, place) = field_of(self, slot, field)?;
                let before = match &self.frame.values[slot] {
                    Datum::Record(items) => items[place].clone(),
                    _ => Datum::Null,
                };
                (fields[place].1.clone(), before)
            }
        };
        let Some(element) = ty.element().cloned() else {
            let message = "cannot subscript a variable that is not an array";
            return Err(Error::new(SqlState::DatatypeMismatch, message));
        };
        let value = assign(&self.cx, value, from, &element)?;
        let empty = || Array::new(element.clone(), Vec::new());
        let array = before.as_array().cloned().unwrap_or_else(empty);
        let changed = array.with_item(places, value)?.into();
        match field {
            None => self.frame.set(slot, changed),
            Some(field) => self.assign_field(slot, field, changed, &ty),
        }
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
            let from = SqlType::Record(fields.to_vec());
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

/// A record, as messages call it.
fn record_name(run: &Run<'_>, slot: Slot) -> &'static str {
    match slot {
        0 if run.code.is_trigger => "record \"new\"",
        1 if run.code.is_trigger => "record \"old\"",
        _ => "record",
    }
}

/// The fields of a record, and the place of one.
fn field_of(run: &Run<'_>, slot: Slot, field: &str) -> Result<(Vec<(String, SqlType)>, usize)> {
    let SqlType::Record(fields) = run.frame.types[slot].clone() else {
        let message = "a field of a variable that is not a record";
        return Err(Error::new(SqlState::WrongObjectType, message));
    };
    let Some(place) = fields.iter().position(|(name, _)| name == field) else {
        let message = match fields.is_empty() {
            true => "record is not assigned yet".to_owned(),
            false => format!("{} has no field \"{field}\"", record_name(run, slot)),
        };
        return Err(Error::new(SqlState::UndefinedColumn, message));
    };
    Ok((fields, place))
}
