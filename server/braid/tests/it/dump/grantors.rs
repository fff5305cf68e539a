//! Privileges that were granted on keep their grantors through a dump and a restore.

use super::tools::{Format, admin_url, assert_same, file, on_each_target, server_name};

/// Every ACL of the schema.
const ACLS: &str = "SELECT relname, relacl FROM pg_class WHERE relnamespace = 'passed'::regnamespace \
     UNION ALL SELECT attname, attacl FROM pg_attribute WHERE attacl IS NOT NULL \
       AND attrelid = 'passed.t'::regclass \
     UNION ALL SELECT typname, typacl FROM pg_type \
       WHERE typnamespace = 'passed'::regnamespace AND typname IN ('d', 'e') \
     UNION ALL SELECT proname, proacl FROM pg_proc WHERE pronamespace = 'passed'::regnamespace \
     UNION ALL SELECT nspname, nspacl FROM pg_namespace WHERE nspname = 'passed' ORDER BY 1";

#[test]
fn grantors_are_the_same_after_a_restore() {
    let dumps = on_each_target(async |tools, target| {
        let original = target.create_database("dump_grantors").await;
        let from = admin_url(&original);
        tools.script(&from, &file("grantors.sql"));
        let (first, acls) = (tools.dump(&from), tools.sql(&from, ACLS));
        let in_its_name = "SET SESSION AUTHORIZATION dump_reader;\nGRANT SELECT ON TABLE passed.t";
        assert!(first.contains(in_its_name), "{first}");
        // Several jobs would grant in the name of a role that may not use the schema yet.
        for format in [Format::Plain, Format::Tar] {
            let copy = target.create_database("dump_grantors_copy").await;
            let to = admin_url(&copy);
            tools.copy(&from, &to, format);
            assert_same(server_name(target), &first, &tools.dump(&to));
            copy.drop().await;
        }
        original.drop().await;
        (first, acls)
    });
    if let Some([(ours, our_acls), (theirs, their_acls)]) = dumps.as_deref() {
        assert_same("BraidDB's dump and PostgreSQL's", ours, theirs);
        assert_eq!(our_acls, their_acls);
    }
}
