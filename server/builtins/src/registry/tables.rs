//! The tables of functions: filled once from short signatures, then only read.
//!
//! A signature reads as PostgreSQL prints it: `lpad(text, int4, text) -> text stable`. Several
//! names share one with `ceil|ceiling(…)`. Words after the result: `stable`, `volatile`, and `lax`
//! for a function that wants to see NULL. `variadic` before the last argument repeats it.
//!
//! Rule: a signature that cannot be read is a bug of this crate and stops the first look-up, so
//! the tests of this crate find it.

use std::collections::HashMap;
use std::sync::LazyLock;

use braid_types::{Datum, Result, SqlType};

use super::families;
use crate::aggregate::AggregateSignature;
use crate::{
    Aggregate, Arg, Call, Eval, Function, Returns, Rows, SetFunction, Special, Volatility,
};

/// Every function, set-returning function and aggregate by name.
#[derive(Default)]
pub(crate) struct Registry {
    pub(crate) functions: HashMap<&'static str, Vec<Function>>,
    pub(crate) sets: HashMap<&'static str, Vec<SetFunction>>,
    pub(crate) aggregates: HashMap<&'static str, Vec<AggregateSignature>>,
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let mut registry = Registry::default();
    families::register(&mut registry);
    registry.add_operator_functions();
    registry
});

/// The functions below operators, one a line: name, operator, the types of its operands.
static OPERATOR_FUNCTIONS: &str = include_str!("operator_functions.txt");

/// The tables.
pub(crate) fn registry() -> &'static Registry {
    &REGISTRY
}

/// Every function and operator, ordered by name.
pub fn all_functions() -> Vec<&'static Function> {
    let mut all: Vec<_> = REGISTRY.functions.values().flatten().collect();
    all.sort_by_key(|function| function.name);
    all
}

/// Every set-returning function, ordered by name.
pub fn all_set_functions() -> Vec<&'static SetFunction> {
    let mut all: Vec<_> = REGISTRY.sets.values().flatten().collect();
    all.sort_by_key(|function| function.name);
    all
}

/// Every aggregate with its arguments and result, ordered by name.
pub fn all_aggregates() -> Vec<(&'static Aggregate, &'static [Arg], &'static Returns)> {
    let mut all: Vec<_> = REGISTRY
        .aggregates
        .values()
        .flatten()
        .map(|one| (&one.aggregate, one.args.as_slice(), &one.returns))
        .collect();
    all.sort_by_key(|(aggregate, _, _)| aggregate.name);
    all
}

/// What a signature says.
struct Signature {
    names: &'static str,
    args: Vec<Arg>,
    variadic: bool,
    columns: Vec<(&'static str, Returns)>,
    strict: bool,
    volatility: Volatility,
}

impl Signature {
    fn names(&self) -> Vec<&'static str> {
        if self.names.starts_with(|c: char| c.is_ascii_alphabetic()) {
            self.names.split('|').collect()
        } else {
            vec![self.names]
        }
    }

    fn returns(&self) -> Returns {
        self.columns[0].1.clone()
    }
}

impl Registry {
    /// Adds a function that is carried out on datums.
    pub(crate) fn add(&mut self, signature: &'static str, eval: fn(&Call<'_>) -> Result<Datum>) {
        self.add_eval(signature, Eval::Pure(eval));
    }

    /// Adds a function that `exec` carries out.
    pub(crate) fn special(&mut self, signature: &'static str, special: Special) {
        self.add_eval(signature, Eval::Special(special));
    }

    fn add_eval(&mut self, signature: &'static str, eval: Eval) {
        let parsed = parse(signature);
        for name in parsed.names() {
            self.functions.entry(name).or_default().push(Function {
                name,
                args: parsed.args.clone(),
                variadic: parsed.variadic,
                returns: parsed.returns(),
                strict: parsed.strict,
                volatility: parsed.volatility,
                eval,
            });
        }
    }

    /// Adds a strict immutable function of these types.
    pub(crate) fn add_typed(
        &mut self,
        name: &'static str,
        args: &[SqlType],
        returns: SqlType,
        eval: fn(&Call<'_>) -> Result<Datum>,
    ) {
        self.functions.entry(name).or_default().push(Function {
            name,
            args: args.iter().cloned().map(Arg::Is).collect(),
            variadic: false,
            returns: Returns::Is(returns),
            strict: true,
            volatility: Volatility::Immutable,
            eval: Eval::Pure(eval),
        });
    }

    /// Adds PostgreSQL's names of the functions below operators: `int4pl(1, 2)` is `1 + 2`.
    fn add_operator_functions(&mut self) {
        for (name, operator, args) in operator_functions() {
            let known = self.functions.get(operator).into_iter().flatten();
            let mut fitting = known.filter(|function| function.args == args);
            let Some(found) = fitting.next() else {
                panic!("operator of a function: {name}");
            };
            let function = Function { name, args, returns: found.returns.clone(), ..*found };
            self.functions.entry(name).or_default().push(function);
        }
    }

    /// Adds a set-returning function; its result is `type`, `name type, name type` or `record`.
    pub(crate) fn set(&mut self, signature: &'static str, eval: fn(&Call<'_>) -> Result<Rows>) {
        let parsed = parse(signature);
        for name in parsed.names() {
            self.sets.entry(name).or_default().push(SetFunction {
                name,
                args: parsed.args.clone(),
                variadic: parsed.variadic,
                columns: parsed.columns.clone(),
                strict: parsed.strict,
                eval,
            });
        }
    }

    /// Adds an aggregate.
    pub(crate) fn aggregate(
        &mut self,
        signature: &'static str,
        start: fn(&[SqlType], &SqlType) -> Box<dyn crate::Accumulator>,
    ) {
        let parsed = parse(signature);
        for name in parsed.names() {
            self.aggregates.entry(name).or_default().push(AggregateSignature {
                aggregate: Aggregate::new(name, start),
                args: parsed.args.clone(),
                variadic: parsed.variadic,
                returns: parsed.returns(),
            });
        }
    }
}

