//! Scalar expressions with names and types bound.
//!
//! A column is a [`Slot`] while plans are being built and moved about; the last planning step
//! turns slots into positions of the operator's input row ([`Expr::Input`]) or, inside a
//! correlated subquery, into values handed in from outside ([`Expr::Outer`]).
//!
//! Evaluation is in [`crate::eval`]; expressions that hold a subquery or a function that waits
//! ([`Expr::waits`]) are evaluated by `exec`.

use std::collections::HashSet;
use std::sync::Arc;

use braid_builtins::{Function, Special, Volatility};
use braid_catalog::{Routine, RoutineVolatility};
use braid_types::{Datum, SqlType, cast};

pub use super::compare_op::CompareOp;
pub use super::local::LetExpr;
use super::node::Node;
use super::subscript::SubscriptExpr;

/// A column of some operator's output, unique within one plan.
pub type Slot = u32;

/// A bound scalar expression.
#[derive(Clone)]
pub enum Expr {
    /// A constant. Its type is `Unknown` while a string literal has not met its use.
    Const(Datum, SqlType),
    /// A column by slot.
    Column(Slot, SqlType),
    /// A column by its place in the input row.
    Input(usize, SqlType),
    /// A value handed in by the enclosing query's row.
    Outer(usize, SqlType),
    /// `$n`, counted from 0.
    Param(usize, SqlType),
    /// A comparison of two values of one type (or of integers of any width).
    Compare(CompareOp, Box<Expr>, Box<Expr>),
    /// A function or operator.
    Call(Box<CallExpr>),
    /// A cast.
    Cast(Box<CastExpr>),
    /// A value of a domain's base type, checked by the domain's constraints.
    Domain(Box<DomainExpr>),
    /// `AND` of any number.
    And(Vec<Expr>),
    /// `OR` of any number.
    Or(Vec<Expr>),
    /// `NOT`
    Not(Box<Expr>),
    /// `IS NULL` of a value that is no record.
    IsNull(Box<Expr>),
    /// `IS NULL` (true) or `IS NOT NULL` of a record: whether all its fields are.
    IsNullRow(Box<Expr>, bool),
    /// `IS TRUE` (`Some(true)`), `IS FALSE`, `IS UNKNOWN` (`None`)
    IsBool(Box<Expr>, Option<bool>),
    /// `IS DISTINCT FROM`
    IsDistinct(Box<Expr>, Box<Expr>),
    /// `CASE WHEN … THEN …`; a simple CASE is rewritten into comparisons, which read an operand
    /// that is to be computed once as a local value.
    Case(Box<CaseExpr>),
    /// `COALESCE`
    Coalesce(Vec<Expr>),
    /// `GREATEST` (true) or `LEAST`
    Extreme(bool, Vec<Expr>),
    /// `x IN (…)` over expressions of x's type.
    InList(Box<Expr>, Vec<Expr>),
    /// `x IN (…)` over constants; the flag is set if the list had a NULL.
    InSet(Box<Expr>, Arc<HashSet<Datum>>, bool),
    /// `x op ANY (array)`, or `ALL`.
    Quantified(Box<QuantifiedExpr>),
    /// `ARRAY[…]` and the type of what is between the brackets: an array if it has dimensions.
    Array(Vec<Expr>, SqlType),
    /// `a[i]`, `a[l:u]`, or the array after an assignment to it.
    Subscript(Box<SubscriptExpr>),
    /// `ROW (…)` with its record type.
    Row(Vec<Expr>, SqlType),
    /// Field n of a record.
    Field(Box<Expr>, usize, SqlType),
    /// A subquery.
    Subquery(Box<SubqueryExpr>),
    /// A call of a function of a user.
    Routine(Box<RoutineExpr>),
    /// A value that is computed once and read several times.
    Let(Box<LetExpr>),
    /// The value of the [`Expr::Let`] of this level around it.
    Local(u32, SqlType),
}

/// A function or operator and its arguments, cast as resolution asked.
#[derive(Clone)]
pub struct CallExpr {
    /// The function.
    pub function: &'static Function,
    /// Its arguments.
    pub args: Vec<Expr>,
    /// Their types.
    pub types: Vec<SqlType>,
    /// Whether the elements of the last argument, an array, are the last arguments.
    pub spread: bool,
    /// The type of the result.
    pub returns: SqlType,
}

