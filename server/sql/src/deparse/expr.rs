//! Expressions, with the parentheses that PostgreSQL prints.

use braid_types::Result;
use sqlparser::ast::{
    AccessExpr, BinaryOperator, CaseWhen, DataType, Expr, Ident, Query, Subscript, UnaryOperator,
    Value,
};

use super::parens::{is_cast_simple, is_simple};
use super::{INDENT_ITEM, Printer, unprintable};
use crate::enum_marks::marked_enum;

impl Printer<'_> {
    /// An expression, in parentheses of its own if everything has them.
    pub(super) fn expr(&mut self, e: &Expr) -> Result<()> {
        match e {
            Expr::Nested(inner) => self.expr(inner),
            Expr::Identifier(ident) => {
                self.identifier(ident);
                Ok(())
            }
            Expr::CompoundIdentifier(parts) => self.column(e, parts),
            Expr::Value(value) => self.value(&value.value),
            Expr::BinaryOp { left, op: op @ (BinaryOperator::And | BinaryOperator::Or), right } => {
                self.connective(left, op, right, e)
            }
            Expr::BinaryOp { left, op: BinaryOperator::Overlaps, right } => self.wrap(|p| {
                p.expr(left)?;
                p.push(" OVERLAPS ");
                p.expr(right)
            }),
            Expr::BinaryOp { left, op, right } if is_row(left) && is_row(right) => {
                self.push("(");
                self.row(left)?;
                self.push(&format!(" {} ", operator(op)));
                self.row(right)?;
                self.push(")");
                Ok(())
            }
            Expr::BinaryOp { left, op, right } => self.wrap(|p| {
                p.arg(left, e)?;
                p.push(&format!(" {} ", operator(op)));
                p.arg(right, e)
            }),
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => self.wrap(|p| {
                p.push("NOT ");
                p.arg(expr, e)
            }),
            Expr::UnaryOp { op, expr } => self.wrap(|p| {
                p.push(&format!("{op} "));
                p.arg(expr, e)
            }),
            Expr::AnyOp { left, compare_op, right, .. } => {
                self.quantified(left, compare_op, "ANY", right, e)
            }
            Expr::AllOp { left, compare_op, right } => {
                self.quantified(left, compare_op, "ALL", right, e)
            }
            Expr::InSubquery { expr, subquery, negated: false } => {
                self.push("(");
                self.expr(expr)?;
                self.push(" IN (");
                self.query(subquery, None, false)?;
                self.push("))");
                Ok(())
            }
            Expr::Exists { subquery, negated: false } => {
                self.push("(EXISTS (");
                self.query(subquery, None, false)?;
                self.push("))");
                Ok(())
            }
            other => self.primary(other),
        }
    }

    /// An expression that is no operator.
    fn primary(&mut self, e: &Expr) -> Result<()> {
        match e {
            Expr::IsNull(x) => self.test(x, "IS NULL", e),
            Expr::IsNotNull(x) => self.test(x, "IS NOT NULL", e),
            Expr::IsTrue(x) => self.test(x, "IS TRUE", e),
            Expr::IsNotTrue(x) => self.test(x, "IS NOT TRUE", e),
            Expr::IsFalse(x) => self.test(x, "IS FALSE", e),
            Expr::IsNotFalse(x) => self.test(x, "IS NOT FALSE", e),
            Expr::IsUnknown(x) => self.test(x, "IS UNKNOWN", e),
            Expr::IsNotUnknown(x) => self.test(x, "IS NOT UNKNOWN", e),
            Expr::IsDistinctFrom(a, b) => self.wrap(|p| {
                p.arg(a, e)?;
                p.push(" IS DISTINCT FROM ");
                p.arg(b, e)
            }),
            Expr::Subquery(query) => self.subquery("(", query),
            Expr::Cast { expr, data_type, .. } => self.cast(expr, data_type, e),
            Expr::Case { operand, conditions, else_result, .. } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref())
            }
            Expr::Function(function) => self.function(function),
            Expr::Tuple(items) => {
                self.push(if items.len() == 1 { "ROW(" } else { "(" });
                self.list(items)?;
                self.push(")");
                Ok(())
            }
            Expr::Array(array) => {
                self.push("ARRAY[");
                self.list(&array.elem)?;
                self.push("]");
                Ok(())
            }
            Expr::CompoundFieldAccess { root, access_chain } => self.access(root, access_chain),
            other => self.special(other),
        }
    }

    /// An operand, in parentheses if it needs them inside of `parent`.
    pub(super) fn arg(&mut self, e: &Expr, parent: &Expr) -> Result<()> {
        let e = unnested(e);
        let paren = self.pretty() && !is_simple(e, parent);
        self.maybe_in_parentheses(paren, e)
    }

    /// An expression, in parentheses if `paren`.
    pub(super) fn maybe_in_parentheses(&mut self, paren: bool, e: &Expr) -> Result<()> {
        if paren {
            self.push("(");
        }
        self.expr(e)?;
        if paren {
            self.push(")");
        }
        Ok(())
    }

    /// Parentheses where everything has them.
    fn wrap(&mut self, print: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        if self.pretty() {
            return print(self);
        }
        self.push("(");
        print(self)?;
        self.push(")");
        Ok(())
    }

    pub(super) fn list(&mut self, items: &[Expr]) -> Result<()> {
        for (place, item) in items.iter().enumerate() {
            if place > 0 {
                self.push(", ");
            }
            self.expr(item)?;
        }
        Ok(())
    }

    fn row(&mut self, row: &Expr) -> Result<()> {
        let Expr::Tuple(items) = unnested(row) else { return self.expr(row) };
        self.push("ROW(");
        self.list(items)?;
        self.push(")");
        Ok(())
    }

    /// An expression inside of a cast that is not shown.
    pub(super) fn cast_operand(&mut self, e: &Expr) -> Result<()> {
        let paren = self.pretty() && !is_cast_simple(unnested(e));
        self.maybe_in_parentheses(paren, e)
    }

    fn test(&mut self, operand: &Expr, what: &str, e: &Expr) -> Result<()> {
        self.wrap(|p| {
            p.arg(operand, e)?;
            p.push(&format!(" {what}"));
            Ok(())
        })
    }

    /// A whole row, or a value that is a keyword.
    fn identifier(&mut self, ident: &Ident) {
        if ident.quote_style.is_none() {
            self.push(&ident.value.to_uppercase());
        } else if self.is_stored() {
            self.name(&ident.value);
        } else {
            let entry = ident.value.parse().ok().and_then(|label: u32| self.entries.get(&label));
            match entry.map(|entry| (entry.name.clone(), entry.relation.clone())) {
                Some((Some(name), _)) => self.name(&name),
                Some((None, relation)) => self.push(&relation),
                None => {}
            }
            self.push(".*");
        }
    }

    /// The type behind a whole row that is an item of the select list.
    pub(super) fn row_type(&mut self, e: &Expr) {
        let Expr::Identifier(ident) = unnested(e) else { return };
        if self.is_stored() || ident.quote_style.is_none() {
            return;
        }
        let entry = ident.value.parse().ok().and_then(|label: u32| self.entries.get(&label));
        let relation = entry.map(|entry| entry.relation.clone()).unwrap_or_default();
        self.push("::");
        self.push(if relation.is_empty() { "record" } else { &relation });
    }

    fn column(&mut self, e: &Expr, parts: &[Ident]) -> Result<()> {
        if self.is_stored() {
            for (place, part) in parts.iter().enumerate() {
                if place > 0 {
                    self.push(".");
                }
                self.name(&part.value);
            }
            return Ok(());
        }
        let name = self.column_name(e).ok_or_else(|| unprintable(e))?;
        let item = self.item_of(parts).and_then(|entry| entry.name.clone());
        if let Some(item) = item {
            self.name(&item);
            self.push(".");
        }
        self.name(&name);
        Ok(())
    }

    fn item_of(&self, parts: &[Ident]) -> Option<&super::Entry> {
        self.entries.get(&parts.first()?.value.parse().ok()?)
    }

    /// Today's name of a column, if the expression is one.
    pub(super) fn column_name(&self, e: &Expr) -> Option<String> {
        let Expr::CompoundIdentifier(parts) = unnested(e) else { return None };
        let key: u16 = parts.get(1)?.value.parse().ok()?;
        self.item_of(parts)?.columns.get(&key).cloned()
    }

    fn value(&mut self, value: &Value) -> Result<()> {
        let text = match value {
            Value::Number(text, _) => text.clone(),
            Value::Boolean(value) => value.to_string(),
            Value::Null => "NULL".to_owned(),
            // A backslash is nothing special in a standard string.
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => {
                format!("'{}'", text.replace('\'', "''"))
            }
            other => return Err(unprintable(other)),
        };
        self.push(&text);
        Ok(())
    }

    /// AND and OR: long chains are written without parentheses between.
    fn connective(
        &mut self,
        left: &Expr,
        op: &BinaryOperator,
        right: &Expr,
        e: &Expr,
    ) -> Result<()> {
        let mut operands = vec![right];
        // A chain in parentheses was BETWEEN.
        let mut next = left;
        while let Expr::BinaryOp { left, op: inner, right } = next {
            if inner != op {
                break;
            }
            operands.push(right);
            next = left;
        }
        operands.push(next);
        self.wrap(|p| {
            for (place, operand) in operands.into_iter().rev().enumerate() {
                if place > 0 {
                    p.push(&format!(" {op} "));
                }
                p.arg(operand, e)?;
            }
            Ok(())
        })
    }

    fn quantified(
        &mut self,
        left: &Expr,
        op: &BinaryOperator,
        word: &str,
        right: &Expr,
        e: &Expr,
    ) -> Result<()> {
        let op = operator(op);
        if let Expr::Subquery(query) = unnested(right) {
            self.push("(");
            self.expr(left)?;
            let is_in = op == "=" && word == "ANY";
            self.push(&if is_in { " IN (".to_owned() } else { format!(" {op} {word} (") });
            self.query(query, None, false)?;
            self.push("))");
            return Ok(());
        }
        self.wrap(|p| {
            p.arg(left, e)?;
            p.push(&format!(" {op} {word} ("));
            p.arg(right, e)?;
            p.push(")");
            Ok(())
        })
    }

    pub(super) fn subquery(&mut self, open: &str, query: &Query) -> Result<()> {
        self.push(open);
        self.query(query, None, false)?;
        self.push(")");
        Ok(())
    }

    fn cast(&mut self, inner: &Expr, data_type: &DataType, e: &Expr) -> Result<()> {
        let name = self.type_name(data_type);
        let inner = unnested(inner);
        if let Expr::Value(value) = inner
            && !matches!(value.value, Value::Number(..) | Value::Boolean(_))
        {
            // What a text means is an id if it names a relation.
            if let (Value::SingleQuotedString(id), "regclass", Some(names)) =
                (&value.value, name.as_str(), self.names)
                && let Some((shown, _)) = id.parse().ok().and_then(|id| names.relation(id, &[]))
            {
                self.push(&format!("{}::regclass", crate::quote_literal(&shown)));
                return Ok(());
            }
            self.value(&value.value)?;
        } else if matches!(inner, Expr::Array(array) if array.elem.is_empty()) {
            self.expr(inner)?;
        } else if is_numeric(inner) && name.starts_with("numeric(") {
            // Only the length is a cast.
            self.expr(inner)?;
        } else if self.pretty() {
            self.arg(inner, e)?;
        } else {
            self.push("(");
            self.expr(inner)?;
            self.push(")");
        }
        self.push(&format!("::{name}"));
        Ok(())
    }

    /// A type's name as PostgreSQL prints it.
    fn type_name(&self, data_type: &DataType) -> String {
        if let Some((id, is_array)) = marked_enum(data_type)
            && let Some(name) = self.names.and_then(|names| names.type_name(id))
        {
            return if is_array { format!("{name}[]") } else { name };
        }
        match data_type {
            DataType::Custom(..) => data_type.to_string(),
            known => known.to_string().to_lowercase(),
        }
    }

    fn case(
        &mut self,
        operand: Option<&Expr>,
        conditions: &[CaseWhen],
        otherwise: Option<&Expr>,
    ) -> Result<()> {
        self.clause("CASE", 0, INDENT_ITEM, 0);
        if let Some(operand) = operand {
            self.push(" ");
            self.expr(operand)?;
        }
        let blank = if self.is_stored() { " " } else { "" };
        for CaseWhen { condition, result } in conditions {
            self.push(blank);
            self.clause("WHEN ", 0, 0, 0);
            self.expr(condition)?;
            self.push(" THEN ");
            self.expr(result)?;
        }
        if let Some(otherwise) = otherwise {
            self.push(blank);
            self.clause("ELSE ", 0, 0, 0);
            self.expr(otherwise)?;
        }
        self.push(blank);
        self.clause("END", -INDENT_ITEM, 0, 0);
        Ok(())
    }

    fn access(&mut self, root: &Expr, chain: &[AccessExpr]) -> Result<()> {
        let root = unnested(root);
        let is_column = matches!(root, Expr::CompoundIdentifier(_));
        let is_subscript = matches!(chain, [AccessExpr::Subscript(_), ..]);
        let bare = is_column && is_subscript && !self.is_stored();
        if !bare {
            self.push("(");
        }
        self.expr(root)?;
        if !bare {
            self.push(")");
        }
        for access in chain {
            match access {
                AccessExpr::Dot(Expr::Identifier(field)) => {
                    self.push(".");
                    self.name(&crate::fold(field));
                }
                AccessExpr::Subscript(Subscript::Index { index }) => {
                    self.push("[");
                    self.expr(index)?;
                    self.push("]");
                }
                AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, .. }) => {
                    self.push("[");
                    if let Some(bound) = lower_bound {
                        self.expr(bound)?;
                    }
                    self.push(":");
                    if let Some(bound) = upper_bound {
                        self.expr(bound)?;
                    }
                    self.push("]");
                }
                AccessExpr::Dot(field) => return Err(unprintable(field)),
            }
        }
        Ok(())
    }
}

/// An expression without the parentheses around it.
pub(super) fn unnested(e: &Expr) -> &Expr {
    match e {
        Expr::Nested(inner) => unnested(inner),
        e => e,
    }
}

fn is_row(e: &Expr) -> bool {
    match unnested(e) {
        Expr::Tuple(_) => true,
        Expr::Function(function) => function.name.to_string().eq_ignore_ascii_case("row"),
        _ => false,
    }
}

fn operator(op: &BinaryOperator) -> String {
    match op {
        BinaryOperator::NotEq => "<>".to_owned(),
        BinaryOperator::PGCustomBinaryOperator(parts) => parts.last().cloned().unwrap_or_default(),
        other => other.to_string(),
    }
}

/// Whether a number is read as numeric.
fn is_numeric(e: &Expr) -> bool {
    match e {
        Expr::Value(value) => {
            matches!(&value.value, Value::Number(text, _) if text.contains('.'))
        }
        _ => false,
    }
}
