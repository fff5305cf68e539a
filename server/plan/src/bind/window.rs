//! Window functions: `f(…) OVER (…)`.

use std::collections::HashMap;

use braid_sql::ast::{
    self, Function, NamedWindowDefinition, NamedWindowExpr, OrderByExpr, WindowFrameBound,
    WindowFrameUnits, WindowSpec, WindowType,
};
use braid_types::cast::CastContext;
use braid_types::{Error, Result, SqlState, SqlType};

use super::Binder;
use super::arguments::Arguments;
use super::context::{ExprCx, IN_AGGREGATE, IN_WINDOW, IN_WINDOW_CALL};
use crate::expr::{Expr, Slot};
use crate::node::{Frame, FrameBound, FrameUnits, SortKey, WindowCall, WindowFunction};
use crate::rules::walk;

/// A window function with its window.
pub struct BoundWindow {
    /// Where its result goes.
    pub slot: Slot,
    /// PARTITION BY
    pub partition: Vec<Expr>,
    /// ORDER BY
    pub order: Vec<SortKey>,
    /// The call.
    pub call: WindowCall,
}

/// The windows of a WINDOW clause, by name.
pub type NamedWindows = HashMap<String, WindowSpec>;

/// Reads a WINDOW clause.
pub fn named_windows(definitions: &[NamedWindowDefinition]) -> Result<NamedWindows> {
    let mut windows = NamedWindows::new();
    for NamedWindowDefinition(name, definition) in definitions {
        let spec = match definition {
            NamedWindowExpr::WindowSpec(spec) => spec.clone(),
            NamedWindowExpr::NamedWindow(other) => {
                windows.get(&braid_sql::fold(other)).cloned().ok_or_else(|| missing(other))?
            }
        };
        windows.insert(braid_sql::fold(name), spec);
    }
    Ok(windows)
}

fn missing(name: &ast::Ident) -> Error {
    let name = braid_sql::fold(name);
    Error::new(SqlState::UndefinedObject, format!("window \"{name}\" does not exist"))
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
            error(&format!("window functions are not allowed in {clause}"))
        }
        _ => Ok(()),
    }
}

