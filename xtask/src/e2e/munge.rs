//! Scenario 13: the members of a job's domain prove to each other with MUNGE that they are of this cluster.

use super::bad_node::Kind;
use super::jobs::Job;
use super::rig::Rig;
use super::site::OPERATOR;
use super::{look, traces};
use crate::error::TaskError;
use crate::report::Report;

/// The key that the prolog writes into a node's `config.cfg`.
const ASKED: &str = "grep -x OPENIMEX_AUTH=munge /etc/nvidia-imex/config.cfg";

/// Its daemon is told of a munged that is not there.
const ABSENT: Kind = Kind {
    name: "its munged does not run",
    spoil: "cp /etc/nvidia-imex/config.cfg /var/tmp/config.away; \
            echo OPENIMEX_MUNGE_SOCKET=/run/munge/nobody >> /etc/nvidia-imex/config.cfg",
    mend: "cp /var/tmp/config.away /etc/nvidia-imex/config.cfg",
    exit_code: 77,
    says: "munged",
};

/// It has a munged that runs, with a key that no other node has.
const STRANGER: Kind = Kind {
    name: "its MUNGE key is another one",
    spoil: "cp /etc/nvidia-imex/config.cfg /var/tmp/config.away; \
            echo OPENIMEX_MUNGE_SOCKET=/run/stranger/socket >> /etc/nvidia-imex/config.cfg; \
            install -d -o munge -g munge -m 755 /run/stranger; install -d -o munge -g munge -m 700 /run/stranger/own; \
            head -c 128 /dev/urandom > /run/stranger/own/key; chown munge:munge /run/stranger/own/key; \
            chmod 400 /run/stranger/own/key; \
            setpriv --reuid=munge --regid=munge --clear-groups munged --socket=/run/stranger/socket \
            --key-file=/run/stranger/own/key --seed-file=/run/stranger/own/seed --pid-file=/run/stranger/pid \
            --log-file=/run/stranger/own/log",
    mend: "kill $(cat /run/stranger/pid); cp /var/tmp/config.away /etc/nvidia-imex/config.cfg; rm -r /run/stranger",
    exit_code: 77,
    says: "credential",
};

/// Scenario 13.
pub(super) fn run(rig: &Rig, report: &mut Report) -> Result<(), TaskError> {
    on_every_node(
        rig,
        &format!("cp {OPERATOR} {OPERATOR}.away; printf '[auth]\\nmunge = true\\n' >> {OPERATOR}"),
    )?;
    healthy(rig)?;
    report.line("a job on four nodes: each has shown a credential to each, over TLS");
    [&ABSENT, &STRANGER].into_iter().try_for_each(|kind| kind.try_on(rig, report))?;
    on_every_node(rig, &format!("mv {OPERATOR}.away {OPERATOR}"))?;
    plain_again(rig)?;
    report.line("the policy taken back: a job on all nodes, without MUNGE");
    Ok(())
}

/// The prolog asks for MUNGE, and the daemons then speak of nothing else.
fn healthy(rig: &Rig) -> Result<(), TaskError> {
    let script = format!("{}srun --ntasks-per-node=1 {ASKED}\n", look::script(rig.site.provider));
    let job = rig.submit(&Job::exclusive(4, script))?;
    rig.completed(job)?;
    look::saw_up(rig, job, &[&[1, 2, 3, 4]])?;
    let asked = rig.output(job)?.matches("OPENIMEX_AUTH=munge").count();
    TaskError::unless(asked == 4, || format!("4 of 4 nodes ask for MUNGE during the job; {asked} do"))?;
    rig.wait_for_idle()?;
    traces::none_on_the_nodes(rig)
}

/// What the prolog has asked for, it takes back when the site no longer wants it.
fn plain_again(rig: &Rig) -> Result<(), TaskError> {
    let nodes: Vec<u8> = rig.nodes().collect();
    let job = rig.submit(&Job::exclusive(rig.site.nodes, look::script(rig.site.provider)))?;
    rig.completed(job)?;
    look::saw_up(rig, job, &[&nodes])?;
    for node in nodes {
        let said = rig.try_on(node, ASKED)?;
        TaskError::unless(said.code == Some(1), || {
            format!("node{node} no longer asks for MUNGE; it has {:?}", said.out)
        })?;
    }
    Ok(())
}

fn on_every_node(rig: &Rig, line: &str) -> Result<(), TaskError> {
    rig.nodes().try_for_each(|node| rig.on(node, line).map(drop))
}
