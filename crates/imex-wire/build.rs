//! Turns the protocol files into Rust, with a protobuf compiler in Rust so that no `protoc` is needed.

use std::error::Error;

const FILES: [&str; 2] = ["imex/v1/peer.proto", "imex/v1/command.proto"];
const ROOT: &str = "proto";

fn main() -> Result<(), Box<dyn Error>> {
    let files = protox::compile(FILES, [ROOT])?;
    for file in FILES {
        println!("cargo::rerun-if-changed={ROOT}/{file}");
    }
    // Without `build_transport(false)` the generated clients need tonic's own transport, which only tests use.
    tonic_prost_build::configure().build_transport(false).compile_fds(files)?;
    Ok(())
}
