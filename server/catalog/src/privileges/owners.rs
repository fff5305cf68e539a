//! New owners: what the old one granted and held becomes the new one's.

use super::acl::Acl;
use super::rights::Rights;
use crate::{
    Composite, Database, Domain, Enum, Grant, Id, LargeObject, Object, Routine, Schema, Sequence,
    Table, View,
};

/// An object that has an owner.
pub trait Owned {
    /// Makes a role the owner.
    fn set_owner(&mut self, owner: Id);
}

/// Grants after their owner was replaced; `all` are the privileges of the owner of a whole object.
/// Grants that name neither owner nor grantor stay as they are: they are the owner's in any case.
fn given(grants: &[Grant], (old, new): (Id, Id), all: Option<Rights>) -> Vec<Grant> {
    let names_roles =
        |grant: &Grant| grant.grantor.is_some() || grant.role == old || grant.role == new;
    if !grants.iter().any(names_roles) {
        return grants.to_vec();
    }
    let acl = match all {
        Some(all) => Acl::whole((old, None), grants, all),
        None => Acl::of_part(old, grants),
    };
    acl.of_new_owner(new).stored()
}

macro_rules! owned {
    ($($ty:ident),*) => {$(
        impl Owned for $ty {
            fn set_owner(&mut self, owner: Id) {
                let all = Object::$ty(self).all_privileges();
                let all = Rights::of(all.iter().copied());
                self.grants = given(&self.grants, (self.owner, owner), Some(all));
                self.owner = owner;
            }
        }
    )*};
}

owned!(Sequence, Schema, Database, Enum, Domain, Composite, Routine, LargeObject);

impl Owned for Table {
    fn set_owner(&mut self, owner: Id) {
        let all = Rights::of(Object::Table(self).all_privileges().iter().copied());
        let owners = (self.owner, owner);
        self.grants = given(&self.grants, owners, Some(all));
        for column in &mut self.columns {
            column.grants = given(&column.grants, owners, None);
        }
        self.owner = owner;
    }
}

impl Owned for View {
    fn set_owner(&mut self, owner: Id) {
        let all = Rights::of(Object::View(self).all_privileges().iter().copied());
        let owners = (self.owner, owner);
        self.grants = given(&self.grants, owners, Some(all));
        for (_, grants) in &mut self.column_grants {
            *grants = given(grants, owners, None);
        }
        self.owner = owner;
    }
}
