//! Expressions: names become numbers, sugar becomes what PostgreSQL shows, casts are written out.

use braid_sql::ast::{
    AccessExpr, Array, BinaryOperator, CaseWhen, DataType, Expr as Ast, Subscript, UnaryOperator,
    Value,
};
use braid_types::{Error, Result, SqlType};

use super::comparisons::custom;
use super::literals::{cast, null};
use super::queries::{column, quoted};
use super::{Identifier, unstorable};
use crate::bind::{Reference, sql_type_of, string_of, time_modifier_of};

pub(super) fn boxed(e: Ast) -> Box<Ast> {
    Box::new(e)
}

pub(super) fn not(e: Ast) -> Ast {
    Ast::UnaryOp { op: UnaryOperator::Not, expr: boxed(e) }
}

impl Identifier<'_, '_> {
    /// The type of an expression; of a string literal it is unknown.
    pub(super) fn ty(&self, e: &Ast) -> Result<SqlType> {
        match (self.notes.ty(e), e) {
            (Some(ty), _) => Ok(ty.clone()),
            (None, Ast::BinaryOp { op: BinaryOperator::And | BinaryOperator::Or, .. }) => {
                Ok(SqlType::Bool)
            }
            (None, e) => Err(unstorable(e)),
        }
    }

    /// An expression as a value of a type.
    pub(super) fn value(&mut self, e: &Ast, ty: &SqlType) -> Result<Ast> {
        let e = unnested(e);
        if let Ast::Value(value) = e {
            match &value.value {
                Value::Null => return null(&ty.bare()),
                other if string_of(other).is_some() => {
                    return self.literal(string_of(other).unwrap_or_default(), ty);
                }
                _ => {}
            }
        }
        let own = self.ty(e)?;
        let e = self.expr(e)?;
        if own.bare() == ty.bare() || matches!(ty, SqlType::Unknown | SqlType::Record(_)) {
            return Ok(e);
        }
        cast(e, &ty.bare(), None)
    }

    /// An expression as a value of its own type; literals without one are text.
    pub(super) fn known(&mut self, e: &Ast) -> Result<Ast> {
        match self.ty(e)? {
            SqlType::Unknown => self.value(e, &SqlType::Text),
            _ => self.expr(e),
        }
    }

    pub(super) fn condition(&mut self, e: &Ast) -> Result<Ast> {
        self.value(e, &SqlType::Bool)
    }

    /// A number of rows: its cast is not shown.
    pub(super) fn bare(&mut self, e: &Ast) -> Result<Ast> {
        match self.ty(e)? {
            SqlType::Unknown => self.value(e, &SqlType::Int8),
            _ => self.expr(e),
        }
    }

    pub(super) fn all(&mut self, list: &[Ast]) -> Result<Vec<Ast>> {
        list.iter().map(|e| self.known(e)).collect()
    }

    pub(super) fn expr(&mut self, e: &Ast) -> Result<Ast> {
        Ok(match e {
            Ast::Nested(inner) => self.expr(inner)?,
            Ast::Identifier(_) | Ast::CompoundIdentifier(_) => self.name(e)?,
            Ast::Value(value) => match &value.value {
                Value::Number(text, _) => {
                    let ty = self.ty(e)?;
                    self.number_literal(text, &ty)?
                }
                Value::Boolean(_) => e.clone(),
                Value::Placeholder(_) => return Err(unstorable("a parameter")),
                _ => self.value(e, &SqlType::Text)?,
            },
            Ast::BinaryOp { left, op, right } => self.binary(left, op, right)?,
            Ast::UnaryOp { op, expr } => self.unary(e, op, expr)?,
            Ast::IsNull(x) => Ast::IsNull(boxed(self.known(x)?)),
            Ast::IsNotNull(x) => Ast::IsNotNull(boxed(self.known(x)?)),
            Ast::IsTrue(x) => Ast::IsTrue(boxed(self.condition(x)?)),
            Ast::IsNotTrue(x) => Ast::IsNotTrue(boxed(self.condition(x)?)),
            Ast::IsFalse(x) => Ast::IsFalse(boxed(self.condition(x)?)),
            Ast::IsNotFalse(x) => Ast::IsNotFalse(boxed(self.condition(x)?)),
            Ast::IsUnknown(x) => Ast::IsUnknown(boxed(self.condition(x)?)),
            Ast::IsNotUnknown(x) => Ast::IsNotUnknown(boxed(self.condition(x)?)),
            Ast::IsDistinctFrom(a, b) => self.distinct(a, b)?,
            Ast::IsNotDistinctFrom(a, b) => not(self.distinct(a, b)?),
            Ast::InList { expr, list, negated } => self.in_list(expr, list, *negated)?,
            Ast::Between { expr, negated, low, high } => {
                let ops = if *negated { ["<", ">"] } else { [">=", "<="] };
                let low = self.compare(ops[0], expr, low)?;
                let high = self.compare(ops[1], expr, high)?;
                let op = if *negated { BinaryOperator::Or } else { BinaryOperator::And };
                let both = Ast::BinaryOp { left: boxed(low), op, right: boxed(high) };
                Ast::Nested(boxed(both))
            }
            Ast::Like { negated, expr, pattern, escape_char, any: false } => {
                let op = if *negated { "!~~" } else { "~~" };
                self.like(op, expr, pattern, escape_char.as_deref())?
            }
            Ast::ILike { negated, expr, pattern, escape_char, any: false } => {
                let op = if *negated { "!~~*" } else { "~~*" };
                self.like(op, expr, pattern, escape_char.as_deref())?
            }
            Ast::SimilarTo { negated, expr, pattern, escape_char } => {
                let mut args: Vec<&Ast> = vec![pattern];
                args.extend(escape_char.as_deref());
                let right = boxed(self.call("similar_to_escape", &args)?);
                let left = boxed(self.value(expr, &SqlType::Text)?);
                Ast::BinaryOp { left, op: custom(if *negated { "!~" } else { "~" }), right }
            }
            Ast::Cast { expr, data_type, .. } => self.cast(expr, data_type)?,
            Ast::TypedString(typed) => {
                let text = string_of(&typed.value.value).unwrap_or_default();
                self.typed_literal(text, &typed.data_type)?
            }
            Ast::Case { .. } => self.case(e)?,
            Ast::Function(function) => self.function(e, function)?,
            Ast::Tuple(items) => Ast::Tuple(self.all(items)?),
            Ast::Array(array) => {
                let ty = self.ty(e)?;
                let elem = self.array_items(&array.elem, &ty)?;
                Ast::Array(Array { elem, named: true })
            }
            Ast::CompoundFieldAccess { root, access_chain } => self.access(root, access_chain)?,
            other => self.other(other)?,
        })
    }

