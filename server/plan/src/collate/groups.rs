//! Aggregations and windows.

use braid_builtins::AggregateMeaning;
use braid_types::{Result, SqlType};

use super::derived::Derived;
use super::functions::{check_routine, refuse_nondeterministic};
use super::settler::Settler;
use crate::aggregate::AggregateKind;
use crate::tree::expr::{Expr, Slot};
use crate::tree::node::{
    AggregateCall, AggregateNode, FrameBound, SortKey, Window, WindowCall, WindowFunction,
};

pub(super) fn settle_aggregate(
    settler: &mut Settler<'_, '_>,
    node: &mut AggregateNode,
) -> Result<()> {
    let mut texts = Vec::new();
    for (slot, e) in &mut node.group {
        let derived = settler.expr(e)?;
        derived.check_decided()?;
        if derived.is_nondeterministic() {
            if !node.sets.is_empty() {
                return Err(refuse_nondeterministic("grouping sets"));
            }
            let call = group_by_key(settler, slot, e, &derived)?;
            texts.push(call);
            continue;
        }
        settler.slots.insert(*slot, derived);
    }
    for (slot, call) in &mut node.aggregates {
        let derived = settle_aggregate_call(settler, call)?;
        if call.aggregate.meaning().is_extreme()
            && let Some(icu) = derived.keys(true)?
        {
            if let [arg] = call.args.as_mut_slice() {
                let ty = call.returns.clone();
                settler.put_sort_key(arg, &icu)?;
                call.returns = arg.ty();
                call.types = vec![arg.ty()];
                call.distinct = false;
                call.order.clear();
                replace_slot(settler, slot, (call.returns.clone(), ty), derived)?;
            }
        } else {
            let derived = settler.of_result(derived, &call.returns, &call.types);
            settler.slots.insert(*slot, derived);
        }
    }
    node.aggregates.append(&mut texts);
    Ok(())
}

/// Lets rows with one key be a group. The text that the group shows is the least of its texts.
fn group_by_key(
    settler: &mut Settler<'_, '_>,
    slot: &mut Slot,
    e: &mut Expr,
    derived: &Derived,
) -> Result<(Slot, AggregateCall)> {
    let Some(icu) = derived.keys(true)? else {
        return Err(refuse_nondeterministic("GROUP BY of rows"));
    };
    let (ty, mut text) = (e.ty(), e.clone());
    settler.put_sort_key(&mut text, &icu)?;
    settler.put_key(e, &icu)?;
    let returns = text.ty();
    let Some(least) = braid_builtins::resolve_aggregate("min", &[SqlType::Text])? else {
        return Err(refuse_nondeterministic("GROUP BY"));
    };
    let call = AggregateCall {
        aggregate: AggregateKind::BuiltIn(least.aggregate),
        args: vec![text],
        types: vec![returns.clone()],
        returns: returns.clone(),
        distinct: false,
        filter: None,
        order: Vec::new(),
    };
    let mut shown = *slot;
    replace_slot(settler, &mut shown, (returns, ty), derived.clone())?;
    *slot = settler.binder.slot();
    Ok((shown, call))
}

/// Gives a result, which is a sort key, a slot of its own. Above, its text stands for the old
/// slot. `types` are those of the key and of the text.
fn replace_slot(
    settler: &mut Settler<'_, '_>,
    slot: &mut Slot,
    (key, text): (SqlType, SqlType),
    derived: Derived,
) -> Result<()> {
    let inner = settler.binder.slot();
    let shown = settler.text_of(Expr::Column(inner, key), &text)?;
    settler.replaced.insert(*slot, shown);
    settler.slots.insert(*slot, derived.for_type(&text));
    *slot = inner;
    Ok(())
}

fn settle_aggregate_call(
    settler: &mut Settler<'_, '_>,
    call: &mut AggregateCall,
) -> Result<Derived> {
    let mut list = Vec::with_capacity(call.args.len());
    for arg in &mut call.args {
        list.push(settler.expr(arg)?);
    }
    if let Some(filter) = &mut call.filter {
        settler.expr(filter)?;
    }
    settler.sort_keys(&mut call.order)?;
    let mut joined = Derived::None;
    for derived in &list {
        joined = joined.join(derived.clone())?;
    }
    if let AggregateKind::User(own) = &call.aggregate {
        check_routine(&own.routine, &joined)?;
    }
    let is_nondeterministic = list.iter().any(Derived::is_nondeterministic);
    // Of the hypothetical-set aggregates this one alone gets the values that it compares.
    if is_nondeterministic && call.aggregate.meaning() == AggregateMeaning::ComparesValues {
        return Err(refuse_nondeterministic(call.aggregate.name()));
    }
    if call.distinct {
        list.iter().try_for_each(Derived::check_known)?;
    }
    if call.distinct && list.iter().any(Derived::has_order) {
        if is_nondeterministic && call.aggregate.meaning() != AggregateMeaning::Count {
            let what = format!("{}(DISTINCT …)", call.aggregate.name());
            return Err(refuse_nondeterministic(&what));
        }
        for ((arg, derived), ty) in call.args.iter_mut().zip(&list).zip(&mut call.types) {
            settler.put_compared(arg, derived, false)?;
            *ty = arg.ty();
        }
        if call.order.is_empty() && !is_nondeterministic {
            // DISTINCT gives the values in their order.
            for (arg, derived) in call.args.iter().zip(&list) {
                let mut expr = arg.clone();
                settler.put_compared(&mut expr, derived, true)?;
                call.order.push(SortKey { expr, descending: false, nulls_first: false });
            }
        }
    }
    Ok(joined)
}

pub(super) fn settle_window(settler: &mut Settler<'_, '_>, node: &mut Window) -> Result<()> {
    for e in &mut node.partition {
        settler.equal(e)?;
    }
    settler.sort_keys(&mut node.order)?;
    for (slot, call) in &mut node.calls {
        let derived = settle_window_call(settler, call)?;
        let icu = match &call.function {
            WindowFunction::Aggregate(aggregate, _) if aggregate.meaning().is_extreme() => {
                derived.keys(true)?
            }
            _ => None,
        };
        if let Some(icu) = icu
            && let WindowFunction::Aggregate(_, types) = &mut call.function
            && let [arg] = call.args.as_mut_slice()
        {
            let ty = call.returns.clone();
            settler.put_sort_key(arg, &icu)?;
            call.returns = arg.ty();
            *types = vec![arg.ty()];
            replace_slot(settler, slot, (call.returns.clone(), ty), derived)?;
            continue;
        }
        let types: Vec<SqlType> = call.args.iter().map(Expr::ty).collect();
        let derived = settler.of_result(derived, &call.returns, &types);
        settler.slots.insert(*slot, derived);
    }
    Ok(())
}

fn settle_window_call(settler: &mut Settler<'_, '_>, call: &mut WindowCall) -> Result<Derived> {
    if let Some(filter) = &mut call.filter {
        settler.expr(filter)?;
    }
    for bound in [&mut call.frame.start, &mut call.frame.end] {
        if let FrameBound::Preceding(e) | FrameBound::Following(e) = bound {
            settler.expr(e)?;
        }
    }
    let joined = settler.join_all(&mut call.args)?;
    if let WindowFunction::Aggregate(AggregateKind::User(own), _) = &call.function {
        check_routine(&own.routine, &joined)?;
    }
    Ok(joined)
}
