//! The syntax tree: what [`crate::parse`] returns.
//!
//! Queries and scalar expressions are sqlparser's own types, re-exported here so that no other
//! crate depends on that parser. Everything where the dialect differs, or where sqlparser's form
//! is awkward, is a node of ours; a name defined here hides sqlparser's of the same name
//! (`Statement`, `Insert`, `CreateTable`, `With`, …).
//!
//! Positions: the column of a [`Span`]'s start is the 1-based character offset in the whole text
//! given to the parser (the line is always 1), so [`crate::offset_of`] needs no text.

mod ddl;
mod domains;
mod drop_other;
mod objects;
mod options;
mod policies;
mod routines;
mod session;
mod settings;
mod statement;
mod triggers;
mod types;

// The query and expression types are one closed set that sqlparser grows with each release;
// names of ours take precedence over this glob.
pub use sqlparser::ast::helpers::attached_token::AttachedToken;
pub use sqlparser::ast::*;
pub use sqlparser::tokenizer::{Location, Span};

pub use ddl::{
    AlterAction, AlterColumnAction, AlterTable, BoundClause, BoundKind, ColumnConstraint,
    ColumnConstraintKind, ColumnDef, ColumnOptions, CreateIndex, CreateTable, CreateTableLike,
    Exclusion, Family, ForeignKey, IdentityMode, IndexKey, InlineIndex, Interleave, InterleaveKind,
    KeyColumn, PartitionBy, PartitionOfClause, ReferenceAction, TableConstraint,
    TableConstraintKind,
};
pub use domains::{
    AlterDomain, AlterDomainAction, CollationSource, CreateCollation, CreateDomain,
    DomainConstraint, DomainConstraintKind,
};
pub use drop_other::{DropOther, OtherObject};
pub use objects::{
    AlterIndex, AlterIndexAction, AlterSequence, AlterStatistics, AlterTarget, AlterView,
    AlterViewAction, CheckOption, Comment, CommentTarget, CreateDatabase, CreateExtension,
    CreateSequence, CreateStatistics, CreateView, Drop, DropKind, ExtensionStatement, RefreshView,
    Rename, RenameKind, Truncate, ViewOptions,
};
pub use options::{
    CheckClause, ColumnTuning, DropBehavior, LockStrength, MatchKind, ReplicaIdentityClause,
    RowLock, SequenceOption, UniqueRules,
};
pub use policies::{AlterPolicy, CreatePolicy, PolicyCommand, RowSecurityChange};
pub use routines::{
    AggregateOption, AlterRoutine, COLUMN_TYPE, Call, CreateAggregate, CreateRoutine, DoBlock,
    ParameterMode, Returns, RoutineKind, RoutineName, RoutineOption, RoutineParameter,
    StandardBody,
};
pub use session::{
    AlterDatabase, AlterDefaultPrivileges, AlterUser, CopyDirection, CopyFormat, CopyOptions,
    CreateUser, CursorTarget, DeclareCursor, DiscardKind, DropUser, Execute, ExplainFormat,
    FetchCursor, FetchDirection, GrantObjects, GrantPrivileges, Grantee, IsolationLevel, LockTable,
    MaintainedTable, ObjectKind, OwnedBy, Privilege, PrivilegeGrant, Reindex, ReindexTarget,
    RoleGrant, SettingChange, ShowTarget, TableLockMode, TransactionModes, UserOption,
};
pub use settings::{Reset, Set, SetScope, SetValue};
pub use statement::{
    Assignment, AssignmentTarget, AssignmentValue, ConflictAction, ConflictTarget, Copy,
    CopySource, CreateSchema, Cte, CteBody, Delete, Explain, Insert, InsertSource, Merge,
    MergeAction, MergeWhen, OnConflict, Overriding, ParsedStatement, Prepare, Returning, SetSizes,
    Statement, TargetColumn, Update, With,
};
pub use triggers::{
    ConstraintTrigger, CreateTrigger, TransitionName, TriggerChoice, TriggerEvent, TriggerState,
    TriggerTiming,
};
pub use types::{
    AlterType, AlterTypeAction, Attribute, AttributeAction, CreateType, LabelPlace, TypeDefinition,
};
