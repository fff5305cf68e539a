//! The items of FROM.

use braid_sql::ast::{
    Expr as Ast, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments,
    Ident, Join, JoinConstraint, JoinOperator, ObjectName, TableAlias, TableFactor,
    TableFunctionArgs, TableSampleKind, TableWithJoins,
};
use braid_sql::{RELATION_MARK, label};
use braid_types::{Error, Result};

use super::exprs::{identify_bare, identify_condition, identify_expr};
use super::functions::{identify_routine, identify_routine_arguments, identify_typed_arguments};
use super::identifier::{Identifier, unstorable};
use super::queries::{identify_query, quoted, use_column};
use crate::bind::ItemNote;

pub(super) fn identify_joins(
    identifier: &mut Identifier<'_, '_>,
    item: &TableWithJoins,
) -> Result<TableWithJoins> {
    let relation = identify_factor(identifier, &item.relation)?;
    let joins =
        item.joins.iter().map(|join| identify_join(identifier, join)).collect::<Result<_>>()?;
    Ok(TableWithJoins { relation, joins })
}

fn identify_join(identifier: &mut Identifier<'_, '_>, join: &Join) -> Result<Join> {
    let relation = identify_factor(identifier, &join.relation)?;
    let mut constraint = |c: &JoinConstraint| -> Result<JoinConstraint> {
        Ok(match c {
            JoinConstraint::On(e) => JoinConstraint::On(identify_condition(identifier, e)?),
            JoinConstraint::Using(_) | JoinConstraint::Natural => {
                let Some(columns) = identifier.notes.join(join) else {
                    return Err(Error::broken("a join without a note on its columns"));
                };
                for column in columns {
                    use_column(identifier, column.left);
                    use_column(identifier, column.right);
                }
                let name = |name: String| ObjectName::from(vec![quoted(name)]);
                let mut names: Vec<ObjectName> =
                    columns.iter().flat_map(|column| column.to_names()).map(name).collect();
                if let JoinConstraint::Using(written) = c
                    && braid_sql::split_using(written).1.is_some()
                {
                    names.extend(written.last().cloned());
                }
                if names.is_empty() { JoinConstraint::None } else { JoinConstraint::Using(names) }
            }
            JoinConstraint::None => JoinConstraint::None,
        })
    };
    let join_operator = match &join.join_operator {
        JoinOperator::Join(c) | JoinOperator::Inner(c) => match constraint(c)? {
            JoinConstraint::None => JoinOperator::CrossJoin(JoinConstraint::None),
            c => JoinOperator::Join(c),
        },
        JoinOperator::Left(c) | JoinOperator::LeftOuter(c) => JoinOperator::Left(constraint(c)?),
        JoinOperator::Right(c) | JoinOperator::RightOuter(c) => JoinOperator::Right(constraint(c)?),
        JoinOperator::FullOuter(c) => JoinOperator::FullOuter(constraint(c)?),
        JoinOperator::CrossJoin(c) => JoinOperator::CrossJoin(constraint(c)?),
        _ => return Err(unstorable("this kind of join")),
    };
    Ok(Join { relation, global: false, join_operator })
}

