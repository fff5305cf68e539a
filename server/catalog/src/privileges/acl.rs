//! An ACL taken apart: who granted what to whom. GRANT, REVOKE and new owners change it.
//!
//! ```text
//!   owner ──SELECT*──▶ ann ──SELECT──▶ bob     `*` is the grant option
//!                      └─ without ann's option, what ann granted goes as well
//! ```
//!
//! Rules, PostgreSQL's: there is one item for each pair of grantee and grantor. An owner can grant
//! everything, even without the privilege itself. No chain of grant options is a circle.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use braid_types::text::acl_role;
use braid_types::{Error, Result, SqlState};

use super::rights::Rights;
use super::{Object, Privileges};
use crate::{ColumnId, DATABASE_OWNER, DefaultKind, DefaultPrivileges, Grant, Id, PUBLIC};

/// What one role granted to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AclItem {
    /// Who has the privileges; [`PUBLIC`] is everybody.
    pub grantee: Id,
    /// Who granted them.
    pub grantor: Id,
    /// The privileges.
    pub rights: Rights,
    /// Those that the grantee may grant on.
    pub options: Rights,
}

/// How a REVOKE treats what was granted by means of the lost grant options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dependents {
    /// 2BP01 if there is something of the kind.
    Refuse,
    /// It is revoked as well.
    Revoke,
}

/// The ACL of an object, of a column, or of default privileges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acl {
    owner: Id,
    /// The database of the object; its owner is the one member of `pg_database_owner`.
    database: Option<Id>,
    /// Whether the owner has all privileges where the stored grants have no item of the owner.
    is_whole: bool,
    items: Vec<AclItem>,
}

/// Whether stored grants have the owner's own item. Without one the owner has every privilege.
pub(super) fn lists_owner(owner: Id, grants: &[Grant]) -> bool {
    grants.iter().any(|grant| grant.role == owner && grant.grantor == Some(owner))
}

/// The items of stored grants. A grant without a grantor is the owner's.
fn items_of(owner: Id, grants: &[Grant]) -> Vec<AclItem> {
    let mut items: Vec<AclItem> = Vec::with_capacity(grants.len());
    let mut places: HashMap<(Id, Id), usize> = HashMap::with_capacity(grants.len());
    for grant in grants {
        let rights = Rights::of(grant.privileges.iter().map(String::as_str));
        let options = if grant.grant_option { rights } else { Rights::NONE };
        let grantor = grant.grantor.unwrap_or(owner);
        let item = AclItem { grantee: grant.role, grantor, rights, options };
        match places.entry((grant.role, grantor)) {
            Entry::Vacant(place) => {
                place.insert(items.len());
                items.push(item);
            }
            Entry::Occupied(place) => items[*place.get()].add(item),
        }
    }
    items.retain(|item| !item.rights.is_empty());
    items
}

/// Adds what an item has to the one of the same two roles.
fn merge(items: &mut Vec<AclItem>, item: AclItem) {
    let same = |known: &&mut AclItem| known.is_of(item);
    match items.iter_mut().find(same) {
        Some(known) => known.add(item),
        None => items.push(item),
    }
}

/// The role and those whose privileges it has in a database, in the order in which PostgreSQL
/// looks for a grantor: nearer memberships first, and older roles before younger ones.
fn roles_in_order(known: Privileges<'_>, role: Id, database: Option<Id>) -> Vec<Id> {
    let mut roles = vec![role];
    let mut next = 0;
    while let Some(role) = roles.get(next).and_then(|role| known.catalog.role(*role)) {
        let inherits = if role.no_inherit { &[][..] } else { &role.member_of };
        let mut parents = inherits.to_vec();
        parents.sort_unstable();
        let owned = database.and_then(|database| known.catalog.database(database));
        if owned.is_some_and(|database| database.owner == role.id) {
            parents.push(DATABASE_OWNER);
        }
        for parent in parents {
            if !roles.contains(&parent) {
                roles.push(parent);
            }
        }
        next += 1;
    }
    roles
}

impl AclItem {
    /// Adds what another item of the same roles has.
    fn add(&mut self, other: AclItem) {
        self.rights = self.rights.with(other.rights);
        self.options = self.options.with(other.options);
    }

    /// Whether both items have the same grantee and grantor.
    fn is_of(&self, other: AclItem) -> bool {
        (self.grantee, self.grantor) == (other.grantee, other.grantor)
    }
}

impl Acl {
    /// The ACL of an object.
    pub fn of(object: Object<'_>) -> Self {
        let all = Rights::of(object.all_privileges().iter().copied());
        Acl::whole((object.owner(), object.database()), object.grants(), all)
    }

