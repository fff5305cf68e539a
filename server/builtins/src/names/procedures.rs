//! Every overload of every function as `pg_proc` lists it, with the oid of each and its arguments
//! and result in words. Operators are not among them.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use braid_types::SqlType;
use braid_types::sql_type::RowType;

use super::pseudo_types::PseudoType;
use super::reg::function_oid;
use crate::registry::tables::{
    all_aggregates, all_functions, all_set_functions, operator_functions,
};
use crate::{Arg, Returns, Volatility};

/// One overload.
pub struct Procedure {
    /// Its oid; the first of a name has the one that `regproc` knows.
    pub oid: u32,
    /// Its name.
    pub name: &'static str,
    /// `f` for a function, `a` for an aggregate.
    pub kind: char,
    /// Its arguments.
    pub args: &'static [Arg],
    /// Whether the last argument repeats.
    pub variadic: bool,
    /// The oid of its result's type.
    pub returns: u32,
    /// Its result in words.
    pub result: String,
    /// NULL in, NULL out.
    pub strict: bool,
    /// Whether it returns a set.
    pub set: bool,
    /// How far its result may be reused.
    pub volatility: Volatility,
}

impl Procedure {
    /// Its arguments in words, as `\df` shows them.
    pub fn arguments(&self) -> String {
        let last = self.args.len().saturating_sub(1);
        let shown = self.args.iter().enumerate().map(|(i, arg)| {
            let variadic = if self.variadic && i == last { "VARIADIC " } else { "" };
            format!("{variadic}{}", pseudo(arg_oid(arg)))
        });
        shown.collect::<Vec<_>>().join(", ")
    }
}

const ANYARRAY: u32 = 2277;
const ANYELEMENT: u32 = 2283;
const ANYRANGE: u32 = 3831;
const ANYMULTIRANGE: u32 = 4537;
const ANYCOMPATIBLE: u32 = 5077;
const ANYCOMPATIBLEARRAY: u32 = 5078;

/// The oid of an argument's type in `pg_proc`.
pub fn arg_oid(arg: &Arg) -> u32 {
    match arg {
        Arg::Is(ty) => ty.oid(),
        Arg::Any => 2276,
        Arg::Element => ANYELEMENT,
        Arg::Array => ANYARRAY,
        Arg::NonArray => 2776,
        Arg::Enum => 3500,
        Arg::Range => ANYRANGE,
        Arg::Multirange => ANYMULTIRANGE,
        Arg::Compatible => ANYCOMPATIBLE,
        Arg::CompatibleArray => ANYCOMPATIBLEARRAY,
    }
}

/// The oid of a result's type in `pg_proc`.
fn returns_oid(returns: &Returns) -> u32 {
    match returns {
        Returns::Is(ty) => ty.oid(),
        Returns::Element => ANYELEMENT,
        Returns::Array => ANYARRAY,
        Returns::Range => ANYRANGE,
        Returns::Multirange => ANYMULTIRANGE,
        Returns::Compatible => ANYCOMPATIBLE,
        Returns::CompatibleArray => ANYCOMPATIBLEARRAY,
    }
}

/// A type's name, those of pseudo-types included.
fn pseudo(oid: u32) -> String {
    match PseudoType::by_oid(oid) {
        Some(ty) => ty.display.to_owned(),
        None => SqlType::from_oid(oid).map_or("???".to_owned(), |ty| ty.plain_name().to_owned()),
    }
}

/// An operator of one pair of types.
pub struct Operator {
    /// Its oid.
    pub oid: u32,
    /// Its name.
    pub name: &'static str,
    /// The oid of the left argument's type; 0 if there is none.
    pub left: u32,
    /// The oid of the right argument's type.
    pub right: u32,
    /// The oid of its result's type.
    pub result: u32,
    /// The oid of its function; 0 if the function has no name of its own.
    pub code: u32,
}

/// Every operator.
pub fn operators() -> &'static [Operator] {
    static ALL: LazyLock<Vec<Operator>> = LazyLock::new(all_operators);
    &ALL
}

