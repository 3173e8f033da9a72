//! `nodes_config.cfg`: the node map as it is written.
//!
//! One IP address or host name per line, this node included, the same lines in the same order on every node. Blank
//! lines and lines that begin with `#` are skipped. A node's id is its place among the other lines, from 0.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use imex_core::{NodeId, NodeMap};
use thiserror::Error;

pub use crate::address::{NodeAddress, NodeAddressError};
use crate::problem::{Problem, Problems, Severity};
use crate::text::{self, TextError};

/// The largest node file in bytes: room for the longest map of the longest names.
pub const MAX_BYTES: usize = 16 << 20;

/// A node file that was understood, as far as it could be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeFile {
    entries: Vec<NodeEntry>,
    map: Option<NodeMap>,
    faults: Vec<NodeFault>,
    faults_left_out: usize,
    carriage_returns: bool,
}

/// One node of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeEntry {
    /// Its place among the entries, those with faults included.
    pub node: NodeId,
    /// Its line, from 1.
    pub line: usize,
    /// Its text as written, without blanks around it: what the map's digest covers.
    pub text: Arc<str>,
    /// What it names.
    pub address: NodeAddress,
}

/// One thing that is wrong with a node file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeFault {
    /// The line, from 1; `None` if it is about the file as a whole.
    pub line: Option<usize>,
    /// What it is.
    pub kind: NodeFaultKind,
}

/// What can be wrong with a node file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NodeFaultKind {
    /// There is no entry.
    #[error("node map is empty")]
    Empty,
    /// There are more entries than node ids.
    #[error("node map has {found} entries, at most {max} are allowed", max = NodeMap::MAX_ENTRIES)]
    TooMany {
        /// How many there are.
        found: usize,
    },
    /// An entry is neither an address nor a name.
    #[error(transparent)]
    Entry(#[from] NodeAddressError),
    /// Two entries are the same node.
    #[error("{text} is already node {node} of the map, in line {line}{}", spelled(text, first))]
    Duplicate {
        /// The later entry.
        text: String,
        /// The earlier entry, which may be spelled in another way.
        first: String,
        /// The node that the earlier entry is.
        node: NodeId,
        /// The earlier entry's line.
        line: usize,
    },
}

fn spelled(text: &str, first: &str) -> String {
    if text == first { String::new() } else { format!(" (written as {first})") }
}

impl NodeFaultKind {
    fn hint(&self) -> Option<&'static str> {
        match self {
            NodeFaultKind::Empty => Some(
                "write one IP address or host name per line, this machine's included; a job's epilog may have \
                 emptied the file, then start the service from the prolog only",
            ),
            NodeFaultKind::TooMany { .. } => Some("is it the right file?"),
            NodeFaultKind::Entry(fault) => fault.hint(),
            NodeFaultKind::Duplicate { .. } => Some("list each node once, on every node in the same order"),
        }
    }
}

/// Reads a node file. Never fails on the contents of lines: those faults are kept in the result, the first few.
pub fn parse_nodes(bytes: &[u8]) -> Result<NodeFile, TextError> {
    let text = text::decode(bytes, MAX_BYTES)?;
    let text = text.strip_prefix(text::BYTE_ORDER_MARK).unwrap_or(text);
    let mut reader = Reader::default();
    for (index, line) in text::lines(text).enumerate() {
        reader.carriage_returns |= line.ending == "\r\n";
        let trimmed = line.text.trim();
        if !trimmed.is_empty() && !trimmed.starts_with('#') {
            reader.entry(index + 1, trimmed);
        }
    }
    Ok(reader.finish())
}

#[derive(Default)]
struct Reader {
    entries: Vec<NodeEntry>,
    /// Lines that should be entries, the bad ones included.
    found: usize,
    /// Where the first entry of each node is, in `entries`.
    places: BTreeMap<NodeAddress, usize>,
    first_beyond: Option<usize>,
    faults: Vec<NodeFault>,
    faults_left_out: usize,
    carriage_returns: bool,
}

