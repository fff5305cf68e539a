//! The session's user and the roles that statements name.

use std::sync::Arc;

use braid_catalog::{Id, Role};
use braid_sql::ast::Grantee;
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;

/// 42501 with a message.
pub(super) fn denied(message: &str) -> Error {
    Error::new(SqlState::InsufficientPrivilege, message)
}

/// The session's user.
pub(super) fn user_role(cx: &DdlContext<'_>) -> Result<Arc<Role>> {
    let role = cx.catalog().role(cx.user()).cloned();
    role.ok_or_else(|| denied("permission denied"))
}

/// The role that a grantee means; `None` is PUBLIC.
pub(crate) fn grantee(cx: &DdlContext<'_>, grantee: &Grantee) -> Result<Option<Id>> {
    match grantee {
        Grantee::Public => Ok(None),
        Grantee::User(ident) => cx.role(ident).map(Some),
    }
}
