//! Expressions with subqueries and functions that wait.
//!
//! Everything without them goes to `plan`'s evaluator at once. The others are taken apart step by
//! step: AND, OR, CASE and COALESCE stay lazy; of any other form the parts are evaluated first
//! and put back as constants.

use std::sync::Arc;
use std::time::Duration;

use braid_builtins::{Advisory, Special};
use braid_catalog::{Object, Sequence};
use braid_codec::key::AdvisoryKey;
use braid_kv::LockStrength;
use braid_plan::eval::{self, EvalContext};
use braid_plan::{Expr, RoutineExpr, SubqueryExpr, SubqueryKind};
use braid_types::array::{Array, ArrayOfArrays};
use braid_types::{Datum, Error, Result, Row, SqlState, SqlType, unsigned, work};
use futures_util::future::BoxFuture;

use crate::advisory::Wanted;
use crate::from_kv;
use crate::large_objects;
use crate::notifications::notify;
use crate::operator::key_form::KeySet;
use crate::operator::reservation::MemoryReservation;
use crate::operator::subquery::CachedSubquery;
use crate::operator::{ExecutionState, OuterRow, build};

/// Evaluates expressions for one operator.
#[derive(Clone)]
pub struct Evaluator {
    /// What the run shares.
    pub run: Arc<ExecutionState>,
    /// The values handed in by the enclosing query's row.
    pub outer: OuterRow,
}

impl Evaluator {
    /// An evaluator with values from outside.
    pub fn new(run: Arc<ExecutionState>, outer: OuterRow) -> Self {
        Self { run, outer }
    }

