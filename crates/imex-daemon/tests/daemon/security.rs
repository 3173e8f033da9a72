//! The proof of the fence: kinds of security × {good, each failure} × {start, running, reload}, on eight real daemons.
//!
//! One node, [`FAULTY`], gets one thing wrong; the table says what every cell of the connectivity table becomes, and what
//! the operator is told. To add a kind of security: a [`Mode`] with its faults in a file of its own, and a test here.

mod credentials;
mod floods;
mod gss;
mod hostile_peers;
mod hostile_tls;
mod kerberos;
mod munge;
mod munge_life;
mod none;
mod on_the_wire;
mod tls;

use std::collections::BTreeSet;
use std::net::IpAddr;

use imex_core::{DomainState, NodeState};
use nix::sys::signal::Signal;

use crate::support::{Node, PORT, Rack, eventually};

/// How many daemons.
pub(crate) const NODES: usize = 8;

/// The one that gets something wrong.
pub(crate) const FAULTY: usize = 3;

/// A kind of security.
pub(crate) struct Mode {
    /// Gives every node of a rack what it needs.
    pub(crate) good: Box<dyn Fn(&Rack)>,
    /// What can go wrong.
    pub(crate) faults: Vec<Fault>,
}

/// Something that goes wrong on one node.
pub(crate) struct Fault {
    /// What.
    pub(crate) name: &'static str,
    /// Makes it so, in the files of [`FAULTY`]; [`Mode::good`] undoes it.
    pub(crate) make: Box<dyn Fn(&Rack)>,
    /// What becomes of it.
    pub(crate) outcomes: Vec<(Phase, Outcome)>,
}

/// When it goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// The node has it from its first start, and the others have never met it.
    Start,
    /// The node was a member and is restarted with it.
    Running,
    /// The node is a member and is told by SIGUSR1 to reload.
    Reload,
}

