//! Elements and slices of arrays, and the arrays that assignments to them make.
//!
//! Here: the expression and its value. Not here: subscripts of jsonb, which are functions.

use braid_types::{Array, Datum, Error, Result, SqlState, SqlType};

use super::expr::Expr;

/// `a[i][j]` or `a[l:u]`; with an assigned value the array that has it in that place.
#[derive(Clone)]
pub struct SubscriptExpr {
    /// The array.
    pub array: Expr,
    /// One place for each subscript: all of them elements, or all of them slices.
    pub places: Vec<Place>,
    /// What is assigned: an element, or an array for a slice.
    pub assigned: Option<Expr>,
    /// The type of the result.
    pub ty: SqlType,
}

/// What stands between brackets.
#[derive(Clone)]
pub enum Place {
    /// `[i]`
    Element(Expr),
    /// `[l:u]`, where a bound may be left out.
    Slice(Option<Expr>, Option<Expr>),
}

impl Place {
    fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let (first, second) = match self {
            Place::Element(index) => (Some(index), None),
            Place::Slice(lower, upper) => (lower.as_ref(), upper.as_ref()),
        };
        first.into_iter().chain(second)
    }

    fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let (first, second) = match self {
            Place::Element(index) => (Some(index), None),
            Place::Slice(lower, upper) => (lower.as_mut(), upper.as_mut()),
        };
        first.into_iter().chain(second)
    }

    fn form(&self) -> (bool, bool, bool) {
        match self {
            Place::Element(_) => (false, true, true),
            Place::Slice(lower, upper) => (true, lower.is_some(), upper.is_some()),
        }
    }
}

impl SubscriptExpr {
    /// The array, then its subscripts, then what is assigned.
    pub fn children(&self) -> impl Iterator<Item = &Expr> {
        let places = self.places.iter().flat_map(Place::exprs);
        std::iter::once(&self.array).chain(places).chain(&self.assigned)
    }

    /// As [`SubscriptExpr::children`], to change them.
    pub fn children_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let places = self.places.iter_mut().flat_map(Place::exprs_mut);
        std::iter::once(&mut self.array).chain(places).chain(&mut self.assigned)
    }

    /// Whether both have bounds and an assignment in the same places.
    pub fn has_form_of(&self, other: &Self) -> bool {
        let forms = |part: &Self| part.places.iter().map(Place::form).collect::<Vec<_>>();
        forms(self) == forms(other) && self.assigned.is_some() == other.assigned.is_some()
    }

    /// The value, given those of [`SubscriptExpr::children`].
    pub fn value(&self, children: &[Datum]) -> Result<Datum> {
        let (array, rest) = children.split_first().ok_or_else(|| Error::internal("no array"))?;
        match (&self.assigned, rest.split_last()) {
            (None, _) => self.part_of(array, rest),
            (Some(_), Some((assigned, bounds))) => self.assign(array, bounds, assigned),
            (Some(_), None) => Err(Error::internal("no assigned value")),
        }
    }

    fn part_of(&self, array: &Datum, bounds: &[Datum]) -> Result<Datum> {
        let Datum::Array(array) = array else { return Ok(Datum::Null) };
        if bounds.iter().any(Datum::is_null) {
            return Ok(Datum::Null);
        }
        if let (Some(Place::Element(_)), [Datum::Int(subscript)]) = (self.places.first(), bounds) {
            return Ok(array.item(&[*subscript]));
        }
        Ok(match self.subscripts(bounds)? {
            Subscripts::Element(subscripts) => array.item(&subscripts),
            Subscripts::Slice(bounds) => array.slice(&bounds).into(),
        })
    }

    fn assign(&self, array: &Datum, bounds: &[Datum], assigned: &Datum) -> Result<Datum> {
        if bounds.iter().any(Datum::is_null) {
            let message = "array subscript in assignment must not be null";
            return Err(Error::new(SqlState::NullValueNotAllowed, message));
        }
        let empty;
        let array = match array {
            Datum::Array(array) => array,
            _ => {
                let Some(element) = self.ty.element().cloned() else {
                    return Err(Error::broken("a subscript of a type that is no array"));
                };
                empty = std::sync::Arc::new(Array::new(element, Vec::new()));
                &empty
            }
        };
        Ok(match (self.subscripts(bounds)?, assigned) {
            (Subscripts::Element(subscripts), value) => {
                array.with_item(&subscripts, value.clone())?.into()
            }
            (Subscripts::Slice(bounds), Datum::Array(source)) => {
                array.with_slice(&bounds, source)?.into()
            }
            // NULL for a slice changes nothing.
            (Subscripts::Slice(_), _) => Datum::Array(array.clone()),
        })
    }

    fn subscripts(&self, bounds: &[Datum]) -> Result<Subscripts> {
        let integer = |bound: &Datum| {
            bound.as_int().ok_or_else(|| Error::broken("a subscript is no integer"))
        };
        let bounds = bounds.iter().map(integer).collect::<Result<Vec<_>>>()?;
        let is_slice = matches!(self.places.first(), Some(Place::Slice(..)));
        if !is_slice {
            return Ok(Subscripts::Element(bounds));
        }
        let mut bounds = bounds.into_iter();
        let mut next = |bound: &Option<Expr>| bound.as_ref().and_then(|_| bounds.next());
        let places = self.places.iter().map(|place| match place {
            Place::Slice(lower, upper) => (next(lower), next(upper)),
            Place::Element(_) => (None, None),
        });
        Ok(Subscripts::Slice(places.collect()))
    }
}

enum Subscripts {
    Element(Vec<i64>),
    Slice(Vec<(Option<i64>, Option<i64>)>),
}
