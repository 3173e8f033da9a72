//! Who may have this node's domain: one job at a time.
//!
//! A lease is taken before anything is changed and given back by the epilog. Where an epilog was lost, the next job of the
//! node finds another's lease. Slurm gives an exclusive node to one job, so the other has ended, unless it still has a
//! step here: then somebody else shares the node, and it is refused.

use std::fs;
use std::path::Path;

use imex_host::boot::BootId;
use imex_host::lease::{Holder, Lease};
use serde::Serialize;
use thiserror::Error;

use crate::context::JobName;
use crate::job_domain::JobDomain;

/// What is found before a lease is taken.
#[derive(Clone, Debug)]
pub struct Found<'f> {
    /// The leases that are held.
    pub leases: &'f [Lease],
    /// The domain that the node has, or had.
    pub domain: Option<&'f JobDomain>,
    /// This boot.
    pub boot: &'f BootId,
    /// The jobs that have a step on this node.
    pub alive: &'f [u32],
}

/// What is to be done before the lease is taken.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize)]
pub struct Takeover {
    /// Leases whose jobs have ended, to be given back.
    #[serde(serialize_with = "names")]
    pub leases: Vec<Holder>,
    /// The domain that was left behind, if one was: its channel is to be removed.
    pub domain: Option<Left>,
}

/// A domain that was left behind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Left {
    /// Whose it was.
    pub job: u32,
    /// Which run of the job.
    pub run: String,
    /// Why it is not used any more.
    pub because: Because,
}

/// Why a domain is not used any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// The machine was booted since.
    Rebooted,
    /// Its job has no step here any more.
    Ended,
    /// The job runs anew.
    Requeued,
    /// Its prolog did not end.
    Repeated,
}

/// Why the lease cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    /// Another job uses it.
    #[error("the node's domain is in use by job {job}, which has a step here")]
    Job {
        /// Its number.
        job: u32,
    },
    /// Somebody else than a job uses it.
    #[error("the node's domain is in use by `{}`, which is no job of Slurm's", holder.as_str())]
    Other {
        /// Who.
        holder: Holder,
    },
}

/// Whether `me` may have the node's domain, and what of others is to be cleaned up first.
///
/// # Errors
///
/// If somebody else uses it.
pub fn judge(found: &Found<'_>, me: &JobName) -> Result<Takeover, Refused> {
    let mut takeover = Takeover::default();
    let mine = me.run.as_ref().map(|run| run.holder(me.job));
    for Lease { holder, .. } in found.leases {
        if Some(holder) == mine.as_ref() {
            continue;
        }
        match job_of(holder) {
            Some(job) if job != me.job && found.alive.contains(&job) => return Err(Refused::Job { job }),
            Some(_) => takeover.leases.push(holder.clone()),
            None => return Err(Refused::Other { holder: holder.clone() }),
        }
    }
    if let Some(domain) = found.domain {
        takeover.domain = Some(left(domain, found, me)?);
    }
    Ok(takeover)
}

fn left(domain: &JobDomain, found: &Found<'_>, me: &JobName) -> Result<Left, Refused> {
    let same_run = me.run.as_ref().is_some_and(|run| run.to_string() == domain.run);
    let because = match () {
        () if domain.boot_id != *found.boot => Because::Rebooted,
        () if domain.job == me.job && same_run => Because::Repeated,
        () if domain.job == me.job => Because::Requeued,
        () if found.alive.contains(&domain.job) => return Err(Refused::Job { job: domain.job }),
        () => Because::Ended,
    };
    Ok(Left { job: domain.job, run: domain.run.clone(), because })
}

/// The job that a holder's name speaks of.
pub fn job_of(holder: &Holder) -> Option<u32> {
    let (job, run) = holder.as_str().split_once('.')?;
    job.parse().ok().filter(|_| !run.is_empty())
}

/// The jobs that have a step on this node: Slurm's daemon of a step calls itself `slurmstepd: [7.batch]`. `proc` is where
/// the kernel shows processes. What cannot be read has ended.
pub fn jobs_with_steps(proc: &Path) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(proc) else { return Vec::new() };
    let mut jobs: Vec<u32> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit))
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
        .filter_map(|line| job_of_step(&line))
        .collect();
    jobs.sort_unstable();
    jobs.dedup();
    jobs
}

