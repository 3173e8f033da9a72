//! Scenario 4: one bad node of six, in the five ways of the claim and one more.

use super::jobs::{Job, JobId, View};
use super::records::of_prologs;
use super::rig::Rig;
use super::{look, traces};
use crate::clock::Stopwatch;
use crate::error::TaskError;
use crate::report::{Report, seconds};

/// The one that is spoilt. The job takes the first five nodes, and the sixth is the spare.
pub(super) const BAD: u8 = 3;

/// What the job runs on in the end.
const OTHERS: [u8; 5] = [1, 2, 4, 5, 6];

/// A way to be bad.
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// What a shell on the node does to it; `DAEMON` is the service's name.
    pub(super) spoil: &'static str,
    /// And to mend it.
    pub(super) mend: &'static str,
    /// What the node's own prolog tells Slurm; docs/exit-codes.md.
    pub(super) exit_code: i64,
    /// What is in the sentence that says why.
    pub(super) says: &'static str,
}

/// Others cannot reach it; it reaches them.
pub(super) const BLOCKED: Kind = Kind {
    name: "its port is blocked by nft",
    spoil: "nft add table inet lab; nft 'add chain inet lab input { type filter hook input priority 0; }'; \
            nft add rule inet lab input iifname eth0 tcp dport 50000 drop",
    mend: "nft delete table inet lab",
    exit_code: 77,
    says: "reach it",
};

/// Its service cannot start.
pub(super) const MISSING: Kind = Kind {
    name: "its daemon's binary is missing",
    spoil: "mv /usr/bin/DAEMON /usr/bin/DAEMON.away",
    mend: "mv /usr/bin/DAEMON.away /usr/bin/DAEMON; systemctl reset-failed DAEMON",
    exit_code: 76,
    says: "cannot be run",
};

/// Channels that belong to no driver, in a folder in which nothing can be put right.
const MAJOR: Kind = Kind {
    name: "its channels have a wrong major number",
    spoil: "d=/dev/nvidia-caps-imex-channels; mkdir -p $d; mount -t tmpfs tmpfs $d; \
            for n in $(seq 0 2047); do mknod $d/channel$n c 66 $n; done; mount -o remount,ro $d",
    // The epilog could not remove the channel either, and has kept the lease for whoever can.
    mend: "umount /dev/nvidia-caps-imex-channels; imex slurm sweep",
    exit_code: 73,
    says: "channel",
};

/// It takes others for other nodes.
const MAP: Kind = Kind {
    name: "its node map is another one",
    spoil: "cp /etc/hosts /etc/hosts.away; sed -i 's/^10.77.0.4 /10.77.0.5 /; s/^fd77::4 /fd77::5 /' /etc/hosts; \
            sed -i 's/^10.77.0.5 node5/10.77.0.4 node5/; s/^fd77::5 node5/fd77::4 node5/' /etc/hosts",
    mend: "cp /etc/hosts.away /etc/hosts",
    exit_code: 77,
    says: "map",
};

/// The driver has not got one of its GPUs into the fabric.
const FABRIC: Kind = Kind {
    name: "one of its GPUs is in no fabric",
    spoil: "cp /etc/imex-fake-nvml.conf /etc/imex-fake-nvml.away; \
            sed -i '$s/.*/gpu 00000000-0000-0000-0000-000000000000 0 in-progress/' /etc/imex-fake-nvml.conf",
    mend: "mv /etc/imex-fake-nvml.away /etc/imex-fake-nvml.conf",
    exit_code: 71,
    says: "fabric",
};

/// It starts and then does nothing at all.
const HANGS: Kind = Kind {
    name: "its daemon hangs",
    spoil: "mv /usr/bin/DAEMON /usr/bin/DAEMON.away; \
            printf '#!/bin/sh\\nexec sleep 1000\\n' > /usr/bin/DAEMON; chmod 755 /usr/bin/DAEMON",
    mend: "mv /usr/bin/DAEMON.away /usr/bin/DAEMON; systemctl reset-failed DAEMON",
    exit_code: 76,
    says: "does not answer",
};

/// Scenario 4.
pub(super) fn run(rig: &Rig, report: &mut Report) -> Result<(), TaskError> {
    [&BLOCKED, &MISSING, &MAJOR, &MAP, &HANGS, &FABRIC]
        .into_iter()
        .try_for_each(|kind| kind.try_on(rig, report))
}

impl Kind {
    /// Spoils the node, lets a job run, judges, and mends the node.
    pub(super) fn try_on(&self, rig: &Rig, report: &mut Report) -> Result<(), TaskError> {
        let running = Stopwatch::start();
        self.spoil(rig)?;
        let job = rig.submit(&Job::exclusive(5, look::script(rig.site.provider)))?;
        let view = rig.completed(job).map_err(|error| error.on(self.name))?;
        self.judge(rig, job, &view)?;
        let reason = rig.drained()?.remove(&BAD).unwrap_or_default();
        let took = seconds(running.elapsed());
        report.line(format_args!("{}: node{BAD} alone is drained ({reason}), {took}", self.name));
        self.mend(rig)?;
        rig.rest()?;
        traces::none_on_the_nodes(rig).map_err(|error| error.on(self.name))
    }

    /// Spoils the node.
    pub(super) fn spoil(&self, rig: &Rig) -> Result<(), TaskError> {
        self.shell(rig, self.spoil)
    }

    /// Mends it.
    pub(super) fn mend(&self, rig: &Rig) -> Result<(), TaskError> {
        self.shell(rig, self.mend)
    }

    fn judge(&self, rig: &Rig, job: JobId, view: &View) -> Result<(), TaskError> {
        let drained = rig.drained()?;
        let name = self.name;
        TaskError::unless(drained.keys().copied().eq([BAD]), || {
            format!("{name}: exactly node{BAD} is drained; drained are {drained:?}")
        })?;
        TaskError::unless(view.restarts == 1, || format!("{name}: the job is requeued once; it is {view}"))?;
        look::saw_up(rig, job, &[&OTHERS]).map_err(|error| error.on(name))?;
        self.judge_records(rig, job)
    }

    /// The bad node says why, and each innocent one says who.
    fn judge_records(&self, rig: &Rig, job: JobId) -> Result<(), TaskError> {
        let name = self.name;
        let own = of_prologs(rig, BAD, job)?;
        let told = own.iter().any(|v| v.exit_code == self.exit_code && v.message.contains(self.says));
        TaskError::unless(own.len() == 1 && told, || {
            format!(
                "{name}: node{BAD} ends with {} and says {:?}; its records are {:?}",
                self.exit_code,
                self.says,
                own.iter().map(|v| (&v.ending, v.exit_code, &v.message)).collect::<Vec<_>>()
            )
        })?;
        for node in (1..=5).filter(|node| *node != BAD) {
            let runs = of_prologs(rig, node, job)?;
            let runs: Vec<_> = runs.iter().map(|v| (v.ending.as_str(), v.message.as_str())).collect();
            let named = matches!(runs[..], [("passed_innocent", why), ("up", _)] if why.contains("node3"));
            TaskError::unless(named, || {
                format!(
                    "{name}: node{node} passes, names node{BAD}, and is UP in the second run; it says {runs:?}"
                )
            })?;
        }
        Ok(())
    }

    fn shell(&self, rig: &Rig, line: &str) -> Result<(), TaskError> {
        let line = line.replace("DAEMON", rig.site.provider.daemon());
        rig.on(BAD, &format!("set -e; {line}")).map(drop)
    }
}