fn identify_factor(
    identifier: &mut Identifier<'_, '_>,
    factor: &TableFactor,
) -> Result<TableFactor> {
    if let TableFactor::NestedJoin { table_with_joins, alias: None } = factor {
        let inner = identify_joins(identifier, table_with_joins)?;
        return Ok(TableFactor::NestedJoin { table_with_joins: Box::new(inner), alias: None });
    }
    if has_column_definitions(factor) {
        return Err(unstorable("a column definition list"));
    }
    if let TableFactor::Table { name, .. } | TableFactor::Function { name, .. } = factor
        && braid_sql::is_rows_from(name)
    {
        return identify_rows_from(identifier, factor);
    }
    let note = identifier.notes.item(factor).ok_or_else(|| unstorable(factor))?;
    let mut result = factor.clone();
    match &mut result {
        TableFactor::Table { name, alias, args: None, sample, .. } => {
            identify_named(identifier, note, name);
            identify_sample(identifier, sample.as_mut(), factor)?;
            let columns = match note.catalog_view {
                Some(_) if alias.as_ref().is_some_and(|a| !a.columns.is_empty()) => {
                    return Err(unstorable("names of a catalog view's columns"));
                }
                Some(_) => names_of(note),
                None => listed(alias.as_ref()),
            };
            *alias = Some(label(note.label, written(alias.as_ref()), columns));
        }
        TableFactor::Derived { subquery, alias, .. } => {
            let TableFactor::Derived { subquery: original, .. } = factor else {
                return Err(unstorable(factor));
            };
            **subquery = identify_query(identifier, original)?;
            let columns = listed(alias.as_ref());
            *alias = Some(label(note.label, written(alias.as_ref()), columns));
        }
        TableFactor::Table { name, alias, args: Some(args), .. } => {
            let TableFactor::Table { name: written, args: Some(original), .. } = factor else {
                return Err(unstorable(factor));
            };
            args.args = identify_table_arguments(identifier, written, &original.args)?;
            *alias = Some(function_label(note, alias.as_ref(), written));
            identify_called(identifier, written, name);
        }
        TableFactor::Function { name, args, alias, .. } => {
            let TableFactor::Function { name: written, args: originals, .. } = factor else {
                return Err(unstorable(factor));
            };
            *args = identify_table_arguments(identifier, written, originals)?;
            *alias = Some(function_label(note, alias.as_ref(), written));
            identify_called(identifier, written, name);
        }
        TableFactor::UNNEST { alias, array_exprs, .. } => {
            let TableFactor::UNNEST { array_exprs: originals, .. } = factor else {
                return Err(unstorable(factor));
            };
            *array_exprs =
                originals.iter().map(|e| identify_expr(identifier, e)).collect::<Result<_>>()?;
            let name = ObjectName::from(vec![Ident::new("unnest")]);
            *alias = Some(function_label(note, alias.as_ref(), &name));
        }
        other => return Err(unstorable(other)),
    }
    Ok(result)
}

/// Puts a relation's id in the place of its name; entries of WITH keep theirs.
fn identify_named(identifier: &mut Identifier<'_, '_>, note: &ItemNote, name: &mut ObjectName) {
    let parts = match (note.relation, note.catalog_view) {
        (Some(id), _) => {
            identifier.uses.entry(id).or_default();
            identifier.relations.insert(note.label, id);
            vec![quoted(RELATION_MARK), quoted(id.to_string())]
        }
        (None, Some((schema, name))) => vec![quoted(schema), quoted(name)],
        (None, None) => {
            let last = name.0.last().and_then(|part| part.as_ident());
            vec![quoted(last.map(braid_sql::fold).unwrap_or_default())]
        }
    };
    *name = ObjectName::from(parts);
}

fn identify_table_arguments(
    identifier: &mut Identifier<'_, '_>,
    name: &ObjectName,
    args: &[FunctionArg],
) -> Result<Vec<FunctionArg>> {
    if let Some(note) = identifier.notes.routine(name) {
        return identify_routine_arguments(identifier, note, args);
    }
    let mut list = Vec::with_capacity(args.len());
    for arg in args {
        let FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) = arg else {
            return Err(unstorable(arg));
        };
        list.push(e);
    }
    let name = name.0.last().and_then(|part| part.as_ident());
    let name = name.map(braid_sql::fold).unwrap_or_default();
    let args = identify_typed_arguments(identifier, &name, &list)?;
    Ok(args.into_iter().map(|e| FunctionArg::Unnamed(FunctionArgExpr::Expr(e))).collect())
}

/// Puts the number of a function of a user in the place of its name.
fn identify_called(
    identifier: &mut Identifier<'_, '_>,
    written: &ObjectName,
    name: &mut ObjectName,
) {
    if let Some(note) = identifier.notes.routine(written) {
        *name = identify_routine(identifier, note);
    }
}

