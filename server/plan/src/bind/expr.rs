//! Scalar expressions: one arm a syntactic form; functions and subqueries have files of their own.

use braid_sql::ast::{
    self, AccessExpr, BinaryOperator, CaseWhen, Expr as Ast, Ident, TrimWhereField, UnaryOperator,
};
use braid_types::cast::CastContext;
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use super::context::ExprCx;
use super::notes::Reference;
use super::operators::{in_set, record};
use super::places::start_of;
use super::scope::ScopeColumn;
use super::{Binder, TypeNames, sql_type_of};
use crate::expr::{CaseExpr, CompareOp, Expr, QuantifiedExpr};

impl Binder<'_> {
    /// Binds an expression; errors get the position of the innermost part that has one.
    pub(super) fn expr(&mut self, ast: &Ast, cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        self.enter_expr()?;
        let result = self.expr_inner(ast, cx);
        self.leave_expr();
        if let Ok(e) = &result {
            self.note_type(ast, || e.ty());
        }
        result.map_err(|error| self.placed(error, ast))
    }

    fn expr_inner(&mut self, ast: &Ast, cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        match ast {
            Ast::Identifier(ident) => self.identifier(ast, ident, cx),
            Ast::CompoundIdentifier(parts) => self.compound_identifier(ast, parts, cx),
            Ast::Value(value) => self.bind_value(value),
            Ast::Nested(inner) => self.expr(inner, cx),
            Ast::BinaryOp { left, op, right } => self.binary_op(left, op, right, cx),
            Ast::UnaryOp { op, expr } => self.unary_op(op, expr, cx),
            Ast::IsNull(e) => self.is_null(e, true, cx),
            Ast::IsNotNull(e) => self.is_null(e, false, cx),
            Ast::IsTrue(e) => self.is_bool(e, Some(true), false, cx),
            Ast::IsNotTrue(e) => self.is_bool(e, Some(true), true, cx),
            Ast::IsFalse(e) => self.is_bool(e, Some(false), false, cx),
            Ast::IsNotFalse(e) => self.is_bool(e, Some(false), true, cx),
            Ast::IsUnknown(e) => self.is_bool(e, None, false, cx),
            Ast::IsNotUnknown(e) => self.is_bool(e, None, true, cx),
            Ast::IsDistinctFrom(a, b) => self.is_distinct(a, b, cx),
            Ast::IsNotDistinctFrom(a, b) => Ok(Expr::Not(Box::new(self.is_distinct(a, b, cx)?))),
            Ast::InList { expr, list, negated } => self.in_list(expr, list, *negated, cx),
            Ast::InSubquery { .. } | Ast::Exists { .. } | Ast::Subquery(_) => {
                self.shared_subquery(ast, cx)
            }
            Ast::Between { expr, negated, low, high } => {
                let value = self.expr(expr, cx)?;
                let low = self.expr(low, cx)?;
                let high = self.expr(high, cx)?;
                let from = self.compare(CompareOp::Ge, value.clone(), low)?;
                let to = self.compare(CompareOp::Le, value, high)?;
                Ok(negate_if(*negated, Expr::And(vec![from, to])))
            }
            Ast::Like { negated, expr, pattern, escape_char, any: false } => {
                self.like("~~", *negated, expr, pattern, escape_char.as_deref(), cx)
            }
            Ast::ILike { negated, expr, pattern, escape_char, any: false } => {
                self.like("~~*", *negated, expr, pattern, escape_char.as_deref(), cx)
            }
            Ast::Like { negated, expr, pattern, escape_char: None, any: true } => {
                self.quantified(expr, &like_operator("~~", *negated), pattern, false, cx)
            }
            Ast::ILike { negated, expr, pattern, escape_char: None, any: true } => {
                self.quantified(expr, &like_operator("~~*", *negated), pattern, false, cx)
            }
            Ast::SimilarTo { negated, expr, pattern, escape_char } => {
                self.similar(*negated, expr, pattern, escape_char.as_deref(), cx)
            }
            Ast::AnyOp { left, compare_op, right, .. } => {
                self.quantified(left, compare_op, right, false, cx)
            }
            Ast::AllOp { left, compare_op, right } => {
                self.quantified(left, compare_op, right, true, cx)
            }
            Ast::Cast { expr, data_type, .. } => {
                let to = sql_type_of(data_type, self.cx.types())?;
                let expr = self.cast_operand(expr, &to, cx)?;
                self.cast_to(expr, &to, data_type)
            }
            Ast::TypedString(typed) => {
                let to = sql_type_of(&typed.data_type, self.cx.types())?;
                let expr = self.bind_value(&typed.value)?;
                self.cast_to(expr, &to, &typed.data_type)
            }
            Ast::Interval(interval) => self.interval(interval, cx),
            Ast::Case { operand, conditions, else_result, .. } => {
                let sets = cx.sets();
                let case = self.case(operand.as_deref(), conditions, else_result.as_deref(), cx)?;
                cx.refuse_sets(sets, "CASE")?;
                Ok(case)
            }
            Ast::Function(function) => self.function(function, cx),
            Ast::QualifiedWildcard(name, _) => self.table_row(name, cx),
            Ast::Tuple(items) => {
                let items = self.exprs(items, cx)?;
                self.row(items)
            }
            Ast::Array(array) => self.array(&array.elem, cx),
            Ast::Collate { expr, .. } => self.expr(expr, cx),
            Ast::CompoundFieldAccess { root, access_chain } => {
                self.field_access(root, access_chain, cx)
            }
            other => self.keyword_function(other, cx),
        }
    }

    fn enter_expr(&mut self) -> Result<()> {
        // The parser bounds nesting; the guard is for trees that rewriting made deeper.
        if self.expr_depth >= super::EXPR_DEPTH_MAX {
            return Err(Error::new(SqlState::StatementTooComplex, "stack depth limit exceeded")
                .hint("Write long chains of conditions as IN lists or as rows of VALUES."));
        }
        self.expr_depth += 1;
        Ok(())
    }

    fn leave_expr(&mut self) {
        self.expr_depth -= 1;
    }

    /// Binds several.
    pub(super) fn exprs(&mut self, list: &[Ast], cx: &mut ExprCx<'_, '_>) -> Result<Vec<Expr>> {
        list.iter().map(|ast| self.expr(ast, cx)).collect()
    }

    pub(super) fn row(&mut self, items: Vec<Expr>) -> Result<Expr> {
        let fields =
            items.iter().enumerate().map(|(i, e)| (format!("f{}", i + 1), e.ty())).collect();
        record(items, fields)
    }

    fn identifier(&mut self, ast: &Ast, ident: &Ident, cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        let name = braid_sql::fold(ident);
        let mut scopes = Some(&cx.scopes).filter(|_| !self.is_stored);
        while let Some(level) = scopes {
            if let Some(column) = level.scope.find(&name)? {
                self.note_column(column.slot, ident.span);
                self.note_name(ast, Reference::Column(column.item));
                return self.column(column);
            }
            if let Some(expr) = self.system_column(&name, level.scope)? {
                return Ok(expr);
            }
            scopes = level.parent;
        }
        // A table's name alone is its whole row.
        let mut scopes = Some(&cx.scopes);
        while let Some(level) = scopes {
            if level.scope.has_table(None, &name)? {
                if let Some(column) = level.scope.columns.iter().find(|c| c.table == name) {
                    self.note_name(ast, Reference::Row(column.item.0));
                }
                return self.whole_row(level.scope.columns_of(None, &name));
            }
            scopes = level.parent;
        }
        if ident.quote_style.is_none()
            && let Some(expr) = self.keyword_value(&name)?
        {
            return Ok(expr);
        }
        Err(self.missing_column(None, &name))
    }

    pub(super) fn whole_row<'s>(
        &mut self,
        columns: impl Iterator<Item = &'s ScopeColumn>,
    ) -> Result<Expr> {
        let columns: Vec<&ScopeColumn> = columns.collect();
        if let [column] = columns[..]
            && column.is_row
        {
            return self.column(column);
        }
        let fields = columns.iter().map(|c| (c.name.clone(), c.ty.clone())).collect();
        let items = columns.into_iter().map(|c| self.column(c)).collect::<Result<_>>()?;
        record(items, fields)
    }

    /// A column that the client named; 42501 if it may not read the target of its change.
    pub(super) fn column(&self, column: &ScopeColumn) -> Result<Expr> {
        self.check_guarded(column.slot)?;
        Ok(Expr::Column(column.slot, column.ty.clone()))
    }

    /// A column by the numbers that a stored query has.
    fn stored_column(&self, parts: &[Ident], cx: &ExprCx<'_, '_>) -> Result<Expr> {
        let number = |part: Option<&Ident>| part.and_then(|part| part.value.parse::<u16>().ok());
        let item = parts.first().and_then(|part| part.value.parse::<u32>().ok());
        if let (Some(item), Some(column)) = (item, number(parts.get(1))) {
            let mut scopes = Some(&cx.scopes);
            while let Some(level) = scopes {
                if let Some(column) = level.scope.find_item((item, column)) {
                    return self.column(column);
                }
                scopes = level.parent;
            }
        }
        Err(Error::internal("a view reads a column that is not there"))
    }

    fn compound_identifier(
        &mut self,
        ast: &Ast,
        parts: &[Ident],
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        if self.is_stored {
            return self.stored_column(parts, cx);
        }
        let names: Vec<String> = parts.iter().map(braid_sql::fold).collect();
        let Some((name, qualifier)) = names.split_last() else {
            return Err(Error::internal("a column reference without a name"));
        };
        let (schema, table) = self.table_name(qualifier, Some(name))?;
        let mut scopes = Some(&cx.scopes);
        while let Some(level) = scopes {
            let found = level.scope.has_table(schema, table)?;
            if let Some(column) = level.scope.find_in(schema, table, name)? {
                self.note_column(column.slot, parts[0].span);
                self.note_name(ast, Reference::Column(column.item));
                return self.column(column);
            }
            if let Some(expr) = self.system_column_of(schema, table, name, level.scope)? {
                return Ok(expr);
            }
            if found {
                return Err(self.missing_column(Some(table), name));
            }
            scopes = level.parent;
        }
        Err(self.missing_table(schema, table, &cx.scopes))
    }

    fn binary_op(
        &mut self,
        left: &Ast,
        op: &BinaryOperator,
        right: &Ast,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        if matches!(op, BinaryOperator::And | BinaryOperator::Or) {
            return self.connective(left, op, right, cx);
        }
        // A comparison with a subquery of several columns is one of rows.
        if let Some(compare) = CompareOp::from_symbol(&op_name(op))
            && let (Ast::Tuple(items), Ast::Subquery(query)) = (left, right)
        {
            let left = self.exprs(items, cx)?;
            return self.row_subquery_compare(compare, left, query, cx);
        }
        if let (BinaryOperator::Overlaps, Ast::Tuple(a), Ast::Tuple(b)) = (op, left, right)
            && a.len() == 2
            && b.len() == 2
        {
            return self.call_on("overlaps", &[&a[0], &a[1], &b[0], &b[1]], cx);
        }
        let left = self.expr(left, cx)?;
        let right = self.expr(right, cx)?;
        self.binary(&op_name(op), left, right)
    }

    /// AND and OR: long chains lean to the left, so they are walked instead of recursed into.
    fn connective(
        &mut self,
        left: &Ast,
        op: &BinaryOperator,
        right: &Ast,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let is_and = *op == BinaryOperator::And;
        let clause = if is_and { "AND" } else { "OR" };
        let mut operands = vec![right];
        let mut next = left;
        while let Ast::BinaryOp { left, op: inner, right } = next {
            if inner != op {
                break;
            }
            operands.push(right);
            next = left;
        }
        operands.push(next);
        let mut list = Vec::with_capacity(operands.len());
        for operand in operands.into_iter().rev() {
            let e = self.condition(operand, cx, clause)?;
            match e {
                Expr::And(inner) if is_and => list.extend(inner),
                Expr::Or(inner) if !is_and => list.extend(inner),
                e => list.push(e),
            }
        }
        Ok(if is_and { Expr::And(list) } else { Expr::Or(list) })
    }

    fn unary_op(
        &mut self,
        op: &UnaryOperator,
        operand: &Ast,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        match op {
            UnaryOperator::Not => Ok(Expr::Not(Box::new(self.condition(operand, cx, "NOT")?))),
            UnaryOperator::Minus => {
                // -9223372036854775808 is one literal.
                if let Ast::Value(value) = operand
                    && let ast::Value::Number(text, _) = &value.value
                {
                    return super::literal::number(&format!("-{text}"));
                }
                let e = self.expr(operand, cx)?;
                self.prefix("-", e)
            }
            UnaryOperator::Plus => {
                let e = self.expr(operand, cx)?;
                self.prefix("+", e)
            }
            other => {
                let e = self.expr(operand, cx)?;
                self.prefix(&other.to_string(), e)
            }
        }
    }

    /// `IS NULL` (`wanted`) and `IS NOT NULL`. A record is asked for all its fields, so that the
    /// two are not opposites of each other.
    fn is_null(&mut self, e: &Ast, wanted: bool, cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        let test = |e: Expr| negate_if(!wanted, Expr::IsNull(Box::new(e)));
        Ok(match self.expr(e, cx)? {
            Expr::Row(items, _) => Expr::And(items.into_iter().map(test).collect()),
            e if matches!(e.ty(), SqlType::Record(_)) => Expr::IsNullRow(Box::new(e), wanted),
            e => test(e),
        })
    }

    fn is_bool(
        &mut self,
        e: &Ast,
        wanted: Option<bool>,
        negated: bool,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let e = self.expr(e, cx)?;
        let e = self.coerce_bool(e, "IS")?;
        Ok(negate_if(negated, Expr::IsBool(Box::new(e), wanted)))
    }

    fn is_distinct(&mut self, a: &Ast, b: &Ast, cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        let a = self.expr(a, cx)?;
        let b = self.expr(b, cx)?;
        let (mut pair, _) = self.unify(vec![a, b], "IS DISTINCT FROM")?;
        let b = pair.pop().unwrap_or_else(|| Expr::bool(true));
        let a = pair.pop().unwrap_or_else(|| Expr::bool(true));
        Ok(Expr::IsDistinct(Box::new(a), Box::new(b)))
    }

    fn in_list(
        &mut self,
        expr: &Ast,
        list: &[Ast],
        negated: bool,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let value = self.expr(expr, cx)?;
        let items = self.exprs(list, cx)?;
        let rows = matches!(value, Expr::Row(..));
        let types: Vec<SqlType> =
            std::iter::once(value.ty()).chain(items.iter().map(Expr::ty)).collect();
        let common = if rows { None } else { self.common_type(&types, "IN").ok() };
        let result = match common {
            Some(common) if !matches!(common, SqlType::Char(_) | SqlType::Json) => {
                let value = self.coerce(value, &common, CastContext::Implicit)?;
                let items = items
                    .into_iter()
                    .map(|item| self.coerce(item, &common, CastContext::Implicit))
                    .collect::<Result<Vec<_>>>()?;
                in_set(value, items)
            }
            _ => {
                let mut any = Vec::with_capacity(items.len());
                for item in items {
                    any.push(self.compare(CompareOp::Eq, value.clone(), item)?);
                }
                if any.len() == 1 { any.remove(0) } else { Expr::Or(any) }
            }
        };
        Ok(negate_if(negated, result))
    }

    fn like(
        &mut self,
        op: &str,
        negated: bool,
        expr: &Ast,
        pattern: &Ast,
        escape: Option<&Ast>,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let value = self.expr(expr, cx)?;
        let mut pattern = self.expr(pattern, cx)?;
        if let Some(escape) = escape {
            let escape = self.expr(escape, cx)?;
            pattern = self.call("like_escape", vec![pattern, escape])?;
        }
        let op = match (op, negated) {
            ("~~", true) => "!~~",
            ("~~*", true) => "!~~*",
            (op, _) => op,
        };
        self.binary(op, value, pattern)
    }

    fn similar(
        &mut self,
        negated: bool,
        expr: &Ast,
        pattern: &Ast,
        escape: Option<&Ast>,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let value = self.expr(expr, cx)?;
        let mut args = vec![self.expr(pattern, cx)?];
        if let Some(escape) = escape {
            args.push(self.expr(escape, cx)?);
        }
        let pattern = self.call("similar_to_escape", args)?;
        self.binary(if negated { "!~" } else { "~" }, value, pattern)
    }

    fn quantified(
        &mut self,
        left: &Ast,
        op: &BinaryOperator,
        right: &Ast,
        all: bool,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let mut right = right;
        while let Ast::Nested(inner) = right {
            right = inner;
        }
        if let Ast::Subquery(query) = right {
            let left = self.expr(left, cx)?;
            return self.quantified_subquery(left, &op_name(op), all, query, cx);
        }
        // A view has its IN lists in this form.
        if let (true, Ast::Array(array)) = (self.is_stored, plain_array(right, self.cx.types()))
            && matches!((op_name(op).as_str(), all), ("=", false) | ("<>", true))
        {
            return self.in_list(left, &array.elem, all, cx);
        }
        let left = self.expr(left, cx)?;
        let mut array = self.expr(right, cx)?;
        if array.ty() == SqlType::Unknown {
            let element = match left.ty() {
                SqlType::Unknown => SqlType::Text,
                ty => ty.bare(),
            };
            array =
                self.coerce(array, &SqlType::Array(Box::new(element)), CastContext::Implicit)?;
        }
        let Some(element) = array.ty().element().cloned() else {
            return Err(Error::new(
                SqlState::WrongObjectType,
                "op ANY/ALL (array) requires array on right side",
            ));
        };
        let left = match left.ty() {
            SqlType::Unknown => self.coerce(left, &element, CastContext::Implicit)?,
            _ => left,
        };
        let compare =
            self.binary(&op_name(op), Expr::Input(0, left.ty()), Expr::Input(1, element))?;
        let compare = self.coerce_bool(compare, "ANY")?;
        self.with_keys(QuantifiedExpr { all, left, array, compare })
    }

    fn case(
        &mut self,
        operand: Option<&Ast>,
        conditions: &[CaseWhen],
        otherwise: Option<&Ast>,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let operand = operand.map(|ast| self.expr(ast, cx)).transpose()?;
        let mut whens = Vec::with_capacity(conditions.len());
        let mut results = Vec::with_capacity(conditions.len() + 1);
        for when in conditions {
            let condition = self.expr(&when.condition, cx)?;
            whens.push(match &operand {
                Some(operand) => self.compare(CompareOp::Eq, operand.clone(), condition)?,
                None => self
                    .coerce_bool(condition, "CASE/WHEN")
                    .map_err(|error| error.position(start_of(&when.condition)))?,
            });
            results.push(self.expr(&when.result, cx)?);
        }
        results.push(match otherwise {
            Some(ast) => self.expr(ast, cx)?,
            None => Expr::null(SqlType::Unknown),
        });
        // The ELSE decides first, as in PostgreSQL.
        results.rotate_right(1);
        let (mut results, ty) = self.unify(results, "CASE")?;
        let otherwise = results.remove(0);
        let whens = whens.into_iter().zip(results).collect();
        Ok(Expr::Case(Box::new(CaseExpr { whens, otherwise, ty })))
    }

    fn field_access(
        &mut self,
        root: &Ast,
        chain: &[AccessExpr],
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let mut names = Vec::new();
        let mut chain = chain;
        // `schema.table.column[1]` comes as a chain of names.
        let mut value = if let Ast::Identifier(first) = root {
            names.push(first.clone());
            while let [AccessExpr::Dot(Ast::Identifier(name)), rest @ ..] = chain {
                names.push(name.clone());
                chain = rest;
            }
            if names.len() == 1 {
                self.expr(root, cx)?
            } else {
                self.compound_identifier(root, &names, cx)?
            }
        } else {
            self.expr(root, cx)?
        };
        while let [access, rest @ ..] = chain {
            let is_subscript = |access: &&AccessExpr| matches!(access, AccessExpr::Subscript(_));
            let run = chain.iter().take_while(is_subscript).count();
            (value, chain) = match run {
                0 => (self.access(value, access, cx)?, rest),
                run => (self.subscripts(value, &chain[..run], cx)?, &chain[run..]),
            };
        }
        Ok(value)
    }

    fn access(
        &mut self,
        value: Expr,
        access: &AccessExpr,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        match access {
            AccessExpr::Dot(Ast::Identifier(name)) => {
                let name = braid_sql::fold(name);
                match value.ty() {
                    SqlType::Record(fields) => {
                        match fields.iter().position(|(field, _)| *field == name) {
                            Some(place) => {
                                let ty = fields[place].1.clone();
                                Ok(Expr::Field(Box::new(value), place, ty))
                            }
                            None => Err(Error::new(
                                SqlState::UndefinedColumn,
                                format!("could not identify column \"{name}\" in record data type"),
                            )),
                        }
                    }
                    ty => Err(Error::new(
                        SqlState::WrongObjectType,
                        format!(
                            "column notation .{name} applied to type {}, which is not a composite \
                             type",
                            ty.display_name()
                        ),
                    )),
                }
            }
            AccessExpr::Dot(other) => Err(Error::unsupported(format!("field access .{other}"))),
            AccessExpr::Subscript(_) => self.subscripts(value, std::slice::from_ref(access), cx),
        }
    }

    /// The forms that are functions with a syntax of their own.
    fn keyword_function(&mut self, ast: &Ast, cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        match ast {
            Ast::Extract { field, expr, .. } => {
                let field = field.to_string().trim_matches(['\'', '"']).to_lowercase();
                let value = self.expr(expr, cx)?;
                let field = Expr::Const(Datum::text(field), SqlType::Text);
                self.call("extract", vec![field, value])
            }
            Ast::AtTimeZone { timestamp, time_zone } => {
                let zone = self.expr(time_zone, cx)?;
                let value = self.expr(timestamp, cx)?;
                self.call("timezone", vec![zone, value])
            }
            Ast::Ceil { expr, .. } => self.call_on("ceil", &[expr], cx),
            Ast::Floor { expr, .. } => self.call_on("floor", &[expr], cx),
            Ast::Position { expr, r#in } => self.call_on("position", &[r#in, expr], cx),
            Ast::Substring { expr, substring_from, substring_for, .. } => {
                let mut args = vec![self.expr(expr, cx)?];
                match (substring_from, substring_for) {
                    (None, Some(length)) => {
                        args.push(Expr::Const(Datum::Int(1), SqlType::Int4));
                        args.push(self.expr(length, cx)?);
                    }
                    (from, length) => {
                        for part in from.iter().chain(length) {
                            args.push(self.expr(part, cx)?);
                        }
                    }
                }
                self.call("substring", args)
            }
            Ast::Trim { trim_where, trim_what, expr, trim_characters } => {
                let name = match trim_where {
                    Some(TrimWhereField::Leading) => "ltrim",
                    Some(TrimWhereField::Trailing) => "rtrim",
                    _ => "btrim",
                };
                let mut args = vec![self.expr(expr, cx)?];
                let what = trim_what.as_deref().into_iter();
                for part in what.chain(trim_characters.iter().flatten()) {
                    args.push(self.expr(part, cx)?);
                }
                self.call(name, args)
            }
            Ast::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
                let mut parts: Vec<&Ast> = vec![expr, overlay_what, overlay_from];
                parts.extend(overlay_for.as_deref());
                self.call_on("overlay", &parts, cx)
            }
            Ast::RLike { negated, expr, pattern, .. } => {
                let value = self.expr(expr, cx)?;
                let pattern = self.expr(pattern, cx)?;
                self.binary(if *negated { "!~" } else { "~" }, value, pattern)
            }
            other => Err(Error::unsupported(format!("the expression {other}"))),
        }
    }

    fn call_on(&mut self, name: &str, args: &[&Ast], cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        let args = args.iter().map(|ast| self.expr(ast, cx)).collect::<Result<Vec<_>>>()?;
        self.call(name, args)
    }

    /// Calls a function by name.
    pub(super) fn call(&mut self, name: &str, args: Vec<Expr>) -> Result<Expr> {
        let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
        let resolved = braid_builtins::resolve_function(name, &types)?;
        self.call_resolved(resolved, args)
    }
}

/// The operator's name as the registry knows it.
pub fn op_name(op: &BinaryOperator) -> String {
    match op {
        BinaryOperator::PGCustomBinaryOperator(parts) => parts.last().cloned().unwrap_or_default(),
        BinaryOperator::NotEq => "<>".to_owned(),
        other => other.to_string(),
    }
}

/// An array constructor without a cast around it.
fn plain_array<'a>(ast: &'a Ast, names: TypeNames<'_>) -> &'a Ast {
    match ast {
        Ast::Nested(inner) => plain_array(inner, names),
        Ast::Cast { expr, data_type, .. }
            if sql_type_of(data_type, names).is_ok_and(|ty| ty.is_array()) =>
        {
            plain_array(expr, names)
        }
        other => other,
    }
}

fn like_operator(op: &str, negated: bool) -> BinaryOperator {
    BinaryOperator::PGCustomBinaryOperator(vec![format!("{}{op}", if negated { "!" } else { "" })])
}

pub(super) fn negate_if(negated: bool, e: Expr) -> Expr {
    if negated { Expr::Not(Box::new(e)) } else { e }
}
