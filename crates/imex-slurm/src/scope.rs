//! How the nodes of a job are divided into domains: one for each NVLink partition that the job touches.
//!
//! A domain that spans two partitions forms, and then CUDA fails: nothing can be exported over a link that is not there.
//! Slurm gives a job larger than a block one whole block and a rest, down to a single node, so that shares are unequal as a
//! rule. Every node comes to the same division by itself.

use std::collections::BTreeMap;

use imex_host::{HostList, NodeReport, compress};
use serde::Serialize;
use thiserror::Error;

/// Where nodes are: of each the name of its block, if it is in one.
pub type Places = BTreeMap<String, String>;

/// A job's nodes, divided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Division {
    /// Its domains, in the order of their first nodes.
    pub domains: Vec<Share>,
    /// Which of them this node is in.
    pub own: usize,
}

/// One domain of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Share {
    /// The block, if the job is divided and the nodes are in one.
    pub block: Option<String>,
    /// The nodes, in the order of the job.
    pub nodes: Vec<String>,
}

/// Why a job cannot be divided.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ScopeError {
    /// The source does not place this node.
    #[error("{source_name} does not say which block `{node}` is in")]
    Unplaced {
        /// The node.
        node: String,
        /// Where it was looked for.
        source_name: String,
    },
}

/// The whole job as one domain.
pub fn whole(nodes: &[String]) -> Division {
    Division { domains: vec![Share { block: None, nodes: nodes.to_vec() }], own: 0 }
}

/// Divides by blocks. A node in no block shares a partition with none, as far as anybody knows: it is a domain of its own.
pub fn divide(nodes: &[String], own: &str, places: &Places) -> Division {
    let mut domains: Vec<Share> = Vec::new();
    let mut own_place = 0;
    for node in nodes {
        let block = places.get(node);
        let found = domains.iter().position(|share| block.is_some() && share.block.as_ref() == block);
        let place = found.unwrap_or(domains.len());
        match found {
            Some(place) => domains[place].nodes.push(node.clone()),
            None => domains.push(Share { block: block.cloned(), nodes: vec![node.clone()] }),
        }
        if node == own {
            own_place = place;
        }
    }
    Division { domains, own: own_place }
}

/// Divides by a source that has to place this node.
///
/// # Errors
///
/// If it does not.
pub fn divide_by(nodes: &[String], own: &str, places: &Places, source: &str) -> Result<Division, ScopeError> {
    if places.contains_key(own) {
        return Ok(divide(nodes, own, places));
    }
    Err(ScopeError::Unplaced { node: own.to_owned(), source_name: source.to_owned() })
}

/// Divides by a source that may know none of the nodes; then the job is one domain. One that knows some of them counts, so
/// that those that it knows and those that it does not know come to the same.
pub fn divide_if_placed(nodes: &[String], own: &str, places: &Places) -> Division {
    match nodes.iter().any(|node| places.contains_key(node)) {
        true => divide(nodes, own, places),
        false => whole(nodes),
    }
}

/// Where nodes are by the reports of their fabric: those with the same identity share a block, which is named by it.
pub fn by_reports(text: &str) -> Places {
    let reports = text.lines().filter_map(|line| NodeReport::parse(line).ok());
    reports.filter_map(|report| Some((report.node, report.fabric?.to_string()))).collect()
}

/// Where nodes are by what `scontrol show topology` prints of this node or of all.
pub fn by_shown_topology(text: &str) -> Places {
    let mut places = Places::new();
    for line in text.lines() {
        let word = |key: &str| line.split_whitespace().find_map(|word| word.strip_prefix(key));
        let (Some(block), Some(nodes)) = (word("BlockName="), word("Nodes=")) else { continue };
        let Ok(nodes) = HostList::parse(nodes) else { continue };
        for node in nodes.iter() {
            // The first block that has a node counts, as for Slurm.
            places.entry(node).or_insert_with(|| block.to_owned());
        }
    }
    places
}

