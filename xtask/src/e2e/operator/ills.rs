//! Ills that are made on purpose: the right check names each, and its fix, carried out as it stands, mends it.

use std::time::Duration;

use super::examined::Examined;
use super::{CHANNEL, NODES, not_verified, reserve_port, says, validate, verified, waiting_job};
use crate::e2e::bad_node::BLOCKED;
use crate::e2e::jobs::Job;
use crate::e2e::rig::{LIMIT, Rig, USER};
use crate::error::TaskError;

/// Exit codes of `imex validate`; docs/exit-codes.md.
const NO_DAEMON: u8 = 10;
const NO_CHANNEL: u8 = 95;

/// How long a node is off. Slurm counts in whole seconds.
const OFF: Duration = Duration::from_secs(3);

/// The node that is ill. Scenario 4's kinds of bad nodes have the same.
const ILL: u8 = 3;

/// Its daemon, while a job has a domain.
pub(super) fn stopped(rig: &Rig) -> Result<(), TaskError> {
    let job = waiting_job(rig)?;
    rig.on(ILL, "systemctl stop imexd")?;
    let seen = Examined::of(rig, ILL, None)?;
    ["D11", "D20"].into_iter().try_for_each(|check| seen.is(check, "fail"))?;
    let other = Examined::of(rig, 1, None)?;
    other.is("D21", "fail")?;
    other.saw("D21", "10.77.0.3")?;
    other.is("D26", "fail")?;
    let told = validate(rig, job)?;
    not_verified(&told, NO_DAEMON, "node3", "no socket")?;
    not_verified(&told, NO_DAEMON, "node[1-2]", "towards 10.77.0.3")?;
    // As it stands: the job is put back and gets a domain of its own again.
    rig.on(ILL, seen.command("D11")?)?;
    let view = rig.wait_job(job, "runs again", |view| view.restarts == 1 && view.state == "RUNNING")?;
    rig.until("the job runs", LIMIT, || Ok(rig.output(job)?.matches("RUNS").count() == 2))?;
    rig.expand(&view.nodes)?.into_iter().try_for_each(|node| Examined::of(rig, node, None)?.is_well())
}

/// A device of another driver, then none.
pub(super) fn channels(rig: &Rig) -> Result<(), TaskError> {
    let job = waiting_job(rig)?;
    for (spoil, code, evidence, words) in [
        (
            format!("rm {CHANNEL}; mknod -m 666 {CHANNEL} c 66 1"),
            62,
            "its major is 66, not 203",
            "no driver stands behind it",
        ),
        (format!("rm {CHANNEL}"), 61, "missing", "has no channel"),
    ] {
        rig.on(ILL, &spoil)?;
        let seen = Examined::of(rig, ILL, None)?;
        ["D04", "D05"].into_iter().try_for_each(|check| seen.is(check, "fail"))?;
        seen.saw("D04", evidence)?;
        says(&rig.try_on(ILL, &format!("imex channel check 1 --as {USER}"))?, code, &[])?;
        Examined::of(rig, ILL, Some(USER))?.is("D05", "fail")?;
        not_verified(&validate(rig, job)?, NO_CHANNEL, "node3", words)?;
        rig.on(ILL, seen.command("D04")?)?;
        Examined::of(rig, ILL, None)?.is_well()?;
        verified(&validate(rig, job)?)?;
    }
    Ok(())
}

/// Slurm has requeued its job, whose state is on the disk as if no epilog and no sweep had come since.
pub(super) fn power_cycled(rig: &Rig) -> Result<(), TaskError> {
    let job = waiting_job(rig)?;
    rig.on(ILL, "cp -a /var/lib/openimex/domain.json /var/tmp/")?;
    rig.cluster().power_off(ILL)?;
    // As a real machine does, it comes back later than Slurm has heard of it last; else Slurm notices nothing.
    std::thread::sleep(OFF);
    rig.cluster().power_on(ILL)?;
    rig.wait_job(job, "runs elsewhere", |view| view.restarts == 1 && view.state == "RUNNING")?;
    // Without slurmd nothing sweeps before one looks.
    rig.on(ILL, "systemctl stop slurmd; mv /var/tmp/domain.json /var/lib/openimex/")?;
    let seen = Examined::of(rig, ILL, None)?;
    seen.is("D31", "fail")?;
    seen.saw("D31", "before the last boot")?;
    rig.on(ILL, seen.command("D31")?)?;
    Examined::of(rig, ILL, None)?.is("D31", "not_applicable")?;
    rig.on(ILL, "systemctl start slurmd")?;
    reserve_port(rig, ILL)?;
    rig.rest()?;
    // The record of the lost prolog's run is of the boot before.
    Examined::of(rig, ILL, None)?.is_well()
}

/// The record names the cause; once that is mended and a prolog has ended well, it is no failure any more.
pub(super) fn failed_prolog(rig: &Rig) -> Result<(), TaskError> {
    BLOCKED.spoil(rig)?;
    let job = rig.submit(&Job::exclusive(NODES, "echo NEVER\n").option("--no-requeue"))?;
    rig.wait_over(job)?;
    let seen = Examined::of(rig, ILL, None)?;
    seen.is("D33", "fail")?;
    seen.saw("D33", "exit code 77")?;
    let other = Examined::of(rig, 1, None)?;
    other.is("D33", "warn")?;
    other.saw("D33", "node3")?;
    BLOCKED.mend(rig)?;
    rig.rest()?;
    let job = waiting_job(rig)?;
    Examined::of(rig, ILL, None)?.is("D33", "warn")?;
    verified(&validate(rig, job)?)
}

/// What it would have taken away is there after the job; nobody does anything.
pub(super) fn lost_epilog(rig: &Rig) -> Result<(), TaskError> {
    waiting_job(rig)?;
    let keep = "cp -a /var/lib/openimex/domain.json /var/tmp/; cp -a /run/imex/leases/*.lease /var/tmp/";
    rig.on(ILL, keep)?;
    rig.rest()?;
    rig.on(
        ILL,
        "systemctl stop slurmd; mv /var/tmp/domain.json /var/lib/openimex/; mv /var/tmp/*.lease /run/imex/leases/",
    )?;
    let seen = Examined::of(rig, ILL, None)?;
    ["D30", "D34"].into_iter().try_for_each(|check| seen.is(check, "warn"))?;
    rig.on(ILL, "systemctl start slurmd")?;
    rig.until("the sweep has come", LIMIT, || {
        let left = "ls /var/lib/openimex/domain.json /run/imex/leases/*.lease 2>/dev/null; true";
        Ok(rig.on(ILL, left)?.is_empty())
    })?;
    let newest = rig.on(ILL, "ls /var/lib/openimex/records | tail -1")?;
    TaskError::unless(newest.contains("sweep"), || {
        format!("the sweep leaves a record; the newest is {newest}")
    })
}
