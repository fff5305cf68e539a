//! ALTER, COMMENT ON, GRANT and REVOKE of large objects.

use braid_catalog::{LargeObject, Object, Owned};
use braid_exec::{large_object, put_large_object};
use braid_sql::ast::{GrantPrivileges, Ident};
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::names::owner::check_new_owner;
use crate::roles::grant::{Change, Subject, change_acl, check_grantor, grantees, names_of};

/// The object of that number; 42704 if there is none.
async fn find(cx: &DdlContext<'_>, object: u32) -> Result<LargeObject> {
    large_object(cx.exec, object).await?.ok_or_else(|| {
        let message = format!("large object {object} does not exist");
        Error::new(SqlState::UndefinedObject, message)
    })
}

/// `ALTER LARGE OBJECT … OWNER TO`
pub(crate) async fn set_owner(cx: &mut DdlContext<'_>, object: u32, role: &Ident) -> Result<()> {
    let mut found = find(cx, object).await?;
    cx.check_owner(Object::LargeObject(&found))?;
    let owner = cx.role(role)?;
    check_new_owner(cx, owner)?;
    found.set_owner(owner);
    put_large_object(cx.exec, &found)
}

/// `COMMENT ON LARGE OBJECT`
pub(crate) async fn comment(
    cx: &mut DdlContext<'_>,
    object: u32,
    text: Option<String>,
) -> Result<()> {
    let found = find(cx, object).await?;
    cx.check_owner(Object::LargeObject(&found))?;
    let comment = text.filter(|text| !text.is_empty());
    put_large_object(cx.exec, &LargeObject { comment, ..found })
}

/// `GRANT … ON LARGE OBJECT`, or REVOKE.
pub(crate) async fn grant(
    cx: &mut DdlContext<'_>,
    statement: &GrantPrivileges,
    objects: &[u32],
    revokes: bool,
) -> Result<()> {
    check_grantor(cx, statement.granted_by.as_ref())?;
    let roles = grantees(cx, &statement.grantees, statement.grant_option && !revokes)?;
    let change = Change::of(statement, revokes, roles);
    for object in objects {
        let found = find(cx, *object).await?;
        let known = Object::LargeObject(&found);
        if statement.privileges.iter().any(|granted| !granted.columns.is_empty()) {
            let message = "column privileges are only valid for relations";
            return Err(Error::new(SqlState::InvalidGrantOperation, message));
        }
        let all = Some(known.all_privileges());
        let rights = names_of(&statement.privileges, all, "large object")?;
        let subject = Subject { object: known, column: None };
        let grants = change_acl(cx, subject, (rights, statement.privileges.is_empty()), &change)?;
        put_large_object(cx.exec, &LargeObject { grants, ..found })?;
    }
    Ok(())
}