    /// What `plan`'s evaluator needs.
    pub fn context(&self) -> EvalContext<'_> {
        EvalContext { env: &*self.run.cx.env, params: &self.run.params, outer: &self.outer }
    }

    /// Lets others have the thread if this is overdue: a row may take as long as others do for a
    /// batch.
    pub async fn let_others(&self) -> Result<()> {
        if work::is_overdue() { self.run.check_interrupts().await } else { Ok(()) }
    }

    /// Evaluates an expression on a row.
    pub async fn eval(&self, e: &Expr, row: &[Datum]) -> Result<Datum> {
        if e.waits() { self.waiting(e, row).await } else { eval::eval(e, row, &self.context()) }
    }

    /// Evaluates expressions on a row; `waits` says whether any of them waits.
    pub async fn eval_all(&self, list: &[Expr], waits: bool, row: &[Datum]) -> Result<Row> {
        self.let_others().await?;
        let mut result = Vec::with_capacity(list.len());
        if waits {
            for e in list {
                result.push(self.eval(e, row).await?);
            }
        } else {
            let cx = self.context();
            for e in list {
                result.push(eval::eval(e, row, &cx)?);
            }
        }
        Ok(result)
    }

    /// Whether all conditions hold.
    pub async fn holds(&self, list: &[Expr], waits: bool, row: &[Datum]) -> Result<bool> {
        self.let_others().await?;
        if !waits {
            return self.holds_now(list, row);
        }
        for e in list {
            if self.eval(e, row).await?.as_bool() != Some(true) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The same for conditions that do not wait.
    pub fn holds_now(&self, list: &[Expr], row: &[Datum]) -> Result<bool> {
        let cx = self.context();
        for e in list {
            if !eval::holds(e, row, &cx)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn waiting<'a>(&'a self, e: &'a Expr, row: &'a [Datum]) -> BoxFuture<'a, Result<Datum>> {
        Box::pin(async move {
            if !e.waits() {
                return eval::eval(e, row, &self.context());
            }
            match e {
                Expr::And(list) => self.connect(list, false, row).await,
                Expr::Or(list) => self.connect(list, true, row).await,
                Expr::Coalesce(list) => {
                    for e in list {
                        let value = self.waiting(e, row).await?;
                        if !value.is_null() {
                            return Ok(value);
                        }
                    }
                    Ok(Datum::Null)
                }
                Expr::Case(case) => {
                    for (when, then) in &case.whens {
                        if self.waiting(when, row).await?.as_bool() == Some(true) {
                            return self.waiting(then, row).await;
                        }
                    }
                    self.waiting(&case.otherwise, row).await
                }
                Expr::Subquery(subquery) => self.subquery(subquery, row).await,
                Expr::Routine(call) => self.routine(call, row).await,
                Expr::Let(once) => {
                    let value = self.waiting(&once.value, row).await?;
                    self.waiting(&once.with(&value), row).await
                }
                other => self.by_parts(other, row).await,
            }
        })
    }

    async fn connect(&self, list: &[Expr], stop: bool, row: &[Datum]) -> Result<Datum> {
        let mut unknown = false;
        for e in list {
            match self.waiting(e, row).await?.as_bool() {
                Some(value) if value == stop => return Ok(Datum::Bool(stop)),
                Some(_) => {}
                None => unknown = true,
            }
        }
        Ok(if unknown { Datum::Null } else { Datum::Bool(!stop) })
    }

    /// Evaluates the parts of a strict form, then the form over constants.
    async fn by_parts(&self, e: &Expr, row: &[Datum]) -> Result<Datum> {
        let mut parts = Vec::new();
        e.for_each_child(&mut |child| parts.push(child));
        let mut values = Vec::with_capacity(parts.len());
        for part in parts {
            values.push((self.waiting(part, row).await?, part.ty()));
        }
        if let Some(special) = e.special() {
            let args: Vec<Datum> = values.into_iter().map(|(value, _)| value).collect();
            return self.special(special, &args).await;
        }
        let mut form = e.clone();
        let mut values = values.into_iter();
        form.for_each_child_mut(&mut |child| {
            if let Some((value, ty)) = values.next() {
                *child = Expr::Const(value, ty);
            }
        });
        eval::eval(&form, row, &self.context())
    }

    async fn special(&self, special: Special, args: &[Datum]) -> Result<Datum> {
        let cx = &self.run.cx;
        let is_strict = !matches!(special, Special::SetConfig | Special::Notify);
        if is_strict && args.iter().any(Datum::is_null) {
            return Ok(Datum::Null);
        }
        let sequence = || -> Result<Arc<Sequence>> {
            let oid = args.first().and_then(Datum::as_int).ok_or_else(|| argument(special))? as u32;
            cx.catalog.sequences().get(oid).cloned().ok_or_else(|| {
                Error::new(
                    SqlState::WrongObjectType,
                    match cx.catalog.relation(oid) {
                        Some(relation) => format!("\"{}\" is not a sequence", relation.name()),
                        None => format!("could not open relation with OID {oid}"),
                    },
                )
            })
        };
        match special {
            Special::Nextval => {
                let sequence = sequence()?;
                self.check_sequence(&sequence, &["USAGE", "UPDATE"])?;
                let value = cx.nextval(&sequence).await?;
                cx.services.sequence_values().lock().remember(sequence.id, value);
                Ok(Datum::Int(value))
            }
            Special::Currval => {
                let sequence = sequence()?;
                self.check_sequence(&sequence, &["USAGE", "SELECT"])?;
                cx.services.sequence_values().lock().currval(&sequence).map(Datum::Int)
            }
            Special::Lastval => {
                let is_there = |id| cx.catalog.sequences().get(id).is_some();
                let (id, value) = cx.services.sequence_values().lock().lastval(is_there)?;
                if let Some(sequence) = cx.catalog.sequences().get(id) {
                    self.check_sequence(sequence, &["USAGE", "SELECT"])?;
                }
                Ok(Datum::Int(value))
            }
            Special::SequenceLastValue => self.sequence_value(&sequence()?).await,
            Special::SequenceState => self.sequence_state(&sequence()?).await,
            Special::Setval => {
                let sequence = sequence()?;
                self.check_sequence(&sequence, &["UPDATE"])?;
                let value = args.get(1).and_then(Datum::as_int).ok_or_else(|| argument(special))?;
                // setval(sequence, value) counts as called.
                let called = args.get(2).map_or(Some(true), Datum::as_bool);
                let called = called.ok_or_else(|| argument(special))?;
                cx.setval(&sequence, value, called).await?;
                if called {
                    cx.services.sequence_values().lock().remember_set(sequence.id, value);
                }
                Ok(Datum::Int(value))
            }
            Special::Sleep => self.sleep(args).await,
            Special::ExportSnapshot => {
                let snapshot = cx.txn.snapshots().export(cx.seq).await.map_err(from_kv)?;
                cx.services.export_snapshot(snapshot).map(Datum::text)
            }
            Special::AssignedXactId { is_xid8 } => Ok(self.assigned_id(is_xid8)),
            Special::TriggerDepth => Ok(Datum::Int(cx.trigger_depth as i64)),
            Special::Advisory(advisory) => self.advisory(advisory, args).await,
            Special::LargeObject(call) => large_objects::call(cx, call, args).await,
            Special::Notify => {
                let text = |place: usize| args.get(place).and_then(Datum::as_str).unwrap_or("");
                notify(&cx.txn, cx.seq, text(0), text(1)).map(|()| Datum::text(""))
            }
            other => cx.services.call(other, args, &cx.catalog, cx.env.current_user()).await,
        }
    }

    /// A call of a function of a user.
    async fn routine(&self, call: &RoutineExpr, row: &[Datum]) -> Result<Datum> {
        let mut args = Vec::with_capacity(call.args.len());
        for arg in &call.args {
            args.push(self.eval(arg, row).await?);
        }
        if call.routine.strict && args.iter().any(Datum::is_null) {
            return Ok(Datum::Null);
        }
        let cx = &self.run.cx;
        cx.check_interrupts().await?;
        cx.services.call_routine(cx, &call.routine, args).await
    }

    /// `pg_sleep`, which ends with the statement.
    async fn sleep(&self, args: &[Datum]) -> Result<Datum> {
        let seconds = match args.first() {
            Some(Datum::Float(seconds)) => seconds.clamp(0.0, 1e9),
            Some(Datum::Interval(length)) => (length.span_micros() as f64 / 1e6).clamp(0.0, 1e9),
            Some(Datum::Timestamptz(until)) => {
                let left = until.saturating_sub(braid_builtins::clock_micros());
                (left as f64 / 1e6).clamp(0.0, 1e9)
            }
            _ => 0.0,
        };
        let pause = tokio::time::sleep(Duration::from_secs_f64(seconds));
        self.run.cx.cancel.unless_stopped(pause).await.map(|()| Datum::text(""))
    }

    /// The number of the transaction if it has written.
    fn assigned_id(&self, is_xid8: bool) -> Datum {
        let cx = &self.run.cx;
        let number = cx.env.transaction_micros();
        match (cx.txn.writes().is_any(), is_xid8) {
            (false, _) => Datum::Null,
            (true, true) => unsigned::to_datum(u64::try_from(number).unwrap_or(0)),
            (true, false) => Datum::Int(number),
        }
    }

    /// The functions of advisory locks.
    async fn advisory(&self, advisory: Advisory, args: &[Datum]) -> Result<Datum> {
        let cx = &self.run.cx;
        let locks = cx.services.advisory_locks();
        let database = cx.path.database;
        let numbers: Vec<i64> = args.iter().filter_map(Datum::as_int).collect();
        let key = match numbers.as_slice() {
            [] if advisory == Advisory::ReleaseAll => {
                locks.release_all(cx.seq);
                return Ok(Datum::text(""));
            }
            [key] => AdvisoryKey::of_int8(database, *key),
            [class, object] => AdvisoryKey::of_int4s(database, *class as i32, *object as i32),
            _ => return Err(Error::internal("the key of an advisory lock is missing")),
        };
        let strength = |shared| if shared { LockStrength::Shared } else { LockStrength::Exclusive };
        match advisory {
            Advisory::Take { shared, in_transaction, no_wait } => {
                let wanted = Wanted { key, strength: strength(shared), in_transaction, no_wait };
                let granted =
                    locks.take(&cx.txn, cx.seq, wanted, |error| cx.kv_error(error)).await?;
                Ok(if no_wait { Datum::Bool(granted) } else { Datum::text("") })
            }
            Advisory::Release { shared } => {
                Ok(Datum::Bool(locks.release(cx.seq, key, strength(shared))))
            }
            Advisory::ReleaseAll => Err(Error::internal("pg_advisory_unlock_all takes no key")),
        }
    }

    /// `pg_sequence_last_value`: NULL before the first value.
    async fn sequence_value(&self, sequence: &Arc<Sequence>) -> Result<Datum> {
        self.check_sequence(sequence, &["USAGE", "SELECT"])?;
        let (last, called) = self.run.cx.sequence_state(sequence).await?;
        Ok(if called { Datum::Int(last) } else { Datum::Null })
    }

    /// What reading a sequence as a table shows.
    async fn sequence_state(&self, sequence: &Arc<Sequence>) -> Result<Datum> {
        self.check_sequence(sequence, &["SELECT"])?;
        let (last, called) = self.run.cx.sequence_state(sequence).await?;
        let state = vec![Datum::Int(last), Datum::Int(i64::from(called))];
        Ok(Datum::array(SqlType::Int8, state))
    }

    /// 42501 unless the user has one of these privileges on the sequence.
    fn check_sequence(&self, sequence: &Sequence, privileges: &[&str]) -> Result<()> {
        let cx = &self.run.cx;
        let role = cx.catalog.names().role(cx.env.current_user()).map_or(0, |role| role.id);
        let object = Object::Sequence(sequence);
        if privileges.iter().any(|privilege| cx.catalog.privileges().has(role, object, privilege)) {
            return Ok(());
        }
        cx.catalog.privileges().check(role, object, privileges.last().copied().unwrap_or("USAGE"))
    }

    async fn subquery(&self, subquery: &SubqueryExpr, row: &[Datum]) -> Result<Datum> {
        let outer = self.eval_all(&subquery.outer, true, row).await?;
        match &subquery.kind {
            SubqueryKind::Exists if !outer.is_empty() => {
                let mut operator = build(&subquery.plan, &self.run, Some(outer.into()))?;
                Ok(Datum::Bool(operator.next().await?.is_some()))
            }
            SubqueryKind::Quantified { all, left, compare, hashable } => {
                let cached = self.rows(subquery, outer, usize::MAX).await?;
                let mut pair = self.eval_all(left, true, row).await?;
                if *hashable {
                    let set = cached.set()?;
                    return Ok(in_set(&pair[0], &set.values, set.has_null));
                }
                let width = pair.len();
                let mut unknown = false;
                let cx = self.context();
                for row in &cached.rows {
                    pair.truncate(width);
                    pair.extend(row.iter().cloned());
                    match eval::eval(compare, &pair, &cx)?.as_bool() {
                        Some(value) if value != *all => return Ok(Datum::Bool(value)),
                        Some(_) => {}
                        None => unknown = true,
                    }
                }
                Ok(if unknown { Datum::Null } else { Datum::Bool(*all) })
            }
            kind => {
                let rows_max = match kind {
                    SubqueryKind::Exists => 1,
                    SubqueryKind::Array(_) => usize::MAX,
                    _ => 2,
                };
                value_of(kind, &*self.rows(subquery, outer, rows_max).await?)
            }
        }
    }

    /// Whether the results of all these subqueries are kept and known.
    pub(super) fn keeps_results(&self, ids: &[u32]) -> bool {
        let kept = self.run.subqueries.lock();
        ids.iter().all(|id| kept.contains_key(id))
    }

    /// Puts constants in the place of subqueries whose results are kept and known.
    pub(super) fn put_kept_results(&self, e: &mut Expr) {
        if let Expr::Subquery(subquery) = e {
            let cached = self.run.subqueries.lock().get(&subquery.id).cloned();
            let value = cached.and_then(|cached| value_of(&subquery.kind, &cached).ok());
            if let Some(value) = value {
                *e = Expr::Const(value, subquery.ty.clone());
            }
            return;
        }
        e.for_each_child_mut(&mut |child| self.put_kept_results(child));
    }

    /// The subquery's rows; kept for the run if they do not depend on the row around it.
    async fn rows(
        &self,
        subquery: &SubqueryExpr,
        outer: Row,
        rows_max: usize,
    ) -> Result<Arc<CachedSubquery>> {
        let keep = outer.is_empty();
        if keep {
            let cached = self.run.subqueries.lock().get(&subquery.id).cloned();
            if let Some(cached) = cached {
                return Ok(cached);
            }
        }
        let mut operator = build(&subquery.plan, &self.run, Some(outer.into()))?;
        let mut held = MemoryReservation::new(&self.run);
        let mut rows = Vec::new();
        while rows.len() < rows_max
            && let Some(batch) = operator.next().await?
        {
            match keep {
                true => self.run.count_rows(&batch)?,
                false => held.take_rows(&batch)?,
            }
            rows.extend(batch);
        }
        let result = Arc::new(CachedSubquery::new(rows));
        if keep {
            self.run.subqueries.lock().insert(subquery.id, result.clone());
        }
        Ok(result)
    }

    /// LIMIT and OFFSET: `None` for NULL; negative numbers are refused.
    pub async fn count(&self, e: Option<&Expr>, clause: &str) -> Result<Option<u64>> {
        let Some(e) = e else { return Ok(None) };
        match self.eval(e, &[]).await? {
            Datum::Int(n) => match u64::try_from(n) {
                Ok(n) => Ok(Some(n)),
                Err(_) => {
                    let state = if clause == "LIMIT" {
                        SqlState::InvalidRowCountInLimit
                    } else {
                        SqlState::InvalidRowCountInOffset
                    };
                    Err(Error::new(state, format!("{clause} must not be negative")))
                }
            },
            _ => Ok(None),
        }
    }
}

/// The value of a subquery by its rows, unless it is compared with another value.
fn value_of(kind: &SubqueryKind, cached: &CachedSubquery) -> Result<Datum> {
    let rows = &cached.rows;
    match kind {
        SubqueryKind::Exists => Ok(Datum::Bool(!rows.is_empty())),
        SubqueryKind::Scalar => {
            one_row(rows)?;
            Ok(rows.first().and_then(|row| row.first()).cloned().unwrap_or(Datum::Null))
        }
        SubqueryKind::Row => {
            one_row(rows)?;
            Ok(rows.first().map_or(Datum::Null, |row| Datum::Record(row.clone().into())))
        }
        SubqueryKind::Array(element) => {
            if let Some(array) = cached.array.get() {
                return Ok(array.clone());
            }
            let array = array_of(rows, element)?;
            Ok(cached.array.get_or_init(|| array).clone())
        }
        SubqueryKind::Quantified { .. } => {
            Err(Error::broken("a comparison with a subquery has no value of its own"))
        }
    }
}

/// The values of the only column as an array: of arrays one with another dimension.
fn array_of(rows: &[Row], element: &SqlType) -> Result<Datum> {
    let mut items = rows.iter().filter_map(|row| row.first().cloned());
    let SqlType::Array(inner) = element else {
        return Ok(Datum::array(element.clone(), items.collect()));
    };
    let mut all = ArrayOfArrays::new((**inner).clone());
    items.try_for_each(|item| all.add(&item))?;
    let empty = || Array::new((**inner).clone(), Vec::new());
    Ok(all.to_array().unwrap_or_else(empty).into())
}

fn one_row(rows: &[Row]) -> Result<()> {
    if rows.len() > 1 {
        return Err(Error::new(
            SqlState::CardinalityViolation,
            "more than one row returned by a subquery used as an expression",
        ));
    }
    Ok(())
}

fn in_set(value: &Datum, set: &KeySet<Datum>, has_null: bool) -> Datum {
    if set.is_empty() && !has_null {
        return Datum::Bool(false);
    }
    if value.is_null() {
        return Datum::Null;
    }
    match (set.contains(value), has_null) {
        (true, _) => Datum::Bool(true),
        (false, true) => Datum::Null,
        (false, false) => Datum::Bool(false),
    }
}

/// An argument that the binder has not made what the function takes.
fn argument(of: Special) -> Error {
    Error::broken(format!("{of:?} has an argument of another type"))
}
