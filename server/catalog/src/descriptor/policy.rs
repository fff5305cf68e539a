//! Row-level security of a table, as it is stored with that.

use serde::{Deserialize, Serialize};

use super::{ColumnId, Id, StoredExpr};

/// Whether row-level security is on, and the policies.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RowSecurity {
    /// ENABLE ROW LEVEL SECURITY.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub enabled: bool,
    /// FORCE ROW LEVEL SECURITY: the policies hold for the owner as well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forced: bool,
    /// The policies, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<Policy>,
}

/// A policy: which rows certain roles may see or write.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Policy {
    /// Its oid.
    pub id: Id,
    /// Its name, which no other policy of the table has.
    pub name: String,
    /// Of permissive policies one has to hold, of restrictive ones all.
    pub permissive: bool,
    /// The statements that it is for.
    pub command: PolicyCommand,
    /// The roles that it is for; 0 is PUBLIC.
    pub roles: Vec<Id>,
    /// USING: the condition on rows that are there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub using: Option<PolicyExpr>,
    /// WITH CHECK: the condition on rows that are written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<PolicyExpr>,
    /// COMMENT ON POLICY.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// A condition of a policy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PolicyExpr {
    /// The condition over the table's row.
    pub expr: StoredExpr,
    /// What its subqueries and calls name, with the columns that they read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<(Id, Vec<ColumnId>)>,
}

/// The statements that a policy is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PolicyCommand {
    /// All of them.
    All,
    /// SELECT.
    Select,
    /// INSERT.
    Insert,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
}

impl PolicyCommand {
    /// Its letter in `pg_policy`.
    pub fn letter(self) -> &'static str {
        match self {
            PolicyCommand::All => "*",
            PolicyCommand::Select => "r",
            PolicyCommand::Insert => "a",
            PolicyCommand::Update => "w",
            PolicyCommand::Delete => "d",
        }
    }

    /// Its word in `pg_policies`.
    pub fn word(self) -> &'static str {
        match self {
            PolicyCommand::All => "ALL",
            PolicyCommand::Select => "SELECT",
            PolicyCommand::Insert => "INSERT",
            PolicyCommand::Update => "UPDATE",
            PolicyCommand::Delete => "DELETE",
        }
    }
}

impl Policy {
    /// Its conditions.
    pub fn conditions(&self) -> impl Iterator<Item = &PolicyExpr> {
        self.using.iter().chain(&self.check)
    }

    /// Whether a condition names a relation or a routine.
    pub fn uses(&self, id: Id) -> bool {
        self.conditions().any(|condition| condition.uses.iter().any(|(used, _)| *used == id))
    }

    /// Whether a subquery of a condition reads a column of a relation.
    pub fn reads(&self, relation: Id, column: ColumnId) -> bool {
        let is_it =
            |(used, columns): &(Id, Vec<ColumnId>)| *used == relation && columns.contains(&column);
        self.conditions().any(|condition| condition.uses.iter().any(is_it))
    }
}

impl RowSecurity {
    /// Whether nothing of it was ever set.
    pub(super) fn is_default(&self) -> bool {
        !self.enabled && !self.forced && self.policies.is_empty()
    }
}