/// A call of a function or procedure of a user.
#[derive(Clone)]
pub struct RoutineExpr {
    /// The routine.
    pub routine: Arc<Routine>,
    /// Its arguments, one for each parameter, cast to their types.
    pub args: Vec<Expr>,
    /// The type of the result.
    pub ty: SqlType,
}

/// A cast and where it came from.
#[derive(Clone)]
pub struct CastExpr {
    /// What is cast.
    pub expr: Expr,
    /// Its type.
    pub from: SqlType,
    /// To which type.
    pub to: SqlType,
    /// Written by the user (truncates strings) instead of an assignment.
    pub explicit: bool,
}

/// A value that becomes one of a domain.
#[derive(Clone)]
pub struct DomainExpr {
    /// The value, of the type below the domain.
    pub expr: Expr,
    /// What it has to satisfy.
    pub rules: Arc<DomainRules>,
}

/// What the values of a domain have to satisfy, or those of a type that is made of domains.
pub struct DomainRules {
    /// The domain, or the type with domains inside.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Its name as messages show it.
    pub shown: String,
    /// The name of its schema.
    pub schema: String,
    /// Whether NULL is no value.
    pub not_null: bool,
    /// Names and conditions, over the value as [`Expr::Input`].
    pub checks: Vec<(String, Expr)>,
    /// What parts of the values have to satisfy.
    pub parts: Vec<(DomainPart, DomainRules)>,
}

/// A part of a value whose domain is checked with it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum DomainPart {
    /// Each element of an array.
    Elements,
    /// A field of a row.
    Field(usize),
}

/// `CASE`
#[derive(Clone)]
pub struct CaseExpr {
    /// Conditions and results.
    pub whens: Vec<(Expr, Expr)>,
    /// `ELSE`
    pub otherwise: Expr,
    /// The common type.
    pub ty: SqlType,
}

/// `x op ANY (array)` or `x op ALL (array)`.
#[derive(Clone)]
pub struct QuantifiedExpr {
    /// `ALL` instead of `ANY`.
    pub all: bool,
    /// The left side.
    pub left: Expr,
    /// The array.
    pub array: Expr,
    /// The comparison on slots 0 (left) and 1 (element), as [`Expr::Input`].
    pub compare: Expr,
}

/// What is asked of a subquery.
#[derive(Clone)]
pub enum SubqueryKind {
    /// Its only column of its only row; NULL without a row; 21000 with more.
    Scalar,
    /// Its only row as a record (row subqueries in assignments).
    Row,
    /// `ARRAY(SELECT …)`
    Array(SqlType),
    /// Whether it has a row.
    Exists,
    /// `x op ANY (SELECT …)`, `ALL`: the left side, and the comparison with slots 0.. (left's
    /// fields, then the row's) as [`Expr::Input`].
    Quantified {
        /// `ALL` instead of `ANY`.
        all: bool,
        /// The left side's fields.
        left: Vec<Expr>,
        /// The comparison.
        compare: Expr,
        /// A plain equality of one column: a hash of the rows can answer it.
        hashable: bool,
    },
}

/// A subquery inside an expression.
#[derive(Clone)]
pub struct SubqueryExpr {
    /// What is asked of it.
    pub kind: SubqueryKind,
    /// Its plan.
    pub plan: Arc<Node>,
    /// What it needs of the enclosing row, in the order of its [`Expr::Outer`] numbers.
    pub outer: Vec<Expr>,
    /// The result's type.
    pub ty: SqlType,
    /// Unique within the plan: the key of its cached result.
    pub id: u32,
}

/// The type of one of these expressions, whichever it will be. They have the same type; a modifier
/// counts only if all of them have it.
fn type_of_any(list: &[Expr]) -> SqlType {
    let mut types = list.iter().map(Expr::ty);
    let Some(first) = types.next() else { return SqlType::Unknown };
    if types.all(|ty| ty == first) { first } else { first.bare() }
}

impl Expr {
    /// NULL of a type.
    pub fn null(ty: SqlType) -> Self {
        Expr::Const(Datum::Null, ty)
    }

    /// A boolean constant.
    pub fn bool(value: bool) -> Self {
        Expr::Const(Datum::Bool(value), SqlType::Bool)
    }

