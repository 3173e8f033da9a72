//! `imex topology collect`: the identities of many nodes, one line each, by node.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::Output;

use imex_host::{HostList, NodeReport};
use tokio::process::Command;

use super::args::CollectArgs;
use super::sources::lines;
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::run::block_on;

/// Runs the command.
pub(crate) fn run(args: &CollectArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    let (texts, wanted) = match &args.srun {
        Some(nodes) => {
            let wanted = HostList::parse(nodes)
                .map_err(|error| Failure::because(Exit::Usage, format!("`{nodes}`: {error}")))?;
            (vec![block_on(srun(nodes, wanted.len(), args))??], wanted)
        }
        None => {
            let texts = args.files.iter().map(|path| lines(path)).collect::<Result<Vec<_>, _>>()?;
            (texts, HostList::default())
        }
    };
    let mut reports: BTreeMap<String, NodeReport> = BTreeMap::new();
    for line in texts.iter().flat_map(|text| text.lines()) {
        let line = line.find('{').map_or("", |start| &line[start..]);
        if line.is_empty() {
            continue;
        }
        let report = NodeReport::parse(line).map_err(|error| Failure::new(Exit::SourceUnreadable, &error))?;
        // Of several reports of a node the last one made counts.
        let older = reports.get(&report.node).is_none_or(|known| known.time <= report.time);
        if older {
            reports.insert(report.node.clone(), report);
        }
    }
    let mut sorted: Vec<&NodeReport> = reports.values().collect();
    sorted.sort_by(|a, b| imex_host::natural::cmp(&a.node, &b.node));
    for report in sorted {
        serde_json::to_writer(&mut *out, report).map_err(std::io::Error::from)?;
        writeln!(out)?;
    }
    let silent: Vec<String> = wanted.iter().filter(|node| !reports.contains_key(node)).collect();
    if silent.is_empty() {
        return Ok(Exit::Done);
    }
    let what = format!("no report came from {}", imex_host::compress(silent));
    Err(Failure::because(Exit::SourceUnreadable, what).into())
}

async fn srun(nodes: &str, count: usize, args: &CollectArgs) -> Result<String, Failure> {
    let fail = |what: String| Failure::because(Exit::SourceUnreadable, what);
    // A node without a fabric ends with a code of its own; it must not end the others.
    let asked = Command::new("srun")
        .args(["--quiet", "--overlap", "--kill-on-bad-exit=0", "--ntasks-per-node=1"])
        .arg(format!("--nodes={count}"))
        .arg(format!("--nodelist={nodes}"))
        .args(["imex", "topology", "identify"])
        .kill_on_drop(true)
        .output();
    match tokio::time::timeout(args.timeout, asked).await {
        Ok(Ok(Output { stdout, .. })) => Ok(String::from_utf8_lossy(&stdout).into_owned()),
        Ok(Err(error)) => Err(fail(format!("srun cannot be run: {error}"))),
        Err(_) => Err(fail(format!("srun did not end within {}", crate::output::duration(args.timeout)))),
    }
}
