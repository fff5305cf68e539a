//! Calls of functions, aggregates and window functions.

use braid_builtins::Arg;
use braid_sql::ast::{
    Expr as Ast, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArgumentList, FunctionArguments, Ident, ObjectName, Value, WindowType,
};
use braid_types::{Result, SqlType};

use super::{Identifier, unstorable};
use crate::bind::string_of;

impl Identifier<'_, '_> {
    /// Arguments with the casts that the function needs.
    pub(super) fn typed_arguments(&mut self, name: &str, args: &[&Ast]) -> Result<Vec<Ast>> {
        let types = args.iter().map(|e| self.ty(e)).collect::<Result<Vec<_>>>()?;
        let wanted = wanted_types(name, &types)?;
        self.cast_arguments(args, &types, &wanted)
    }

    /// Arguments in a syntax of their own: implicit casts are not shown.
    pub(super) fn syntax_arguments(&mut self, name: &str, args: &[&Ast]) -> Result<Vec<Ast>> {
        let types = args.iter().map(|e| self.ty(e)).collect::<Result<Vec<_>>>()?;
        let mut wanted = wanted_types(name, &types)?;
        for (wanted, own) in wanted.iter_mut().zip(&types) {
            if *own != SqlType::Unknown {
                wanted.clone_from(own);
            }
        }
        self.cast_arguments(args, &types, &wanted)
    }

    fn cast_arguments(
        &mut self,
        args: &[&Ast],
        types: &[SqlType],
        wanted: &[SqlType],
    ) -> Result<Vec<Ast>> {
        let mut result = Vec::with_capacity(args.len());
        for (place, e) in args.iter().enumerate() {
            result.push(match wanted.get(place) {
                None | Some(SqlType::Unknown) if types[place] != SqlType::Unknown => {
                    self.expr(e)?
                }
                // What takes any type is shown without one.
                None | Some(SqlType::Unknown) => untyped(e)?,
                Some(SqlType::Record(_)) => self.expr(e)?,
                Some(ty) => self.value(e, &ty.bare())?,
            });
        }
        Ok(result)
    }

    /// A call in the syntax of functions.
    pub(super) fn call(&mut self, name: &str, args: &[&Ast]) -> Result<Ast> {
        let args = self.typed_arguments(name, args)?;
        let args =
            args.into_iter().map(|e| FunctionArg::Unnamed(FunctionArgExpr::Expr(e))).collect();
        let list = FunctionArgumentList { duplicate_treatment: None, args, clauses: Vec::new() };
        Ok(Ast::Function(Function {
            name: ObjectName::from(vec![Ident::with_quote('"', name)]),
            uses_odbc_syntax: false,
            parameters: FunctionArguments::None,
            args: FunctionArguments::List(list),
            within_group: Vec::new(),
            filter: None,
            null_treatment: None,
            over: None,
        }))
    }

    pub(super) fn function(&mut self, e: &Ast, function: &Function) -> Result<Ast> {
        let name = function.name.0.last().and_then(|part| part.as_ident());
        let name = name.map(braid_sql::fold).unwrap_or_default();
        let mut result = function.clone();
        result.args = match &function.args {
            FunctionArguments::None => FunctionArguments::None,
            FunctionArguments::Subquery(query) => {
                FunctionArguments::Subquery(Box::new(self.query(query)?))
            }
            FunctionArguments::List(list) => {
                FunctionArguments::List(self.list(e, &name, function, list)?)
            }
        };
        result.filter = match &function.filter {
            Some(e) => Some(Box::new(self.condition(e)?)),
            None => None,
        };
        result.within_group = self.sort_keys(&function.within_group)?;
        result.over = match &function.over {
            Some(WindowType::WindowSpec(spec)) => Some(WindowType::WindowSpec(self.window(spec)?)),
            other => other.clone(),
        };
        Ok(Ast::Function(result))
    }

    fn list(
        &mut self,
        e: &Ast,
        name: &str,
        function: &Function,
        list: &FunctionArgumentList,
    ) -> Result<FunctionArgumentList> {
        let mut result = list.clone();
        let mut args = Vec::with_capacity(list.args.len());
        for arg in &list.args {
            match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) => args.push(e),
                FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => {}
                other => return Err(unstorable(other)),
            }
        }
        let bound = match name {
            "coalesce" | "greatest" | "least" => {
                let ty = self.ty(e)?.bare();
                args.iter().map(|e| self.value(e, &ty)).collect::<Result<Vec<_>>>()?
            }
            "nullif" if args.len() == 2 => {
                let (left, right) = (self.ty(args[0])?, self.ty(args[1])?);
                let (left, right) = self.operand_types("=", &left, &right)?;
                vec![self.value(args[0], &left)?, self.value(args[1], &right)?]
            }
            "row" | "grouping" => args.iter().map(|e| self.known(e)).collect::<Result<Vec<_>>>()?,
            _ => {
                let types = args.iter().map(|e| self.ty(e)).collect::<Result<Vec<_>>>()?;
                let mut all = types.clone();
                for key in &function.within_group {
                    all.push(self.ty(&key.expr)?);
                }
                let wanted = wanted_types(name, &all)?;
                self.cast_arguments(&args, &types, &wanted)?
            }
        };
        if !bound.is_empty() {
            let unnamed = |e| FunctionArg::Unnamed(FunctionArgExpr::Expr(e));
            result.args = bound.into_iter().map(unnamed).collect();
        }
        result.clauses.clear();
        for clause in &list.clauses {
            let FunctionArgumentClause::OrderBy(order) = clause else {
                return Err(unstorable(clause));
            };
            result.clauses.push(FunctionArgumentClause::OrderBy(self.sort_keys(order)?));
        }
        Ok(result)
    }
}

/// A literal without a type.
fn untyped(e: &Ast) -> Result<Ast> {
    match e {
        Ast::Nested(inner) => untyped(inner),
        Ast::Value(value) => match string_of(&value.value) {
            Some(text) => Ok(Ast::value(Value::SingleQuotedString(text.to_owned()))),
            None => Ok(e.clone()),
        },
        other => Err(unstorable(other)),
    }
}

/// The types that a function of any kind casts its arguments to.
fn wanted_types(name: &str, types: &[SqlType]) -> Result<Vec<SqlType>> {
    if let Some(window) = braid_builtins::resolve_window(name, types)? {
        return Ok(window.arg_types);
    }
    if let Some(aggregate) = braid_builtins::resolve_aggregate(name, types)? {
        return Ok(aggregate.arg_types);
    }
    if let Some(set) = braid_builtins::resolve_set_function(name, types)? {
        return Ok(set.arg_types);
    }
    match braid_builtins::resolve_function(name, types) {
        Ok(resolved) => {
            // A literal for `"any"` stays as it is; a repeated last argument is like the first.
            let is_any = |place: usize| {
                let args = &resolved.function.args;
                matches!(args.get(place).or(args.last()), Some(Arg::Any))
            };
            let types = resolved.arg_types.iter().enumerate();
            let wanted = types.map(|(place, ty)| match is_any(place) {
                true => SqlType::Unknown,
                false => ty.clone(),
            });
            Ok(wanted.collect())
        }
        // A type's name with one argument is a cast.
        Err(_) if SqlType::from_name(name).is_some() => Ok(types.to_vec()),
        Err(error) => Err(error),
    }
}