impl Binder<'_> {
    pub(super) fn window_function(
        &mut self,
        name: &str,
        function: &Function,
        arguments: &Arguments<'_>,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        refuse_window(cx)?;
        if arguments.distinct {
            return Err(Error::unsupported("DISTINCT for window functions"));
        }
        let spec = self.window_spec(function)?;
        let args = self.arguments(&arguments.list, &mut cx.within(IN_WINDOW_CALL))?;
        let partition = self.exprs(&spec.partition_by, &mut cx.within(IN_WINDOW))?;
        for e in &partition {
            super::operators::check_equality(&e.ty())?;
        }
        let order: Vec<&OrderByExpr> = spec.order_by.iter().collect();
        let order = self.sort_keys(&order, &mut cx.within(IN_WINDOW))?;
        let filter = match &function.filter {
            Some(ast) => {
                let e = self.expr(ast, &mut ExprCx::plain(cx.scopes, "FILTER"))?;
                Some(self.coerce_bool(e, "FILTER")?)
            }
            None => None,
        };
        let frame = self.frame(&spec, &mut cx.within(IN_WINDOW))?;
        let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
        let (function, args, returns) =
            if let Some(window) = braid_builtins::resolve_window(name, &types)? {
                let args = args
                    .into_iter()
                    .zip(&window.arg_types)
                    .map(|(arg, ty)| self.argument(arg, ty))
                    .collect::<Result<Vec<_>>>()?;
                (WindowFunction::Named(window.kind), args, window.returns)
            } else if let Some(resolved) = braid_builtins::resolve_aggregate(name, &types)? {
                let call = self.aggregate_call(resolved, args, false, None, Vec::new())?;
                (WindowFunction::Aggregate(call.aggregate, call.types), call.args, call.returns)
            } else {
                return Err(Error::new(
                    SqlState::WrongObjectType,
                    format!(
                        "OVER specified, but {name} is not a window function nor an aggregate \
                         function"
                    ),
                ));
            };
        let slot = self.slot();
        let call = WindowCall { function, args, returns: returns.clone(), filter, frame };
        if let Some(collector) = cx.collector.as_deref_mut() {
            collector.windows.push(BoundWindow { slot, partition, order, call });
        }
        Ok(Expr::Column(slot, returns))
    }

    fn window_spec(&self, function: &Function) -> Result<WindowSpec> {
        match &function.over {
            Some(WindowType::NamedWindow(name)) => {
                self.windows.get(&braid_sql::fold(name)).cloned().ok_or_else(|| missing(name))
            }
            Some(WindowType::WindowSpec(spec)) => {
                let mut spec = spec.clone();
                if let Some(name) = &spec.window_name {
                    let base = self.windows.get(&braid_sql::fold(name));
                    let base = base.ok_or_else(|| missing(name))?;
                    spec.partition_by.clone_from(&base.partition_by);
                    if spec.order_by.is_empty() {
                        spec.order_by.clone_from(&base.order_by);
                    }
                }
                Ok(spec)
            }
            None => Err(Error::internal("a window function without a window")),
        }
    }

    fn frame(&mut self, spec: &WindowSpec, cx: &mut ExprCx<'_, '_>) -> Result<Frame> {
        let Some(frame) = &spec.window_frame else {
            let end = if spec.order_by.is_empty() {
                FrameBound::UnboundedFollowing
            } else {
                FrameBound::CurrentRow
            };
            return Ok(Frame {
                units: FrameUnits::Range,
                start: FrameBound::UnboundedPreceding,
                end,
            });
        };
        let units = match frame.units {
            WindowFrameUnits::Rows => FrameUnits::Rows,
            WindowFrameUnits::Range => FrameUnits::Range,
            WindowFrameUnits::Groups => FrameUnits::Groups,
        };
        let start = self.frame_bound(&frame.start_bound, units, cx)?;
        let end = match &frame.end_bound {
            Some(bound) => self.frame_bound(bound, units, cx)?,
            None => FrameBound::CurrentRow,
        };
        if matches!(start, FrameBound::UnboundedFollowing) {
            return Err(Error::new(
                SqlState::WindowingError,
                "frame start cannot be UNBOUNDED FOLLOWING",
            ));
        }
        if matches!(end, FrameBound::UnboundedPreceding) {
            return Err(Error::new(
                SqlState::WindowingError,
                "frame end cannot be UNBOUNDED PRECEDING",
            ));
        }
        Ok(Frame { units, start, end })
    }

    fn frame_bound(
        &mut self,
        bound: &WindowFrameBound,
        units: FrameUnits,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<FrameBound> {
        let mut offset = |ast: &ast::Expr| -> Result<Expr> {
            if units == FrameUnits::Range {
                return Err(Error::unsupported("RANGE with an offset"));
            }
            let e = self.expr(ast, cx)?;
            if !walk::columns_read(&e).is_empty() {
                return Err(Error::new(
                    SqlState::InvalidColumnReference,
                    format!("argument of {} must not contain variables", units.name()),
                ));
            }
            self.coerce(e, &SqlType::Int8, CastContext::Implicit)
        };
        Ok(match bound {
            WindowFrameBound::CurrentRow => FrameBound::CurrentRow,
            WindowFrameBound::Preceding(None) => FrameBound::UnboundedPreceding,
            WindowFrameBound::Following(None) => FrameBound::UnboundedFollowing,
            WindowFrameBound::Preceding(Some(ast)) => FrameBound::Preceding(offset(ast)?),
            WindowFrameBound::Following(Some(ast)) => FrameBound::Following(offset(ast)?),
        })
    }
}
