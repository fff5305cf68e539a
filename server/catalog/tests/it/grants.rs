//! Stored privileges: those of older descriptors, and ACLs that come back from what was stored.

use std::sync::Arc;

use braid_catalog::{
    Acl, AclItem, Catalog, CatalogCache, Dependents, Grant, Id, Object, Owned, PUBLIC, ROOT,
    Rights, Role, Schema, bootstrap,
};

use crate::support::{change, current, open};

/// A catalog with two roles, their numbers and a schema of the first one.
async fn roles() -> (Arc<Catalog>, Id, Id, Schema) {
    let dir = tempfile::tempdir().expect("a folder");
    let kv = open(dir.path());
    bootstrap(&kv).await.expect("the first descriptors");
    let cache = CatalogCache::new();
    let (mut ann, mut bob) = (0, 0);
    change(&kv, &cache, |draft| {
        (ann, bob) = (draft.allocate_id(0), draft.allocate_id(0));
        draft.put(Role::new(ann, "ann"));
        draft.put(Role::new(bob, "bob"));
    })
    .await;
    let catalog = current(&kv, &cache).await;
    let mut schema = Schema::public(1000, 100);
    (schema.owner, schema.grants) = (ann, Vec::new());
    (catalog, ann, bob, schema)
}

#[tokio::test]
async fn the_owner_granted_what_has_no_grantor() {
    let (catalog, ann, bob, mut schema) = roles().await;
    let text = format!(r#"{{"role":{bob},"privileges":["USAGE"],"grant_option":true}}"#);
    let old: Grant = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string(&old).unwrap(), text, "it is stored as it was");
    schema.grants = vec![old];
    let texts = |schema: &Schema| catalog.privileges().acl(Object::Schema(schema)).unwrap();
    assert_eq!(texts(&schema), ["ann=UC/ann", "bob=U*/ann"]);
    let acl = Acl::of(Object::Schema(&schema));
    schema.grants = acl.stored();
    assert_eq!(Acl::of(Object::Schema(&schema)), acl);
    assert_eq!(texts(&schema), ["ann=UC/ann", "bob=U*/ann"]);
    schema.set_owner(ROOT);
    assert_eq!(texts(&schema), ["root=UC/root", "bob=U*/root"]);
    schema.set_owner(bob);
    assert_eq!(texts(&schema), ["bob=U*C/bob"]);
    assert!(catalog.privileges().has(bob, Object::Schema(&schema), "CREATE"));
    assert!(!catalog.privileges().has(ann, Object::Schema(&schema), "USAGE"));
}

#[tokio::test]
async fn an_owner_without_privileges_keeps_none() {
    let (catalog, ann, bob, mut schema) = roles().await;
    let known = catalog.privileges();
    let all = Rights::of(["USAGE", "CREATE"]);
    let mut acl = Acl::of(Object::Schema(&schema));
    let own = AclItem { grantee: ann, grantor: ann, rights: all, options: Rights::NONE };
    acl.revoke(known, own, Dependents::Refuse).unwrap();
    schema.grants = acl.stored();
    assert_eq!(Acl::of(Object::Schema(&schema)), acl);
    assert!(!known.has(ann, Object::Schema(&schema), "USAGE"));
    assert_eq!(known.acl(Object::Schema(&schema)), Some(Vec::new()));
    let usage = Rights::of(["USAGE"]);
    assert_eq!(acl.grantor(known, ann, usage), (ann, usage), "but may grant all of them");
    let item = AclItem { grantee: PUBLIC, grantor: ann, rights: usage, options: Rights::NONE };
    acl.grant(known, item).unwrap();
    schema.grants = acl.stored();
    assert_eq!(known.acl(Object::Schema(&schema)).unwrap(), ["=U/ann"]);
    assert!(known.has(bob, Object::Schema(&schema), "USAGE"));
    schema.set_owner(bob);
    assert_eq!(known.acl(Object::Schema(&schema)).unwrap(), ["=U/bob"]);
    assert!(!known.has(bob, Object::Schema(&schema), "CREATE"));
}

#[tokio::test]
async fn memberships_without_a_grantor_are_the_first_superusers() {
    let (_, ann, bob, _) = roles().await;
    let mut role = Role::new(ann, "ann");
    role.member_of = vec![bob];
    let stored = serde_json::to_string(&role).unwrap();
    assert!(!stored.contains("grantors"));
    assert_eq!(serde_json::from_str::<Role>(&stored).unwrap().grantor_of(bob), ROOT);
    role.grantors.push((bob, 7));
    assert_eq!(role.grantor_of(bob), 7);
}