    /// The type of the result.
    pub fn ty(&self) -> SqlType {
        match self {
            Expr::Const(_, ty)
            | Expr::Column(_, ty)
            | Expr::Input(_, ty)
            | Expr::Outer(_, ty)
            | Expr::Param(_, ty)
            | Expr::Local(_, ty)
            | Expr::Row(_, ty)
            | Expr::Field(_, _, ty) => ty.clone(),
            Expr::Compare(..)
            | Expr::And(_)
            | Expr::Or(_)
            | Expr::Not(_)
            | Expr::IsNull(_)
            | Expr::IsNullRow(..)
            | Expr::IsBool(..)
            | Expr::IsDistinct(..)
            | Expr::InList(..)
            | Expr::InSet(..)
            | Expr::Quantified(_) => SqlType::Bool,
            Expr::Call(call) => call.returns.clone(),
            Expr::Cast(cast) => cast.to.clone(),
            Expr::Domain(domain) => domain.expr.ty(),
            Expr::Case(case) => case.ty.clone(),
            Expr::Coalesce(list) | Expr::Extreme(_, list) => type_of_any(list),
            Expr::Array(_, element) => element.clone().array(),
            Expr::Subscript(part) => part.ty.clone(),
            Expr::Subquery(subquery) => subquery.ty.clone(),
            Expr::Routine(call) => call.ty.clone(),
            Expr::Let(once) => once.body.ty(),
        }
    }

