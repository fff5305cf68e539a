//! Functions of enums: the first and the last value, and ranges of values.

use std::sync::Arc;

use braid_types::{Datum, EnumLabel, EnumType, Error, Result, SqlState};

use crate::Call;
use crate::registry::tables::Registry;

/// The enum of a call's arguments. Their values do not matter, so NULL will do.
fn enum_of<'c>(call: &'c Call<'_>) -> Result<&'c Arc<EnumType>> {
    let found = call.types.iter().find_map(|ty| ty.as_enum());
    found.ok_or_else(|| {
        let message = "could not determine actual enum type";
        Error::new(SqlState::FeatureNotSupported, message)
    })
}

fn end(ty: &EnumType, label: Option<&Arc<EnumLabel>>) -> Result<Datum> {
    let Some(label) = label else {
        let message = format!("enum {} contains no values", ty.display);
        return Err(Error::new(SqlState::ObjectNotInPrerequisiteState, message));
    };
    value(ty, label)
}

/// The value of a label. 55P04 for one that another transaction would not know yet.
fn value(ty: &EnumType, label: &Arc<EnumLabel>) -> Result<Datum> {
    ty.check_usable(label)?;
    Ok(Datum::Enum(label.clone()))
}

fn first(call: &Call<'_>) -> Result<Datum> {
    let ty = enum_of(call)?;
    end(ty, ty.labels.first())
}

fn last(call: &Call<'_>) -> Result<Datum> {
    let ty = enum_of(call)?;
    end(ty, ty.labels.last())
}

/// The values from the first argument to the second; NULL stands for the end on its side.
fn range(call: &Call<'_>) -> Result<Datum> {
    let ty = enum_of(call)?;
    let bound = |place: usize| {
        let given = call.args.get(place).filter(|_| call.args.len() > 1);
        given.and_then(|datum| datum.as_label()).map(|label| label.order)
    };
    let (low, high) = (bound(0), bound(1));
    let inside = ty.labels.iter().filter(|label| {
        low.is_none_or(|low| low <= label.order) && high.is_none_or(|high| label.order <= high)
    });
    let items = inside.map(|label| value(ty, label)).collect::<Result<Vec<_>>>()?;
    Ok(Datum::array(braid_types::SqlType::Enum(ty.clone()), items))
}

pub(crate) fn register(registry: &mut Registry) {
    registry.add("enum_first(anyenum) -> anyenum stable lax", first);
    registry.add("enum_last(anyenum) -> anyenum stable lax", last);
    registry.add("enum_range(anyenum) -> anyarray stable lax", range);
    registry.add("enum_range(anyenum, anyenum) -> anyarray stable lax", range);
}
