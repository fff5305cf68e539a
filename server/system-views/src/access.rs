//! What the session's user may see.

use braid_catalog::{Id, Object, READ_ALL_STATS};

use crate::context::VirtualContext;
use crate::runtime::SessionInfo;

/// What stands in the place of a statement that the user may not see.
pub(crate) const HIDDEN_STATEMENT: &str = "<insufficient privilege>";

/// Whether the session's user sees what a role does: a superuser, a member of
/// `pg_read_all_stats`, or somebody who may act as that role.
pub(crate) fn sees_work_of(cx: &VirtualContext<'_>, role: Option<Id>) -> bool {
    let user = cx.catalog.names().role(cx.env.current_user()).map_or(0, |user| user.id);
    cx.catalog.privileges().acts_as(user, READ_ALL_STATS)
        || role.is_some_and(|role| cx.catalog.privileges().acts_as(user, role))
}

/// Every session; the statements that the user may not see are replaced.
pub(crate) fn visible_sessions(cx: &VirtualContext<'_>) -> Vec<SessionInfo> {
    let mut sessions = cx.runtime.sessions();
    for session in &mut sessions {
        let role = cx.catalog.names().role(&session.user).map(|role| role.id);
        if !sees_work_of(cx, role) {
            session.query = HIDDEN_STATEMENT.to_owned();
        }
    }
    sessions
}

/// Whether the session's user may see an object at all: it owns it or has some privilege on it.
pub(crate) fn may_see(cx: &VirtualContext<'_>, object: Object<'_>) -> bool {
    let Some(user) = cx.catalog.names().role(cx.env.current_user()) else { return false };
    let known = cx.catalog.privileges();
    let mut all = object.all_privileges().iter();
    known.acts_as_owner(user.id, object)
        || all.any(|privilege| known.has(user.id, object, privilege))
}

/// Whether the session's user owns an object or may do more with it than read.
pub(crate) fn may_change(cx: &VirtualContext<'_>, object: Object<'_>) -> bool {
    let Some(user) = cx.catalog.names().role(cx.env.current_user()) else { return false };
    let known = cx.catalog.privileges();
    let mut all = object.all_privileges().iter().filter(|privilege| **privilege != "SELECT");
    known.acts_as_owner(user.id, object)
        || all.any(|privilege| known.has(user.id, object, privilege))
}
