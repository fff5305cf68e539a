//! Which expressions are key columns, and which values can bound them.

use braid_types::{Datum, SqlType};

use crate::rules::push_filters::needs;
use crate::tree::expr::{CallExpr, Expr};
use crate::tree::node::Scan;

/// Whether an expression is the value of a column of the scan, or of an index's key that is the
/// same expression. Values of type `char(n)` compare as texts without the blanks at their end, and
/// keys have them so.
pub(crate) fn is_at(scan: &Scan, e: &Expr, place: usize) -> bool {
    if let Expr::Column(slot, _) = without_blanks(e).unwrap_or(e) {
        return scan.columns.contains(&(*slot, place));
    }
    let key = scan.key_exprs.iter().find(|(known, _)| *known == place);
    key.is_some_and(|(_, key)| {
        let mut key = key.clone();
        over_slots(scan, &mut key) && key.same_value(e)
    })
}

/// The call that makes the sort key of a text, over the scan's slots, if an index's key is one.
pub(crate) fn sorted_at(scan: &Scan, place: usize) -> Option<CallExpr> {
    let (_, key) = scan.key_exprs.iter().find(|(known, _)| *known == place)?;
    match key {
        Expr::Call(call) if call.function.name == "braid_sort_key" => {
            let mut call = (**call).clone();
            call.args.iter_mut().all(|arg| over_slots(scan, arg)).then_some(call)
        }
        _ => None,
    }
}

/// Puts a scan's slots in the place of columns; false if the scan does not give one of them.
pub(crate) fn over_slots(scan: &Scan, e: &mut Expr) -> bool {
    if let Expr::Input(place, ty) = e {
        let Some((slot, _)) = scan.columns.iter().find(|(_, known)| known == place) else {
            return false;
        };
        *e = Expr::Column(*slot, ty.clone());
        return true;
    }
    let mut complete = true;
    e.for_each_child_mut(&mut |child| complete &= over_slots(scan, child));
    complete
}

/// Whether an expression can be evaluated before the scan starts.
pub(crate) fn is_free(scan: &Scan, e: &Expr) -> bool {
    if e.is_volatile() || (e.waits() && !matches!(e, Expr::Subquery(_))) {
        return false;
    }
    let slots = needs(e);
    !slots.iter().any(|slot| scan.columns.iter().any(|(s, _)| s == slot))
}

/// The expression of type `char(n)` inside of a cast to `text`, which takes off the blanks at its
/// end. Comparisons of such values are made of these casts.
fn without_blanks(e: &Expr) -> Option<&Expr> {
    match e {
        Expr::Cast(cast)
            if cast.to == SqlType::Text && matches!(cast.expr.ty(), SqlType::Char(_)) =>
        {
            Some(&cast.expr)
        }
        _ => None,
    }
}

/// Whether a value is a key of a column of a type as it is.
pub(crate) fn is_key_of(value: &Expr, column: &SqlType) -> bool {
    if !matches!(column, SqlType::Char(_)) {
        return fits(&value.ty(), column);
    }
    match value {
        Expr::Const(Datum::Null, _) => true,
        Expr::Const(Datum::Text(text), SqlType::Text) => !text.ends_with(' '),
        value => without_blanks(value).is_some() || value.ty().bare() == column.bare(),
    }
}

/// Whether values of one type are keys of another as they are.
pub(crate) fn fits(value: &SqlType, column: &SqlType) -> bool {
    let integer = |ty: &SqlType| ty.is_integer();
    let text = |ty: &SqlType| matches!(ty, SqlType::Text | SqlType::Varchar(_) | SqlType::Name);
    value.bare() == column.bare()
        || (integer(value) && integer(column))
        || (text(value) && text(column))
        || matches!(
            (value, column),
            (SqlType::Float4 | SqlType::Float8, SqlType::Float4 | SqlType::Float8)
        )
}

/// Whether a condition holds for no row.
pub(crate) fn is_never(condition: &Expr) -> bool {
    matches!(condition, Expr::Const(Datum::Null | Datum::Bool(false), _))
}