    /// Calls `f` on each direct child; a subquery's children are what it needs of this row.
    pub fn for_each_child<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        match self {
            Expr::Const(..)
            | Expr::Column(..)
            | Expr::Input(..)
            | Expr::Outer(..)
            | Expr::Param(..)
            | Expr::Local(..) => {}
            Expr::Compare(_, a, b) | Expr::IsDistinct(a, b) => {
                f(a);
                f(b);
            }
            Expr::Call(call) => call.args.iter().for_each(f),
            Expr::Routine(call) => call.args.iter().for_each(f),
            Expr::Cast(cast) => f(&cast.expr),
            Expr::Domain(domain) => f(&domain.expr),
            Expr::And(list)
            | Expr::Or(list)
            | Expr::Coalesce(list)
            | Expr::Extreme(_, list)
            | Expr::Array(list, _)
            | Expr::Row(list, _) => list.iter().for_each(f),
            Expr::Not(e) | Expr::IsNull(e) | Expr::IsBool(e, _) | Expr::Field(e, ..) => f(e),
            Expr::IsNullRow(e, _) => f(e),
            Expr::InSet(e, ..) => f(e),
            Expr::InList(e, list) => {
                f(e);
                list.iter().for_each(f);
            }
            Expr::Case(case) => {
                for (when, then) in &case.whens {
                    f(when);
                    f(then);
                }
                f(&case.otherwise);
            }
            Expr::Quantified(q) => {
                f(&q.left);
                f(&q.array);
            }
            Expr::Subscript(part) => part.children().for_each(f),
            Expr::Let(once) => {
                f(&once.value);
                f(&once.body);
            }
            Expr::Subquery(subquery) => {
                if let SubqueryKind::Quantified { left, .. } = &subquery.kind {
                    left.iter().for_each(&mut *f);
                }
                subquery.outer.iter().for_each(f);
            }
        }
    }

    /// Like [`Expr::for_each_child`], to change the children.
    pub fn for_each_child_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match self {
            Expr::Const(..)
            | Expr::Column(..)
            | Expr::Input(..)
            | Expr::Outer(..)
            | Expr::Param(..)
            | Expr::Local(..) => {}
            Expr::Compare(_, a, b) | Expr::IsDistinct(a, b) => {
                f(a);
                f(b);
            }
            Expr::Call(call) => call.args.iter_mut().for_each(f),
            Expr::Routine(call) => call.args.iter_mut().for_each(f),
            Expr::Cast(cast) => f(&mut cast.expr),
            Expr::Domain(domain) => f(&mut domain.expr),
            Expr::And(list)
            | Expr::Or(list)
            | Expr::Coalesce(list)
            | Expr::Extreme(_, list)
            | Expr::Array(list, _)
            | Expr::Row(list, _) => list.iter_mut().for_each(f),
            Expr::Not(e) | Expr::IsNull(e) | Expr::IsBool(e, _) | Expr::Field(e, ..) => f(e),
            Expr::IsNullRow(e, _) => f(e),
            Expr::InSet(e, ..) => f(e),
            Expr::InList(e, list) => {
                f(e);
                list.iter_mut().for_each(f);
            }
            Expr::Case(case) => {
                for (when, then) in &mut case.whens {
                    f(when);
                    f(then);
                }
                f(&mut case.otherwise);
            }
            Expr::Quantified(q) => {
                f(&mut q.left);
                f(&mut q.array);
            }
            Expr::Subscript(part) => part.children_mut().for_each(f),
            Expr::Let(once) => {
                f(&mut once.value);
                f(&mut once.body);
            }
            Expr::Subquery(subquery) => {
                if let SubqueryKind::Quantified { left, .. } = &mut subquery.kind {
                    left.iter_mut().for_each(&mut *f);
                }
                subquery.outer.iter_mut().for_each(f);
            }
        }
    }

    /// Whether `test` holds for this expression or any below it.
    pub fn any(&self, test: &mut dyn FnMut(&Expr) -> bool) -> bool {
        if test(self) {
            return true;
        }
        let mut found = false;
        self.for_each_child(&mut |child| found = found || child.any(test));
        found
    }

    /// Adds every slot this expression reads, subqueries' outer references included.
    pub fn slots(&self, into: &mut Vec<Slot>) {
        if let Expr::Column(slot, _) = self {
            into.push(*slot);
        }
        self.for_each_child(&mut |child| child.slots(into));
    }

    /// Whether evaluating it may wait for the store or the clock.
    pub fn waits(&self) -> bool {
        self.any(&mut |e| match e {
            Expr::Subquery(_) | Expr::Routine(_) => true,
            Expr::Call(call) => matches!(call.function.eval, braid_builtins::Eval::Special(_)),
            _ => false,
        })
    }

    /// Whether each evaluation may take or give back an advisory lock, or send a notification: it
    /// must be made for rows that are wanted only. A volatile routine may do so.
    pub fn acts_per_row(&self) -> bool {
        self.any(&mut |e| match e {
            Expr::Routine(call) => call.is_volatile(),
            e => matches!(
                e.special(),
                Some(Special::Advisory(_) | Special::Notify | Special::LargeObject(_))
            ),
        })
    }

    /// The special function called here (not below), if it is one.
    pub fn special(&self) -> Option<Special> {
        match self {
            Expr::Call(call) => match call.function.eval {
                braid_builtins::Eval::Special(special) => Some(special),
                braid_builtins::Eval::Pure(_) => None,
            },
            _ => None,
        }
    }

    /// Whether two evaluations on the same row may differ.
    pub fn is_volatile(&self) -> bool {
        self.any(&mut |e| match e {
            Expr::Call(call) => call.function.volatility == Volatility::Volatile,
            Expr::Routine(call) => call.is_volatile(),
            _ => false,
        })
    }

    /// Whether two evaluations on the same row may differ, by what subqueries do too.
    pub fn is_volatile_inside(&self) -> bool {
        self.is_volatile()
            || self.any(&mut |e| matches!(e, Expr::Subquery(s) if s.plan.is_volatile()))
    }

    /// Whether its value depends on its inputs alone: not on the time, the session or the catalog.
    pub fn is_immutable(&self) -> bool {
        !self.any(&mut |e| match e {
            Expr::Call(call) => match call.function.volatility {
                braid_builtins::Volatility::Immutable => false,
                // `text || any` depends on the session as far as what it prints.
                braid_builtins::Volatility::Stable if call.function.name == "||" => {
                    call.types.iter().any(|ty| !cast::prints_alike(ty))
                }
                _ => true,
            },
            Expr::Routine(call) => call.routine.volatility != RoutineVolatility::Immutable,
            // A cast of a constant is a literal.
            Expr::Cast(cast) => {
                !matches!(cast.expr, Expr::Const(..)) && !cast::is_immutable(&cast.from, &cast.to)
            }
            _ => false,
        })
    }
}

impl RoutineExpr {
    /// Whether two calls with the same arguments may differ, or change rows.
    pub fn is_volatile(&self) -> bool {
        self.routine.volatility == RoutineVolatility::Volatile
    }
}

/// The conjuncts of a condition.
pub(crate) fn conjuncts(expr: Expr, into: &mut Vec<Expr>) {
    match expr {
        Expr::And(list) => list.into_iter().for_each(|e| conjuncts(e, into)),
        Expr::Const(Datum::Bool(true), _) => {}
        other => into.push(other),
    }
}