/// `TABLESAMPLE`: its numbers.
fn identify_sample(
    identifier: &mut Identifier<'_, '_>,
    sample: Option<&mut TableSampleKind>,
    factor: &TableFactor,
) -> Result<()> {
    let (Some(sample), TableFactor::Table { sample: Some(original), .. }) = (sample, factor) else {
        return Ok(());
    };
    let Some(written) = braid_sql::table_sample(original) else {
        return Err(unstorable("this TABLESAMPLE clause"));
    };
    let originals = written.seed.into_iter().chain(written.args);
    for (e, original) in braid_sql::sample_numbers_mut(sample).into_iter().zip(originals) {
        *e = identify_bare(identifier, original)?;
    }
    Ok(())
}

/// `ROWS FROM (…)`. One function alone is shown without it.
fn identify_rows_from(
    identifier: &mut Identifier<'_, '_>,
    factor: &TableFactor,
) -> Result<TableFactor> {
    let note = identifier.notes.item(factor).ok_or_else(|| unstorable(factor))?;
    let (originals, written) = match factor {
        TableFactor::Table { args: Some(args), alias, .. } => (&args.args, alias.as_ref()),
        TableFactor::Function { args, alias, .. } => (args, alias.as_ref()),
        other => return Err(unstorable(other)),
    };
    let mut calls = Vec::with_capacity(originals.len());
    for original in originals {
        let FunctionArg::Unnamed(FunctionArgExpr::Expr(Ast::Function(call))) = original else {
            return Err(unstorable(original));
        };
        calls.push((call, identify_rows_call(identifier, call)?));
    }
    let Some((first, _)) = calls.first() else { return Err(unstorable(factor)) };
    let shown = function_label(note, written, &first.name);
    let mut result = factor.clone();
    let (TableFactor::Table { name, args: Some(TableFunctionArgs { args, .. }), alias, .. }
    | TableFactor::Function { name, args, alias, .. }) = &mut result
    else {
        return Err(unstorable(factor));
    };
    *alias = Some(shown);
    if let [(_, call)] = &calls[..]
        && let FunctionArguments::List(list) = &call.args
    {
        name.clone_from(&call.name);
        args.clone_from(&list.args);
    } else {
        let call = |(_, call)| FunctionArg::Unnamed(FunctionArgExpr::Expr(Ast::Function(call)));
        *args = calls.into_iter().map(call).collect();
    }
    Ok(result)
}

fn identify_rows_call(identifier: &mut Identifier<'_, '_>, call: &Function) -> Result<Function> {
    let FunctionArguments::List(list) = &call.args else { return Err(unstorable(call)) };
    let mut result = call.clone();
    identify_called(identifier, &call.name, &mut result.name);
    let args = identify_table_arguments(identifier, &call.name, &list.args)?;
    result.args = FunctionArguments::List(FunctionArgumentList { args, ..list.clone() });
    Ok(result)
}

fn written(alias: Option<&TableAlias>) -> Option<String> {
    alias.map(|alias| braid_sql::fold(&alias.name))
}

fn listed(alias: Option<&TableAlias>) -> Vec<String> {
    let columns = alias.into_iter().flat_map(|alias| &alias.columns);
    columns.map(|column| braid_sql::fold(&column.name)).collect()
}

/// The names of an item's columns.
fn names_of(note: &ItemNote) -> Vec<String> {
    note.columns.iter().map(|(name, _)| name.clone()).collect()
}

/// A function in FROM always shows its name and those of its columns.
fn function_label(note: &ItemNote, alias: Option<&TableAlias>, name: &ObjectName) -> TableAlias {
    let last = name.0.last().and_then(|part| part.as_ident());
    let name = written(alias).or_else(|| last.map(braid_sql::fold));
    label(note.label, name, names_of(note))
}

/// Whether an item is a function with `AS t (a int, b text)`.
fn has_column_definitions(factor: &TableFactor) -> bool {
    use TableFactor::{Function, Table, TableFunction};
    let (Table { alias, .. } | Function { alias, .. } | TableFunction { alias, .. }) = factor
    else {
        return false;
    };
    alias.iter().flat_map(|alias| &alias.columns).any(|column| column.data_type.is_some())
}
