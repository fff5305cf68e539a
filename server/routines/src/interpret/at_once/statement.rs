//! Lists of statements, as far as they run at once.

use std::sync::Arc;

use braid_types::{Datum, Result};

use super::append::append;
use super::expression::{is_settled, now, simple};
use crate::interpret::assign::{set_element_in_copy, subscript_of};
use crate::interpret::state::{Flow, Run};
use crate::interpret::words::words;
use crate::plpgsql::{Kind, Slot, Sql, Statement, Step, Subscript, Target};
use crate::simple::Simple;
use crate::values::assign;

/// How many lists inside each other run at once. Those further inside are awaited.
const DEPTH_MAX: usize = 8;

/// What remains of statements inside each other, the innermost list last.
pub(in crate::interpret) struct Path<'s> {
    lists: [&'s [Statement]; DEPTH_MAX],
    depth: usize,
}

impl<'s> Path<'s> {
    /// A list of statements.
    pub(in crate::interpret) fn new(list: &'s [Statement]) -> Self {
        let mut lists: [&[Statement]; DEPTH_MAX] = [&[]; DEPTH_MAX];
        lists[0] = list;
        Path { lists, depth: 1 }
    }

    /// The statement that comes next.
    pub(in crate::interpret) fn next(&mut self) -> Option<&'s Statement> {
        while let Some(place) = self.depth.checked_sub(1) {
            if let Some((first, rest)) = self.lists[place].split_first() {
                self.lists[place] = rest;
                return Some(first);
            }
            self.depth = place;
        }
        None
    }

    fn enter(&mut self, list: &'s [Statement]) {
        self.lists[self.depth] = list;
        self.depth += 1;
    }
}

/// What a statement came to.
enum Done<'s> {
    /// It leads there.
    To(Flow),
    /// These statements are its rest.
    Into(&'s [Statement]),
    /// It may wait: nothing of it has run.
    Not,
}

/// Runs statements up to one that may wait, which is given back; or else where they lead.
pub(in crate::interpret) fn run_at_once<'s>(
    run: &mut Run<'_>,
    path: &mut Path<'s>,
) -> Result<std::result::Result<Flow, &'s Statement>> {
    while let Some(statement) = path.next() {
        let may_enter = path.depth < DEPTH_MAX;
        match at_once(run, statement, may_enter) {
            Ok(Done::To(Flow::Next)) => {}
            Ok(Done::To(flow)) => return Ok(Ok(flow)),
            Ok(Done::Into(list)) => path.enter(list),
            Ok(Done::Not) => {
                run.frame.show_all();
                return Ok(Err(statement));
            }
            Err(error) => {
                run.failed_at.get_or_insert((statement.line, words(&statement.kind)));
                return Err(error);
            }
        }
    }
    Ok(Ok(Flow::Next))
}

fn at_once<'s>(run: &mut Run<'_>, statement: &'s Statement, may_enter: bool) -> Result<Done<'s>> {
    let is_done = match &statement.kind {
        Kind::Nothing => true,
        Kind::Assign(..) | Kind::If(..) | Kind::Leave(..) if !is_settled(run) => false,
        Kind::Assign(target, value) => {
            run.cx.cancel.check()?;
            match target {
                Target::Variable(slot) => assign_variable(run, *slot, value)?,
                Target::Field(slot, field) => match now(run, value) {
                    Some((simple, value)) => {
                        run.assign_field(*slot, field, value?, &simple.ty)?;
                        true
                    }
                    None => false,
                },
                Target::Part(slot, steps) => match steps.as_slice() {
                    [Step::Subscripts(list)] => match list.as_slice() {
                        [Subscript::Place(place)] => assign_element(run, *slot, place, value)?,
                        _ => false,
                    },
                    _ => false,
                },
            }
        }
        Kind::If(branches, otherwise) if may_enter => {
            run.cx.cancel.check()?;
            if !branches.iter().all(|(condition, _)| simple(run, condition).is_some()) {
                return Ok(Done::Not);
            }
            for (condition, body) in branches {
                if holds_now(run, condition)? == Some(true) {
                    return Ok(Done::Into(body));
                }
            }
            return Ok(Done::Into(otherwise));
        }
        Kind::Leave(is_exit, label, condition) => {
            let leaves = match condition {
                Some(condition) => holds_now(run, condition)?,
                None => Some(true),
            };
            match leaves {
                Some(true) => return Ok(Done::To(Flow::Leave(*is_exit, label.clone()))),
                Some(false) => true,
                None => false,
            }
        }
        _ => false,
    };
    Ok(if is_done { Done::To(Flow::Next) } else { Done::Not })
}

/// Whether a condition holds; `None` if that has to be waited for. NULL does not hold.
pub(in crate::interpret) fn holds_now(run: &mut Run<'_>, condition: &Sql) -> Result<Option<bool>> {
    let Some((simple, value)) = now(run, condition) else { return Ok(None) };
    let value = match value? {
        Datum::Bool(holds) => return Ok(Some(holds)),
        value => assign(&run.cx, value, &simple.ty, &braid_types::SqlType::Bool)?,
    };
    Ok(Some(value.as_bool() == Some(true)))
}

/// Gives a variable the value of an expression. False if that has to be waited for.
fn assign_variable(run: &mut Run<'_>, slot: Slot, sql: &Sql) -> Result<bool> {
    let Some(found) = simple(run, sql) else { return Ok(false) };
    let found: Arc<Simple> = found.clone();
    let Some(to) = &run.code.types[slot] else {
        run.frame.show(&found.reads);
        let value = found.value(&run.cx, &run.frame.values)?;
        return run.assign_variable(slot, value, &found.ty).map(|()| true);
    };
    if let Some(appended) = &found.append
        && appended.slot == slot
        && run.code.domains[slot].is_none()
        && found.ty == *to
    {
        return append(run, slot, (&found, appended)).map(|()| true);
    }
    run.frame.show(&found.reads);
    let value = found.value(&run.cx, &run.frame.values)?;
    let domain = run.code.domains[slot];
    match found.conversion(&run.cx, to, domain).apply(&run.cx, value) {
        Ok(value) => run.frame.set(slot, value?)?,
        Err(value) => run.assign_variable(slot, value, &found.ty)?,
    }
    Ok(true)
}

/// Gives an element of an array the value of an expression. False if that has to be waited for.
fn assign_element(run: &mut Run<'_>, slot: Slot, place: &Sql, sql: &Sql) -> Result<bool> {
    let Some(element) = run.frame.types[slot].element().cloned() else { return Ok(false) };
    let is_simple = simple(run, sql).is_some() && simple(run, place).is_some();
    if !is_simple || run.code.domains[slot].is_some() {
        return Ok(false);
    }
    let Some((value_of, value)) = now(run, sql) else { return Ok(false) };
    let value = value?;
    let Some((place_of, place)) = now(run, place) else { return Ok(false) };
    let place = subscript_of(&run.cx, place?, &place_of.ty)?;
    let converted = value_of.conversion(&run.cx, &element, None).apply(&run.cx, value);
    let value = match converted {
        Ok(value) => value?,
        Err(value) => assign(&run.cx, value, &value_of.ty, &element)?,
    };
    match run.frame.set_element(slot, place, value)? {
        None => Ok(true),
        Some(value) => set_element_in_copy(run, slot, place, (value, &element)).map(|()| true),
    }
}
