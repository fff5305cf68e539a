//! `UPDATE pg_class` of nothing but the sizes of relations.

use crate::ast::{AssignmentTarget, AssignmentValue, Returning, SetSizes, TargetColumn, Update};
use crate::{fold, is_default};

/// The new sizes of relations, if a statement changes nothing but them in a relation of the name
/// `pg_class`. Which relation that is depends on the search path.
pub fn sizes_of(update: &Update) -> Option<SetSizes> {
    let is_plain = update.with.is_none()
        && update.from.is_empty()
        && update.current_of.is_none()
        && matches!(update.returning, Returning::None);
    let name = update.table.0.last().and_then(|part| part.as_ident()).map(fold);
    if !is_plain || name.as_deref() != Some("pg_class") {
        return None;
    }
    let (mut rows, mut pages) = (None, None);
    for assignment in &update.assignments {
        let AssignmentTarget::Column(TargetColumn { name, part }) = &assignment.target else {
            return None;
        };
        let AssignmentValue::Expr(value) = &assignment.value else { return None };
        let place = match fold(name).as_str() {
            "reltuples" => &mut rows,
            "relpages" => &mut pages,
            _ => return None,
        };
        if !part.is_empty() || is_default(value) || place.replace(value.clone()).is_some() {
            return None;
        }
    }
    let (alias, selection) = (update.alias.clone(), update.selection.clone());
    Some(SetSizes { alias, rows, pages, selection })
}
