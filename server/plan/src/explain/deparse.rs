//! Expressions as SQL text, close to PostgreSQL's own: every operator in parentheses, implicit
//! casts left out, constants with their type where the text alone does not tell it.

use braid_builtins::{Aggregate, WindowKind};
use braid_sql::{quote_ident, quote_literal};
use braid_types::{Datum, SqlType};

use crate::expr::{CallExpr, Expr, SubqueryExpr, SubqueryKind};
use crate::node::{AggregateCall, FunctionCall, SortKey, WindowCall, WindowFunction};
use crate::subscript::Place;

use super::describe::Describer;

/// What a column of a row is called.
#[derive(Clone)]
pub enum Name {
    /// A column of a relation.
    Column(String, String),
    /// An expression as text.
    Expr(String),
    /// Text that stands as it is.
    Bare(String),
}

/// The rows that an expression reads.
#[derive(Clone, Copy)]
pub struct Rows<'n> {
    /// Its input row.
    pub input: &'n [Name],
    /// What the enclosing query hands in.
    pub outer: &'n [Name],
}

impl<'a> Describer<'a> {
    /// A name where an expression reads it.
    pub fn name(&self, name: Option<&Name>) -> String {
        match name {
            Some(Name::Column(relation, column)) if self.qualifies && !relation.is_empty() => {
                format!("{}.{}", quote_ident(relation), quote_ident(column))
            }
            Some(Name::Column(_, column)) => quote_ident(column),
            Some(Name::Expr(text)) => format!("({text})"),
            Some(Name::Bare(text)) => text.clone(),
            None => "?column?".to_owned(),
        }
    }

    /// A name where it is put out as it is.
    pub fn output(&self, names: &[Name]) -> Vec<String> {
        let one = |name: &Name| match name {
            Name::Expr(text) => text.clone(),
            name => self.name(Some(name)),
        };
        names.iter().map(one).collect()
    }

    /// What an expression's result is called in the rows above it.
    pub fn name_of(&mut self, e: &'a Expr, rows: Rows<'_>) -> Name {
        match e {
            Expr::Input(place, _) if *place < rows.input.len() => rows.input[*place].clone(),
            Expr::Outer(place, _) if *place < rows.outer.len() => rows.outer[*place].clone(),
            Expr::Cast(cast) if !cast.explicit => self.name_of(&cast.expr, rows),
            Expr::Const(..) | Expr::Param(..) => Name::Bare(self.expr(e, rows)),
            _ => Name::Expr(self.expr(e, rows)),
        }
    }

    /// An expression as text.
    pub fn expr(&mut self, e: &'a Expr, rows: Rows<'_>) -> String {
        match e {
            Expr::Const(datum, ty) => self.constant(datum, ty),
            Expr::Column(slot, _) => format!("slot{slot}"),
            Expr::Input(place, _) => self.name(rows.input.get(*place)),
            Expr::Outer(place, _) => self.name(rows.outer.get(*place)),
            Expr::Param(place, _) => format!("${}", place + 1),
            Expr::Compare(op, a, b) => {
                format!("({} {} {})", self.expr(a, rows), op.symbol(), self.expr(b, rows))
            }
            Expr::Call(call) => self.call(call, rows),
            Expr::Cast(cast) if !cast.explicit => self.expr(&cast.expr, rows),
            Expr::Cast(cast) => {
                format!("({})::{}", self.expr(&cast.expr, rows), cast.to.display_name())
            }
            Expr::And(list) => self.joined(list, " AND ", rows),
            Expr::Or(list) => self.joined(list, " OR ", rows),
            Expr::Not(e) => self.not(e, rows),
            Expr::IsNull(e) | Expr::IsNullRow(e, true) => {
                format!("({} IS NULL)", self.expr(e, rows))
            }
            Expr::IsNullRow(e, false) => format!("({} IS NOT NULL)", self.expr(e, rows)),
            Expr::IsBool(e, wanted) => {
                format!("({} IS {})", self.expr(e, rows), truth(*wanted))
            }
            Expr::IsDistinct(a, b) => {
                format!("({} IS DISTINCT FROM {})", self.expr(a, rows), self.expr(b, rows))
            }
            Expr::Coalesce(list) => format!("COALESCE({})", self.list(list, rows)),
            Expr::Extreme(true, list) => format!("GREATEST({})", self.list(list, rows)),
            Expr::Extreme(false, list) => format!("LEAST({})", self.list(list, rows)),
            Expr::Array(list, _) => format!("ARRAY[{}]", self.list(list, rows)),
            Expr::Row(list, _) => format!("ROW({})", self.list(list, rows)),
            Expr::Field(record, place, _) => {
                let field = match record.ty() {
                    SqlType::Record(fields) => fields.get(*place).map(|(name, _)| name.clone()),
                    _ => None,
                };
                let field = field.unwrap_or_else(|| format!("f{}", place + 1));
                format!("({}).{}", self.expr(record, rows), quote_ident(&field))
            }
            other => self.longer(other, rows),
        }
    }

