//! Window functions: `f(…) OVER (…)`.

use std::sync::Arc;

use braid_sql::FrameEnd;
use braid_sql::ast::{
    self, Function, NamedWindowDefinition, NamedWindowExpr, OrderByExpr, WindowFrame,
    WindowFrameUnits, WindowSpec, WindowType,
};
use braid_types::cast::CastContext;
use braid_types::{Error, Result, SqlState, SqlType};

use super::aggregate::{aggregate_call, check_star};
use super::arguments::{Arguments, bind_arguments};
use super::function::bind_sort_keys;
use super::operators::{check_equality, coerce, coerce_argument, coerce_bool};
use super::scalar::{bind_expr, bind_exprs};
use crate::bind::Binder;
use crate::bind::query::ordered::coerce_to_count;
use crate::bind::refusals::NotAllowedIn;
use crate::bind::routine::find_aggregate;
use crate::bind::scope::columns::Scopes;
use crate::bind::scope::context::{Collector, ExprCx, IN_AGGREGATE, IN_WINDOW, IN_WINDOW_CALL};
use crate::bind::scope::places::start_of;
use crate::bind::scope::windows::{BoundWindow, NamedWindows, SharedWindow};
use crate::rules::walk;
use crate::tree::expr::Expr;
use crate::tree::node::{Frame, FrameBound, FrameUnits, SortKey, WindowCall, WindowFunction};

/// The parts of a window, which may come from two definitions.
struct WindowParts<'w> {
    partition: &'w [ast::Expr],
    order: &'w [OrderByExpr],
    frame: Option<&'w WindowFrame>,
    /// Where it begins in the text.
    place: u32,
}

/// Reads a WINDOW clause.
pub(crate) fn named_windows(
    definitions: &[NamedWindowDefinition],
    text: &str,
) -> Result<NamedWindows> {
    let mut windows = NamedWindows::new();
    for NamedWindowDefinition(name, definition) in definitions {
        let spec = match definition {
            NamedWindowExpr::WindowSpec(spec) => match &spec.window_name {
                None => Arc::new(spec.clone()),
                Some(other) => {
                    let place = parenthesis_after(text, name);
                    let base = windows
                        .get(&braid_sql::fold(other))
                        .ok_or_else(|| missing(other, place))?;
                    refuse_copy(spec, other, base, true).map_err(|error| error.position(place))?;
                    let mut copied = spec.clone();
                    copied.window_name = None;
                    copied.partition_by.clone_from(&base.partition_by);
                    if copied.order_by.is_empty() {
                        copied.order_by.clone_from(&base.order_by);
                    }
                    Arc::new(copied)
                }
            },
            NamedWindowExpr::NamedWindow(other) => {
                let place = braid_sql::offset_of(other.span);
                let found = windows.get(&braid_sql::fold(other)).cloned();
                found.ok_or_else(|| missing(other, place))?
            }
        };
        let folded = braid_sql::fold(name);
        if windows.contains_key(&folded) {
            let message = format!("window \"{folded}\" is already defined");
            let place = parenthesis_after(text, name);
            return Err(Error::new(SqlState::WindowingError, message).position(place));
        }
        windows.insert(folded, spec);
    }
    Ok(windows)
}

/// 42P20 if a window takes parts from another one that it may not take. `is_named`: it is one of
/// the WINDOW clause.
fn refuse_copy(
    spec: &WindowSpec,
    name: &ast::Ident,
    base: &WindowSpec,
    is_named: bool,
) -> Result<()> {
    let name = braid_sql::fold(name);
    let message = if !spec.partition_by.is_empty() {
        format!("cannot override PARTITION BY clause of window \"{name}\"")
    } else if !spec.order_by.is_empty() && !base.order_by.is_empty() {
        format!("cannot override ORDER BY clause of window \"{name}\"")
    } else if base.window_frame.is_some() {
        format!("cannot copy window \"{name}\" because it has a frame clause")
    } else {
        return Ok(());
    };
    let is_name_alone = !is_named
        && spec.partition_by.is_empty()
        && spec.order_by.is_empty()
        && spec.window_frame.is_none();
    let error = Error::new(SqlState::WindowingError, message);
    Err(if is_name_alone { error.hint("Omit the parentheses in this OVER clause.") } else { error })
}