fn all_operators() -> Vec<Operator> {
    let mut taken = HashSet::new();
    let codes = operator_codes();
    let functions = all_functions().into_iter().filter(|function| is_operator(function.name));
    let operators = functions.filter_map(|function| {
        let (left, right) = match function.args.as_slice() {
            [right] => (0, arg_oid(right)),
            [left, right] => (arg_oid(left), arg_oid(right)),
            _ => return None,
        };
        let mut oid = function_oid(function.name);
        while !taken.insert(oid) {
            oid = oid.wrapping_add(1) | 0xf000_0000;
        }
        let result = returns_oid(&function.returns);
        let named = codes.get(&(function.name, left, right));
        let code = named.copied().unwrap_or_default();
        Some(Operator { oid, name: function.name, left, right, result, code })
    });
    operators.collect()
}

/// The oids of the functions below operators, by the operator and the types of its arguments.
fn operator_codes() -> HashMap<(&'static str, u32, u32), u32> {
    let oids = |args: &[Arg]| args.iter().map(arg_oid).collect::<Vec<u32>>();
    let known: HashMap<_, _> =
        procedures().iter().map(|found| ((found.name, oids(found.args)), found.oid)).collect();
    let codes = operator_functions().filter_map(|(name, operator, args)| {
        let types = oids(&args);
        let code = *known.get(&(name, types.clone()))?;
        match types.as_slice() {
            [right] => Some(((operator, 0, *right), code)),
            [left, right] => Some(((operator, *left, *right), code)),
            _ => None,
        }
    });
    codes.collect()
}

/// An operator's name has no letter in it.
fn is_operator(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// Every overload.
pub fn procedures() -> &'static [Procedure] {
    static ALL: LazyLock<Vec<Procedure>> = LazyLock::new(all);
    &ALL
}

/// The overload of an oid.
pub(crate) fn procedure(oid: u32) -> Option<&'static Procedure> {
    procedures().iter().find(|procedure| procedure.oid == oid)
}

fn all() -> Vec<Procedure> {
    let functions = all_functions().into_iter().filter(|function| !is_operator(function.name));
    let functions = functions.map(|function| Procedure {
        oid: 0,
        name: function.name,
        kind: 'f',
        args: &function.args,
        variadic: function.variadic,
        returns: returns_oid(&function.returns),
        result: pseudo(returns_oid(&function.returns)),
        strict: function.strict,
        set: false,
        volatility: function.volatility,
    });
    let sets = all_set_functions().into_iter().map(|function| {
        let (returns, result) = match function.columns.as_slice() {
            [(_, returns)] => (returns_oid(returns), pseudo(returns_oid(returns))),
            [] => (SqlType::Record(RowType::unknown()).oid(), "record".to_owned()),
            columns => {
                let shown = columns
                    .iter()
                    .map(|(name, returns)| format!("{name} {}", pseudo(returns_oid(returns))));
                let shown = shown.collect::<Vec<_>>().join(", ");
                (SqlType::Record(RowType::unknown()).oid(), format!("TABLE({shown})"))
            }
        };
        let many = result.starts_with("TABLE(");
        Procedure {
            oid: 0,
            name: function.name,
            kind: 'f',
            args: &function.args,
            variadic: function.variadic,
            returns,
            result: if many { result } else { format!("SETOF {result}") },
            strict: function.strict,
            set: true,
            volatility: Volatility::Immutable,
        }
    });
    let aggregates = all_aggregates().into_iter().map(|(aggregate, args, returns)| Procedure {
        oid: 0,
        name: aggregate.name,
        kind: 'a',
        args,
        variadic: false,
        returns: returns_oid(returns),
        result: pseudo(returns_oid(returns)),
        strict: false,
        set: false,
        volatility: Volatility::Immutable,
    });
    let mut all: Vec<Procedure> = functions.chain(sets).chain(aggregates).collect();
    let mut taken = HashSet::new();
    for procedure in &mut all {
        let mut oid = function_oid(procedure.name);
        while !taken.insert(oid) {
            oid = oid.wrapping_add(1) | 0xf000_0000;
        }
        procedure.oid = oid;
    }
    all
}