/// What becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The node does not start; `--check` and the start say why with this text. Nobody reaches it.
    Refused(&'static str),
    /// The node runs and is connected with itself alone; its log and the others' have this text.
    Alone(&'static str),
    /// The same, but the two do not even agree on the node map or on the versions: the letter is of that.
    Mismatch(&'static str),
    /// The node runs and is connected with nobody, not even with itself; its log has this text.
    Nobody(&'static str),
    /// The node runs; the others are connected with it, but it is not with anybody; the log has this text.
    Mute(&'static str),
    /// Nothing changes; the node's log has this text.
    Unchanged(&'static str),
    /// A reload cannot see it, because it is in what is read at the start alone: every link of the node is made anew, and
    /// all stay connected.
    Unseen,
}

/// Plays every fault of a mode in every phase.
pub(crate) fn prove(mode: &Mode) {
    let rack = Rack::new(NODES);
    (mode.good)(&rack);
    // What an earlier run of it said proves nothing about this one.
    rack.set(FAULTY, "LOG_APPEND_TO_LOG", 0);
    let mut others: Vec<Node> = (0..NODES).filter(|k| *k != FAULTY).map(|k| rack.start(k)).collect();
    // It comes and goes, as it must.
    let cleaned_up = format!("Node disconnect event detected for node {FAULTY}");
    others.iter_mut().for_each(|node| node.expect_error(&cleaned_up));
    let proof = Proof { rack: &rack, mode, others };
    for fault in &mode.faults {
        proof.start(fault);
    }
    let mut node = proof.join();
    for fault in &mode.faults {
        node = proof.run(fault, node);
        node = proof.reload(fault, node);
    }
    proof.await_cells(Some(&node), &|_, _| "C");
}

/// What a node says that dials everybody because of SIGUSR1.
const DIALS: &str = "Dialling every node anew";

struct Proof<'a> {
    rack: &'a Rack,
    mode: &'a Mode,
    others: Vec<Node>,
}

impl Proof<'_> {
    /// The faulty node, good; waits until the domain is UP everywhere.
    fn join(&self) -> Node {
        (self.mode.good)(self.rack);
        let node = self.rack.start(FAULTY);
        for member in self.others.iter().chain([&node]) {
            member.await_domain(DomainState::Up);
        }
        self.await_cells(Some(&node), &|_, _| "C");
        node
    }

    fn start(&self, fault: &Fault) {
        for (_, outcome) in fault.outcomes.iter().filter(|(phase, _)| *phase == Phase::Start) {
            (fault.make)(self.rack);
            self.begin(fault, *outcome, "N");
            (self.mode.good)(self.rack);
        }
    }

    fn run(&self, fault: &Fault, mut node: Node) -> Node {
        for (_, outcome) in fault.outcomes.iter().filter(|(phase, _)| *phase == Phase::Running) {
            node.stop();
            (fault.make)(self.rack);
            self.begin(fault, *outcome, "R");
            node = self.join();
        }
        node
    }

    /// Starts the faulty node and compares every cell; `apart` is what the others call somebody who is not there.
    fn begin(&self, fault: &Fault, outcome: Outcome, apart: &'static str) {
        let name = fault.name;
        match outcome {
            Outcome::Refused(text) => {
                let (code, told) = self.rack.refused(FAULTY);
                assert_eq!(code, 3, "{name}: {told}");
                assert!(told.contains(text), "{name}: no {text:?} in {told}");
                let (code, told) = self.rack.check(FAULTY);
                assert_eq!(code, 3, "{name}: {told}");
                assert!(told.contains(text), "{name}: no {text:?} in {told}");
                self.await_cells(None, &|_, to| if to == FAULTY { apart } else { "C" });
            }
            Outcome::Alone(text) => {
                let node = self.rack.start(FAULTY);
                // The node itself has just come, whatever the others know of it.
                self.await_cells(Some(&node), &|from, to| match (from == FAULTY, to == FAULTY) {
                    (true, false) => "N",
                    (false, true) => apart,
                    (true, true) | (false, false) => "C",
                });
                self.await_told(name, text, &node);
            }
            Outcome::Mismatch(text) => {
                let node = self.rack.start(FAULTY);
                self.await_cells(Some(&node), &|from, to| match (from == FAULTY, to == FAULTY) {
                    (true, false) | (false, true) => "!M!",
                    (true, true) | (false, false) => "C",
                });
                self.await_told(name, text, &node);
            }
            Outcome::Nobody(text) => {
                let mut node = self.rack.start(FAULTY);
                node.expect_error(text);
                self.await_cells(Some(&node), &|from, to| match (from == FAULTY, to == FAULTY) {
                    (true, _) => "N",
                    (false, true) => apart,
                    (false, false) => "C",
                });
                self.await_told(name, text, &node);
            }
            Outcome::Mute(text) => {
                let node = self.rack.start(FAULTY);
                self.await_cells(Some(&node), &|from, _| if from == FAULTY { "N" } else { "C" });
                self.await_told(name, text, &node);
            }
            Outcome::Unchanged(text) => {
                let node = self.rack.start(FAULTY);
                self.await_cells(Some(&node), &|_, _| "C");
                node.await_log(text);
            }
            Outcome::Unseen => panic!("whatever is read at the start is seen then: {name}"),
        }
    }

    fn reload(&self, fault: &Fault, mut node: Node) -> Node {
        for (_, outcome) in fault.outcomes.iter().filter(|(phase, _)| *phase == Phase::Reload) {
            (fault.make)(self.rack);
            match outcome {
                Outcome::Unchanged(text) => {
                    node.expect_error(text);
                    node.expect_error("those in use stay, and nothing else changes");
                    node.signal(Signal::SIGUSR1);
                    node.await_log("those in use stay, and nothing else changes");
                    self.await_told(fault.name, text, &node);
                    self.await_cells(Some(&node), &|_, _| "C");
                    assert!(!node.log().contains(DIALS), "{}: {}", fault.name, node.log());
                }
                Outcome::Unseen => {
                    let before = connections(self.rack.address(FAULTY));
                    assert_eq!(before.len(), NODES, "{}", fault.name);
                    node.signal(Signal::SIGUSR1);
                    node.await_log(DIALS);
                    let anew = || {
                        let now = connections(self.rack.address(FAULTY));
                        now.len() == NODES && now.is_disjoint(&before)
                    };
                    assert!(eventually(anew), "{}: {}", fault.name, node.log());
                    self.await_cells(Some(&node), &|_, _| "C");
                    assert!(!node.log().contains("Connection lost"), "{}: {}", fault.name, node.log());
                }
                Outcome::Alone(text) => {
                    node.signal(Signal::SIGUSR1);
                    // The others' files are as they were, so their links stand as they were made.
                    self.await_cells(Some(&node), &|from, to| {
                        if from == FAULTY && to != FAULTY { "R" } else { "C" }
                    });
                    self.await_told(fault.name, text, &node);
                }
                Outcome::Refused(_) | Outcome::Mismatch(_) | Outcome::Nobody(_) | Outcome::Mute(_) => {
                    panic!("a reload ends no daemon: {}", fault.name)
                }
            }
            node.stop();
            node = self.join();
        }
        node
    }

    /// What went wrong is in the log of the faulty node or of one that met it.
    fn await_told(&self, name: &str, text: &str, node: &Node) {
        let told = || self.others.iter().chain([node]).any(|node| node.log().contains(text));
        assert!(eventually(told), "{name}: no {text:?} in\n{}\n{}", node.log(), self.others[0].log());
    }

    /// Waits until every cell of the table is as `wanted` says; each row is asked of its own node. A cell that has been as
    /// it should, and is not C, may be A again: attempts go on, and on a slow machine one or the other always is under way.
    fn await_cells(&self, faulty: Option<&Node>, wanted: &dyn Fn(usize, usize) -> &'static str) {
        let rows: Vec<(usize, &Node)> = (0..NODES)
            .filter(|k| *k != FAULTY)
            .zip(&self.others)
            .chain(faulty.map(|node| (FAULTY, node)))
            .collect();
        let (mut seen, mut settled) = (String::new(), BTreeSet::new());
        let right = eventually(|| {
            seen = String::new();
            rows.iter().fold(true, |right, (from, node)| {
                let found = row(node);
                let expected: Vec<&str> = (0..NODES).map(|to| wanted(*from, to)).collect();
                seen.push_str(&format!("{from}: {found} (wanted {})\n", expected.join(" ")));
                let cells: Vec<&str> = found.split(' ').collect();
                let is_right = |(to, (cell, expected)): (usize, (&&str, &&str))| match cell == expected {
                    true => {
                        settled.insert((*from, to));
                        true
                    }
                    false => *cell == "A" && *expected != "C" && settled.contains(&(*from, to)),
                };
                // Every cell is looked at, so that each settles when it does.
                let wrong =
                    cells.iter().zip(&expected).enumerate().map(is_right).filter(|right| !right).count();
                right && cells.len() == NODES && wrong == 0
            })
        });
        assert!(right, "\n{seen}{}", faulty.unwrap_or(&self.others[0]).log());
        for (_, node) in rows.iter().filter(|(from, _)| *from != FAULTY) {
            assert_eq!(node.status().map(|status| status.state), Some(NodeState::Ready));
        }
    }
}

/// The ports of the connections that a node has made to others and to itself, as the kernel lists them.
fn connections(from: IpAddr) -> BTreeSet<u16> {
    /// `TCP_ESTABLISHED`, as in proc_net_tcp.txt.
    const ESTABLISHED: &str = "01";
    let IpAddr::V4(from) = from else { panic!("{from} is no address of a rack") };
    let from = format!("{:08X}", u32::from_ne_bytes(from.octets()));
    let list = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let port = |port: &str| u16::from_str_radix(port, 16).unwrap();
    let made = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let (near, far) = (words[1].split_once(':')?, words[2].split_once(':')?);
        let made = near.0 == from && port(far.1) == PORT && words[3] == ESTABLISHED;
        made.then(|| port(near.1))
    };
    list.lines().skip(1).filter_map(made).collect()
}

fn row(node: &Node) -> String {
    let Some(status) = node.status() else { return "no answer".to_owned() };
    status.links.iter().map(|link| link.state.letter()).collect::<Vec<_>>().join(" ")
}
