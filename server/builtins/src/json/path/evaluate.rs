//! The evaluator: beginnings, steps, and the list of what was found.

use std::collections::HashMap;

use braid_types::jsonpath::{Expr, Head, JsonPath, Predicate, Step};
use braid_types::{Error, Json, Numeric, Result, SqlState, work};

use super::access::{
    evaluate_any, evaluate_any_element, evaluate_any_key, evaluate_each, evaluate_elements,
    evaluate_key,
};
use super::conditions::evaluate_condition;
use super::item::Item;
use super::keyvalue::{Base, Layout};
use super::methods::{evaluate_datetime, evaluate_method, evaluate_method_of_any};
use super::numbers::{evaluate_arithmetic, evaluate_unary};
use crate::Environment;

/// How deep an evaluation may nest: steps, operands and levels of `.**` together.
const DEPTH_MAX: usize = 5000;

/// What an evaluation came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// There is an item.
    Found,
    /// There is none.
    NotFound,
    /// There was an error, which was suppressed.
    Failed,
}

/// Where items go; without a list only their existence counts, and the first one ends the search.
pub(super) type Sink<'s, 'a> = Option<&'s mut Vec<Item<'a>>>;

/// How a path is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Options {
    /// Errors of the data are thrown.
    pub(super) throws: bool,
    /// Comparisons may use the session's time zone.
    pub(super) uses_zone: bool,
}

