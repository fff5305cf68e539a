//! Window functions: their names and types. `exec` evaluates them; every aggregate can be used
//! with OVER as well.

use braid_types::{Result, SqlType};

use crate::registry::resolve::{
    Candidate, Selection, ambiguous_function, bind_one, no_function, select,
};
use crate::{Arg, Returns};

/// Which window function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WindowKind {
    /// `row_number()`
    RowNumber,
    /// `rank()`
    Rank,
    /// `dense_rank()`
    DenseRank,
    /// `percent_rank()`
    PercentRank,
    /// `cume_dist()`
    CumeDist,
    /// `ntile(int4)`
    Ntile,
    /// `lag(value [, offset [, default]])`
    Lag,
    /// `lead(value [, offset [, default]])`
    Lead,
    /// `first_value(value)`
    FirstValue,
    /// `last_value(value)`
    LastValue,
    /// `nth_value(value, n)`
    NthValue,
}

/// What resolution found.
#[derive(Clone, Debug)]
pub struct ResolvedWindow {
    /// Which function.
    pub kind: WindowKind,
    /// The types that the arguments are to be cast to.
    pub arg_types: Vec<SqlType>,
    /// The type of its result.
    pub returns: SqlType,
}

type Overload = (Vec<Arg>, Returns);

fn overloads(kind: WindowKind) -> Vec<Overload> {
    let int4 = || Arg::Is(SqlType::Int4);
    match kind {
        WindowKind::RowNumber | WindowKind::Rank | WindowKind::DenseRank => {
            vec![(vec![], Returns::Is(SqlType::Int8))]
        }
        WindowKind::PercentRank | WindowKind::CumeDist => {
            vec![(vec![], Returns::Is(SqlType::Float8))]
        }
        WindowKind::Ntile => vec![(vec![int4()], Returns::Is(SqlType::Int4))],
        WindowKind::Lag | WindowKind::Lead => vec![
            (vec![Arg::Element], Returns::Element),
            (vec![Arg::Element, int4()], Returns::Element),
            (vec![Arg::Compatible, int4(), Arg::Compatible], Returns::Compatible),
        ],
        WindowKind::FirstValue | WindowKind::LastValue => {
            vec![(vec![Arg::Element], Returns::Element)]
        }
        WindowKind::NthValue => vec![(vec![Arg::Element, int4()], Returns::Element)],
    }
}

fn kind(name: &str) -> Option<WindowKind> {
    Some(match name {
        "row_number" => WindowKind::RowNumber,
        "rank" => WindowKind::Rank,
        "dense_rank" => WindowKind::DenseRank,
        "percent_rank" => WindowKind::PercentRank,
        "cume_dist" => WindowKind::CumeDist,
        "ntile" => WindowKind::Ntile,
        "lag" => WindowKind::Lag,
        "lead" => WindowKind::Lead,
        "first_value" => WindowKind::FirstValue,
        "last_value" => WindowKind::LastValue,
        "nth_value" => WindowKind::NthValue,
        _ => return None,
    })
}

/// Whether a name is a window function's and nothing else's.
pub fn is_window(name: &str) -> bool {
    kind(name).is_some()
}

/// Finds a window function; `None` if there is none of that name, 42883 if its arguments do not
/// fit.
pub fn resolve_window(name: &str, args: &[SqlType]) -> Result<Option<ResolvedWindow>> {
    let Some(kind) = kind(name) else { return Ok(None) };
    let candidates = overloads(kind)
        .into_iter()
        .filter(|(wanted, _)| wanted.len() == args.len())
        .map(|(wanted, returns)| Candidate { item: returns, args: wanted })
        .collect();
    match select(candidates, args) {
        Selection::None => Err(no_function(name, args)),
        Selection::Many => Err(ambiguous_function(name, args)),
        Selection::One(found) => {
            let (arg_types, returns) = bind_one(&found.args, args, &found.item)?;
            Ok(Some(ResolvedWindow { kind, arg_types, returns }))
        }
    }
}