    /// The ACL of a column alone.
    pub fn of_column(object: Object<'_>, column: ColumnId) -> Self {
        let part = Acl::of_part(object.owner(), object.column_grants(column));
        Acl { database: object.database(), ..part }
    }

    /// The ACL of the row type of a table or view.
    pub fn of_row_type(owner: Id) -> Self {
        let usage = Rights::of(["USAGE"]);
        Acl::whole((owner, None), &DefaultKind::Types.built_in_grants(), usage)
    }

    /// The ACL of default privileges. That for one schema has only what is added there.
    pub fn of_default(entry: &DefaultPrivileges) -> Self {
        let all = Rights::of(entry.kind.all_privileges().iter().copied());
        match entry.schema {
            None => Acl::whole((entry.role, None), &entry.grants, all),
            Some(_) => Acl::of_part(entry.role, &entry.grants),
        }
    }

    /// An ACL in which the owner has all privileges, unless the grants say what the owner has.
    pub(super) fn whole((owner, database): (Id, Option<Id>), grants: &[Grant], all: Rights) -> Acl {
        let mut items = items_of(owner, grants);
        if !lists_owner(owner, grants) {
            items.retain(|item| (item.grantee, item.grantor) != (owner, owner));
            // PostgreSQL begins with what everybody may do from the start, then has the owner.
            let is_public = |item: &AclItem| (item.grantee, item.grantor) == (PUBLIC, owner);
            let shared = Rights::of(["EXECUTE", "TEMPORARY", "CONNECT"]);
            let is_shared = !all.within(shared).is_empty() || all == Rights::of(["USAGE"]);
            let is_first = is_shared && items.first().is_some_and(is_public);
            let own =
                AclItem { grantee: owner, grantor: owner, rights: all, options: Rights::NONE };
            items.insert(usize::from(is_first), own);
        }
        Acl { owner, database, is_whole: true, items }
    }

    /// An ACL in which the owner has only what the grants say.
    pub(super) fn of_part(owner: Id, grants: &[Grant]) -> Acl {
        Acl { owner, database: None, is_whole: false, items: items_of(owner, grants) }
    }

    /// The items, as an ACL lists them.
    pub fn items(&self) -> &[AclItem] {
        &self.items
    }

    /// The items as PostgreSQL prints them.
    pub(super) fn texts(&self, known: Privileges<'_>) -> Vec<String> {
        let name = |role| acl_role(&known.catalog.role_name(role));
        let text = |item: &AclItem| {
            let grantee = if item.grantee == PUBLIC { String::new() } else { name(item.grantee) };
            let mut letters = String::new();
            for (privilege, letter) in item.rights.members() {
                letters.push(letter);
                if !item.options.within(Rights::of([privilege])).is_empty() {
                    letters.push('*');
                }
            }
            format!("{grantee}={letters}/{}", name(item.grantor))
        };
        self.items.iter().map(text).collect()
    }

    /// The items in the order of their roles, in which PostgreSQL compares and merges ACLs.
    pub(super) fn sort(&mut self) {
        self.items.sort();
    }

    /// Adds the items of another ACL to those of the same roles.
    pub(super) fn absorb(&mut self, other: &Acl) {
        other.items.iter().for_each(|item| merge(&mut self.items, *item));
    }

    /// The ACL as descriptors keep it. An owner who has nothing is an item without privileges.
    pub fn stored(&self) -> Vec<Grant> {
        let mut grants = Vec::with_capacity(self.items.len());
        let mut add = |item: &AclItem, rights: Rights, grant_option| {
            let privileges = rights.names().map(str::to_owned).collect();
            let (role, grantor) = (item.grantee, Some(item.grantor));
            grants.push(Grant { role, privileges, grant_option, grantor });
        };
        for item in &self.items {
            let plain = item.rights.without(item.options);
            if !plain.is_empty() {
                add(item, plain, false);
            }
            if !item.options.is_empty() {
                add(item, item.options, true);
            }
        }
        if self.is_whole && !lists_owner(self.owner, &grants) {
            let (role, grantor) = (self.owner, Some(self.owner));
            grants.push(Grant { role, privileges: Vec::new(), grant_option: false, grantor });
        }
        grants
    }

    /// The ACL with the items of another one beside its own, to look for a grantor.
    #[must_use]
    pub fn beside(mut self, other: &Acl) -> Self {
        self.items.extend(&other.items);
        self
    }

