//! What the nodes of a job see of their domain, in the job's own output.

use std::collections::BTreeSet;

use serde_json::Value;

use super::jobs::JobId;
use super::rig::Rig;
use super::site::Provider;
use crate::error::TaskError;

/// What begins a line with a domain as one node sees it.
const MARK: &str = "SEES";

/// What begins a line with the sum of a node's map.
const MAP: &str = "MAP";

const NODE_MAP: &str = "/etc/nvidia-imex/nodes_config.cfg";

/// A domain as one node sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sight {
    /// `UP`, `DEGRADED` or `DOWN`.
    status: String,
    /// The host name or address of each member.
    pub(super) members: BTreeSet<String>,
    /// How many ordered pairs are connected.
    connected: usize,
}

/// A script whose first line prints what the batch node sees, and whose others what every node sees.
pub(super) fn script(provider: Provider) -> String {
    format!("{}\n{}", line(provider), everywhere(provider, ""))
}

/// A line of a shell that prints what this node sees.
pub(super) fn line(provider: Provider) -> String {
    let control = provider.control();
    format!(
        "echo {MARK} $SLURMD_NODENAME $({control} -N -j); echo {MAP} $SLURMD_NODENAME $(cksum < {NODE_MAP})"
    )
}

/// The same from every node of a step. Each node has a file of its own: srun mixes long lines of several.
pub(super) fn everywhere(provider: Provider, options: &str) -> String {
    let line = line(provider);
    format!(
        "rm -f sees.$SLURM_JOB_ID.*\n\
         srun {options} --ntasks-per-node=1 --output=sees.$SLURM_JOB_ID.%N sh -c '{line}'\n\
         cat sees.$SLURM_JOB_ID.*\n"
    )
}

/// Each line that a job has printed so: the node, and what it sees.
pub(super) fn sights(output: &str) -> Result<Vec<(String, Sight)>, TaskError> {
    let lines = output.lines().filter_map(|line| line.strip_prefix(MARK)?.trim().split_once(' '));
    lines.map(|(node, json)| Ok((node.to_owned(), Sight::parse(json)?))).collect()
}

/// Claims that a job that has completed saw from its first line on, and from every one of its nodes, a domain that is UP
/// and has exactly these members.
pub(super) fn saw_up(rig: &Rig, job: JobId, domains: &[&[u8]]) -> Result<(), TaskError> {
    let output = rig.output(job)?;
    let looks: usize = domains.iter().map(|domain| domain.len()).sum();
    let sights = sights(&output)?;
    // What a scenario or Slurm prints before is not about the domain.
    let others = ["BEGAN", "WAITS", "error: "];
    let first = output.lines().find(|line| !others.iter().any(|mark| line.contains(mark)));
    let at_once = first.is_some_and(|line| line.starts_with(MARK));
    TaskError::unless(sights.len() == looks + 1 && at_once, || {
        format!(
            "job {job} looks from its batch node first, then from {looks}; it printed:\n{}",
            short(&output)
        )
    })?;
    see_up(rig, &output, domains)
}

/// Claims that every node looked, and saw a domain that is UP and has exactly these members.
pub(super) fn see_up(rig: &Rig, output: &str, domains: &[&[u8]]) -> Result<(), TaskError> {
    let sights = sights(output)?;
    let nodes: BTreeSet<u8> = domains.iter().flat_map(|domain| domain.iter().copied()).collect();
    let looked: BTreeSet<String> = sights.iter().map(|(node, _)| node.clone()).collect();
    let names: BTreeSet<String> = nodes.iter().map(|node| format!("node{node}")).collect();
    TaskError::unless(looked == names, || {
        format!("the nodes {names:?} look; those that do are {looked:?}:\n{}", short(output))
    })?;
    same_maps(output, domains)?;
    sights.iter().try_for_each(|(node, sight)| {
        let number = node.strip_prefix("node").and_then(|number| number.parse().ok()).unwrap_or_default();
        let domain = domains.iter().find(|domain| domain.contains(&number)).copied().unwrap_or_default();
        TaskError::unless(sight.is_up(domain.len()), || {
            format!("{node} sees a domain of {} UP; it sees {sight:?}", domain.len())
        })?;
        let members = domain.iter().map(|node| rig.address(*node)).collect::<BTreeSet<_>>();
        TaskError::unless(sight.members == members, || {
            format!("{node}'s domain is {members:?}; it is {:?}", sight.members)
        })
    })
}

/// Claims that the members of a domain have the same text as their map.
fn same_maps(output: &str, domains: &[&[u8]]) -> Result<(), TaskError> {
    let lines = output.lines().filter_map(|line| line.strip_prefix(MAP)?.trim().split_once(' '));
    let sums: BTreeSet<(&str, &str)> = lines.collect();
    domains.iter().try_for_each(|domain| {
        let names: Vec<String> = domain.iter().map(|node| format!("node{node}")).collect();
        let of_domain = sums.iter().filter(|(node, _)| names.iter().any(|name| name == node));
        let different: BTreeSet<&str> = of_domain.map(|(_, sum)| *sum).collect();
        TaskError::unless(different.len() == 1, || format!("{names:?} have one map; the sums are {sums:?}"))
    })
}

/// The beginning of each line: tables are long.
fn short(output: &str) -> String {
    let lines = output.lines().map(|line| line.chars().take(100).collect::<String>());
    lines.collect::<Vec<_>>().join("\n")
}

impl Sight {
    fn parse(json: &str) -> Result<Self, TaskError> {
        let broken =
            |why: String| TaskError::Output { line: "-N -j".to_owned(), why: format!("{why} in {json:?}") };
        let seen: Value = serde_json::from_str(json).map_err(|error| broken(error.to_string()))?;
        let nodes = seen["nodes"].as_object().ok_or_else(|| broken("no nodes".to_owned()))?;
        let cells =
            nodes.values().filter_map(|node| node["connections"].as_object()).flat_map(|row| row.values());
        Ok(Sight {
            status: seen["status"].as_str().unwrap_or_default().to_owned(),
            members: nodes.values().filter_map(|node| node["host"].as_str()).map(str::to_owned).collect(),
            connected: cells.filter(|cell| cell["status"] == "CONNECTED").count(),
        })
    }

    fn is_up(&self, members: usize) -> bool {
        self.status == "UP" && self.members.len() == members && self.connected == members * members
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn up_needs_every_ordered_pair() {
        let cell = |status: &str| format!(r#"{{"host":"h","status":"{status}"}}"#);
        let row = |host: &str, a: &str, b: &str| {
            format!(
                r#"{{"status":"READY","host":"{host}","connections":{{"0":{},"1":{}}}}}"#,
                cell(a),
                cell(b)
            )
        };
        let domain = |a: &str| {
            format!(
                r#"{{"nodes":{{"0":{},"1":{}}},"status":"UP"}}"#,
                row("x", "CONNECTED", a),
                row("y", "CONNECTED", "CONNECTED")
            )
        };
        let sees = |a: &str| sights(&format!("SEES node1 {}\nelse\n", domain(a))).unwrap().remove(0).1;
        assert!(sees("CONNECTED").is_up(2));
        assert!(!sees("CONNECTED").is_up(3));
        assert!(!sees("AUTHENTICATING").is_up(2));
    }
}
