//! FROM: items, joins, aliases.

use braid_types::Result;
use sqlparser::ast::{
    FunctionArg, FunctionArgExpr, Join, JoinConstraint, JoinOperator, Select, TableFactor,
    TableWithJoins,
};

use super::query::JOIN_INDENT;
use super::range::{constraint, using_of};
use super::{INDENT_STEP, Printer, split_label, unprintable};

impl Printer<'_> {
    pub(super) fn from(&mut self, select: &Select) -> Result<()> {
        for (place, item) in select.from.iter().enumerate() {
            if place == 0 {
                self.clause(" FROM ", -INDENT_STEP, INDENT_STEP, 2);
                self.joins(&item.relation, &item.joins)?;
            } else {
                self.push(", ");
                let text = self.aside(|printer| printer.joins(&item.relation, &item.joins))?;
                self.wrapped(&text, false, false);
            }
        }
        Ok(())
    }

    /// An item and the joins on its right, the last of which is the outermost.
    fn joins(&mut self, first: &TableFactor, joins: &[Join]) -> Result<()> {
        let Some((join, inner)) = joins.split_last() else { return self.factor(first) };
        if !self.pretty() && !self.is_stored() {
            self.push("(");
        }
        self.joins(first, inner)?;
        let Some(constraint) = constraint(&join.join_operator) else {
            return Err(unprintable("this kind of join"));
        };
        let using = using_of(join);
        let on = match constraint {
            JoinConstraint::On(condition) => Some(condition),
            _ => None,
        };
        let word = match &join.join_operator {
            JoinOperator::Left(_) | JoinOperator::LeftOuter(_) => " LEFT JOIN ",
            JoinOperator::Right(_) | JoinOperator::RightOuter(_) => " RIGHT JOIN ",
            JoinOperator::FullOuter(_) => " FULL JOIN ",
            _ if using.is_empty() && on.is_none() => " CROSS JOIN ",
            _ => " JOIN ",
        };
        self.clause(word, -INDENT_STEP, INDENT_STEP, JOIN_INDENT);
        let nested = match &join.relation {
            TableFactor::NestedJoin { table_with_joins, .. } => !table_with_joins.joins.is_empty(),
            _ => false,
        };
        let paren = self.pretty() && nested;
        if paren {
            self.push("(");
        }
        self.factor(&join.relation)?;
        if paren {
            self.push(")");
        }
        if !using.is_empty() {
            self.push(" USING ");
            let names: Vec<String> = using
                .into_iter()
                .flat_map(|column| match self.is_stored() {
                    true => column.to_names().to_vec(),
                    false => vec![column.name],
                })
                .collect();
            self.name_list(&names);
        } else if let Some(condition) = on {
            self.push(" ON ");
            if !self.pretty() {
                self.push("(");
            }
            self.expr(condition)?;
            if !self.pretty() {
                self.push(")");
            }
        } else if word != " CROSS JOIN " {
            self.push(" ON TRUE");
        }
        if !self.pretty() && !self.is_stored() {
            self.push(")");
        }
        Ok(())
    }

    fn factor(&mut self, factor: &TableFactor) -> Result<()> {
        match factor {
            TableFactor::NestedJoin { table_with_joins, alias: None } => {
                let TableWithJoins { relation, joins } = &**table_with_joins;
                if self.is_stored() {
                    self.push("(");
                    self.joins(relation, joins)?;
                    self.push(")");
                    return Ok(());
                }
                return self.joins(relation, joins);
            }
            TableFactor::Table { name, args: None, .. } => match self.entry_of(factor) {
                Some(entry) => {
                    let relation = entry.relation.clone();
                    self.push(&relation);
                }
                None => self.push(&name.to_string()),
            },
            TableFactor::Derived { lateral, subquery, .. } => {
                self.push(if *lateral { "LATERAL (" } else { "(" });
                self.query(subquery, None, true)?;
                self.push(")");
            }
            TableFactor::Table { name, args: Some(args), with_ordinality, .. } => {
                let name = name.0.last().and_then(|part| part.as_ident());
                let name = name.map(|ident| ident.value.clone()).unwrap_or_default();
                self.table_call(&name, &args.args, *with_ordinality)?;
            }
            TableFactor::Function { lateral, name, args, with_ordinality, .. } => {
                if *lateral {
                    self.push("LATERAL ");
                }
                let name = name.0.last().and_then(|part| part.as_ident());
                let name = name.map(|ident| ident.value.clone()).unwrap_or_default();
                self.table_call(&name, args, *with_ordinality)?;
            }
            TableFactor::UNNEST { array_exprs, with_ordinality, .. } => {
                let wrap = |e: &sqlparser::ast::Expr| {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(e.clone()))
                };
                let args: Vec<FunctionArg> = array_exprs.iter().map(wrap).collect();
                self.table_call("unnest", &args, *with_ordinality)?;
            }
            other => return Err(unprintable(other)),
        }
        self.alias(factor)
    }

    fn table_call(&mut self, name: &str, args: &[FunctionArg], ordinality: bool) -> Result<()> {
        self.function_name(name);
        self.push("(");
        for (place, arg) in args.iter().enumerate() {
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)) = arg else {
                return Err(unprintable(arg));
            };
            if place > 0 {
                self.push(", ");
            }
            self.expr(arg)?;
        }
        self.push(")");
        if ordinality {
            self.push(" WITH ORDINALITY");
        }
        Ok(())
    }

    /// The name behind an item, if it must be shown.
    fn alias(&mut self, factor: &TableFactor) -> Result<()> {
        if let Some(entry) = self.entry_of(factor).cloned() {
            if let Some(name) = entry.name.filter(|_| entry.shows_alias) {
                self.push(" ");
                self.name(&name);
                if !entry.aliases.is_empty() {
                    self.name_list(&entry.aliases);
                }
            }
            return Ok(());
        }
        let alias = match factor {
            TableFactor::Table { alias, .. }
            | TableFactor::Derived { alias, .. }
            | TableFactor::Function { alias, .. }
            | TableFactor::UNNEST { alias, .. } => alias.as_ref(),
            _ => None,
        };
        let alias = alias.ok_or_else(|| unprintable(factor))?;
        self.push(" AS ");
        self.name(&alias.name.value);
        if !alias.columns.is_empty() {
            let names: Vec<String> =
                alias.columns.iter().map(|column| column.name.value.clone()).collect();
            self.name_list(&names);
        }
        Ok(())
    }

    fn entry_of(&self, factor: &TableFactor) -> Option<&super::Entry> {
        let alias = match factor {
            TableFactor::Table { alias, .. }
            | TableFactor::Derived { alias, .. }
            | TableFactor::Function { alias, .. }
            | TableFactor::UNNEST { alias, .. } => alias.as_ref()?,
            _ => return None,
        };
        self.entries.get(&split_label(&alias.name.value)?.0)
    }

    /// A name in quotes where it needs them; in the stored form it always has them.
    pub(super) fn name(&mut self, name: &str) {
        if self.is_stored() {
            self.push(&format!("\"{}\"", name.replace('"', "\"\"")));
        } else {
            self.push(&crate::quote_ident(name));
        }
    }

    /// `(a, b)`
    pub(super) fn name_list(&mut self, names: &[String]) {
        self.push("(");
        for (place, name) in names.iter().enumerate() {
            if place > 0 {
                self.push(", ");
            }
            self.name(name);
        }
        self.push(")");
    }
}
