//! What `slurm.conf` says of nodes and partitions.
//!
//! Only `NodeName=` and `PartitionName=` lines are looked at, `include` is not followed. `scontrol show config` is not
//! needed for either.

use crate::model::NodeSet;
use crate::written::conf::{logical_lines, pairs};

use super::SourceError;

/// The nodes and partitions of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct SlurmConf {
    /// All nodes.
    pub nodes: NodeSet,
    /// The partitions, in the order of the file.
    pub partitions: Vec<Partition>,
    /// For each `NodeName` line that has features: the nodes and the features.
    pub features: Vec<(NodeSet, Vec<String>)>,
}

/// One partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Its name.
    pub name: String,
    /// The topology that it names, if it names one.
    pub topology: Option<String>,
    /// If its jobs have their nodes for themselves.
    pub exclusive: Exclusive,
    /// Its line, from 1.
    pub line: usize,
}

/// If a partition gives whole nodes to jobs whether they ask or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exclusive {
    /// `OverSubscribe=EXCLUSIVE`, `ExclusiveTopo=YES`.
    Yes,
    /// Jobs may share nodes.
    No,
}

/// Reads the text of a `slurm.conf`.
///
/// # Errors
///
/// If a `NodeName` or `PartitionName` line cannot be parsed. Other lines are not judged.
pub fn parse(text: &str) -> Result<SlurmConf, SourceError> {
    let mut names = Vec::new();
    let mut conf = SlurmConf::default();
    for (line, text) in logical_lines(text) {
        let key = text.trim_start().split(['=', ' ', '\t']).next().unwrap_or_default().to_ascii_lowercase();
        if key != "nodename" && key != "partitionname" {
            continue;
        }
        let pairs = pairs(&text)
            .map_err(|rest| SourceError::Line { line, what: format!("`{rest}` is no key=value") })?;
        let value = |wanted: &str| {
            pairs.iter().find(|(key, _)| key.eq_ignore_ascii_case(wanted)).map(|(_, value)| *value)
        };
        let first = pairs.first().map_or("", |(_, value)| *value);
        if first.eq_ignore_ascii_case("DEFAULT") {
            continue;
        }
        if key == "partitionname" {
            let yes =
                |value: &str| value.eq_ignore_ascii_case("EXCLUSIVE") || value.eq_ignore_ascii_case("YES");
            let whole = value("OverSubscribe").filter(|value| value.eq_ignore_ascii_case("EXCLUSIVE"));
            // 26.05 has a key of its own for it.
            let own = value("Exclusive").is_some_and(|value| {
                value.eq_ignore_ascii_case("NODE") || value.eq_ignore_ascii_case("TOPO")
            });
            let exclusive = own || whole.or_else(|| value("ExclusiveTopo")).is_some_and(yes);
            let exclusive = if exclusive { Exclusive::Yes } else { Exclusive::No };
            let (name, topology) = (first.to_owned(), value("Topology").map(str::to_owned));
            conf.partitions.push(Partition { name, topology, exclusive, line });
            continue;
        }
        let nodes = NodeSet::parse(first)
            .map_err(|error| SourceError::Line { line, what: format!("`{first}`: {error}") })?;
        names.extend(nodes.iter().map(str::to_owned));
        if let Some(features) = value("Feature").or_else(|| value("Features")) {
            conf.features.push((nodes, features.split(',').map(str::to_owned).collect()));
        }
    }
    conf.nodes = names.into_iter().collect();
    Ok(conf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_partitions_and_features_are_read() {
        let conf = parse(
            "ClusterName=c # a comment\n\
             NodeName=DEFAULT CPUs=4\n\
             nodename=node[1-2] CPUs=8 Feature=nvl-a,gpu\n\
             NodeName=node3 \\\n  NodeAddr=10.0.0.3\n\
             PartitionName=p Nodes=ALL Topology=half OverSubscribe=exclusive\n\
             PartitionName=q Nodes=node1 OverSubscribe=FORCE:4\n\
             PartitionName=r Nodes=node1 Exclusive=NODE\n",
        )
        .unwrap();
        assert_eq!(conf.nodes.to_list(), "node[1-3]");
        assert_eq!(conf.features.len(), 1);
        let told: Vec<_> =
            conf.partitions.iter().map(|one| (one.name.as_str(), one.exclusive, one.line)).collect();
        assert_eq!(told, [("p", Exclusive::Yes, 6), ("q", Exclusive::No, 7), ("r", Exclusive::Yes, 8)]);
        assert_eq!(conf.partitions[0].topology.as_deref(), Some("half"));
    }

    #[test]
    fn a_bad_node_line_is_refused_with_its_line() {
        let error = parse("\nNodeName=node[1-\n").unwrap_err();
        assert_eq!(error.to_string(), "line 2: `node[1-`: `[` is never closed at character 5");
    }
}
