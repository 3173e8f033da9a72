//! What a cluster is made of, as Slurm's files.

use super::NodesAre;
use super::layer::File;

/// What a cluster is made of.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// How many nodes: `node[1-N]`.
    pub(crate) nodes: u8,
    /// The text of `topology.yaml`; none for a cluster without.
    pub(crate) topology: Option<String>,
    /// Partitions besides `main`, each for all nodes: its name, which is that of its topology.
    pub(crate) partitions: Vec<String>,
    /// What a node is.
    pub(crate) nodes_are: Nodes,
    /// What each daemon has besides, from the first on; empty where they are alike and have nothing.
    pub(crate) kinds: Vec<Kind>,
}

/// What a node has that others may not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    /// Slurm's `Weight`.
    pub(crate) weight: u32,
    /// How many GPUs, at most [`DEVICES`]; none of them is one.
    pub(crate) gpus: usize,
}

/// The devices that daemons show as GPUs: slurmd wants some that are there.
pub(crate) const DEVICES: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random"];

/// What a node is.
#[derive(Clone, Debug)]
pub(crate) enum Nodes {
    /// A `slurmd` on a network that all share with the controller. Enough to place jobs, and the quickest.
    Daemons,
    /// A machine: its own kernel name spaces, network address, disk, boot and systemd.
    Machines(Machines),
}

impl Nodes {
    /// The same in a word.
    pub(super) fn word(&self) -> NodesAre {
        match self {
            Nodes::Daemons => NodesAre::Daemons,
            Nodes::Machines(_) => NodesAre::Machines,
        }
    }
}

/// What is special about machines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machines {
    /// What their network speaks.
    pub(crate) network: Network,
    /// What the names of the nodes' addresses begin with (`NodeAddr=PREFIX3`), where those are not the nodes' names: then no
    /// resolver knows these.
    pub(crate) address_names: Option<&'static str>,
    /// More lines for `slurm.conf`. A key that is there already is replaced: Slurm uses the last one.
    pub(crate) slurm_conf: String,
    /// More words for the partition's line.
    pub(crate) partition: &'static str,
    /// Files beyond the packages, the same on the controller and on each node.
    pub(crate) files: Vec<File>,
}

/// What the network of a cluster of machines speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Network {
    /// IPv4 and IPv6; Slurm uses the first.
    #[default]
    Both,
    /// IPv6 only.
    Ipv6,
}

/// Without systemd and control groups; jobs are tried the moment they come, and nothing waits longer than a test would.
const COMMON: &str = "\
ClusterName=lab
SlurmctldHost=ctl
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
StateSaveLocation=/var/spool/slurmctld
SlurmctldPidFile=/run/slurmctld.pid
SlurmctldLogFile=/out/slurmctld.log
SlurmdLogFile=/out/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,bf_interval=1,sched_interval=2,requeue_delay=1
SlurmdParameters=config_overrides
ReturnToService=2
SlurmctldTimeout=60
SlurmdTimeout=60
MessageTimeout=10
KillWait=1
MailProg=/bin/true
MpiDefault=none
";

/// What a node claims to have.
const RESOURCES: &str = "CPUs=8 Boards=1 SocketsPerBoard=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=8000";

impl Setup {
    /// Nodes that are daemons on one network.
    pub(crate) fn daemons(nodes: u8) -> Self {
        Setup { nodes, topology: None, partitions: Vec::new(), nodes_are: Nodes::Daemons, kinds: Vec::new() }
    }

    /// Nodes that are machines.
    pub(crate) fn machines(nodes: u8, machines: Machines) -> Self {
        Setup {
            nodes,
            topology: None,
            partitions: Vec::new(),
            nodes_are: Nodes::Machines(machines),
            kinds: Vec::new(),
        }
    }

