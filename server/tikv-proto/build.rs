//! Generates the Rust of the services from `proto/`, with a compiler written in Rust: the build
//! asks for no `protoc`.

use std::{env, io};

/// The files that declare services; the others are imported by them.
const FILES: [&str; 2] = ["proto/pdpb.proto", "proto/tikvpb.proto"];

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=proto");
    println!("cargo:rerun-if-changed=build.rs");
    let files = protox::compile(FILES, ["proto"]).map_err(io::Error::other)?;
    let mut config = prost_build::Config::new();
    config.bytes(["."]).enable_type_names();
    tonic_prost_build::configure()
        .build_client(true)
        .build_server(env::var_os("CARGO_FEATURE_SERVER").is_some())
        .emit_package(true)
        .compile_fds_with_config(files, config)
}
