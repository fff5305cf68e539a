//! The tree of a path.

use super::LikeRegex;
use crate::Numeric;

/// A whole path.
#[derive(Clone, Debug)]
pub struct JsonPath {
    /// Lax mode wraps and unwraps arrays and ignores what is not there; strict mode does not.
    pub is_lax: bool,
    /// What it selects.
    pub expr: Expr,
}

/// A beginning and the steps from there.
#[derive(Clone, Debug)]
pub struct Expr {
    /// The beginning.
    pub head: Head,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

impl From<Head> for Expr {
    fn from(head: Head) -> Self {
        Expr { head, steps: Vec::new() }
    }
}

/// Where an expression begins.
#[derive(Clone, Debug)]
pub enum Head {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number(Numeric),
    /// A string.
    String(Box<str>),
    /// `$name`
    Variable(Box<str>),
    /// `$`
    Root,
    /// `@`
    Current,
    /// `last`
    Last,
    /// `+x` or `-x`
    Unary(Sign, Box<Expr>),
    /// `x + y`
    Arithmetic(Arithmetic, Box<(Expr, Expr)>),
    /// A condition, whose value is a boolean or null.
    Predicate(Box<Predicate>),
}

/// A sign before an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// `+`
    Plus,
    /// `-`
    Minus,
}

/// An operator between two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
}

/// A condition.
#[derive(Clone, Debug)]
pub enum Predicate {
    /// `a && b`
    And(Box<(Predicate, Predicate)>),
    /// `a || b`
    Or(Box<(Predicate, Predicate)>),
    /// `!(a)`
    Not(Box<Predicate>),
    /// `(a) is unknown`
    IsUnknown(Box<Predicate>),
    /// `x == y`
    Compare(Comparison, Box<(Expr, Expr)>),
    /// `x starts with "y"`
    StartsWith(Box<Expr>, Prefix),
    /// `x like_regex "y"`
    LikeRegex(Box<Expr>, LikeRegex),
    /// `exists (x)`
    Exists(Box<Expr>),
}

/// An operator that compares two items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=` or `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// What `starts with` looks for.
#[derive(Clone, Debug)]
pub enum Prefix {
    /// A string.
    String(Box<str>),
    /// `$name`
    Variable(Box<str>),
}

impl Prefix {
    /// The expression that gives it.
    pub fn to_expr(&self) -> Expr {
        match self {
            Prefix::String(text) => Head::String(text.clone()),
            Prefix::Variable(name) => Head::Variable(name.clone()),
        }
        .into()
    }
}

/// The level `last` of `.**{…}`.
pub const LEVEL_MAX: u32 = u32::MAX;

/// A step from an item to others.
#[derive(Clone, Debug)]
pub enum Step {
    /// `.key`
    Key(Box<str>),
    /// `.*`
    AnyKey,
    /// `[*]`
    AnyElement,
    /// `[0, 2 to last]`
    Elements(Vec<Subscript>),
    /// `.**{first to last}`
    Any {
        /// The first level; [`LEVEL_MAX`] is `last`.
        first: u32,
        /// The last level; [`LEVEL_MAX`] is `last`.
        last: u32,
    },
    /// `? (…)`
    Filter(Box<Predicate>),
    /// `.size()`
    Method(Method),
    /// `.datetime("template")`
    Datetime(Option<Box<str>>),
}

/// A subscript or a range of them.
#[derive(Clone, Debug)]
pub struct Subscript {
    /// The first or only place.
    pub from: Expr,
    /// The last place of a range.
    pub to: Option<Expr>,
}

/// A method without arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `abs`
    Abs,
    /// `size`
    Size,
    /// `type`
    Type,
    /// `floor`
    Floor,
    /// `double`
    Double,
    /// `ceiling`
    Ceiling,
    /// `keyvalue`
    KeyValue,
}

impl Method {
    /// The method of that name in lower case.
    pub(super) fn from_name(name: &str) -> Option<Method> {
        Some(match name {
            "abs" => Method::Abs,
            "size" => Method::Size,
            "type" => Method::Type,
            "floor" => Method::Floor,
            "double" => Method::Double,
            "ceiling" => Method::Ceiling,
            "keyvalue" => Method::KeyValue,
            _ => return None,
        })
    }

    /// Whether it is applied to an array as it is, not to its elements.
    pub fn takes_arrays(self) -> bool {
        matches!(self, Method::Size | Method::Type)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Method::Abs => "abs",
            Method::Size => "size",
            Method::Type => "type",
            Method::Floor => "floor",
            Method::Double => "double",
            Method::Ceiling => "ceiling",
            Method::KeyValue => "keyvalue",
        }
    }
}

impl Sign {
    /// As it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Sign::Plus => "+",
            Sign::Minus => "-",
        }
    }
}

impl Arithmetic {
    /// As it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Arithmetic::Add => "+",
            Arithmetic::Subtract => "-",
            Arithmetic::Multiply => "*",
            Arithmetic::Divide => "/",
            Arithmetic::Modulo => "%",
        }
    }
}

impl Comparison {
    /// As it is written.
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Comparison::Equal => "==",
            Comparison::NotEqual => "!=",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        }
    }
}