    /// The text of `slurm.conf`.
    pub(crate) fn slurm_conf(&self) -> String {
        let mut text = COMMON.to_owned();
        match &self.nodes_are {
            // Each has an address and a port of its own on one loopback network.
            Nodes::Daemons => {
                text.push_str("SlurmdSpoolDir=/var/spool/slurmd/%n\nSlurmdPidFile=/run/lab/%n.pid\n");
                if self.gres_conf().is_some() {
                    text.push_str("GresTypes=gpu\n");
                }
                for node in 1..=self.nodes {
                    let port = 17_000 + u16::from(node);
                    text.push_str(&format!(
                        "NodeName=node{node} NodeHostname=ctl NodeAddr=127.0.1.{node} Port={port} {RESOURCES} \
                         {}State=UNKNOWN\n",
                        self.words(node),
                    ));
                }
            }
            Nodes::Machines(machines) => {
                text.push_str(
                    "SlurmdSpoolDir=/var/spool/slurmd\nSlurmdPidFile=/run/slurmd.pid\nGresTypes=gpu\n",
                );
                text.push_str(&machines.slurm_conf);
                if machines.network == Network::Ipv6 {
                    text.push_str("CommunicationParameters=EnableIPv6,DisableIPv4\n");
                }
                let nodes = self.nodes;
                let address = machines.address_names.map(|name| format!("NodeAddr={name}[1-{nodes}] "));
                let address = address.unwrap_or_default();
                text.push_str(&format!(
                    "NodeName=node[1-{nodes}] {address}{RESOURCES} Gres=gpu:4 State=UNKNOWN\n"
                ));
            }
        }
        let words = match &self.nodes_are {
            Nodes::Daemons => "",
            Nodes::Machines(machines) => machines.partition,
        };
        text.push_str(&format!(
            "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP {words}\n"
        ));
        for name in &self.partitions {
            text.push_str(&format!(
                "PartitionName={name} Topology={name} Nodes=ALL MaxTime=INFINITE State=UP\n"
            ));
        }
        text
    }

    /// What a node's line says of its kind.
    fn words(&self, node: u8) -> String {
        let gres = |gpus| if gpus > 0 { format!("Gres=gpu:{gpus} ") } else { String::new() };
        let words = |kind: &Kind| format!("Weight={} {}", kind.weight, gres(kind.gpus));
        self.kinds.get(usize::from(node) - 1).map(words).unwrap_or_default()
    }

    /// The text of `gres.conf`, if daemons have GPUs.
    pub(super) fn gres_conf(&self) -> Option<String> {
        let line = |(index, kind): (usize, &Kind)| {
            let devices = DEVICES[..kind.gpus.min(DEVICES.len())].join(",");
            (!devices.is_empty()).then(|| format!("NodeName=node{} Name=gpu File={devices}\n", index + 1))
        };
        let text: String = self.kinds.iter().enumerate().filter_map(line).collect();
        (!text.is_empty()).then_some(text)
    }

    /// The text of `/etc/hosts`.
    pub(super) fn hosts(&self) -> String {
        let nodes = 1..=self.nodes;
        match &self.nodes_are {
            Nodes::Daemons => {
                let nodes = nodes.map(|node| format!("127.0.1.{node} node{node}\n"));
                "127.0.0.1 localhost ctl\n".to_owned() + &nodes.collect::<String>()
            }
            Nodes::Machines(machines) => {
                let network = machines.network;
                let mut text = "127.0.0.1 localhost\n".to_owned();
                text += &network.hosts_lines(CONTROLLER, "ctl");
                let name = machines.address_names.unwrap_or("node");
                nodes.for_each(|node| text += &network.hosts_lines(node, &format!("{name}{node}")));
                text
            }
        }
    }
}

/// The controller's number in the network, after the last node's.
pub(super) const CONTROLLER: u8 = 254;

impl Network {
    /// As on the command line.
    pub(super) fn word(self) -> &'static str {
        match self {
            Network::Both => "both",
            Network::Ipv6 => "ipv6",
        }
    }

    /// The addresses of the machine with this number.
    pub(super) fn addresses(self, number: u8) -> Vec<String> {
        let ipv6 = format!("fd77::{number}");
        match self {
            Network::Both => vec![format!("10.77.0.{number}"), ipv6],
            Network::Ipv6 => vec![ipv6],
        }
    }

    fn hosts_lines(self, number: u8, name: &str) -> String {
        self.addresses(number).iter().map(|address| format!("{address} {name}\n")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_have_addresses_of_both_families_unless_told_otherwise() {
        let hosts = Setup::machines(2, Machines::default()).hosts();
        assert!(hosts.contains("10.77.0.2 node2\nfd77::2 node2\n"), "{hosts}");
        let only = Machines { network: Network::Ipv6, ..Machines::default() };
        let hosts = Setup::machines(2, only).hosts();
        assert!(hosts.contains("fd77::2 node2\n") && !hosts.contains("10.77"), "{hosts}");
    }

    #[test]
    fn more_lines_of_slurm_conf_stand_after_the_common_ones() {
        let machines = Machines { slurm_conf: "KillWait=3\n".to_owned(), ..Machines::default() };
        let conf = Setup::machines(2, machines).slurm_conf();
        assert!(conf.find("KillWait=1").unwrap() < conf.find("KillWait=3").unwrap());
    }
}