/// One evaluation.
pub(super) struct Evaluator<'a> {
    pub(super) env: &'a dyn Environment,
    /// The object of the variables; operators have none.
    pub(super) vars: Option<&'a Json>,
    pub(super) root: &'a Json,
    /// What `@` is.
    pub(super) current: Item<'a>,
    /// What numbers of objects count from.
    pub(super) base: Base<'a>,
    /// The number of the next object that `.keyvalue()` makes.
    pub(super) next_object: i64,
    pub(super) layouts: HashMap<usize, Layout>,
    /// The length of the array whose subscripts are evaluated.
    pub(super) array_length: Option<usize>,
    pub(super) is_lax: bool,
    /// What is not there is no error.
    pub(super) ignores_structure: bool,
    pub(super) options: Options,
    depth: usize,
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(
        env: &'a dyn Environment,
        root: &'a Json,
        vars: Option<&'a Json>,
        is_lax: bool,
        options: Options,
    ) -> Result<Self> {
        if vars.is_some_and(|vars| !matches!(vars, Json::Object(_))) {
            let message = "\"vars\" argument is not an object";
            return Err(Error::new(SqlState::InvalidParameterValue, message).detail(
                "Jsonpath parameters should be encoded as key-value pairs of \"vars\" object.",
            ));
        }
        Ok(Evaluator {
            env,
            vars,
            root,
            current: Item::Part(root),
            base: Base::None,
            // The root is 0 and the variables are 1.
            next_object: if vars.is_some() { 2 } else { 1 },
            layouts: HashMap::new(),
            array_length: None,
            is_lax,
            ignores_structure: is_lax,
            options,
            depth: 0,
        })
    }

    /// Everything that a path finds.
    pub(super) fn list(&mut self, path: &JsonPath) -> Result<Vec<Item<'a>>> {
        let mut found = Vec::new();
        self.expr(&path.expr, &Item::Part(self.root), Some(&mut found))?;
        Ok(found)
    }

    /// Whether a path finds anything; `None` after a suppressed error. Strict mode looks at all of
    /// it, so that no error stays hidden.
    pub(super) fn exists(&mut self, path: &JsonPath) -> Result<Option<bool>> {
        let root = Item::Part(self.root);
        self.exists_at(&path.expr, &root)
    }

    pub(super) fn exists_at(&mut self, expr: &Expr, item: &Item<'a>) -> Result<Option<bool>> {
        let outcome = if self.is_lax {
            self.expr(expr, item, None)?
        } else {
            let mut all = Vec::new();
            match self.expr(expr, item, Some(&mut all))? {
                Outcome::Failed => Outcome::Failed,
                _ if all.is_empty() => Outcome::NotFound,
                _ => Outcome::Found,
            }
        };
        Ok(match outcome {
            Outcome::Failed => None,
            outcome => Some(outcome == Outcome::Found),
        })
    }

    /// An error of the data: thrown, or suppressed.
    pub(super) fn fail(&self, state: SqlState, message: impl Into<String>) -> Result<Outcome> {
        self.fail_with(Error::new(state, message))
    }

    /// See [`Evaluator::fail`].
    pub(super) fn fail_with(&self, error: Error) -> Result<Outcome> {
        if self.options.throws { Err(error) } else { Ok(Outcome::Failed) }
    }

    /// An error of the structure: lax mode finds nothing instead.
    pub(super) fn misfit(&self, state: SqlState, message: impl Into<String>) -> Result<Outcome> {
        if self.ignores_structure { Ok(Outcome::NotFound) } else { self.fail(state, message) }
    }

    /// Counts a level and a unit of work; 54001 beyond the limit.
    pub(super) fn enter(&mut self) -> Result<()> {
        work::tick()?;
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Error::new(SqlState::StatementTooComplex, "stack depth limit exceeded")
                .hint(format!("A jsonpath is evaluated at most {DEPTH_MAX} levels deep.")));
        }
        Ok(())
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Adds an item to a list, whose memory is counted as it grows.
    pub(super) fn push(list: &mut Vec<Item<'a>>, item: Item<'a>) -> Result<()> {
        work::tick()?;
        if list.len() == list.capacity() {
            work::afford(list.capacity().max(4) * 2 * size_of::<Item<'a>>())?;
        }
        list.push(item);
        Ok(())
    }

    /// Evaluates an expression where `item` is what its first step is applied to.
    pub(super) fn expr(
        &mut self,
        expr: &Expr,
        item: &Item<'a>,
        sink: Sink<'_, 'a>,
    ) -> Result<Outcome> {
        self.enter()?;
        let outcome = self.head(expr, item, sink);
        self.leave();
        outcome
    }

    fn head(&mut self, expr: &Expr, item: &Item<'a>, sink: Sink<'_, 'a>) -> Result<Outcome> {
        let steps = expr.steps.as_slice();
        let is_wanted = sink.is_some() || !steps.is_empty();
        let value = match &expr.head {
            Head::Root => {
                let base = Base::Json(self.root, 0);
                let outer = std::mem::replace(&mut self.base, base);
                let outcome = self.follow(steps, &Item::Part(self.root), sink);
                self.base = outer;
                return outcome;
            }
            Head::Current => {
                let current = self.current.clone();
                return self.follow(steps, &current, sink);
            }
            Head::Variable(name) => return self.variable(name, steps, sink),
            Head::Unary(sign, inner) => {
                return evaluate_unary(self, *sign, inner, steps, item, sink);
            }
            Head::Arithmetic(operator, both) => {
                let Some(value) = evaluate_arithmetic(self, *operator, both, item)? else {
                    return Ok(Outcome::Failed);
                };
                Json::Number(value)
            }
            Head::Predicate(predicate) => self.condition_value(predicate, item)?,
            Head::Last => {
                let length = self.array_length.ok_or_else(|| {
                    Error::internal("evaluating jsonpath LAST outside of array subscript")
                })?;
                Json::Number(Numeric::from_i64(length as i64 - 1))
            }
            _ if !is_wanted => return Ok(Outcome::Found),
            Head::Null => Json::Null,
            Head::Bool(value) => Json::Bool(*value),
            Head::Number(value) => Json::Number(value.clone()),
            Head::String(value) => Json::String(value.clone()),
        };
        self.follow(steps, &Item::Scalar(value), sink)
    }

    fn condition_value(&mut self, predicate: &Predicate, item: &Item<'a>) -> Result<Json> {
        Ok(evaluate_condition(self, predicate, item)?.map_or(Json::Null, Json::Bool))
    }

    fn variable(&mut self, name: &str, steps: &[Step], sink: Sink<'_, 'a>) -> Result<Outcome> {
        let found = self.vars.and_then(|vars| Some((vars, Item::Part(vars).member(name)?)));
        let Some((vars, found)) = found else {
            let message = format!("could not find jsonpath variable \"{name}\"");
            return Err(Error::new(SqlState::UndefinedObject, message));
        };
        let outer = std::mem::replace(&mut self.base, Base::Json(vars, 1));
        let outcome = self.follow(steps, &found, sink);
        self.base = outer;
        outcome
    }

    /// Goes on from an item; after the last step the item itself is found.
    pub(super) fn follow(
        &mut self,
        steps: &[Step],
        item: &Item<'a>,
        sink: Sink<'_, 'a>,
    ) -> Result<Outcome> {
        if steps.is_empty() {
            if let Some(list) = sink {
                Self::push(list, item.clone())?;
            }
            return Ok(Outcome::Found);
        }
        self.step(steps, item, sink, self.is_lax)
    }

    /// The first step from an item, and the others from there. With `unwraps`, a step that wants
    /// no array is applied to the elements of one.
    pub(super) fn step(
        &mut self,
        steps: &[Step],
        item: &Item<'a>,
        sink: Sink<'_, 'a>,
        unwraps: bool,
    ) -> Result<Outcome> {
        self.enter()?;
        let outcome = self.first_step(steps, item, sink, unwraps);
        self.leave();
        outcome
    }

    fn first_step(
        &mut self,
        steps: &[Step],
        item: &Item<'a>,
        sink: Sink<'_, 'a>,
        unwraps: bool,
    ) -> Result<Outcome> {
        let Some((first, rest)) = steps.split_first() else {
            return self.follow(steps, item, sink);
        };
        let unwraps = unwraps && item.array_length().is_some();
        match first {
            Step::AnyElement => evaluate_any_element(self, rest, item, sink),
            Step::Elements(subscripts) => evaluate_elements(self, subscripts, rest, item, sink),
            Step::Any { first, last } => evaluate_any(self, *first, *last, (rest, item), sink),
            Step::Method(method) if method.takes_arrays() => {
                evaluate_method_of_any(self, *method, rest, item, sink)
            }
            // Everything else is applied to the elements.
            _ if unwraps => evaluate_each(self, steps, item, sink, false),
            Step::Key(name) => evaluate_key(self, name, rest, item, sink),
            Step::AnyKey => evaluate_any_key(self, rest, item, sink),
            Step::Filter(predicate) => {
                let outer = std::mem::replace(&mut self.current, item.clone());
                let holds = evaluate_condition(self, predicate, item);
                self.current = outer;
                match holds? {
                    Some(true) => self.follow(rest, item, sink),
                    _ => Ok(Outcome::NotFound),
                }
            }
            Step::Method(method) => evaluate_method(self, *method, rest, item, sink),
            Step::Datetime(template) => {
                evaluate_datetime(self, template.as_deref(), rest, item, sink)
            }
        }
    }
}