/// Where the parenthesis of a named window opens: `name AS (…)`.
fn parenthesis_after(text: &str, name: &ast::Ident) -> u32 {
    let word = braid_sql::find_token(text, braid_sql::offset_of(name.span) + 1, u32::MAX, &["as"]);
    if word == 0 { 0 } else { braid_sql::next_token(text, word + 2) }
}

/// Where the window of a call begins, behind OVER.
fn window_place(binder: &Binder<'_>, function: &Function) -> u32 {
    let text = binder.cx.text;
    let name = function.name.0.last().and_then(|part| part.as_ident());
    let after = name.map_or(0, |name| u32::try_from(name.span.end.column).unwrap_or(0));
    match braid_sql::find_token(text, after, u32::MAX, &["over"]) {
        0 => 0,
        over => braid_sql::next_token(text, over + 4),
    }
}

fn missing(name: &ast::Ident, place: u32) -> Error {
    let name = braid_sql::fold(name);
    Error::new(SqlState::UndefinedObject, format!("window \"{name}\" does not exist"))
        .position(place)
}

/// 42803 or 42P20 where no window function may stand.
fn refuse_window(cx: &ExprCx<'_, '_>) -> Result<()> {
    let error = |message: &str| Err(Error::new(SqlState::WindowingError, message));
    match cx.clause {
        IN_AGGREGATE => Err(Error::new(
            SqlState::GroupingError,
            "aggregate function calls cannot contain window function calls",
        )),
        IN_WINDOW_CALL => error("window function calls cannot be nested"),
        clause if clause == IN_WINDOW || cx.collector.as_ref().is_none_or(|c| !c.allow_windows) => {
            let refused = NotAllowedIn::new("window functions", clause);
            let error = Error::new(SqlState::WindowingError, refused.to_string());
            Err(error.caused_by(refused))
        }
        _ => Ok(()),
    }
}

/// 42809 for another function that is called with OVER, 42883 for one that does not exist.
fn no_window_function(name: &str, types: &[SqlType]) -> Error {
    if let Err(error) = braid_builtins::resolve_function(name, types)
        && !matches!(braid_builtins::resolve_set_function(name, types), Ok(Some(_)))
    {
        return error;
    }
    let message =
        format!("OVER specified, but {name} is not a window function nor an aggregate function");
    Error::new(SqlState::WrongObjectType, message)
}

fn not_implemented(message: &str) -> Error {
    Error::new(SqlState::FeatureNotSupported, message)
}

