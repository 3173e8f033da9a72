//! The bandwidth between all GPUs of the job, by NVIDIA's nvbandwidth if it is there.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::args::ValidateArgs;
use super::collect::{Job, srun};
use crate::exit::Exit;

/// The test that reads between the GPUs of several nodes.
const TEST: &str = "multinode_device_to_device_memcpy_read_ce";

/// The most GPUs that a matrix may have: those of eight NVLink racks of today.
const MOST: usize = 576;

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(super) enum Bandwidth {
    /// nvbandwidth is not installed: nothing was measured, and nothing fails for it.
    NotFound,
    /// It did not measure.
    Failed {
        /// Why.
        why: String,
    },
    /// It did.
    Measured {
        /// From each GPU (row) to each (column) in GB/s; none with itself.
        matrix: Vec<Vec<Option<f64>>>,
        /// The least of them.
        least: f64,
        /// What was demanded.
        #[serde(skip_serializing_if = "Option::is_none")]
        demanded: Option<f64>,
    },
}

/// Measures, within `args.bandwidth_timeout`.
pub(super) async fn measure(args: &ValidateArgs, job: &Job) -> Bandwidth {
    let Some(program) = find(args) else {
        return match args.min_bandwidth {
            None => Bandwidth::NotFound,
            Some(_) => {
                Bandwidth::Failed { why: "nvbandwidth is not installed, and a least is demanded".to_owned() }
            }
        };
    };
    let nodes = job.nodes.len().to_string();
    let srun = srun(args, job)
        // One rank for each GPU, as its multi-node tests want it.
        .words([
            "--nodes",
            &nodes,
            &format!("--ntasks-per-node={}", args.gpus_per_node),
            "--overlap",
            "--quiet",
        ])
        .words([program.as_os_str(), "-t".as_ref(), TEST.as_ref()])
        .deadline(args.bandwidth_timeout);
    match srun.run().await {
        Err(error) => Bandwidth::Failed { why: imex_config::chain(&error) },
        Ok(said) => match parse(&said.out) {
            None => Bandwidth::Failed {
                why: "it printed no matrix; was it built for several nodes (MPI)?".to_owned(),
            },
            Some(matrix) => {
                let least = matrix.iter().flatten().flatten().copied().fold(f64::INFINITY, f64::min);
                Bandwidth::Measured { matrix, least, demanded: args.min_bandwidth }
            }
        },
    }
}

fn find(args: &ValidateArgs) -> Option<PathBuf> {
    let path = args.path.folders();
    let folders = std::env::split_paths(&path).map(|folder| folder.join("nvbandwidth"));
    folders
        .chain([PathBuf::from("/usr/local/cuda/bin/nvbandwidth")])
        .find(|file: &PathBuf| Path::is_file(file))
}

/// The first matrix of a text: a line that ends in `bandwidth (GB/s)`, one with the columns' numbers, and a row for each.
fn parse(text: &str) -> Option<Vec<Vec<Option<f64>>>> {
    let mut lines = text.lines().skip_while(|line| !line.trim_end().ends_with("bandwidth (GB/s)")).skip(1);
    let columns =
        lines.next()?.split_whitespace().map(str::parse::<usize>).collect::<Result<Vec<_>, _>>().ok()?;
    if columns.is_empty()
        || columns.len() > MOST
        || columns.iter().enumerate().any(|(index, column)| index != *column)
    {
        return None;
    }
    let cell = |word: &str| match word {
        "N/A" => Some(None),
        number => number.parse().ok().filter(|number: &f64| number.is_finite()).map(Some),
    };
    let mut matrix = Vec::new();
    for (index, line) in lines.take(columns.len()).enumerate() {
        let mut words = line.split_whitespace();
        let cells =
            (words.next()? == index.to_string()).then(|| words.map(cell).collect::<Option<Vec<_>>>())??;
        if cells.len() != columns.len() {
            return None;
        }
        matrix.push(cells);
    }
    let some = matrix.iter().flatten().any(Option::is_some);
    (matrix.len() == columns.len() && some).then_some(matrix)
}

impl Bandwidth {
    /// The exit code.
    pub(super) fn exit(&self) -> Exit {
        match self {
            Bandwidth::NotFound => Exit::Done,
            Bandwidth::Measured { least, demanded, .. }
                if demanded.is_none_or(|demanded| *least >= demanded) =>
            {
                Exit::Done
            }
            Bandwidth::Failed { .. } | Bandwidth::Measured { .. } => Exit::Bandwidth,
        }
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Bandwidth::NotFound => writeln!(out, "bandwidth: nvbandwidth is not installed; not measured"),
            Bandwidth::Failed { why } => writeln!(out, "bandwidth: not measured: {why}"),
            Bandwidth::Measured { matrix, least, demanded } => {
                let demanded = demanded.map(|demanded| format!(", {demanded} demanded")).unwrap_or_default();
                writeln!(out, "bandwidth: {} GPUs, at least {least} GB/s{demanded}", matrix.len())?;
                matrix.iter().try_for_each(|row| {
                    let cells = row
                        .iter()
                        .map(|cell| cell.map_or_else(|| "N/A".to_owned(), |cell| format!("{cell:.1}")));
                    writeln!(out, "  {}", cells.map(|cell| format!("{cell:>7}")).collect::<String>())
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "nvbandwidth Version: v0.8\nRunning multinode_device_to_device_memcpy_read_ce.\n\
        memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n           0         1\n 0       N/A    397.48\n\
        \x201    397.46       N/A\n\nSUM multinode_device_to_device_memcpy_read_ce 794.94\n";

    #[test]
    fn a_matrix_is_read_as_nvbandwidth_prints_it() {
        let matrix = parse(PRINTED).unwrap();
        assert_eq!(matrix, [[None, Some(397.48)], [Some(397.46), None]]);
        for wrong in [
            "",
            "bandwidth (GB/s)\n",
            &PRINTED.replace(" 1    ", " 2    "),
            &PRINTED.replace("397.46", "fast"),
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn less_than_demanded_fails_and_a_program_that_is_not_there_does_not() {
        let measured = |demanded| Bandwidth::Measured { matrix: vec![], least: 397.46, demanded };
        assert_eq!(measured(None).exit(), Exit::Done);
        assert_eq!(measured(Some(390.0)).exit(), Exit::Done);
        assert_eq!(measured(Some(400.0)).exit(), Exit::Bandwidth);
        assert_eq!(Bandwidth::NotFound.exit(), Exit::Done);
    }
}
