//! What a GRANT or REVOKE does to one ACL, and how much of it the user may do.

use braid_catalog::{Acl, AclItem, ColumnId, Dependents, Id, Object, Rights};
use braid_sql::ast::{DropBehavior, GrantPrivileges};
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;

/// What a statement changes, whatever the object.
pub(crate) struct Change {
    /// REVOKE.
    pub(crate) revokes: bool,
    /// WITH GRANT OPTION, or GRANT OPTION FOR.
    pub(crate) option: bool,
    /// What happens to what was granted by means of a lost grant option.
    pub(crate) dependents: Dependents,
    /// The roles that get or lose the privileges.
    pub(crate) grantees: Vec<Id>,
}

impl Change {
    /// The change that a statement asks for.
    pub(crate) fn of(statement: &GrantPrivileges, revokes: bool, grantees: Vec<Id>) -> Self {
        let option = statement.grant_option;
        Change { revokes, option, dependents: dependents(statement.behavior), grantees }
    }

    /// Takes everything from some roles, and what they granted with it.
    pub(crate) fn revoke_all(grantees: Vec<Id>) -> Self {
        Change { revokes: true, option: false, dependents: Dependents::Revoke, grantees }
    }

    /// Changes an ACL in the name of a grantor.
    pub(crate) fn apply(
        &self,
        cx: &DdlContext<'_>,
        acl: &mut Acl,
        grantor: Id,
        rights: Rights,
    ) -> Result<()> {
        let catalog = cx.catalog();
        let known = catalog.privileges();
        // REVOKE of a privilege takes its grant option as well; GRANT OPTION FOR only that.
        let (without, all) = (Rights::NONE, rights);
        let (rights, options) = match (self.revokes, self.option) {
            (false, false) => (all, without),
            (true, true) => (without, all),
            (false, true) | (true, false) => (all, all),
        };
        for grantee in &self.grantees {
            let item = AclItem { grantee: *grantee, grantor, rights, options };
            match self.revokes {
                true => acl.revoke(known, item, self.dependents)?,
                false => acl.grant(known, item)?,
            }
        }
        Ok(())
    }
}

/// What CASCADE and RESTRICT mean for privileges.
pub(crate) fn dependents(behavior: DropBehavior) -> Dependents {
    match behavior {
        DropBehavior::Cascade => Dependents::Revoke,
        DropBehavior::Restrict => Dependents::Refuse,
    }
}

/// What an ACL is of.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) object: Object<'a>,
    /// The column's number and name.
    pub(crate) column: Option<(ColumnId, &'a str)>,
}

impl Subject<'_> {
    /// Its name in warnings.
    fn name(&self) -> String {
        let (kind, name) = self.object.describe();
        match (self.column, self.object) {
            (Some((_, column)), _) => format!("column \"{column}\" of relation \"{name}\""),
            (None, Object::LargeObject(_)) => format!("\"{kind} {name}\""),
            (None, _) => format!("\"{name}\""),
        }
    }

    /// 42501 unless a role has any privilege on it.
    fn check_any(&self, cx: &DdlContext<'_>, role: Id) -> Result<()> {
        let catalog = cx.catalog();
        let known = catalog.privileges();
        let Some((id, column)) = self.column else {
            let all = self.object.all_privileges();
            return match all.iter().any(|name| known.has(role, self.object, name)) {
                true => Ok(()),
                false => Err(known.denied(self.object)),
            };
        };
        let mut all = Rights::of_columns().names();
        if all.any(|name| known.has_on_column(role, self.object, id, name)) {
            return Ok(());
        }
        let (_, relation) = self.object.describe();
        let message =
            format!("permission denied for column \"{column}\" of relation \"{relation}\"");
        Err(Error::new(SqlState::InsufficientPrivilege, message))
    }

    /// Those of the wanted privileges that the grantor may grant or revoke; a warning about the
    /// others, unless the user asked for whatever there is. 42501 if the grantor may do nothing at
    /// all with the object.
    pub(crate) fn permitted(
        &self,
        cx: &mut DdlContext<'_>,
        (grantor, options): (Id, Rights),
        (wanted, is_all): (Rights, bool),
        revokes: bool,
    ) -> Result<Rights> {
        if options.is_empty() {
            self.check_any(cx, grantor)?;
        }
        let permitted = wanted.within(options);
        let amount = match permitted {
            Rights::NONE => "no",
            _ if !is_all && permitted != wanted => "not all",
            _ => return Ok(permitted),
        };
        let (state, verb) = match revokes {
            true => (SqlState::PrivilegeNotRevoked, "could be revoked"),
            false => (SqlState::PrivilegeNotGranted, "were granted"),
        };
        cx.notice(state, format!("{amount} privileges {verb} for {}", self.name()));
        Ok(permitted)
    }
}