pub(crate) fn bind_window_function(
    binder: &mut Binder<'_>,
    name: &str,
    function: &Function,
    arguments: &Arguments<'_>,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    refuse_window(cx)?;
    if arguments.distinct {
        return Err(not_implemented("DISTINCT is not implemented for window functions"));
    }
    if !arguments.order.is_empty() {
        let message = "aggregate ORDER BY is not implemented for window functions";
        return Err(not_implemented(message));
    }
    let place = window_place(binder, function);
    let base = base_window(binder, function, place)?;
    let spec = window_parts(function, base.as_deref());
    let spec = WindowParts { place, ..spec.map_err(|error| error.position(place))? };
    let args = bind_arguments(binder, &arguments.list, &mut cx.within(IN_WINDOW_CALL))?;
    let partition = bind_partition(binder, &spec, &mut cx.within(IN_WINDOW))?;
    let order: Vec<&OrderByExpr> = spec.order.iter().collect();
    let order = bind_sort_keys(binder, &order, &mut cx.within(IN_WINDOW))?;
    let filter = match &function.filter {
        Some(ast) => {
            let e = bind_expr(binder, ast, &mut ExprCx::plain(cx.scopes, "FILTER"))?;
            Some(coerce_bool(binder, e, "FILTER")?)
        }
        None => None,
    };
    let frame = bind_frame(binder, &spec, &order, &mut cx.within(IN_WINDOW))?;
    let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
    let (function, args, returns) =
        if let Some(found) = find_aggregate(binder, &function.name, arguments, &args)? {
            let types = found.args.iter().map(Expr::ty).collect();
            (WindowFunction::Aggregate(found.kind, types), found.args, found.returns)
        } else if let Some(window) = braid_builtins::resolve_window(name, &types)? {
            let args = args
                .into_iter()
                .zip(&window.arg_types)
                .map(|(arg, ty)| coerce_argument(binder, arg, ty))
                .collect::<Result<Vec<_>>>()?;
            if filter.is_some() {
                let what = "FILTER is not implemented for non-aggregate window functions";
                return Err(not_implemented(what));
            }
            (WindowFunction::Named(window.kind), args, window.returns)
        } else if let Some(resolved) = braid_builtins::resolve_aggregate(name, &types)? {
            check_star(name, arguments)?;
            let call = aggregate_call(binder, resolved, args, false, None, Vec::new())?;
            (WindowFunction::Aggregate(call.aggregate, call.types), call.args, call.returns)
        } else {
            return Err(no_window_function(name, &types));
        };
    let slot = binder.slot();
    let call = WindowCall { function, args, returns: returns.clone(), filter, frame };
    if let Some(collector) = cx.collector.as_deref_mut() {
        collector.windows.push(BoundWindow { slot, partition, order, call });
    }
    Ok(Expr::Column(slot, returns))
}

/// PARTITION BY; 42883 for values that cannot be compared.
fn bind_partition(
    binder: &mut Binder<'_>,
    spec: &WindowParts<'_>,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Vec<Expr>> {
    let partition = bind_exprs(binder, spec.partition, cx)?;
    for (e, ast) in partition.iter().zip(spec.partition) {
        check_equality(&e.ty()).map_err(|error| error.position(start_of(ast)))?;
    }
    Ok(partition)
}

/// Binds the windows of a WINDOW clause, also those that no call uses, for their faults and for
/// notes on them.
pub(crate) fn check_windows(
    binder: &mut Binder<'_>,
    definitions: &[NamedWindowDefinition],
    scopes: Scopes<'_>,
) -> Result<()> {
    for NamedWindowDefinition(name, _) in definitions {
        let window = binder.windows.get(&braid_sql::fold(name)).cloned();
        let Some(window) = window else { continue };
        let mut collector = Collector { allow_aggregates: true, ..Collector::default() };
        let mut cx = ExprCx { scopes, clause: IN_WINDOW, collector: Some(&mut collector) };
        let frame = window.window_frame.as_ref();
        let place = parenthesis_after(binder.cx.text, name);
        let (partition, order) = (&window.partition_by, &window.order_by);
        let spec = WindowParts { partition, order, frame, place };
        bind_partition(binder, &spec, &mut cx)?;
        let order: Vec<&OrderByExpr> = spec.order.iter().collect();
        let order = bind_sort_keys(binder, &order, &mut cx)?;
        bind_frame(binder, &spec, &order, &mut cx)?;
    }
    Ok(())
}

/// The window of the WINDOW clause that a call names.
fn base_window(
    binder: &Binder<'_>,
    function: &Function,
    place: u32,
) -> Result<Option<SharedWindow>> {
    let name = match &function.over {
        Some(WindowType::NamedWindow(name)) => Some(name),
        Some(WindowType::WindowSpec(spec)) => spec.window_name.as_ref(),
        None => None,
    };
    let windows = &binder.windows;
    let find = |name| windows.get(&braid_sql::fold(name)).ok_or_else(|| missing(name, place));
    name.map(|name| find(name).cloned()).transpose()
}