/// PostgreSQL's names of the functions below operators, each with its operator and its arguments.
pub(crate) fn operator_functions() -> impl Iterator<Item = (&'static str, &'static str, Vec<Arg>)> {
    OPERATOR_FUNCTIONS.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (name, operator) = (words.next()?, words.next()?);
        Some((name, operator, words.filter(|word| *word != "-").map(parse_arg).collect()))
    })
}

/// The type of a signature's word.
pub(crate) fn type_named(word: &str) -> SqlType {
    let name = match word {
        "char" => "bpchar",
        // Without a length, unlike the word in a query.
        "bit" => return SqlType::Bit(0),
        word => word,
    };
    SqlType::from_name(name).unwrap_or_else(|| panic!("signature names an unknown type: {word}"))
}

fn parse_arg(word: &str) -> Arg {
    match word {
        "any" => Arg::Any,
        "anyelement" => Arg::Element,
        "anyarray" => Arg::Array,
        "anyenum" => Arg::Enum,
        "anynonarray" => Arg::NonArray,
        "anyrange" => Arg::Range,
        "anymultirange" => Arg::Multirange,
        "anycompatible" => Arg::Compatible,
        "anycompatiblearray" => Arg::CompatibleArray,
        word => Arg::Is(type_named(word)),
    }
}

fn parse_returns(word: &str) -> Returns {
    match word {
        "anyelement" | "anyenum" => Returns::Element,
        "anyarray" => Returns::Array,
        "anyrange" => Returns::Range,
        "anymultirange" => Returns::Multirange,
        "anycompatible" => Returns::Compatible,
        "anycompatiblearray" => Returns::CompatibleArray,
        word => Returns::Is(type_named(word)),
    }
}

fn parse(signature: &'static str) -> Signature {
    let (head, result) =
        signature.split_once(" -> ").unwrap_or_else(|| panic!("signature: {signature}"));
    let (names, args) = head.split_once('(').unwrap_or_else(|| panic!("signature: {signature}"));
    let mut variadic = false;
    let args = args
        .trim_end_matches(')')
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .map(|word| {
            let bare = word.strip_prefix("variadic ");
            variadic |= bare.is_some();
            parse_arg(bare.unwrap_or(word))
        })
        .collect();
    let (mut strict, mut volatility) = (true, Volatility::Immutable);
    let mut columns = Vec::new();
    for part in result.split(',') {
        let mut words = Vec::new();
        for word in part.split_whitespace() {
            match word {
                "lax" => strict = false,
                "stable" => volatility = Volatility::Stable,
                "volatile" => volatility = Volatility::Volatile,
                word => words.push(word),
            }
        }
        match words.as_slice() {
            // The caller's column definition list says which columns there are.
            ["record"] => {}
            [ty] => columns.push(("", parse_returns(ty))),
            [name, ty] => columns.push((*name, parse_returns(ty))),
            _ => panic!("signature: {signature}"),
        }
    }
    Signature { names, args, variadic, columns, strict, volatility }
}

/// What a view is called whose columns call a function of this name, if it makes other rows of
/// those that it reads.
pub fn makes_other_rows(name: &str) -> Option<&'static str> {
    if is_aggregate(name) {
        return Some("Views that return aggregate functions");
    }
    let is_set = registry().sets.contains_key(name);
    is_set.then_some("Views that return set-returning functions")
}

/// Whether any aggregate has this name.
pub fn is_aggregate(name: &str) -> bool {
    registry().aggregates.contains_key(name)
}