    /// The items of an array constructor of that type; inner arrays have the same type.
    fn array_items(&mut self, items: &[Ast], ty: &SqlType) -> Result<Vec<Ast>> {
        let SqlType::Array(element) = ty else {
            return Err(Error::internal("an array constructor that is no array"));
        };
        let is_inner = |item: &Ast| {
            let known = self.notes.ty(item);
            matches!(unnested(item), Ast::Array(_)) || matches!(known, Some(SqlType::Array(_)))
        };
        let has_inner = items.iter().any(is_inner);
        let wanted = if has_inner { ty } else { &**element };
        let item = |item: &Ast| match unnested(item) {
            Ast::Array(inner) if inner.elem.is_empty() => {
                cast(Ast::Array(Array { elem: Vec::new(), named: true }), ty, None)
            }
            _ => self.value(item, wanted),
        };
        items.iter().map(item).collect()
    }

    /// A column, a whole row, or a value that is a keyword.
    fn name(&mut self, e: &Ast) -> Result<Ast> {
        match (self.notes.name(e), e) {
            (Some(Reference::Column(found)), _) => {
                if found.1 == 0 || found.0 == 0 {
                    return Err(unstorable(e));
                }
                self.use_column(found);
                Ok(column(found))
            }
            (Some(Reference::Row(label)), _) if label > 0 => {
                Ok(Ast::Identifier(quoted(label.to_string())))
            }
            (None, Ast::Identifier(ident)) if ident.quote_style.is_none() => Ok(e.clone()),
            _ => Err(unstorable(e)),
        }
    }

    fn unary(&mut self, e: &Ast, op: &UnaryOperator, operand: &Ast) -> Result<Ast> {
        if *op == UnaryOperator::Not {
            return Ok(not(self.condition(operand)?));
        }
        if let (UnaryOperator::Minus, Ast::Value(value)) = (op, unnested(operand))
            && let Value::Number(text, _) = &value.value
        {
            let ty = self.ty(e)?;
            return self.number_literal(&format!("-{text}"), &ty);
        }
        let resolved = braid_builtins::resolve_operator(&op.to_string(), None, &self.ty(operand)?)?;
        let wanted = resolved.arg_types.first().map(SqlType::bare).unwrap_or(SqlType::Text);
        Ok(Ast::UnaryOp { op: *op, expr: boxed(self.value(operand, &wanted)?) })
    }

    fn typed_literal(&mut self, text: &str, data_type: &DataType) -> Result<Ast> {
        let ty = sql_type_of(data_type, self.cx.types())?;
        if let Some(modifier) = time_modifier_of(data_type) {
            return self.modified_literal(text, &ty, modifier);
        }
        let literal = self.literal(text, &ty)?;
        if ty == ty.bare() {
            return Ok(literal);
        }
        // The length of a literal's type takes the place of its own.
        match literal {
            Ast::Cast { expr, .. } => cast(*expr, &ty, None),
            other => cast(other, &ty, None),
        }
    }