fn bind_frame(
    binder: &mut Binder<'_>,
    spec: &WindowParts<'_>,
    order: &[SortKey],
    cx: &mut ExprCx<'_, '_>,
) -> Result<Frame> {
    let Some(frame) = spec.frame else {
        let end = if spec.order.is_empty() {
            FrameBound::UnboundedFollowing
        } else {
            FrameBound::CurrentRow
        };
        let start = FrameBound::UnboundedPreceding;
        return Ok(Frame { units: FrameUnits::Range, start, end, exclusion: None });
    };
    let units = match frame.units {
        WindowFrameUnits::Rows => FrameUnits::Rows,
        WindowFrameUnits::Range => FrameUnits::Range,
        WindowFrameUnits::Groups => FrameUnits::Groups,
    };
    if units == FrameUnits::Groups && order.is_empty() {
        let message = "GROUPS mode requires an ORDER BY clause";
        return Err(Error::new(SqlState::WindowingError, message).position(spec.place));
    }
    let parts = braid_sql::frame_parts(frame);
    let (first, last) = frame_places(binder, spec.place, units);
    let (start_end, last_end) = (&parts.start, parts.end.as_ref());
    refuse_frame(start_end, last_end, (first, last))?;
    let window = (order, spec.place);
    let start = bind_frame_bound(binder, parts.start, units, window, cx)?;
    let end = match parts.end {
        Some(bound) => bind_frame_bound(binder, bound, units, window, cx)?,
        None => FrameBound::CurrentRow,
    };
    Ok(Frame { units, start, end, exclusion: parts.exclusion })
}

/// Where the ends of a frame are written. Without BETWEEN both have the place of the frame.
fn frame_places(binder: &Binder<'_>, window: u32, units: FrameUnits) -> (u32, u32) {
    let text = binder.cx.text;
    let frame = match window {
        0 => 0,
        window => braid_sql::find_token(text, window + 1, u32::MAX, &[units.name()]),
    };
    let find = |after: u32, word: &str| match after {
        0 => 0,
        after => braid_sql::find_token(text, after + 1, u32::MAX, &[word]),
    };
    let first = find(frame, "between");
    match (first, find(first, "and")) {
        (0, _) | (_, 0) if frame > 0 => {
            let first = braid_sql::next_token(text, frame + units.name().len() as u32);
            (first, first)
        }
        (0, _) | (_, 0) => (0, 0),
        (first, and) => {
            (braid_sql::next_token(text, first + 7), braid_sql::next_token(text, and + 3))
        }
    }
}

/// 42P20 for a frame whose end would come before its start. The places are those of its ends.
fn refuse_frame(
    start: &FrameEnd<'_>,
    end: Option<&FrameEnd<'_>>,
    (first, last): (u32, u32),
) -> Result<()> {
    use FrameEnd::{CurrentRow, Following, Preceding};
    let (message, place) = match (start, end) {
        (Following(None), _) => ("frame start cannot be UNBOUNDED FOLLOWING", first),
        (_, Some(Preceding(None))) => ("frame end cannot be UNBOUNDED PRECEDING", last),
        (CurrentRow, Some(Preceding(_))) => {
            ("frame starting from current row cannot have preceding rows", last)
        }
        (Following(_), Some(CurrentRow | Preceding(_))) => {
            ("frame starting from following row cannot have preceding rows", last)
        }
        (Following(_), None) => {
            ("frame starting from following row cannot end with current row", first)
        }
        _ => return Ok(()),
    };
    Err(Error::new(SqlState::WindowingError, message).position(place))
}

