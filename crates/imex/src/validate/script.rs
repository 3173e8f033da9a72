//! `imex validate --script`: a batch script that validates.

use std::io::{self, Write};

use super::args::ValidateArgs;

/// Writes it. Options that are not given stay open for sbatch's own command line.
pub(super) fn write(args: &ValidateArgs, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "#!/bin/sh")?;
    writeln!(out, "# Verifies the IMEX domain of this job on every member: sbatch -N 18 THIS")?;
    writeln!(out, "#SBATCH --job-name=imex-validate")?;
    writeln!(out, "#SBATCH --exclusive")?;
    writeln!(out, "#SBATCH --time=10")?;
    writeln!(out, "#SBATCH --output=imex-validate-%j.out")?;
    if let Some(nodes) = args.nodes {
        writeln!(out, "#SBATCH --nodes={nodes}")?;
    }
    if let Some(partition) = &args.partition {
        writeln!(out, "#SBATCH --partition={partition}")?;
    }
    write!(out, "exec imex validate")?;
    if args.bandwidth {
        write!(out, " --bandwidth")?;
    }
    if let Some(least) = args.min_bandwidth {
        write!(out, " --min-bandwidth {least}")?;
    }
    writeln!(out)
}
