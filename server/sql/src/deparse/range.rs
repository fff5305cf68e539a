//! The items of FROM: the names that they and their columns are shown by.
//!
//! As in PostgreSQL, an item keeps its alias or its relation's name unless an item of the same
//! query or of one around it has that name; then it gets a number. Columns keep their names except
//! where USING needs another one, or where two of one item would be the same.

use std::collections::HashMap;

use braid_types::Result;
use sqlparser::ast::{
    Cte, Join, JoinConstraint, JoinOperator, ObjectName, Select, SelectItem, SetExpr, TableAlias,
    TableFactor, TableWithJoins,
};

use super::printer::{Entry, Printer, unprintable};
use super::stored_form::{ItemColumn, RELATION_MARK, UsingColumn, split_label};
use crate::rewrite::recursion::RecursionClauses;

/// What stands in FROM.
enum Kind {
    Relation,
    /// A catalog view; it shows no list of columns.
    Catalog,
    Cte,
    Function,
    Query,
}

/// What an item of FROM is called by, from its syntax.
struct Item {
    kind: Kind,
    label: u32,
    alias: Option<String>,
    /// The name that it has without an alias.
    base: String,
    relation: String,
    columns: Vec<(u16, String)>,
    /// Their types, as far as they are known.
    types: HashMap<u16, String>,
    listed: Vec<String>,
}

/// The names that USING gives to columns.
type Forced = HashMap<ItemColumn, String>;

/// The id of a relation in the stored form.
pub fn relation_id(name: &ObjectName) -> Option<u32> {
    match name.0.as_slice() {
        [mark, id] if mark.as_ident()?.value == RELATION_MARK => id.as_ident()?.value.parse().ok(),
        _ => None,
    }
}

/// The columns of a join's USING.
pub(super) fn using_of(join: &Join) -> Vec<UsingColumn> {
    match constraint(&join.join_operator) {
        Some(JoinConstraint::Using(names)) => using_columns(names),
        _ => Vec::new(),
    }
}

/// The columns of USING in the stored form.
pub fn using_columns(names: &[ObjectName]) -> Vec<UsingColumn> {
    let text = |name: &ObjectName| Some(name.0.last()?.as_ident()?.value.clone());
    let pairs = names.chunks_exact(2);
    pairs.filter_map(|pair| UsingColumn::parse(&text(&pair[0])?, &text(&pair[1])?)).collect()
}

pub(super) fn constraint(operator: &JoinOperator) -> Option<&JoinConstraint> {
    match operator {
        JoinOperator::Join(c)
        | JoinOperator::Inner(c)
        | JoinOperator::Left(c)
        | JoinOperator::LeftOuter(c)
        | JoinOperator::Right(c)
        | JoinOperator::RightOuter(c)
        | JoinOperator::FullOuter(c)
        | JoinOperator::CrossJoin(c) => Some(c),
        _ => None,
    }
}

/// The columns that a query in its stored form gives.
pub(super) fn output_names(body: &SetExpr) -> Vec<String> {
    match body {
        SetExpr::Select(select) => select.projection.iter().map(item_name).collect(),
        SetExpr::Query(query) => output_names(&query.body),
        SetExpr::SetOperation { left, .. } => output_names(left),
        SetExpr::Values(values) => {
            let width = values.rows.first().map_or(0, |row| row.content.len());
            (1..=width).map(|place| format!("column{place}")).collect()
        }
        _ => Vec::new(),
    }
}

fn item_name(item: &SelectItem) -> String {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => alias.value.clone(),
        _ => "?column?".to_owned(),
    }
}

/// Names the items of a select's FROM.
pub(crate) fn enter_from(printer: &mut Printer<'_>, select: &Select) -> Result<()> {
    if printer.is_stored() {
        return Ok(());
    }
    let mut forced = Forced::new();
    for item in &select.from {
        force_names(item, &mut forced);
    }
    for item in &select.from {
        enter_joins(printer, item, &[], &forced)?;
    }
    Ok(())
}

fn enter_joins(
    printer: &mut Printer<'_>,
    item: &TableWithJoins,
    above: &[String],
    forced: &Forced,
) -> Result<()> {
    let using: Vec<Vec<UsingColumn>> = item.joins.iter().map(using_of).collect();
    let names_from = |first: usize| -> Vec<String> {
        let mut names = above.to_vec();
        names.extend(using[first..].iter().flatten().map(|column| column.name.clone()));
        names
    };
    enter_factor(printer, &item.relation, &names_from(0), forced)?;
    for (place, join) in item.joins.iter().enumerate() {
        enter_factor(printer, &join.relation, &names_from(place), forced)?;
        for column in using[place].iter().filter(|column| column.merged.0 > 0) {
            let entry = printer.entries.entry(column.merged.0).or_default();
            entry.columns.insert(column.merged.1, column.name.clone());
        }
    }
    Ok(())
}

