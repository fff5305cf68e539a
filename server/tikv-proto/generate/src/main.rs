//! Generates the Rust of the services from `../proto`, with a compiler written in Rust: it asks for
//! no `protoc`.
//!
//! Run it in `server/tikv-proto` after a change of `proto`:
//! `cargo run --locked --manifest-path generate/Cargo.toml`. An argument names another folder for
//! the files than `src/generated`; `.ci/run` compares such a folder with it.

use std::{env, io};

/// The files that declare services; the others are imported by them.
const FILES: [&str; 2] = ["proto/pdpb.proto", "proto/tikvpb.proto"];

fn main() -> io::Result<()> {
    let folder = env::args().nth(1).unwrap_or_else(|| "src/generated".to_owned());
    let files = protox::compile(FILES, ["proto"]).map_err(io::Error::other)?;
    let mut config = prost_build::Config::new();
    config.bytes(["."]).enable_type_names();
    tonic_prost_build::configure()
        .out_dir(folder)
        .server_mod_attribute(".", "#[cfg(feature = \"server\")]")
        .emit_package(true)
        .emit_rerun_if_changed(false)
        .compile_fds_with_config(files, config)
}
