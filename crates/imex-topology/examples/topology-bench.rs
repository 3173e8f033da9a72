//! Prints the rows of [`imex_topology::bench`] and the most memory that this process held.

use std::error::Error;
use std::io::{Write, stdout};

fn main() -> Result<(), Box<dyn Error>> {
    for row in imex_topology::bench::run() {
        let reach = row.reach.map(|reach| format!(" (reach {reach:?})")).unwrap_or_default();
        writeln!(
            stdout(),
            "{:>7} nodes {:>5} blocks  {}: {:.1?}{reach}",
            row.nodes,
            row.blocks,
            row.what,
            row.time
        )?;
    }
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM unknown");
    writeln!(stdout(), "{peak}")?;
    Ok(())
}
