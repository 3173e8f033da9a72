//! Writes the files of [`imex_topology::corpus`] into a directory, for a real slurmctld to judge.
//!
//! `topology-corpus DIRECTORY [RANDOM [SEED]]` writes one file a case and prints its name and lint's verdict.

use std::error::Error;
use std::io::{Write, stdout};
use std::path::PathBuf;

use imex_topology::corpus::{SEED, cases};
use imex_topology::lint::Verdict;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args_os().skip(1);
    let directory = PathBuf::from(words.next().ok_or("the directory is missing")?);
    let random = words.next().map_or(Ok(150), |word| word.to_string_lossy().parse())?;
    let seed = words.next().map_or(Ok(SEED), |word| word.to_string_lossy().parse())?;
    for case in cases(seed, random) {
        std::fs::write(directory.join(case.file_name()), &case.text)?;
        let verdict = match case.verdict() {
            Verdict::Loads => "LOADED",
            Verdict::Refuses => "REFUSED",
        };
        writeln!(stdout(), "{} {verdict}", case.file_name())?;
    }
    Ok(())
}
