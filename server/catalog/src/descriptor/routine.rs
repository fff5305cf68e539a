//! A function, procedure or aggregate of a user, as it is stored.

use braid_types::SqlType;
use serde::{Deserialize, Serialize};

use super::{AggregateParts, Grant, Id, StoredExpr};

/// A function, procedure or aggregate.
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
    /// What makes it an aggregate; it has no body then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregate: Option<Box<AggregateParts>>,
    /// Its parameters.
    pub parameters: Vec<RoutineParameter>,
    /// What a call gives; of a set each of its rows.
    pub returns: RoutineResult,
    /// The domain of what a call gives; the type is then the one below the domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_domain: Option<Id>,
    /// Whether a call gives a set of rows.
    #[serde(default)]
    pub returns_set: bool,
    /// The language of its body.
    pub language: Language,
    /// Its body.
    pub body: String,
    /// The body is no string but statements: whether it is written as `RETURN expression`.
    #[serde(default)]
    pub standard: Option<bool>,
    /// The relations and routines that such a body names.
    #[serde(default)]
    pub uses: Vec<Id>,
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
    /// ROWS, which changes nothing here.
    #[serde(default)]
    pub rows: Option<f64>,
    /// Whether it runs with the privileges of its owner.
    #[serde(default)]
    pub security_definer: bool,
    /// The settings that hold while it runs, in the order of their names.
    #[serde(default)]
    pub settings: Vec<(String, String)>,
    /// Its types are those of one call: no polymorphic one is left.
    #[serde(skip)]
    pub is_of_call: bool,
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
    /// The domain that its values belong to; the type is then the one below the domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<Id>,
    /// The DEFAULT expression.
    pub default: Option<StoredExpr>,
    /// Which way it goes.
    #[serde(default)]
    pub mode: ParameterMode,
}

/// Which way a parameter goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ParameterMode {
    /// `IN`
    #[default]
    In,
    /// `OUT`
    Out,
    /// `INOUT`
    InOut,
    /// `VARIADIC`: an array of any number of arguments.
    Variadic,
    /// A column of `RETURNS TABLE`.
    Table,
}

impl ParameterMode {
    /// Whether a call gives it a value.
    pub fn is_input(self) -> bool {
        matches!(self, ParameterMode::In | ParameterMode::InOut | ParameterMode::Variadic)
    }

    /// Whether it is part of the result.
    pub fn is_output(self) -> bool {
        matches!(self, ParameterMode::Out | ParameterMode::InOut | ParameterMode::Table)
    }

    /// Its letter in `pg_proc`.
    pub fn letter(self) -> &'static str {
        match self {
            ParameterMode::In => "i",
            ParameterMode::Out => "o",
            ParameterMode::InOut => "b",
            ParameterMode::Variadic => "v",
            ParameterMode::Table => "t",
        }
    }
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
    /// `internal`: it is built in, and has no body.
    Internal,
}

impl Language {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Language::Sql => "sql",
            Language::Plpgsql => "plpgsql",
            Language::Internal => "internal",
        }
    }

    /// Its oid in `pg_language`.
    pub fn oid(self) -> u32 {
        match self {
            Language::Sql => 14,
            Language::Plpgsql => 13_563,
            Language::Internal => 12,
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
    /// Whether it is an aggregate that calls this function.
    pub fn is_aggregate_of(&self, function: Id) -> bool {
        let mut parts = self.aggregate.iter().flat_map(|parts| parts.functions());
        parts.any(|part| part.routine() == Some(function))
    }

    /// Its word in messages.
    pub fn kind(&self) -> &'static str {
        match (&self.aggregate, self.is_procedure) {
            (Some(_), _) => "aggregate",
            (None, true) => "procedure",
            (None, false) => "function",
        }
    }

    /// The type of what a call gives; void for a procedure and for triggers.
    pub fn result_type(&self) -> &SqlType {
        match &self.returns {
            RoutineResult::Value(ty) => ty,
            RoutineResult::Nothing | RoutineResult::Trigger => &SqlType::Void,
        }
    }

    /// The parameters that a call gives values to.
    pub fn inputs(&self) -> impl Iterator<Item = &RoutineParameter> + Clone {
        self.parameters.iter().filter(|parameter| parameter.mode.is_input())
    }

    /// The parameters that are part of the result.
    pub fn outputs(&self) -> impl Iterator<Item = &RoutineParameter> + Clone {
        self.parameters.iter().filter(|parameter| parameter.mode.is_output())
    }

    /// The parameters for which a call has arguments. CALL has one for each.
    pub fn of_call(&self) -> impl Iterator<Item = &RoutineParameter> + Clone {
        let all = self.is_procedure;
        self.parameters.iter().filter(move |parameter| all || parameter.mode.is_input())
    }

    /// Whether triggers call it, and nobody else may.
    pub fn is_for_triggers(&self) -> bool {
        self.returns == RoutineResult::Trigger
    }

    /// The types of the parameters that a call gives values to.
    pub fn types(&self) -> impl Iterator<Item = &SqlType> + Clone {
        self.inputs().map(|parameter| &parameter.ty)
    }

    /// Whether another list of parameters makes it the same routine for a call.
    pub fn has_types<'t>(&self, mut types: impl Iterator<Item = &'t SqlType>) -> bool {
        self.types().all(|own| types.next().is_some_and(|ty| own.same_base(ty)))
            && types.next().is_none()
    }

    /// The element type of the parameter that takes any number of arguments.
    pub fn variadic(&self) -> Option<&SqlType> {
        let last = self.inputs().last()?;
        (last.mode == ParameterMode::Variadic).then_some(&last.ty)
    }

    /// Whether a parameter has a type that each call decides: a polymorphic one, or any row.
    pub fn is_polymorphic(&self) -> bool {
        let is_any_row = |ty: &SqlType| match ty {
            SqlType::Record(row) => row.is_empty() && row.name().is_none(),
            _ => false,
        };
        self.parameters.iter().any(|parameter| {
            matches!(parameter.ty, SqlType::Any(_))
                || (parameter.mode.is_input() && is_any_row(&parameter.ty))
        })
    }

    /// Whether values of a domain are given to it or come from it.
    pub fn uses_domain(&self, domain: Id) -> bool {
        let mut parameters = self.parameters.iter();
        self.result_domain == Some(domain) || parameters.any(|known| known.domain == Some(domain))
    }

    /// Whether a type is that of a parameter or of the result.
    pub fn uses_type(&self, test: impl Fn(&SqlType) -> bool) -> bool {
        self.parameters.iter().any(|parameter| test(&parameter.ty))
            || test(self.result_type())
            || self.aggregate.as_ref().is_some_and(|parts| test(&parts.state))
    }
}
