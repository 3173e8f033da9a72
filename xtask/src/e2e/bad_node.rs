//! Scenario 4: one bad node of six, in five ways.

use super::jobs::{Job, JobId, View};
use super::rig::Rig;
use super::{look, traces};
use crate::clock::Stopwatch;
use crate::error::TaskError;
use crate::report::{Report, seconds};

/// The one that is spoilt. The job takes the first five nodes, and the sixth is the spare.
const BAD: u8 = 3;

/// What the job runs on in the end.
const OTHERS: [u8; 5] = [1, 2, 4, 5, 6];

/// A way to be bad.
pub(super) struct Kind {
    name: &'static str,
    /// What a shell on the node does to it; `DAEMON` is the service's name.
    spoil: &'static str,
    /// And to mend it.
    mend: &'static str,
    /// One of these words must be in the reason, where it can be read.
    words: &'static [&'static str],
}

/// Others cannot reach it; it reaches them.
pub(super) const BLOCKED: Kind = Kind {
    name: "its port is blocked by nft",
    spoil: "nft add table inet lab; nft 'add chain inet lab input { type filter hook input priority 0; }'; \
            nft add rule inet lab input iifname eth0 tcp dport 50000 drop",
    mend: "nft delete table inet lab",
    words: &["reach", "connect"],
};

/// Its service cannot start.
pub(super) const MISSING: Kind = Kind {
    name: "its daemon's binary is missing",
    spoil: "mv /usr/bin/DAEMON /usr/bin/DAEMON.away",
    mend: "mv /usr/bin/DAEMON.away /usr/bin/DAEMON; systemctl reset-failed DAEMON",
    words: &["exec", "203", "start", "binary"],
};

/// Channels that belong to no driver, in a folder in which nothing can be put right.
const MAJOR: Kind = Kind {
    name: "its channels have a wrong major number",
    spoil: "d=/dev/nvidia-caps-imex-channels; mkdir -p $d; mount -t tmpfs tmpfs $d; \
            for n in $(seq 0 2047); do mknod $d/channel$n c 66 $n; done; mount -o remount,ro $d",
    // The epilog could not remove the channel either, and has kept the lease for whoever can.
    mend: "umount /dev/nvidia-caps-imex-channels; imex slurm sweep",
    words: &["channel"],
};

/// It takes others for other nodes.
const MAP: Kind = Kind {
    name: "its node map is another one",
    spoil: "cp /etc/hosts /etc/hosts.away; sed -i 's/^10.77.0.4 /10.77.0.5 /; s/^fd77::4 /fd77::5 /' /etc/hosts; \
            sed -i 's/^10.77.0.5 node5/10.77.0.4 node5/; s/^fd77::5 node5/fd77::4 node5/' /etc/hosts",
    mend: "cp /etc/hosts.away /etc/hosts",
    words: &["map", "!M!", "MAP_MISMATCH"],
};

/// It starts and then does nothing at all.
const HANGS: Kind = Kind {
    name: "its daemon hangs",
    spoil: "mv /usr/bin/DAEMON /usr/bin/DAEMON.away; \
            printf '#!/bin/sh\\nexec sleep 1000\\n' > /usr/bin/DAEMON; chmod 755 /usr/bin/DAEMON",
    mend: "mv /usr/bin/DAEMON.away /usr/bin/DAEMON; systemctl reset-failed DAEMON",
    words: &["ready", "READY", "hang", "start", "answer"],
};

/// Scenario 4.
pub(super) fn run(rig: &Rig, report: &mut Report) -> Result<(), TaskError> {
    [&BLOCKED, &MISSING, &MAJOR, &MAP, &HANGS].into_iter().try_for_each(|kind| kind.try_on(rig, report))
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
        let told = drained.values().cloned().collect::<String>() + &rig.record(BAD, job)?;
        TaskError::unless(self.words.iter().any(|word| told.contains(word)), || {
            format!("{name}: the reason has one of the words {:?}; it is {told}", self.words)
        })
    }

    fn shell(&self, rig: &Rig, line: &str) -> Result<(), TaskError> {
        let line = line.replace("DAEMON", rig.site.provider.daemon());
        rig.on(BAD, &format!("set -e; {line}")).map(drop)
    }
}
