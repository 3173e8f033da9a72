//! Checks of leases, job states and records.

use imex_slurm::sweep::Life;

use super::Finding;
use super::service::requeue;
use crate::doctor::facts::{Facts, JobDomain, Run, Told};

/// How many of the newest records are judged: what went wrong longer ago has been seen or does not matter.
const NEWEST: usize = 5;

/// How the endings begin of which another node is to blame, and the one of a prolog that had nothing to do.
const PASSED: &str = "passed_";
const SKIPPED: &str = "skipped";

pub(super) fn lease(facts: &Facts) -> Finding {
    let (alive, leases) = match &facts.job.leases {
        Told::Unknown(why) => return Finding::unknown(why),
        Told::Known(leases) => (&facts.job.alive, leases),
    };
    let job_of = |holder: &String| holder.split_once('.').and_then(|(job, _)| job.parse::<u32>().ok());
    let without: Vec<&String> =
        leases.iter().filter(|holder| job_of(holder).is_none_or(|job| !alive.contains(&job))).collect();
    // A holder that is no job has no step, and nobody will give its lease back.
    let whose = |life: Life| -> Vec<&str> {
        let these = without
            .iter()
            .filter(|holder| job_of(holder).map_or(Life::Ended, |job| lives(facts, job)) == life);
        these.map(|holder| holder.as_str()).collect()
    };
    let (forsaken, unknown) = (whose(Life::Ended), whose(Life::Unknown));
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
            format!("held by {}, and no such job is here", forsaken.join(", ")),
            "if the job's epilog is not at work this moment: `imex slurm sweep` gives it back",
        );
    }
    if !unknown.is_empty() {
        return Finding::unknown(format!(
            "held by {}, which has no step here now, and Slurm does not say if it runs",
            unknown.join(", ")
        ));
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
        Told::Known(_) => {
            let evidence = format!("job {}'s domain was made before the last boot", domain.job);
            match lives(facts, domain.job) {
                Life::Ended => Finding::fail(
                    evidence,
                    "the job has ended or runs elsewhere: `imex slurm sweep` takes the rest away, and imex-sweep.service \
                     does at each boot",
                ),
                Life::Runs | Life::Unknown => {
                    Finding::fail(evidence, format!("{}; ReturnToService=1 has Slurm notice", requeue(facts)))
                }
            }
        }
    }
}

pub(super) fn map(facts: &Facts) -> Finding {
    let Some(domain) = job_domain(facts) else {
        return Finding::not_applicable("no job has a domain here");
    };
    match domain.stage.as_str() {
        "channel_only" => {
            return Finding::not_applicable(format!(
                "job {} has its channel and needs no domain",
                domain.job
            ));
        }
        "skipped" => {
            return Finding::not_applicable(format!(
                "job {} has one node in this NVLink partition, and by jobs.one_node gets nothing for it",
                domain.job
            ));
        }
        _ => {}
    }
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
    runs("a prolog", &facts.job.prologs, facts)
}

pub(super) fn epilogs(facts: &Facts) -> Finding {
    runs("an epilog or sweep", &facts.job.epilogs, facts)
}

pub(super) fn folders(facts: &Facts) -> Finding {
    match &facts.job.shared {
        Told::Unknown(why) => Finding::unknown(why),
        Told::Known(shared) if shared.is_empty() => {
            Finding::ok("states, leases and logs are on this machine")
        }
        Told::Known(shared) => {
            let told =
                shared.iter().map(|(key, folder, on)| format!("{key}: {} is on {on}", folder.display()));
            Finding::warn(
                told.collect::<Vec<_>>().join("\n"),
                "where other nodes have the same folder, each takes the others' states for its own and their logs mix: name folders \
                 of this node in [files] of openimex.toml; what all nodes wrote is in their journals",
            )
        }
    }
}

fn runs(kind: &str, runs: &Told<Vec<Run>>, facts: &Facts) -> Finding {
    let runs = match runs {
        Told::Unknown(why) => return Finding::unknown(why),
        Told::Known(runs) => &runs[..runs.len().min(NEWEST)],
    };
    let Some(newest) = runs.first() else {
        return Finding::not_applicable(format!("there is no record of {kind}"));
    };
    let told: Vec<String> = runs.iter().filter(|run| run.exit_code != 0 || passed(run)).map(tell).collect();
    let record = |run: &Run| facts.operator.files.state.join("records").join(&run.file).display().to_string();
    let newest_told =
        runs.iter().find(|run| run.exit_code != 0 || passed(run)).map(record).unwrap_or_default();
    let before = facts.job.boot_id.known().zip(newest.boot_id.as_ref()).is_some_and(|(boot, of)| boot != of);
    match newest.exit_code {
        0 if passed(newest) => Finding::warn(
            told.join("\n"),
            "the job's domain is not whole, and this node is not at fault: look at the one that the message names",
        ),
        0 if told.is_empty() && newest.ending == SKIPPED => {
            Finding::ok(format!("the newest had nothing to do: {}", newest.message))
        }
        0 if told.is_empty() => Finding::ok(format!("the last {} ended well", runs.len())),
        0 => Finding::warn(
            told.join("\n"),
            format!("the newest one ended well; why the last of these did not is in {newest_told}"),
        ),
        _ if before => {
            let fix = format!("that was before the last boot; the cause is in {newest_told}");
            Finding::warn(told.join("\n"), fix)
        }
        _ => {
            let fix = format!("the cause and the node at fault are in {newest_told}");
            Finding::fail(told.join("\n"), fix)
        }
    }
}

/// If Slurm was told that all is well, because the fault is another node's.
fn passed(run: &Run) -> bool {
    run.ending.starts_with(PASSED)
}

/// An ending as people say it.
fn in_words(ending: &str) -> &str {
    match ending {
        "passed_innocent" => "Slurm was told that all is well, because another node is at fault",
        "passed_tie" => "Slurm was told that all is well, although it may be this node's fault",
        other => other,
    }
}

fn tell(Run { time, job, ending, exit_code, message, .. }: &Run) -> String {
    let job = job.map(|job| format!(" job {job}")).unwrap_or_default();
    match exit_code {
        0 => format!("{time}{job}: {}: {message}", in_words(ending)),
        code => format!("{time}{job}: exit code {code}: {message}"),
    }
}

pub(super) fn left_behind(facts: &Facts) -> Finding {
    let domain = facts.job.domain.known().and_then(Option::as_ref);
    if !facts.job.alive.is_empty() {
        return Finding::not_applicable(format!("{} here", jobs(&facts.job.alive)));
    }
    if let Some(domain) = domain {
        let job = domain.job;
        return match lives(facts, job) {
            Life::Runs => Finding::not_applicable(format!("job {job} runs, with no step here now")),
            Life::Unknown => Finding::unknown(format!(
                "job {job}'s domain is here and no step of it, and Slurm does not say if it runs"
            )),
            Life::Ended => Finding::warn(
                format!("job {job} has ended, and its domain is here"),
                "if its epilog is not at work: `imex slurm sweep`",
            ),
        };
    }
    // Where no prolog has ever run, domains are not made for jobs.
    if facts.job.prologs.known().is_none_or(Vec::is_empty) {
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

/// What Slurm says of a job that has no step here.
fn lives(facts: &Facts, job: u32) -> Life {
    facts.job.lives.get(&job).copied().unwrap_or(Life::Unknown)
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
