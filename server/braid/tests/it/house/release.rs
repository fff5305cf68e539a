//! What a server for users must not contain.

use std::process::Command;

use braid_testkit::server;

/// The variables that switch a protection off belong to the feature `unsafe-switches`, which only
/// test builds have.
#[test]
fn a_release_server_has_no_unsafe_switches() {
    let binary = server::binary();
    if binary.parent().is_none_or(|folder| !folder.ends_with("release")) {
        println!("skipped: {} is not a release build", binary.display());
        return;
    }
    let status = Command::new("grep").args(["-q", "-a", "BRAID_UNSAFE"]).arg(&binary).status();
    let code = status.expect("grep runs").code();
    assert_eq!(code, Some(1), "{} knows BRAID_UNSAFE_* variables", binary.display());
}
