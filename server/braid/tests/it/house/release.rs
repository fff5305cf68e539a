//! What a server for users must not contain.

use std::process::Command;

/// `cargo test` gives its server the switches by dependencies of tests, which no other build has.
#[test]
fn a_server_that_is_not_built_for_tests_has_no_unsafe_switches() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--edges", "normal,build", "--prefix", "none"])
        .args(["--format", "{p} {f}", "--manifest-path", manifest])
        .output()
        .expect("cargo runs");
    let text = String::from_utf8_lossy(&tree.stdout);
    assert!(text.contains("braid-kv-embedded"), "{}", String::from_utf8_lossy(&tree.stderr));
    let switched: Vec<&str> =
        text.lines().filter(|line| line.contains("unsafe-switches")).collect();
    assert!(switched.is_empty(), "{switched:?}");
}
