//! Prints the example configuration file: `cargo run -p imex-config --example config_cfg > dist/conf/config.cfg`.

use std::io::{self, Write};

fn main() -> io::Result<()> {
    io::stdout().write_all(imex_config::example().as_bytes())
}
