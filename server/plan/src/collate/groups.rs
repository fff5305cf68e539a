//! Aggregations and windows.

use braid_builtins::AggregateMeaning;
use braid_types::{Result, SqlType};

use super::assigner::Assigner;
use super::derived::Derived;
use super::functions::{check_routine, refuse_nondeterministic};
use crate::aggregate::AggregateKind;
use crate::tree::expr::{Expr, Slot};
use crate::tree::node::{
    AggregateCall, AggregateNode, FrameBound, SortKey, Window, WindowCall, WindowFunction,
};

pub(super) fn assign_aggregate(
    assigner: &mut Assigner<'_, '_>,
    node: &mut AggregateNode,
) -> Result<()> {
    let mut texts = Vec::new();
    for (slot, e) in &mut node.group {
        let derived = assigner.expr(e)?;
        derived.check_decided()?;
        if derived.is_nondeterministic() {
            if !node.sets.is_empty() {
                return Err(refuse_nondeterministic("grouping sets"));
            }
            let call = group_by_key(assigner, slot, e, &derived)?;
            texts.push(call);
            continue;
        }
        assigner.slots.insert(*slot, derived);
    }
    for (slot, call) in &mut node.aggregates {
        let derived = assign_aggregate_call(assigner, call)?;
        if call.aggregate.meaning().is_extreme()
            && let Some(icu) = derived.keys(true)?
        {
            if let [arg] = call.args.as_mut_slice() {
                let ty = call.returns.clone();
                assigner.put_sort_key(arg, &icu)?;
                call.returns = arg.ty();
                call.types = vec![arg.ty()];
                call.distinct = false;
                call.order.clear();
                replace_slot(assigner, slot, (call.returns.clone(), ty), derived)?;
            }
        } else {
            let derived = assigner.of_result(derived, &call.returns, &call.types);
            assigner.slots.insert(*slot, derived);
        }
    }
    node.aggregates.append(&mut texts);
    Ok(())
}

/// Lets rows with one key be a group. The text that the group shows is the least of its texts.
fn group_by_key(
    assigner: &mut Assigner<'_, '_>,
    slot: &mut Slot,
    e: &mut Expr,
    derived: &Derived,
) -> Result<(Slot, AggregateCall)> {
    let Some(icu) = derived.keys(true)? else {
        return Err(refuse_nondeterministic("GROUP BY of rows"));
    };
    let (ty, mut text) = (e.ty(), e.clone());
    assigner.put_sort_key(&mut text, &icu)?;
    assigner.put_key(e, &icu)?;
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
    replace_slot(assigner, &mut shown, (returns, ty), derived.clone())?;
    *slot = assigner.binder.slot();
    Ok((shown, call))
}

/// Gives a result, which is a sort key, a slot of its own. Above, its text stands for the old
/// slot. `types` are those of the key and of the text.
fn replace_slot(
    assigner: &mut Assigner<'_, '_>,
    slot: &mut Slot,
    (key, text): (SqlType, SqlType),
    derived: Derived,
) -> Result<()> {
    let inner = assigner.binder.slot();
    let shown = assigner.text_of(Expr::Column(inner, key), &text)?;
    assigner.replaced.insert(*slot, shown);
    assigner.slots.insert(*slot, derived.for_type(&text));
    *slot = inner;
    Ok(())
}

fn assign_aggregate_call(
    assigner: &mut Assigner<'_, '_>,
    call: &mut AggregateCall,
) -> Result<Derived> {
    let mut list = Vec::with_capacity(call.args.len());
    for arg in &mut call.args {
        list.push(assigner.expr(arg)?);
    }
    if let Some(filter) = &mut call.filter {
        assigner.expr(filter)?;
    }
    assigner.sort_keys(&mut call.order)?;
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
            assigner.put_compared(arg, derived, false)?;
            *ty = arg.ty();
        }
        if call.order.is_empty() && !is_nondeterministic {
            // DISTINCT gives the values in their order.
            for (arg, derived) in call.args.iter().zip(&list) {
                let mut expr = arg.clone();
                assigner.put_compared(&mut expr, derived, true)?;
                call.order.push(SortKey { expr, descending: false, nulls_first: false });
            }
        }
    }
    Ok(joined)
}

pub(super) fn assign_window(assigner: &mut Assigner<'_, '_>, node: &mut Window) -> Result<()> {
    for e in &mut node.partition {
        assigner.equal(e)?;
    }
    assigner.sort_keys(&mut node.order)?;
    for (slot, call) in &mut node.calls {
        let derived = assign_window_call(assigner, call)?;
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
            assigner.put_sort_key(arg, &icu)?;
            call.returns = arg.ty();
            *types = vec![arg.ty()];
            replace_slot(assigner, slot, (call.returns.clone(), ty), derived)?;
            continue;
        }
        let types: Vec<SqlType> = call.args.iter().map(Expr::ty).collect();
        let derived = assigner.of_result(derived, &call.returns, &types);
        assigner.slots.insert(*slot, derived);
    }
    Ok(())
}

fn assign_window_call(assigner: &mut Assigner<'_, '_>, call: &mut WindowCall) -> Result<Derived> {
    if let Some(filter) = &mut call.filter {
        assigner.expr(filter)?;
    }
    for bound in [&mut call.frame.start, &mut call.frame.end] {
        if let FrameBound::Preceding(e) | FrameBound::Following(e) = bound {
            assigner.expr(e)?;
        }
    }
    let joined = assigner.join_all(&mut call.args)?;
    if let WindowFunction::Aggregate(AggregateKind::User(own), _) = &call.function {
        check_routine(&own.routine, &joined)?;
    }
    Ok(joined)
}