    fn cast(&mut self, e: &Ast, data_type: &DataType) -> Result<Ast> {
        let e = unnested(e);
        let ty = sql_type_of(data_type, self.cx.types())?;
        let modifier = time_modifier_of(data_type);
        if let Ast::Value(value) = e {
            if let Some(text) = string_of(&value.value) {
                return self.typed_literal(text, data_type);
            }
            if value.value == Value::Null {
                return cast(Ast::value(Value::Null), &ty, modifier);
            }
        }
        if let (Ast::Array(array), SqlType::Array(_)) = (e, &ty)
            && (array.elem.is_empty()
                || array.elem.iter().any(|item| self.notes.ty(item) == Some(&SqlType::Unknown))
                || self.notes.ty(e).is_none())
        {
            let elem = self.array_items(&array.elem, &ty)?;
            let is_empty = elem.is_empty();
            let array = Ast::Array(Array { elem, named: true });
            return if is_empty { cast(array, &ty, None) } else { Ok(array) };
        }
        let own = self.ty(e)?;
        let inner = self.known(e)?;
        let is_same = own.bare() == ty.bare() && (ty == ty.bare() || own == ty);
        if is_same && modifier.is_none() {
            return Ok(inner);
        }
        cast(inner, &ty, modifier)
    }

    fn case(&mut self, e: &Ast) -> Result<Ast> {
        let Ast::Case { operand, conditions, else_result, .. } = e else {
            return Err(unstorable(e));
        };
        let ty = self.ty(e)?.bare();
        let mut result = e.clone();
        let Ast::Case { operand: new_operand, conditions: whens, else_result: otherwise, .. } =
            &mut result
        else {
            return Err(unstorable(e));
        };
        let own = match operand {
            Some(operand) => {
                *new_operand = Some(boxed(self.known(operand)?));
                Some(self.ty(operand)?)
            }
            None => None,
        };
        whens.clear();
        for CaseWhen { condition, result } in conditions {
            let condition = match &own {
                None => self.condition(condition)?,
                Some(own) => {
                    let wanted = self.operand_types("=", own, &self.ty(condition)?)?.1;
                    self.value(condition, &wanted)?
                }
            };
            whens.push(CaseWhen { condition, result: self.value(result, &ty)? });
        }
        *otherwise = Some(boxed(match else_result {
            Some(e) => self.value(e, &ty)?,
            None => null(&ty)?,
        }));
        Ok(result)
    }

    fn access(&mut self, root: &Ast, chain: &[AccessExpr]) -> Result<Ast> {
        // `t.column[1]` comes as a chain of names.
        let mut chain = chain;
        let is_name = matches!(root, Ast::Identifier(_));
        if is_name && self.notes.ty(root).is_none() {
            while let [AccessExpr::Dot(Ast::Identifier(_)), rest @ ..] = chain {
                chain = rest;
            }
        }
        // A field of a whole row is a column.
        if let Some(Reference::Row(label)) = self.notes.name(unnested(root))
            && let [AccessExpr::Dot(Ast::Identifier(field))] = chain
        {
            let found = self.notes.field(label, &braid_sql::fold(field));
            let found = found.ok_or_else(|| unstorable(root))?;
            self.use_column(found);
            return Ok(column(found));
        }
        let root = if is_name { self.name(root)? } else { self.known(root)? };
        let is_slice =
            |access: &AccessExpr| matches!(access, AccessExpr::Subscript(Subscript::Slice { .. }));
        let has_slice = chain.iter().any(is_slice);
        let mut result = Vec::with_capacity(chain.len());
        for access in chain {
            result.push(match access {
                AccessExpr::Dot(Ast::Identifier(field)) => {
                    AccessExpr::Dot(Ast::Identifier(quoted(braid_sql::fold(field))))
                }
                // Beside a slice a single subscript is one, too.
                AccessExpr::Subscript(Subscript::Index { index }) if has_slice => {
                    AccessExpr::Subscript(Subscript::Slice {
                        lower_bound: Some(Ast::value(Value::Number("1".to_owned(), false))),
                        upper_bound: Some(self.known(index)?),
                        stride: None,
                    })
                }
                AccessExpr::Subscript(Subscript::Index { index }) => {
                    AccessExpr::Subscript(Subscript::Index { index: self.known(index)? })
                }
                AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, .. }) => {
                    let mut bound = |e: &Option<Ast>| e.as_ref().map(|e| self.known(e)).transpose();
                    AccessExpr::Subscript(Subscript::Slice {
                        lower_bound: bound(lower_bound)?,
                        upper_bound: bound(upper_bound)?,
                        stride: None,
                    })
                }
                AccessExpr::Dot(other) => return Err(unstorable(other)),
            });
        }
        Ok(Ast::CompoundFieldAccess { root: boxed(root), access_chain: result })
    }
}

pub(super) fn unnested(e: &Ast) -> &Ast {
    match e {
        Ast::Nested(inner) => unnested(inner),
        e => e,
    }
}