fn bind_frame_bound(
    binder: &mut Binder<'_>,
    bound: FrameEnd<'_>,
    units: FrameUnits,
    (order, window): (&[SortKey], u32),
    cx: &mut ExprCx<'_, '_>,
) -> Result<FrameBound> {
    let mut offset = |ast: &ast::Expr| -> Result<Expr> {
        let key = match (units, order) {
            (FrameUnits::Range, [key]) => Some(key.expr.ty()),
            (FrameUnits::Range, _) => {
                return Err(Error::new(
                    SqlState::WindowingError,
                    "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column",
                )
                .position(window));
            }
            _ => None,
        };
        let e = bind_expr(binder, ast, cx)?;
        let own = |slot| cx.scopes.scope.columns.iter().any(|column| column.slot == slot);
        let is_own = |slot| {
            let collector = cx.collector.as_deref();
            own(slot) || collector.is_some_and(|collector| collector.computes(slot))
        };
        if walk::columns_read(&e).into_iter().any(|(slot, _)| is_own(slot)) {
            return Err(Error::new(
                SqlState::InvalidColumnReference,
                format!("argument of {} must not contain variables", units.name()),
            )
            .position(start_of(ast)));
        }
        let at_offset = |error: Error| error.position(start_of(ast));
        match key {
            Some(key) => {
                let ty = range_offset_type(&key, &e.ty()).map_err(at_offset)?;
                coerce(binder, e, &ty, CastContext::Implicit)
            }
            None => coerce_to_count(binder, e, units.name()).map_err(at_offset),
        }
    };
    Ok(match bound {
        FrameEnd::CurrentRow => FrameBound::CurrentRow,
        FrameEnd::Preceding(None) => FrameBound::UnboundedPreceding,
        FrameEnd::Following(None) => FrameBound::UnboundedFollowing,
        FrameEnd::Preceding(Some(ast)) => FrameBound::Preceding(offset(ast)?),
        FrameEnd::Following(Some(ast)) => FrameBound::Following(offset(ast)?),
    })
}

/// The type of a RANGE offset for an ordering column of this type. 0A000 if values of that type
/// have no distance, or if the offset has another type than it.
pub(crate) fn range_offset_type(key: &SqlType, offset: &SqlType) -> Result<SqlType> {
    let clause = "RANGE with offset PRECEDING/FOLLOWING is not supported for column type";
    let is_whole = |ty: &SqlType| matches!(ty, SqlType::Int2 | SqlType::Int4 | SqlType::Int8);
    let is_number = |ty: &SqlType| is_whole(ty) || *ty == SqlType::Numeric(None);
    let is_float = |ty: &SqlType| matches!(ty, SqlType::Float4 | SqlType::Float8);
    let (key, given) = (key.bare(), offset.bare());
    let (wanted, fits) = match &key {
        key if is_whole(key) => (SqlType::Int8, is_whole(&given)),
        SqlType::Numeric(_) => (SqlType::Numeric(None), is_number(&given)),
        key if is_float(key) => (SqlType::Float8, is_number(&given) || is_float(&given)),
        SqlType::Date
        | SqlType::Time
        | SqlType::Timestamp
        | SqlType::Timestamptz
        | SqlType::Interval => (SqlType::Interval, given == SqlType::Interval),
        key => {
            let message = format!("{clause} {}", key.display_name());
            return Err(Error::new(SqlState::FeatureNotSupported, message));
        }
    };
    if fits || given == SqlType::Unknown {
        return Ok(wanted);
    }
    let message =
        format!("{clause} {} and offset type {}", key.display_name(), given.display_name());
    Err(Error::new(SqlState::FeatureNotSupported, message)
        .hint("Cast the offset value to an appropriate type."))
}

/// The parts of a call's window. `base` is the one that it names.
fn window_parts<'w>(
    function: &'w Function,
    base: Option<&'w WindowSpec>,
) -> Result<WindowParts<'w>> {
    let own = match (&function.over, base) {
        (Some(WindowType::WindowSpec(spec)), _) => spec,
        (_, Some(base)) => base,
        _ => return Err(Error::internal("a window function without a window")),
    };
    if let (Some(WindowType::WindowSpec(spec)), Some(base)) = (&function.over, base)
        && let Some(name) = &spec.window_name
    {
        refuse_copy(spec, name, base, false)?;
    }
    let inherits = |part: bool| base.filter(|_| part).unwrap_or(own);
    Ok(WindowParts {
        partition: &inherits(true).partition_by,
        order: &inherits(own.order_by.is_empty()).order_by,
        frame: own.window_frame.as_ref(),
        place: 0,
    })
}

impl FrameUnits {
    /// Its keyword.
    pub fn name(self) -> &'static str {
        match self {
            FrameUnits::Rows => "ROWS",
            FrameUnits::Range => "RANGE",
            FrameUnits::Groups => "GROUPS",
        }
    }
}