    /// The ACL after the owner was replaced in every item.
    #[must_use]
    pub(super) fn of_new_owner(self, owner: Id) -> Self {
        let new = |role: Id| if role == self.owner { owner } else { role };
        let mut items = Vec::with_capacity(self.items.len());
        for item in &self.items {
            let (grantee, grantor) = (new(item.grantee), new(item.grantor));
            merge(&mut items, AclItem { grantee, grantor, ..*item });
        }
        Acl { owner, items, ..self }
    }

    /// Which of some privileges a role may grant on, by itself and not as a member of others.
    fn own_options(&self, role: Id, wanted: Rights) -> Rights {
        if role == self.owner {
            return wanted;
        }
        let own = self.items.iter().filter(|item| item.grantee == role);
        own.fold(Rights::NONE, |all, item| all.with(item.options)).within(wanted)
    }

    /// Which of some privileges a role may grant on, also as a member of others.
    pub fn options_of(&self, known: Privileges<'_>, role: Id, wanted: Rights) -> Rights {
        let is_of = |other| known.acts_in(role, other, self.database);
        if is_of(self.owner) {
            return wanted;
        }
        let meant = self.items.iter().filter(|item| is_of(item.grantee));
        meant.fold(Rights::NONE, |all, item| all.with(item.options)).within(wanted)
    }

    /// The role in whose name a user grants or revokes privileges, and those that it may grant on.
    ///
    /// That is the owner for a superuser, else a role of the user's that may grant all of them,
    /// else the one that may grant most of them.
    pub fn grantor(&self, known: Privileges<'_>, user: Id, wanted: Rights) -> (Id, Rights) {
        if user == self.owner || known.is_superuser(user) {
            return (self.owner, wanted);
        }
        let mut best = (user, Rights::NONE);
        for role in roles_in_order(known, user, self.database) {
            let options = self.own_options(role, wanted);
            if options == wanted {
                return (role, options);
            }
            if options.count() > best.1.count() {
                best = (role, options);
            }
        }
        best
    }

    /// Grants. 0LP01 if a grant option would come back to a role that the grantor has it from.
    pub fn grant(&mut self, known: Privileges<'_>, item: AclItem) -> Result<()> {
        self.refuse_circle(known, item)?;
        merge(&mut self.items, item);
        self.items.retain(|item| !item.rights.is_empty());
        Ok(())
    }

    /// Revokes the privileges of the item, and its grant options.
    pub fn revoke(
        &mut self,
        known: Privileges<'_>,
        item: AclItem,
        dependents: Dependents,
    ) -> Result<()> {
        let Some(place) = self.items.iter().position(|known| known.is_of(item)) else {
            return Ok(());
        };
        let changed = &mut self.items[place];
        let lost = changed.options.within(item.options);
        changed.rights = changed.rights.without(item.rights);
        changed.options = changed.options.without(item.options);
        if changed.rights.is_empty() {
            self.items.remove(place);
        }
        self.revoke_dependents(known, (item.grantee, lost), dependents)
    }

    /// Revokes what a role has granted with options that it has lost, unless it has them from
    /// another grantor as well.
    fn revoke_dependents(
        &mut self,
        known: Privileges<'_>,
        (role, lost): (Id, Rights),
        dependents: Dependents,
    ) -> Result<()> {
        let lost = lost.without(self.options_of(known, role, lost));
        if lost.is_empty() {
            return Ok(());
        }
        let is_lost =
            |item: &&AclItem| item.grantor == role && !item.rights.within(lost).is_empty();
        while let Some(found) = self.items.iter().find(is_lost).copied() {
            if dependents == Dependents::Refuse {
                let message = "dependent privileges exist";
                return Err(Error::new(SqlState::DependentObjectsStillExist, message)
                    .hint("Use CASCADE to revoke them too."));
            }
            self.revoke(known, AclItem { rights: lost, options: lost, ..found }, dependents)?;
        }
        Ok(())
    }

    /// 0LP01 if the grantor has the options of the item only by grace of the grantee.
    fn refuse_circle(&self, known: Privileges<'_>, item: AclItem) -> Result<()> {
        if item.options.is_empty() || item.grantor == self.owner {
            return Ok(());
        }
        let mut without = self.clone();
        let has_option =
            |known: &&AclItem| known.grantee == item.grantee && !known.options.is_empty();
        while let Some(found) = without.items.iter().find(has_option).copied() {
            without.revoke(known, found, Dependents::Revoke)?;
        }
        let own = without.options_of(known, item.grantor, item.options);
        if item.options.without(own).is_empty() {
            return Ok(());
        }
        let message = "grant options cannot be granted back to your own grantor";
        Err(Error::new(SqlState::InvalidGrantOperation, message))
    }
}
