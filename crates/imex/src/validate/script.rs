//! `imex validate --script`: a batch script that validates.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;

use super::args::ValidateArgs;

/// The least time in minutes that the job asks for: a full rack on a busy cluster starts its steps in seconds.
const LEAST_MINUTES: u64 = 10;

/// What the job has beside what its questions may take, in minutes.
const SPARE_MINUTES: u64 = 5;

/// Writes it. How many nodes, and of which partition, stays open for sbatch's own command line if it is not given.
pub(super) fn write(args: &ValidateArgs, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "#!/bin/sh")?;
    writeln!(out, "# Verifies the IMEX domain of this job on every member: sbatch -N 18 THIS")?;
    writeln!(out, "#SBATCH --job-name=imex-validate")?;
    writeln!(out, "#SBATCH --exclusive")?;
    writeln!(out, "#SBATCH --time={}", minutes(args))?;
    writeln!(out, "#SBATCH --output=imex-validate-%j.out")?;
    if let Some(nodes) = args.nodes {
        writeln!(out, "#SBATCH --nodes={nodes}")?;
    }
    if let Some(partition) = &args.partition {
        writeln!(out, "#SBATCH --partition={partition}")?;
    }
    write!(out, "exec imex validate")?;
    for word in args.words() {
        write!(out, " ")?;
        out.write_all(&quoted(&word))?;
    }
    writeln!(out)
}

/// The job's time limit.
fn minutes(args: &ValidateArgs) -> u64 {
    let bandwidth = if args.bandwidth { args.bandwidth_timeout } else { std::time::Duration::ZERO };
    let all = args.timeout.saturating_add(bandwidth).as_secs().div_ceil(60);
    (all + SPARE_MINUTES).max(LEAST_MINUTES)
}

/// A word as sh reads it back.
fn quoted(word: &OsStr) -> Vec<u8> {
    let bytes = word.as_bytes();
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-:,=+".contains(byte);
    if !bytes.is_empty() && bytes.iter().all(plain) {
        return bytes.to_vec();
    }
    let inner =
        bytes.iter().flat_map(|byte| if *byte == b'\'' { &b"'\\''"[..] } else { std::slice::from_ref(byte) });
    [b"'"].into_iter().flatten().chain(inner).chain(b"'").copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_one_word_to_a_shell() {
        let told = |word: &str| String::from_utf8(quoted(word.as_ref())).unwrap();
        assert_eq!(told("/etc/a.toml"), "/etc/a.toml");
        assert_eq!(told("a b;$(c)"), "'a b;$(c)'");
        assert_eq!(told("it's"), r"'it'\''s'");
        assert_eq!(told(""), "''");
    }
}
