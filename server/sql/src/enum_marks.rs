//! Enums in stored text: an id in the place of a type's name, and a type behind each literal.
//!
//! ```text
//!   written   m = 'sad' OR m = ANY ('{ok}'::public.mood[])
//!   stored    m = 'sad'::"#"."17" OR m = ANY ('{ok}'::"#"."17"[])
//! ```
//!
//! So no renaming of a type changes what the text means, and a renamed label is found in it.

use std::ops::ControlFlow;

use sqlparser::ast::{
    ArrayElemTypeDef, DataType, Expr, Ident, ObjectName, Value, VisitMut, VisitorMut,
};

use crate::deparse::{RELATION_MARK, relation_id};

/// What stands for an enum, or for the arrays of one.
pub fn marked_type(id: u32, is_array: bool) -> DataType {
    let quoted = |text: String| Ident::with_quote('"', text);
    let name = ObjectName::from(vec![quoted(RELATION_MARK.to_owned()), quoted(id.to_string())]);
    let mark = DataType::Custom(name, Vec::new());
    match is_array {
        true => DataType::Array(ArrayElemTypeDef::SquareBracket(Box::new(mark), None)),
        false => mark,
    }
}

/// The enum that a type in stored text stands for, and whether it is an array.
pub fn marked_enum(data_type: &DataType) -> Option<(u32, bool)> {
    match data_type {
        DataType::Custom(name, _) => relation_id(name).map(|id| (id, false)),
        DataType::Array(ArrayElemTypeDef::SquareBracket(element, _)) => {
            marked_enum(element).map(|(id, _)| (id, true))
        }
        _ => None,
    }
}

struct Renamer<'a> {
    id: u32,
    change: &'a dyn Fn(&str, bool) -> Option<String>,
}

impl VisitorMut for Renamer<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Cast { expr: inner, data_type, .. } = expr
            && let Some((id, is_array)) = marked_enum(data_type)
            && id == self.id
            && let Expr::Value(value) = &mut **inner
            && let Value::SingleQuotedString(text) = &mut value.value
            && let Some(changed) = (self.change)(text, is_array)
        {
            *text = changed;
        }
        ControlFlow::Continue(())
    }
}

/// Changes the literals of an enum and of its arrays in stored syntax.
pub fn change_enum_literals<T: VisitMut>(
    tree: &mut T,
    id: u32,
    change: &dyn Fn(&str, bool) -> Option<String>,
) {
    let _ = tree.visit(&mut Renamer { id, change });
}
