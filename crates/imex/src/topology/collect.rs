//! `imex topology collect`: the identities of many nodes, one line each, by node.

use std::collections::BTreeMap;
use std::io::Write;

use imex_host::{HostList, NodeReport, Program};

use super::args::CollectArgs;
use super::sources::lines;
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::pieces::{self, Gathered};
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
    let gathered: Vec<Gathered<'_>> = texts.iter().map(|text| pieces::gather(text)).collect();
    let whole = gathered.iter().flat_map(|gathered| gathered.whole.values().map(String::as_str));
    for line in whole.chain(gathered.iter().flat_map(|gathered| gathered.others.iter().copied())) {
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
    let broken = |node: &&String| gathered.iter().any(|gathered| gathered.broken.contains(node.as_str()));
    let (broken, silent): (Vec<&String>, Vec<&String>) = silent.iter().partition(broken);
    let told = [("no report came from", silent), ("a report came, but not whole, from", broken)];
    let told = told.into_iter().filter(|(_, nodes)| !nodes.is_empty());
    let told = told.map(|(what, nodes)| format!("{what} {}", imex_host::compress(nodes)));
    let what = told.collect::<Vec<_>>().join("; ");
    Err(Failure::because(Exit::SourceUnreadable, what).into())
}

async fn srun(nodes: &str, count: usize, args: &CollectArgs) -> Result<String, Failure> {
    // A node without a fabric ends with a code of its own; it must not end the others.
    let asked = Program::new("srun")
        .words(["--quiet", "--overlap", "--kill-on-bad-exit=0", "--ntasks-per-node=1"])
        .words([format!("--nodes={count}"), format!("--nodelist={nodes}")])
        .words(["imex", "topology", "identify", "--pieces"])
        .path(args.path.folders())
        .deadline(args.timeout);
    // What it says counts, whatever its exit code: the nodes that are silent are told by name.
    match asked.ask().await {
        Ok(said) => Ok(said.out),
        Err(error) => Err(Failure::new(Exit::SourceUnreadable, &error)),
    }
}