impl Reader {
    fn entry(&mut self, line: usize, text: &str) {
        self.found += 1;
        if self.found > NodeMap::MAX_ENTRIES {
            self.first_beyond.get_or_insert(line);
            return;
        }
        let address = match text.parse::<NodeAddress>() {
            Ok(address) => address,
            Err(fault) => return self.fault(Some(line), fault.into()),
        };
        let place = self.entries.len();
        let first = *self.places.entry(address.canonical()).or_insert(place);
        if let Some(first) = self.entries.get(first) {
            let duplicate = NodeFaultKind::Duplicate {
                text: text.to_owned(),
                first: first.text.to_string(),
                node: first.node,
                line: first.line,
            };
            return self.fault(Some(line), duplicate);
        }
        let number = u16::try_from(self.found - 1).expect("no entry beyond MAX_ENTRIES comes here");
        self.entries.push(NodeEntry { node: NodeId::new(number), line, text: text.into(), address });
    }

    fn fault(&mut self, line: Option<usize>, kind: NodeFaultKind) {
        if self.faults.len() < Problems::MAX_PER_FILE {
            self.faults.push(NodeFault { line, kind });
        } else {
            self.faults_left_out += 1;
        }
    }

    fn finish(mut self) -> NodeFile {
        if let Some(line) = self.first_beyond {
            let found = self.found;
            // About the whole file, so it is kept whatever the lines have filled.
            let kind = NodeFaultKind::TooMany { found };
            self.faults.insert(0, NodeFault { line: Some(line), kind });
        } else if self.found == 0 {
            self.fault(None, NodeFaultKind::Empty);
        }
        let map = self.faults.is_empty().then(|| {
            let texts = self.entries.iter().map(|entry| Arc::clone(&entry.text));
            NodeMap::new(texts).expect("number, length and uniqueness of the entries were checked one by one")
        });
        NodeFile {
            entries: self.entries,
            map,
            faults: self.faults,
            faults_left_out: self.faults_left_out,
            carriage_returns: self.carriage_returns,
        }
    }
}

impl NodeFile {
    /// The map, unless something is wrong with the file.
    pub fn map(&self) -> Option<&NodeMap> {
        self.map.as_ref()
    }

    /// The entries that have no fault, in order: those of [`NodeFile::map`] if there is one.
    pub fn entries(&self) -> &[NodeEntry] {
        &self.entries
    }

    /// What is wrong, the first [`Problems::MAX_PER_FILE`] faults or one more.
    pub fn faults(&self) -> &[NodeFault] {
        &self.faults
    }

    /// Reports what is wrong, and what is doubtful, as problems of the file at `path`.
    pub fn report(&self, path: &Path, problems: &mut Problems) {
        if self.carriage_returns {
            problems.push(carriage_returns(path));
        }
        for fault in &self.faults {
            let problem = Problem::new(Severity::Error, path, fault.kind.to_string());
            let hint = fault.kind.hint().map(str::to_owned);
            problems.push(problem.at(fault.line).hint(hint));
        }
        problems.leave_out(path, self.faults_left_out);
        self.report_loopback(path, problems);
    }

    /// A loopback address among others is nearly always a slip: each machine reaches itself by it.
    fn report_loopback(&self, path: &Path, problems: &mut Problems) {
        let loopback = |entry: &&NodeEntry| match &entry.address {
            NodeAddress::Ip { ip, .. } => ip.to_canonical().is_loopback(),
            NodeAddress::Name(_) => false,
        };
        let count = self.entries.iter().filter(loopback).count();
        let Some(first) = self.entries.iter().find(loopback).filter(|_| count < self.entries.len()) else {
            return;
        };
        let what = format!("{} is every machine's own address, no other node reaches it", first.text);
        let hint = "list the address by which the other nodes reach this one".to_owned();
        problems.push(Problem::new(Severity::Warning, path, what).at(first.line).hint(hint));
    }
}

/// Lines ended in the manner of Windows: read without harm, but a sign that the file was made elsewhere.
pub(crate) fn carriage_returns(path: &Path) -> Problem {
    let what = "lines end with a carriage return and a newline; the carriage return is ignored";
    Problem::new(Severity::Note, path, what)
        .hint("other tools may take it for a part of the value: sed -i 's/\\r$//'".to_owned())
}
