//! What the database knows of its objects. Plain data, serialised as JSON into the system keys.
//!
//! Every object has an id from one counter; it is also its oid in the catalog views, so ids start
//! at 16384 like PostgreSQL's. Expressions are kept as SQL text and bound when they are used
//! ([`StoredExpr`]).

mod aggregate;
mod collation;
mod column;
mod foreign_key;
mod ids;
mod index;
mod objects;
mod policy;
mod routine;
mod statistics;
mod stored_expr;
mod table;
mod trigger;
mod types;

pub use aggregate::{AggregateParts, FunctionRef};
pub use collation::{COLLATION_MARK, OwnCollation};
pub use column::{Column, Identity, StoredDatum};
pub use foreign_key::{ForeignKey, ForeignKeyAction};
pub use ids::{ColumnId, FamilyId, Id, IndexNumber};
pub use index::{
    Ancestor, ExcludedKey, Exclusion, ExclusionOperator, Index, IndexKey, IndexState, Interleaving,
    Moving, Passing,
};
pub use objects::{
    CheckOption, Database, DatabaseSetting, DefaultKind, DefaultPrivileges, ExtensionSchema, Grant,
    Materialized, Role, Schema, Sequence, StoredQuery, View, ViewOptions,
};
pub use policy::{Policy, PolicyCommand, PolicyExpr, RowSecurity};
pub use routine::{
    Language, ParameterMode, Routine, RoutineParameter, RoutineResult, RoutineVolatility,
};
pub use statistics::{
    ColumnStatistics, ExtendedStatistics, GroupStatistics, StatisticsKind, TableStatistics,
    ValueStatistics,
};
pub use stored_expr::{IdentifiedExpr, StoredExpr, written_text};
pub use table::{Check, Family, OnCommit, ReplicaIdentity, Table};
pub use trigger::{Trigger, TriggerConstraint, TriggerEvent, TriggerState, TriggerTiming};
pub use types::{Composite, Domain, DomainCheck, Enum, Label, LargeObject, enums_named};
