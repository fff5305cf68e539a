//! A function or procedure of a user, as it is stored.

use braid_types::SqlType;
use serde::{Deserialize, Serialize};

use super::{Grant, Id, StoredExpr};

/// A function or procedure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Routine {
    /// Its id.
    pub id: Id,
    /// Its database.
    pub database: Id,
    /// Its schema.
    pub schema: Id,
    /// Its name.
    pub name: String,
    /// Its owner.
    pub owner: Id,
    /// Whether it is a procedure.
    pub is_procedure: bool,
    /// Its parameters.
    pub parameters: Vec<RoutineParameter>,
    /// What a call gives.
    pub returns: RoutineResult,
    /// The language of its body.
    pub language: Language,
    /// Its body.
    pub body: String,
    /// Whether two calls with the same arguments may differ.
    pub volatility: RoutineVolatility,
    /// A call with an argument that is NULL gives NULL, and the body does not run.
    pub strict: bool,
    /// LEAKPROOF, which changes nothing here.
    pub leakproof: bool,
    /// PARALLEL, by its letter in `pg_proc`. It changes nothing here.
    pub parallel: char,
    /// COST, which changes nothing here.
    pub cost: Option<f64>,
    /// Privileges granted on it.
    pub grants: Vec<Grant>,
    /// COMMENT ON FUNCTION.
    pub comment: Option<String>,
}

/// A parameter of a routine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RoutineParameter {
    /// Its name.
    pub name: Option<String>,
    /// Its type.
    pub ty: SqlType,
    /// The DEFAULT expression.
    pub default: Option<StoredExpr>,
}

/// What a call gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RoutineResult {
    /// One value.
    Value(SqlType),
    /// Nothing: a procedure.
    Nothing,
    /// The row of a trigger.
    Trigger,
}

/// The language of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Language {
    /// `sql`
    Sql,
    /// `plpgsql`
    Plpgsql,
}

impl Language {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Language::Sql => "sql",
            Language::Plpgsql => "plpgsql",
        }
    }

    /// Its oid in `pg_language`.
    pub fn oid(self) -> u32 {
        match self {
            Language::Sql => 14,
            Language::Plpgsql => 13_563,
        }
    }
}

/// Whether two calls with the same arguments may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RoutineVolatility {
    /// Never.
    Immutable,
    /// Not within one statement.
    Stable,
    /// They may, and the routine may change rows.
    Volatile,
}

impl RoutineVolatility {
    /// Its letter in `pg_proc`.
    pub fn letter(self) -> &'static str {
        match self {
            RoutineVolatility::Immutable => "i",
            RoutineVolatility::Stable => "s",
            RoutineVolatility::Volatile => "v",
        }
    }
}

impl Routine {
    /// Its word in messages.
    pub fn kind(&self) -> &'static str {
        if self.is_procedure { "procedure" } else { "function" }
    }

    /// The type of what a call gives; void for a procedure and for triggers.
    pub fn result_type(&self) -> &SqlType {
        match &self.returns {
            RoutineResult::Value(ty) => ty,
            RoutineResult::Nothing | RoutineResult::Trigger => &SqlType::Void,
        }
    }

    /// Whether triggers call it, and nobody else may.
    pub fn is_for_triggers(&self) -> bool {
        self.returns == RoutineResult::Trigger
    }

    /// The types of its parameters.
    pub fn types(&self) -> impl ExactSizeIterator<Item = &SqlType> + Clone {
        self.parameters.iter().map(|parameter| &parameter.ty)
    }

    /// Whether another list of parameters makes it the same routine for a call.
    pub fn has_types<'t>(&self, types: impl ExactSizeIterator<Item = &'t SqlType>) -> bool {
        self.parameters.len() == types.len() && self.types().zip(types).all(|(a, b)| a.same_base(b))
    }

    /// How many arguments a call has to give.
    pub fn required(&self) -> usize {
        self.parameters.iter().take_while(|parameter| parameter.default.is_none()).count()
    }

    /// Whether a type is that of a parameter or of the result.
    pub fn uses_type(&self, test: impl Fn(&SqlType) -> bool) -> bool {
        self.types().any(&test) || test(self.result_type())
    }
}