fn enter_factor(
    printer: &mut Printer<'_>,
    factor: &TableFactor,
    above: &[String],
    forced: &Forced,
) -> Result<()> {
    if let TableFactor::NestedJoin { table_with_joins, alias: None } = factor {
        return enter_joins(printer, table_with_joins, above, forced);
    }
    let item = add_item(printer, factor)?;
    let name = unique_item(printer, item.alias.as_deref().unwrap_or(&item.base));
    let mut taken: Vec<String> = above.to_vec();
    let of_item = item.columns.iter().filter_map(|(key, _)| forced.get(&(item.label, *key)));
    taken.extend(of_item.cloned());
    let mut columns = HashMap::with_capacity(item.columns.len());
    let mut aliases = Vec::with_capacity(item.columns.len());
    let mut changed = false;
    for (place, (key, real)) in item.columns.iter().enumerate() {
        let shown = match forced.get(&(item.label, *key)) {
            Some(name) => name.clone(),
            None => {
                let shown = unique(item.listed.get(place).unwrap_or(real), &taken);
                taken.push(shown.clone());
                shown
            }
        };
        changed |= shown != *real;
        aliases.push(shown.clone());
        columns.insert(*key, shown);
    }
    let shows_list = match item.kind {
        Kind::Relation => changed,
        Kind::Catalog => false,
        Kind::Function => true,
        Kind::Cte | Kind::Query => changed || !item.listed.is_empty(),
    };
    let shows_alias = match item.kind {
        Kind::Relation | Kind::Catalog | Kind::Cte => item.alias.is_some() || name != item.base,
        Kind::Function | Kind::Query => true,
    };
    let entry = Entry {
        name_inside: None,
        name: Some(name),
        shows_alias: shows_alias || shows_list,
        relation: item.relation,
        columns,
        types: item.types,
        aliases: if shows_list { aliases } else { Vec::new() },
    };
    printer.entries.insert(item.label, entry);
    Ok(())
}

/// What the syntax of an item says.
fn add_item(printer: &Printer<'_>, factor: &TableFactor) -> Result<Item> {
    let alias = match factor {
        TableFactor::Table { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::UNNEST { alias, .. } => alias.as_ref(),
        _ => None,
    };
    let label = alias.and_then(|alias| split_label(&alias.name.value));
    let (Some(alias), Some((label, has_alias))) = (alias, label) else {
        return Err(unprintable(factor));
    };
    let mut listed = listed(alias);
    let written = (has_alias && !listed.is_empty()).then(|| listed.remove(0));
    let mut item = Item {
        kind: Kind::Function,
        label,
        alias: written,
        base: String::new(),
        relation: String::new(),
        columns: Vec::new(),
        types: HashMap::new(),
        listed,
    };
    match factor {
        TableFactor::Table { name, args: None, .. } => name_item(printer, name, &mut item)?,
        TableFactor::Derived { subquery, .. } => {
            item.kind = Kind::Query;
            item.columns = numbered(output_names(&subquery.body));
        }
        _ => item.columns = numbered(item.listed.clone()),
    }
    Ok(item)
}

fn name_item(printer: &Printer<'_>, name: &ObjectName, item: &mut Item) -> Result<()> {
    if let Some(id) = relation_id(name) {
        let Some(names) = printer.names else { return Ok(()) };
        let ctes: Vec<String> = printer.ctes.iter().map(|(name, _)| name.clone()).collect();
        let (shown, bare) = names.relation(id, &ctes).ok_or_else(|| unprintable(name))?;
        item.kind = Kind::Relation;
        item.relation = shown;
        item.base = bare;
        item.columns = names.columns(id);
        item.types = names.column_types(id);
        return Ok(());
    }
    let last = name.0.last().and_then(|part| part.as_ident());
    let last = last.map(|ident| ident.value.clone()).unwrap_or_default();
    if name.0.len() > 1 {
        item.kind = Kind::Catalog;
        item.relation = match name.0.first().and_then(|part| part.as_ident()) {
            Some(schema) if schema.value != "pg_catalog" => {
                format!("{}.{}", crate::quote_ident(&schema.value), crate::quote_ident(&last))
            }
            _ => crate::quote_ident(&last),
        };
        item.base = last;
        item.columns = numbered(std::mem::take(&mut item.listed));
        return Ok(());
    }
    let cte = printer.ctes.iter().rev().find(|(name, _)| *name == last);
    let (_, columns) = cte.ok_or_else(|| unprintable(name))?;
    item.kind = Kind::Cte;
    item.relation = crate::quote_ident(&last);
    item.base = last;
    item.columns = numbered(columns.clone());
    Ok(())
}

/// A name that no item of this query or one around it has.
fn unique_item(printer: &mut Printer<'_>, base: &str) -> String {
    let taken: Vec<String> = printer.levels.iter().flatten().cloned().collect();
    let name = unique(base, &taken);
    if let Some(level) = printer.levels.last_mut() {
        level.push(name.clone());
    }
    name
}

/// The names in the list behind an alias.
fn listed(alias: &TableAlias) -> Vec<String> {
    alias.columns.iter().map(|column| column.name.value.clone()).collect()
}

fn numbered(names: Vec<String>) -> Vec<(u16, String)> {
    (1..).zip(names).collect()
}

fn unique(base: &str, taken: &[String]) -> String {
    let is_free = |name: &str| !taken.iter().any(|other| other == name);
    if is_free(base) {
        return base.to_owned();
    }
    let mut number = 1_u32;
    loop {
        let name = format!("{base}_{number}");
        if is_free(&name) {
            return name;
        }
        number += 1;
    }
}

/// Collects the names that USING needs its columns to have.
fn force_names(item: &TableWithJoins, forced: &mut Forced) {
    for join in item.joins.iter().rev() {
        for column in using_of(join) {
            for side in [column.left, column.right] {
                forced.entry(side).or_insert_with(|| column.name.clone());
            }
        }
    }
    let factors = std::iter::once(&item.relation).chain(item.joins.iter().map(|j| &j.relation));
    for factor in factors {
        if let TableFactor::NestedJoin { table_with_joins, .. } = factor {
            force_names(table_with_joins, forced);
        }
    }
}

/// The columns that an entry of WITH gives.
pub(super) fn cte_names(cte: &Cte) -> Result<Vec<String>> {
    let mut names = listed(&cte.alias);
    names.extend(output_names(&cte.query.body).into_iter().skip(cte.alias.columns.len()));
    names.extend(RecursionClauses::of(cte.from.as_ref())?.names());
    Ok(names)
}
