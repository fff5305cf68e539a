//! `DROP` of kinds of objects that users cannot make here.

use super::{DataType, DropBehavior, Ident, ObjectName, RoutineName};

/// `DROP` of objects of a kind that has no objects of users.
#[derive(Debug, Clone, PartialEq)]
pub struct DropOther {
    /// The command, such as `DROP FUNCTION`.
    pub tag: &'static str,
    /// What messages call the kind, such as `function`.
    pub kind: &'static str,
    /// The objects.
    pub items: Vec<OtherObject>,
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// `CASCADE` or `RESTRICT`.
    pub behavior: DropBehavior,
}

/// How a `DROP` names an object.
#[derive(Debug, Clone, PartialEq)]
pub enum OtherObject {
    /// By a name of its own in the database: a language, a publication.
    Global(Ident),
    /// By a name in a schema: a collation, a text search parser.
    Named(ObjectName),
    /// A type or a domain.
    Type(DataType),
    /// A function, procedure, aggregate or routine.
    Routine(RoutineName),
    /// By a name of its own on a table: a trigger, a rule, a policy.
    OnTable {
        /// Its name.
        name: Ident,
        /// The table.
        table: ObjectName,
    },
    /// An operator.
    Operator {
        /// The schema, where one is written.
        schema: Option<Ident>,
        /// Its symbol.
        symbol: String,
        /// The left operand's type; `None` is `NONE`.
        left: Option<DataType>,
        /// The right operand's type.
        right: DataType,
    },
    /// An operator class or family.
    OperatorClass {
        /// Its name.
        name: ObjectName,
        /// The access method.
        method: Ident,
    },
    /// A cast.
    Cast {
        /// The source type.
        from: DataType,
        /// The target type.
        to: DataType,
    },
    /// A transform.
    Transform {
        /// The type.
        data_type: DataType,
        /// The language.
        language: Ident,
    },
    /// A user mapping.
    UserMapping {
        /// The user.
        user: Ident,
        /// The server.
        server: Ident,
    },
}