/// The conjunction of conditions; `true` without any.
pub(crate) fn conjunction(mut list: Vec<Expr>) -> Expr {
    match list.len() {
        0 => Expr::bool(true),
        1 => list.remove(0),
        _ => Expr::And(list),
    }
}

/// How much two expressions may differ.
#[derive(Clone, Copy)]
struct Likeness {
    /// Volatile functions may be in them.
    volatile: bool,
    /// `text` and `varchar` are alike.
    relabels: bool,
}

impl Expr {
    /// Whether two expressions are the same computation with the same result.
    pub fn same(&self, other: &Expr) -> bool {
        self.is_like(other, Likeness { volatile: false, relabels: false })
    }

    /// Whether two expressions always have the same value. One of them may be `text` where the
    /// other one is `varchar`.
    pub fn same_value(&self, other: &Expr) -> bool {
        self.is_like(other, Likeness { volatile: false, relabels: true })
    }

    /// Whether two expressions are written alike: volatile functions may be in them, so that
    /// evaluating both may give different results.
    pub fn alike(&self, other: &Expr) -> bool {
        self.is_like(other, Likeness { volatile: true, relabels: false })
    }

    /// The expression inside of casts from `varchar` to `text`, which change no value.
    pub fn unlabelled(&self) -> &Expr {
        match self {
            Expr::Cast(cast)
                if cast.to == SqlType::Text && matches!(cast.expr.ty(), SqlType::Varchar(_)) =>
            {
                cast.expr.unlabelled()
            }
            e => e,
        }
    }

    fn is_like(&self, other: &Expr, how: Likeness) -> bool {
        let (this, other) = match how.relabels {
            true => (self.unlabelled(), other.unlabelled()),
            false => (self, other),
        };
        let is_text = |ty: &SqlType| matches!(ty, SqlType::Text | SqlType::Varchar(_));
        let heads = match (this, other) {
            (Expr::Const(a, ta), Expr::Const(b, tb)) => {
                (ta == tb || (how.relabels && is_text(ta) && is_text(tb)))
                    && a.is_null() == b.is_null()
                    && (a.is_null() || a.compare(b).is_eq())
            }
            (Expr::Column(a, _), Expr::Column(b, _)) => a == b,
            (Expr::Input(a, _), Expr::Input(b, _)) | (Expr::Outer(a, _), Expr::Outer(b, _)) => {
                a == b
            }
            (Expr::Param(a, _), Expr::Param(b, _)) => a == b,
            (Expr::Local(a, _), Expr::Local(b, _)) => a == b,
            (Expr::Compare(a, ..), Expr::Compare(b, ..)) => a == b,
            (Expr::Call(a), Expr::Call(b)) => {
                std::ptr::eq(a.function, b.function)
                    && a.returns == b.returns
                    && (how.volatile || a.function.volatility != Volatility::Volatile)
            }
            (Expr::Routine(a), Expr::Routine(b)) => {
                a.routine.id == b.routine.id && (how.volatile || !a.is_volatile())
            }
            // Only a modifier makes an explicit cast other than an implicit one.
            (Expr::Cast(a), Expr::Cast(b)) => {
                a.to == b.to && (a.explicit == b.explicit || a.to == a.to.bare())
            }
            (Expr::Domain(a), Expr::Domain(b)) => a.rules.id == b.rules.id,
            (Expr::IsBool(_, a), Expr::IsBool(_, b)) => a == b,
            (Expr::IsNullRow(_, a), Expr::IsNullRow(_, b)) => a == b,
            (Expr::Extreme(a, _), Expr::Extreme(b, _)) => a == b,
            (Expr::InSet(_, a, x), Expr::InSet(_, b, y)) => x == y && a == b,
            (Expr::Quantified(a), Expr::Quantified(b)) => {
                a.all == b.all && a.compare.is_like(&b.compare, how)
            }
            (Expr::Field(_, a, _), Expr::Field(_, b, _)) => a == b,
            (Expr::Subscript(a), Expr::Subscript(b)) => a.has_form_of(b),
            (Expr::Subquery(a), Expr::Subquery(b)) => a.id == b.id,
            (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
        };
        if !heads {
            return false;
        }
        let (mut mine, mut theirs) = (Vec::new(), Vec::new());
        this.for_each_child(&mut |child| mine.push(child));
        other.for_each_child(&mut |child| theirs.push(child));
        mine.len() == theirs.len() && mine.iter().zip(theirs).all(|(a, b)| a.is_like(b, how))
    }
}
