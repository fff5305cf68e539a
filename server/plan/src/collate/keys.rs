//! Sort keys in the place of texts.

use braid_types::cast::CastContext;
use braid_types::{Datum, Error, Result, SqlType};

use super::assigner::Assigner;
use super::collation::Icu;
use super::derived::Derived;
use crate::bind::{call_function, coerce};
use crate::tree::expr::{CaseExpr, Expr};
use crate::tree::node::SortKey;

/// Whether a value needs no work to be had.
fn is_at_hand(e: &Expr) -> bool {
    match e {
        Expr::Column(..) | Expr::Param(..) | Expr::Input(..) | Expr::Outer(..) => true,
        Expr::Local(..) | Expr::Const(..) => true,
        Expr::Field(row, ..) => is_at_hand(row),
        _ => false,
    }
}

/// The row of the fields of a row at hand; `None` for a row that would have to be computed again
/// for each of its fields.
fn fields_of_row(e: &Expr) -> Option<Expr> {
    let ty = e.ty();
    let SqlType::Record(row) = &ty else { return None };
    if !is_at_hand(e) {
        return None;
    }
    let fields = row.iter().enumerate();
    let field = |(place, (_, ty)): (usize, &(String, SqlType))| {
        Expr::Field(Box::new(e.clone()), place, ty.clone())
    };
    Some(Expr::Row(fields.map(field).collect(), ty.clone()))
}

impl Assigner<'_, '_> {
    /// Puts what an expression is compared by in its place: nothing else for bytes.
    pub(super) fn put_compared(
        &mut self,
        e: &mut Expr,
        derived: &Derived,
        ordered: bool,
    ) -> Result<()> {
        if let Derived::Row(fields) = derived {
            return self.put_row(e, fields, ordered);
        }
        match derived.keys(ordered)? {
            Some(icu) => self.put_key(e, &icu),
            None => Ok(()),
        }
    }

    /// A row of which some fields are compared by keys.
    fn put_row(&mut self, e: &mut Expr, fields: &[Derived], ordered: bool) -> Result<()> {
        fields.iter().try_for_each(Derived::check_known)?;
        if !fields.iter().any(|field| field.needs_keys(ordered)) {
            return Ok(());
        }
        if let Some(taken_apart) = fields_of_row(e) {
            let row = std::mem::replace(e, Expr::bool(true));
            let mut apart = taken_apart;
            self.put_row(&mut apart, fields, ordered)?;
            // A row that is NULL is not one whose fields are.
            let ty = apart.ty();
            let is_null = Expr::IsNull(Box::new(row));
            let whens = vec![(is_null, Expr::null(ty.clone()))];
            *e = Expr::Case(Box::new(CaseExpr { whens, otherwise: apart, ty }));
            return Ok(());
        }
        if let Expr::Case(case) = e {
            self.put_row(&mut case.otherwise, fields, ordered)?;
            case.ty = case.otherwise.ty();
            for (_, then) in &mut case.whens {
                match then {
                    Expr::Const(Datum::Null, ty) => ty.clone_from(&case.ty),
                    then => self.put_row(then, fields, ordered)?,
                }
            }
            return Ok(());
        }
        let unsupported = || Error::unsupported("comparing rows whose fields have collations");
        let Expr::Row(items, ty) = e else { return Err(unsupported()) };
        if items.len() != fields.len() {
            return Err(unsupported());
        }
        for (item, field) in items.iter_mut().zip(fields) {
            self.put_compared(item, field, ordered)?;
        }
        let names = (1..).map(|number| format!("f{number}"));
        *ty = SqlType::Record(names.zip(items.iter().map(Expr::ty)).collect());
        Ok(())
    }

    /// The key of a text by which it is compared.
    pub(super) fn put_key(&mut self, e: &mut Expr, icu: &Icu) -> Result<()> {
        let name = if icu.is_deterministic { "braid_sort_key" } else { "braid_equality_key" };
        self.put_call(name, e, icu)
    }

    /// The key of a text from which the text can be had again.
    pub(super) fn put_sort_key(&mut self, e: &mut Expr, icu: &Icu) -> Result<()> {
        if let SqlType::Char(_) = e.ty() {
            let locale = Expr::Const(Datum::text(icu.locale.as_str()), SqlType::Text);
            let text = std::mem::replace(e, Expr::bool(true));
            *e = call_function(self.binder, "braid_padded_key", vec![text, locale])?;
            return Ok(());
        }
        self.put_call("braid_sort_key", e, icu)
    }

    fn put_call(&mut self, name: &str, e: &mut Expr, icu: &Icu) -> Result<()> {
        let text = match e.ty() {
            ty @ SqlType::Array(_) => ty.innermost().clone(),
            ty => ty,
        };
        // Blanks at the end of a `char(n)` do not count.
        let to = if e.ty().element().is_some() { SqlType::Text.array() } else { SqlType::Text };
        let taken = std::mem::replace(e, Expr::bool(true));
        let value = match text {
            SqlType::Char(_) => coerce(self.binder, taken, &to, CastContext::Explicit)?,
            _ => taken,
        };
        let locale = Expr::Const(Datum::text(icu.locale.as_str()), SqlType::Text);
        *e = call_function(self.binder, name, vec![value, locale])?;
        Ok(())
    }

    /// The text of a sort key, as a value of that type.
    pub(super) fn text_of(&mut self, key: Expr, ty: &SqlType) -> Result<Expr> {
        let text = call_function(self.binder, "braid_sorted_text", vec![key])?;
        coerce(self.binder, text, ty, CastContext::Explicit)
    }

    /// Looks through the keys of a sort.
    pub(super) fn sort_keys(&mut self, keys: &mut [SortKey]) -> Result<()> {
        for key in keys {
            self.ordered(&mut key.expr)?;
        }
        Ok(())
    }

    /// Looks through an expression and puts what it is sorted by in its place.
    pub(super) fn ordered(&mut self, e: &mut Expr) -> Result<Derived> {
        let derived = self.expr(e)?;
        derived.check_decided()?;
        self.put_compared(e, &derived, true)?;
        Ok(derived)
    }

    /// Looks through an expression and puts what it is equal by in its place.
    pub(super) fn equal(&mut self, e: &mut Expr) -> Result<Derived> {
        let derived = self.expr(e)?;
        derived.check_decided()?;
        self.put_compared(e, &derived, false)?;
        Ok(derived)
    }
}