impl Division {
    /// This node's domain.
    pub fn share(&self) -> &Share {
        &self.domains[self.own]
    }

    /// Nodes in no block while others of the job are in one: they get a domain each, which is seldom meant.
    pub fn strays(&self) -> Vec<&str> {
        if self.domains.iter().all(|share| share.block.is_none()) {
            return Vec::new();
        }
        let strays = self.domains.iter().filter(|share| share.block.is_none());
        strays.flat_map(|share| share.nodes.iter().map(String::as_str)).collect()
    }

    /// In words, for the log.
    pub fn describe(&self) -> String {
        let share = |share: &Share| {
            let nodes = compress(&share.nodes);
            match &share.block {
                Some(block) => format!("{} in {block} ({nodes})", share.nodes.len()),
                None => format!("{} ({nodes})", share.nodes.len()),
            }
        };
        match self.domains.as_slice() {
            [only] => format!("one domain of {}", share(only)),
            domains => {
                let shares: Vec<String> = domains.iter().map(share).collect();
                let own = self.share().nodes.len();
                format!("{} domains: {}; this node is in that of {own}", domains.len(), shares.join(" + "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_divided_by_block_however_unequal_the_shares() {
        let places = racks();
        for (nodes, expected) in [
            ("n[1-18]", vec![18]),
            ("n[1-36]", vec![18, 18]),
            ("n[1-6,19-36]", vec![6, 18]),
            ("n[1,19-36]", vec![1, 18]),
            ("n[1-2,40-41]", vec![2, 1, 1]),
        ] {
            let nodes = list(nodes);
            let sizes = |own: &str| {
                let division = divide_if_placed(&nodes, own, &places);
                assert!(division.share().nodes.iter().any(|node| node == own));
                division.domains.iter().map(|share| share.nodes.len()).collect::<Vec<_>>()
            };
            for own in &nodes {
                assert_eq!(sizes(own), expected, "{own}");
            }
        }
    }

    #[test]
    fn nodes_that_no_block_knows_are_one_domain() {
        let nodes = list("x[1-3]");
        assert_eq!(divide_if_placed(&nodes, "x2", &racks()), whole(&nodes));
        let error = divide_by(&nodes, "x2", &racks(), "topology.yaml").unwrap_err();
        assert_eq!(error.to_string(), "topology.yaml does not say which block `x2` is in");
    }

    #[test]
    fn a_division_is_told_in_words() {
        let told = |nodes, own| divide_if_placed(&list(nodes), own, &racks()).describe();
        assert_eq!(told("n[1-4]", "n1"), "one domain of 4 in rack1 (n[1-4])");
        assert_eq!(told("x1", "x1"), "one domain of 1 (x1)");
        let two = "2 domains: 1 in rack1 (n18) + 2 in rack2 (n[19-20]); this node is in that of 2";
        assert_eq!(told("n[18-20]", "n19"), two);
        let strays = |nodes| divide_if_placed(&list(nodes), "n1", &racks()).strays().join(" ");
        assert_eq!((strays("n[1-2,40-41]").as_str(), strays("x[1-2]").as_str()), ("n40 n41", ""));
    }

    #[test]
    fn blocks_are_read_from_what_the_controller_shows() {
        let text =
            "BlockName=rack1 BlockIndex=0 Nodes=n[1-2] BlockSize=2\nAggregatedBlock=rack[1-2] Nodes=n[1-4]\n";
        let places = by_shown_topology(text);
        assert_eq!(places.len(), 2);
        assert_eq!(places["n2"], "rack1");
    }

    fn racks() -> Places {
        let rack = |number: usize| if number <= 18 { "rack1" } else { "rack2" };
        (1..=36).map(|number| (format!("n{number}"), rack(number).to_owned())).collect()
    }

    fn list(text: &str) -> Vec<String> {
        HostList::parse(text).unwrap().iter().collect()
    }
}
