//! What a cluster is made of, as Slurm's files.

/// What a cluster is made of.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// How many nodes: `node[1-N]`.
    pub(crate) nodes: u8,
    /// The text of `topology.yaml`; none for a cluster without.
    pub(crate) topology: Option<String>,
    /// Partitions besides `main`, each for all nodes: its name, which is that of its topology.
    pub(crate) partitions: Vec<String>,
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
SlurmdSpoolDir=/var/spool/slurmd/%n
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/lab/%n.pid
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

impl Setup {
    /// The text of `slurm.conf`. Each node has an address and a port of its own on one loopback network.
    pub(crate) fn slurm_conf(&self) -> String {
        let mut text = COMMON.to_owned();
        for node in 1..=self.nodes {
            text.push_str(&format!(
                "NodeName=node{node} NodeHostname=ctl NodeAddr=127.0.1.{node} Port={} CPUs=8 Boards=1 \
                 SocketsPerBoard=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=8000 State=UNKNOWN\n",
                17_000 + u16::from(node)
            ));
        }
        text.push_str("PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n");
        for name in &self.partitions {
            text.push_str(&format!(
                "PartitionName={name} Topology={name} Nodes=ALL MaxTime=INFINITE State=UP\n"
            ));
        }
        text
    }

    /// The text of `/etc/hosts` in the cluster.
    pub(super) fn hosts(nodes: u8) -> String {
        let mut text = "127.0.0.1 localhost ctl\n".to_owned();
        for node in 1..=nodes {
            text.push_str(&format!("127.0.1.{node} node{node}\n"));
        }
        text
    }
}