fn job_of_step(command_line: &[u8]) -> Option<u32> {
    let rest = command_line.strip_prefix(b"slurmstepd: [")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()
}

/// Holders as a list of their names.
pub(crate) fn names<S: serde::Serializer>(holders: &[Holder], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(holders.iter().map(Holder::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Run;
    use crate::job_domain::{SCHEMA_VERSION, Stage};

    const NOW: &str = "0d2b9c1e-1111-2222-3333-444455556666";
    const BEFORE: &str = "0d2b9c1e-1111-2222-3333-444455557777";

    #[test]
    fn a_node_that_nobody_has_is_taken() {
        assert_eq!(judged(&[], None, &[]), Ok(Takeover::default()));
        assert_eq!(judged(&["7.1"], None, &[]), Ok(Takeover::default()));
    }

    #[test]
    fn what_ended_jobs_left_is_taken_over() {
        let takeover = judged(&["5.0", "7.0"], Some(domain(5, "0", NOW)), &[]).unwrap();
        let leases: Vec<&str> = takeover.leases.iter().map(Holder::as_str).collect();
        assert_eq!(leases, ["5.0", "7.0"]);
        assert_eq!(takeover.domain.unwrap().because, Because::Ended);
    }

    #[test]
    fn each_way_of_being_left_behind_has_its_name() {
        for (domain, because) in [
            (domain(5, "0", BEFORE), Because::Rebooted),
            (domain(7, "1", BEFORE), Because::Rebooted),
            (domain(7, "0", NOW), Because::Requeued),
            (domain(7, "1", NOW), Because::Repeated),
            (domain(5, "0", NOW), Because::Ended),
        ] {
            assert_eq!(judged(&[], Some(domain), &[]).unwrap().domain.unwrap().because, because);
        }
    }

    #[test]
    fn a_second_owner_is_refused() {
        let refused = Err(Refused::Job { job: 5 });
        assert_eq!(judged(&["5.0"], None, &[5]), refused);
        assert_eq!(judged(&[], Some(domain(5, "0", NOW)), &[5]), refused);
        assert!(judged(&[], Some(domain(5, "0", BEFORE)), &[5]).is_ok());
        assert!(matches!(judged(&["backup"], None, &[]), Err(Refused::Other { .. })));
    }

    #[test]
    fn the_daemon_of_a_step_says_whose_it_is() {
        for (line, expected) in [
            (&b"slurmstepd: [123.batch]\0"[..], Some(123)),
            (b"slurmstepd: [4+1.0]\0", Some(4)),
            (b"slurmstepd: [x]\0", None),
            (b"/usr/sbin/slurmd\0", None),
        ] {
            assert_eq!(job_of_step(line), expected);
        }
        let proc = tempfile::tempdir().unwrap();
        let process = |name: &str, line: &[u8]| {
            fs::create_dir(proc.path().join(name)).unwrap();
            fs::write(proc.path().join(name).join("cmdline"), line).unwrap();
        };
        process("12", b"slurmstepd: [9.extern]\0");
        process("13", b"slurmstepd: [9.0]\0");
        process("14", b"slurmstepd: [8.batch]\0");
        process("self", b"slurmstepd: [7.batch]\0");
        assert_eq!(jobs_with_steps(proc.path()), [8, 9]);
    }

    fn judged(leases: &[&str], domain: Option<JobDomain>, alive: &[u32]) -> Result<Takeover, Refused> {
        let lease = |name: &&str| Lease { holder: name.parse().unwrap(), since: None };
        let leases: Vec<Lease> = leases.iter().map(lease).collect();
        let found = Found { leases: &leases, domain: domain.as_ref(), boot: &boot(NOW), alive };
        judge(&found, &JobName { job: 7, run: Some(Run::Restart(1)) })
    }

    fn boot(text: &str) -> BootId {
        text.parse().unwrap()
    }

    fn domain(job: u32, run: &str, id: &str) -> JobDomain {
        JobDomain {
            schema_version: SCHEMA_VERSION,
            job,
            run: run.to_owned(),
            boot_id: boot(id),
            since: jiff::Timestamp::UNIX_EPOCH,
            node: "n1".to_owned(),
            uid: 0,
            unit: "imexd.service".to_owned(),
            stage: Stage::Up,
            reason: None,
            domain_id: None,
            members: Vec::new(),
            block: None,
            domains: None,
            channel: None,
            keys_before: Default::default(),
        }
    }
}
