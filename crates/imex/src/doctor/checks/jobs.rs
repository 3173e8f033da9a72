//! Checks of leases, job states and records.

use super::Finding;
use crate::doctor::facts::{Facts, JobDomain, Run, Told};

/// How many of the newest records are judged: what went wrong longer ago has been seen or does not matter.
const NEWEST: usize = 5;

pub(super) fn lease(facts: &Facts) -> Finding {
    let (alive, leases) = match &facts.job.leases {
        Told::Unknown(why) => return Finding::unknown(why),
        Told::Known(leases) => (&facts.job.alive, leases),
    };
    let job_of = |holder: &String| holder.split_once('.').and_then(|(job, _)| job.parse::<u32>().ok());
    let forsaken: Vec<&str> = leases
        .iter()
        .filter(|holder| job_of(holder).is_none_or(|job| !alive.contains(&job)))
        .map(String::as_str)
        .collect();
    let domain = job_domain(facts).map(|domain| domain.job);
    let held = |job: u32| leases.iter().any(|holder| job_of(holder) == Some(job));
    if let Some(job) = domain.filter(|job| alive.contains(job) && !held(*job)) {
        return Finding::fail(
            format!("job {job} has a domain and steps here, and no lease"),
            "somebody removed it: until the job ends, another job or `imex follow` may take its domain away",
        );
    }
    if !forsaken.is_empty() {
        return Finding::warn(
            format!("held by {}, and no such job has a step here", forsaken.join(", ")),
            "if the job's prolog is not at work this moment: `imex slurm sweep` gives it back",
        );
    }
    match (leases.len(), alive.len()) {
        (0, 0) => Finding::ok("no job, no lease"),
        (0, _) => Finding::ok(format!("{} here without a domain, no lease", jobs(alive))),
        (_, _) => Finding::ok(format!("held by {}", leases.join(", "))),
    }
}

pub(super) fn power_cycle(facts: &Facts) -> Finding {
    let domain = match &facts.job.domain {
        Told::Unknown(why) => return Finding::unknown(why),
        Told::Known(None) => return Finding::not_applicable("no job has a domain here"),
        Told::Known(Some(domain)) => domain,
    };
    match &facts.job.boot_id {
        Told::Unknown(why) => Finding::unknown(why),
        Told::Known(boot) if *boot == domain.boot_id => {
            Finding::ok(format!("job {}'s domain is of this boot", domain.job))
        }
        Told::Known(_) => Finding::fail(
            format!("job {}'s domain was made before the last boot", domain.job),
            "the job has lost its domain here although Slurm may call it RUNNING: requeue it; `imex slurm sweep` cleans up; \
             ReturnToService=1 has Slurm notice",
        ),
    }
}

pub(super) fn map(facts: &Facts) -> Finding {
    let Some(domain) = job_domain(facts) else {
        return Finding::not_applicable("no job has a domain here");
    };
    let entries = match &facts.config.entries {
        Told::Unknown(why) => return Finding::unknown(why),
        Told::Known(entries) => entries,
    };
    let addresses: Vec<&str> = domain.members.iter().map(|(_, address)| address.as_str()).collect();
    if domain.stage == "forming" {
        return Finding::warn(
            format!("job {}'s domain is being formed, or its prolog was killed", domain.job),
            "look again; if it stays, the newest record (D33) or log of the job says where it stopped",
        );
    }
    if domain.members.is_empty() || addresses == *entries {
        return Finding::ok(format!("job {} has {} members", domain.job, domain.members.len()));
    }
    let differ = |of: &[&str], than: &[&str]| -> Vec<String> {
        of.iter().filter(|one| !than.contains(one)).map(|one| (*one).to_owned()).collect()
    };
    let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
    let (lost, alien) = (differ(&addresses, &entries), differ(&entries, &addresses));
    Finding::fail(
        format!(
            "job {} has {} members, the map {} entries; missing in the map: {}; of others: {}",
            domain.job,
            addresses.len(),
            entries.len(),
            list(&lost),
            list(&alien)
        ),
        "somebody else wrote the map: see D41 for a second prolog; requeue the job",
    )
}

pub(super) fn prologs(facts: &Facts) -> Finding {
    runs("a prolog", &facts.job.prologs)
}

pub(super) fn epilogs(facts: &Facts) -> Finding {
    runs("an epilog or sweep", &facts.job.epilogs)
}

fn runs(kind: &str, runs: &[Run]) -> Finding {
    let newest = &runs[..runs.len().min(NEWEST)];
    if newest.is_empty() {
        return Finding::not_applicable(format!("there is no record of {kind}"));
    }
    let ill = newest.iter().filter(|run| run.exit_code != 0);
    let told: Vec<String> = ill
        .map(|Run { time, job, exit_code, message, .. }| {
            let job = job.map(|job| format!(" job {job}")).unwrap_or_default();
            format!("{time}{job}: exit code {exit_code}: {message}")
        })
        .collect();
    match (told.is_empty(), newest[0].exit_code) {
        (true, _) => Finding::ok(format!("the last {} ended well", newest.len())),
        (false, 0) => Finding::warn(
            told.join("\n"),
            "the newest one ended well; the record names the cause of the others",
        ),
        (false, _) => Finding::fail(told.join("\n"), "the record names the cause and the node at fault"),
    }
}

pub(super) fn left_behind(facts: &Facts) -> Finding {
    let domain = facts.job.domain.known().and_then(Option::as_ref);
    if !facts.job.alive.is_empty() {
        return Finding::not_applicable(format!("{} here", jobs(&facts.job.alive)));
    }
    if let Some(domain) = domain {
        return Finding::warn(
            format!("the state of job {}'s domain is here, and no step of it", domain.job),
            "if its prolog or epilog is not at work: `imex slurm sweep`",
        );
    }
    // Where no prolog has ever run, domains are not made for jobs.
    if facts.job.prologs.is_empty() {
        return Finding::not_applicable(
            "no prolog has run here: domains are not made for jobs, or records are root's",
        );
    }
    let several = facts.domain.known().filter(|domain| domain.table.members.len() > 1);
    match several {
        Some(domain) => Finding::warn(
            format!("a domain of {} members runs, and no job is here", domain.table.members.len()),
            "an epilog was lost: `imex slurm sweep`, and see D40",
        ),
        None => Finding::ok("no job, no domain"),
    }
}

fn job_domain(facts: &Facts) -> Option<&JobDomain> {
    facts.job.domain.known()?.as_ref()
}

fn jobs(alive: &[u32]) -> String {
    let numbers: Vec<String> = alive.iter().map(u32::to_string).collect();
    format!("job {}", numbers.join(", "))
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
