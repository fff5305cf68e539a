//! Names that mean a parameter or a variable of the routine whose statement is bound.

use braid_types::{Error, Result, SqlState, SqlType};

use crate::bind::Binder;
use crate::bind::refusals::UnknownColumn;
use crate::tree::expr::Expr;

/// The variable that a name means, or the field of one; `None` if it means none.
pub(crate) fn variable(binder: &Binder<'_>, parts: &[String]) -> Option<Result<Expr>> {
    let (param, used) = binder.cx.variables?.find(parts)?;
    let ty = binder.params.get(param)?.clone();
    let value = parts[used..].iter().try_fold(Expr::Param(param, ty), |value, name| {
        let SqlType::Record(fields) = value.ty() else { return None };
        let place = fields.iter().position(|(field, _)| field == name)?;
        let ty = fields[place].1.clone();
        Some(Expr::Field(Box::new(value), place, ty))
    });
    let missing = || {
        if matches!(binder.params.get(param), Some(SqlType::Record(fields)) if fields.is_empty()) {
            let message = format!("record \"{}\" is not assigned yet", parts[..used].join("."));
            return Err(Error::new(SqlState::ObjectNotInPrerequisiteState, message)
                .detail("The tuple structure of a not-yet-assigned record is indeterminate."));
        }
        let (record, field) = (parts[..used].join("."), parts[used..].join("."));
        let message = format!("record \"{record}\" has no field \"{field}\"");
        Err(Error::new(SqlState::UndefinedColumn, message).caused_by(UnknownColumn))
    };
    Some(value.map_or_else(missing, Ok))
}

/// 42702 if a name that means a column could also mean a variable.
pub(crate) fn refuse_ambiguous(binder: &Binder<'_>, name: &str) -> Result<()> {
    match binder.cx.variables {
        Some(variables)
            if variables.refuse_ambiguous && variables.find(&[name.to_owned()]).is_some() =>
        {
            let message = format!("column reference \"{name}\" is ambiguous");
            Err(Error::new(SqlState::AmbiguousColumn, message)
                .detail("It could refer to either a PL/pgSQL variable or a table column."))
        }
        _ => Ok(()),
    }
}