    fn not(&mut self, e: &'a Expr, rows: Rows<'_>) -> String {
        match e {
            Expr::IsNull(e) => format!("({} IS NOT NULL)", self.expr(e, rows)),
            Expr::IsBool(e, wanted) => {
                format!("({} IS NOT {})", self.expr(e, rows), truth(*wanted))
            }
            e => format!("(NOT {})", self.expr(e, rows)),
        }
    }

    fn longer(&mut self, e: &'a Expr, rows: Rows<'_>) -> String {
        match e {
            Expr::Case(case) => {
                let mut text = String::from("CASE");
                for (when, then) in &case.whens {
                    let (when, then) = (self.expr(when, rows), self.expr(then, rows));
                    text.push_str(&format!(" WHEN {when} THEN {then}"));
                }
                format!("{text} ELSE {} END", self.expr(&case.otherwise, rows))
            }
            Expr::InList(e, list) => {
                format!("({} = ANY (ARRAY[{}]))", self.expr(e, rows), self.list(list, rows))
            }
            Expr::InSet(inner, set, has_null) => {
                let mut items: Vec<Datum> = set.iter().cloned().collect();
                items.sort_by(Datum::compare);
                items.extend(has_null.then_some(Datum::Null));
                let ty = inner.ty();
                let array = Datum::array(ty.bare(), items);
                let array = self.constant(&array, &SqlType::Array(Box::new(ty.bare())));
                format!("({} = ANY ({array}))", self.expr(inner, rows))
            }
            Expr::Quantified(q) => {
                let word = if q.all { "ALL" } else { "ANY" };
                let left = Name::Bare(self.expr(&q.left, rows));
                let array = Name::Bare(format!("{word} ({})", self.expr(&q.array, rows)));
                self.expr(&q.compare, Rows { input: &[left, array], outer: rows.outer })
            }
            Expr::Subscript(part) => {
                let mut out = self.expr(&part.array, rows);
                for place in &part.places {
                    out.push('[');
                    match place {
                        Place::Element(index) => out.push_str(&self.expr(index, rows)),
                        Place::Slice(lower, upper) => {
                            let mut end = |e: &'a Option<Expr>| {
                                e.as_ref().map(|e| self.expr(e, rows)).unwrap_or_default()
                            };
                            let (lower, upper) = (end(lower), end(upper));
                            out.push_str(&format!("{lower}:{upper}"));
                        }
                    }
                    out.push(']');
                }
                if let Some(assigned) = &part.assigned {
                    out = format!("{out} := {}", self.expr(assigned, rows));
                }
                out
            }
            Expr::Subquery(subquery) => self.subquery(subquery, rows),
            // Everything else is in `expr`.
            _ => String::new(),
        }
    }

    fn subquery(&mut self, subquery: &'a SubqueryExpr, rows: Rows<'_>) -> String {
        let outer: Vec<Name> = subquery.outer.iter().map(|e| self.name_of(e, rows)).collect();
        let label = self.subplan(subquery, outer);
        match &subquery.kind {
            SubqueryKind::Scalar | SubqueryKind::Row => format!("({label})"),
            SubqueryKind::Array(_) => format!("ARRAY({label})"),
            SubqueryKind::Exists => format!("EXISTS({label})"),
            SubqueryKind::Quantified { all, left, compare, hashable } => {
                let mut names: Vec<Name> =
                    left.iter().map(|e| Name::Bare(self.expr(e, rows))).collect();
                let width = names.len();
                let hashed = if *hashable { "hashed " } else { "" };
                names.extend((1..=width).map(|n| Name::Bare(format!("({hashed}{label}).col{n}"))));
                let word = if *all { "ALL" } else { "ANY" };
                let compare = self.expr(compare, Rows { input: &names, outer: rows.outer });
                format!("({word} {compare})")
            }
        }
    }

    /// Expressions with commas.
    pub fn list(&mut self, list: &'a [Expr], rows: Rows<'_>) -> String {
        let list: Vec<String> = list.iter().map(|e| self.expr(e, rows)).collect();
        list.join(", ")
    }

    fn joined(&mut self, list: &'a [Expr], word: &str, rows: Rows<'_>) -> String {
        let list: Vec<String> = list.iter().map(|e| self.expr(e, rows)).collect();
        format!("({})", list.join(word))
    }

    /// Conditions as one.
    pub fn condition(&mut self, list: &'a [Expr], rows: Rows<'_>) -> String {
        match list {
            [one] => self.expr(one, rows),
            list => self.joined(list, " AND ", rows),
        }
    }

    fn call(&mut self, call: &'a CallExpr, rows: Rows<'_>) -> String {
        let name = call.function.name;
        let is_operator = name.starts_with(|c: char| !c.is_alphanumeric() && c != '_');
        match &call.args[..] {
            [one] if is_operator => format!("({name} {})", self.expr(one, rows)),
            [left, right] if is_operator => {
                format!("({} {name} {})", self.expr(left, rows), self.expr(right, rows))
            }
            args => format!("{name}({})", self.list(args, rows)),
        }
    }

    /// A call of a set-returning function.
    pub fn function(&mut self, call: &'a FunctionCall, rows: Rows<'_>) -> String {
        let args = self.list(&call.args, rows);
        match call.function {
            Some(function) => format!("{}({args})", function.name),
            None => args,
        }
    }

    /// A sort key.
    pub fn key(&mut self, key: &'a SortKey, rows: Rows<'_>) -> String {
        let mut text = self.expr(&key.expr, rows);
        if key.descending {
            text.push_str(" DESC");
        }
        // What the direction implies is not said.
        match (key.descending, key.nulls_first) {
            (false, true) => text.push_str(" NULLS FIRST"),
            (true, false) => text.push_str(" NULLS LAST"),
            _ => {}
        }
        text
    }

    /// Sort keys.
    pub fn keys(&mut self, keys: &'a [SortKey], rows: Rows<'_>) -> Vec<String> {
        keys.iter().map(|key| self.key(key, rows)).collect()
    }

    /// A call of an aggregate.
    pub fn aggregate(&mut self, call: &'a AggregateCall, rows: Rows<'_>) -> String {
        let mut inner = self.aggregate_args(call.aggregate, &call.args, rows);
        if call.distinct {
            inner = format!("DISTINCT {inner}");
        }
        if !call.order.is_empty() {
            inner.push_str(&format!(" ORDER BY {}", self.keys(&call.order, rows).join(", ")));
        }
        let mut text = format!("{}({inner})", call.aggregate.name);
        if let Some(filter) = &call.filter {
            text.push_str(&format!(" FILTER (WHERE {})", self.expr(filter, rows)));
        }
        text
    }

    fn aggregate_args(
        &mut self,
        aggregate: &Aggregate,
        args: &'a [Expr],
        rows: Rows<'_>,
    ) -> String {
        if args.is_empty() && aggregate.name == "count" {
            return "*".to_owned();
        }
        self.list(args, rows)
    }

    /// A call of a window function.
    pub fn window(&mut self, call: &'a WindowCall, rows: Rows<'_>) -> String {
        match &call.function {
            WindowFunction::Aggregate(aggregate, _) => {
                let args = self.aggregate_args(aggregate, &call.args, rows);
                format!("{}({args}) OVER (?)", aggregate.name)
            }
            WindowFunction::Named(kind) => {
                format!("{}({}) OVER (?)", window_name(*kind), self.list(&call.args, rows))
            }
        }
    }

    /// A constant with its type, where that is needed.
    pub fn constant(&self, datum: &Datum, ty: &SqlType) -> String {
        let ty = ty.bare();
        let text = match datum {
            Datum::Null => return format!("NULL::{}", ty.display_name()),
            Datum::Bool(value) => return value.to_string(),
            _ => braid_types::text::to_string(&ty, datum, self.cx.settings),
        };
        let is_number = ty.is_integer() || matches!(ty, SqlType::Numeric(_));
        if is_number && text.starts_with(|c: char| c.is_ascii_digit()) {
            return text;
        }
        format!("{}::{}", quote_literal(&text), ty.display_name())
    }
}

fn truth(wanted: Option<bool>) -> &'static str {
    match wanted {
        Some(true) => "TRUE",
        Some(false) => "FALSE",
        None => "UNKNOWN",
    }
}

fn window_name(kind: WindowKind) -> &'static str {
    match kind {
        WindowKind::RowNumber => "row_number",
        WindowKind::Rank => "rank",
        WindowKind::DenseRank => "dense_rank",
        WindowKind::PercentRank => "percent_rank",
        WindowKind::CumeDist => "cume_dist",
        WindowKind::Ntile => "ntile",
        WindowKind::Lag => "lag",
        WindowKind::Lead => "lead",
        WindowKind::FirstValue => "first_value",
        WindowKind::LastValue => "last_value",
        WindowKind::NthValue => "nth_value",
    }
}
