//! Checks of the service, its unit and its files.

use imex_config::Severity;
use imex_config::file::FileError;
use imex_config::operator::Unusable;
use imex_host::systemd::{ActiveState, Enablement, LoadState, ServiceFacts};
use imex_slurm::applicable::UnitFile;
use imex_slurm::service::unit_file;

use super::Finding;
use super::hardware::has_channels;
use crate::doctor::facts::{Facts, Rights, Told, Unit};

/// So many restarts by systemd are a service that does not hold.
const MANY_RESTARTS: u32 = 3;

/// How many daemons are listed: a lab's or a container host's can be hundreds.
const SHOWN_DAEMONS: usize = 8;

pub(super) fn policy(facts: &Facts) -> Finding {
    match &facts.operator_faults {
        None => Finding::ok("openimex.toml can be used, or is not there and everything has its default"),
        // Root's prolog reads what this user may not.
        Some(faults) if facts.rights == Rights::User && faults.ends_with(&FileError::Denied.to_string()) => {
            Finding::unknown(faults)
        }
        Some(faults) => Finding::fail(faults, "correct the file: until then prologs fail on this node"),
    }
}

/// What becomes of a job whose domain this node has lost: programs that shared memory do not get it back.
pub(super) fn requeue(facts: &Facts) -> String {
    let lost = "the job has lost its domain here although Slurm may call it RUNNING";
    match facts.job.domain.known().and_then(Option::as_ref) {
        Some(domain) => format!("{lost}: `scontrol requeue {}`", domain.job),
        None => format!("{lost}: requeue it (`squeue --nodelist` of this node names it)"),
    }
}

/// The unit, or why there is nothing to say about it.
fn found(facts: &Facts) -> Result<&ServiceFacts, Finding> {
    let name = &facts.service.unit;
    match &facts.service.state {
        Told::Unknown(why) if !has_channels(facts) => {
            Err(Finding::not_applicable(format!("the driver has no IMEX channels here, and {why}")))
        }
        Told::Unknown(why) => Err(Finding::unknown(why)),
        Told::Known(Unit::Found(unit)) => Ok(unit),
        Told::Known(Unit::Missing) if !has_channels(facts) => Err(Finding::not_applicable(format!(
            "there is no {name}, and the driver has no IMEX channels here"
        ))),
        Told::Known(Unit::Missing) => Err(Finding::fail(
            format!("there is no {name}"),
            "install the service, or name its unit in service.unit of openimex.toml",
        )),
    }
}

pub(super) fn unit(facts: &Facts) -> Finding {
    let unit = match found(facts) {
        Ok(unit) => unit,
        Err(finding) => return finding,
    };
    let name = &unit.id;
    match &unit.load {
        LoadState::Loaded | LoadState::Masked => {}
        LoadState::NotFound | LoadState::BadSetting | LoadState::Error | LoadState::Other(_) => {
            let why = unit.load_error.as_deref().unwrap_or("its file cannot be used");
            return Finding::fail(
                format!("{name}: {why}"),
                "`systemctl status` and `systemd-analyze verify` tell more",
            );
        }
    }
    match unit_file(unit) {
        UnitFile::Disabled => {
            let evidence = format!("{name} is disabled");
            match facts.operator.service.unit_unusable {
                Unusable::Skip => Finding::warn(
                    evidence,
                    "`systemctl enable` it: prologs skip this node and its jobs run without NVLink between nodes",
                ),
                Unusable::Fail => {
                    Finding::fail(evidence, "`systemctl enable` it: prologs fail here until then")
                }
            }
        }
        UnitFile::Masked => {
            Finding::fail(format!("{name} is masked"), "`systemctl unmask` it, or name another unit")
        }
        UnitFile::Usable | UnitFile::Missing => Finding::ok(format!("{name} is installed")),
    }
}

pub(super) fn running(facts: &Facts) -> Finding {
    let unit = match found(facts) {
        Ok(unit) => unit,
        Err(finding) => return Finding { verdict: super::Verdict::NotApplicable, fix: None, ..finding },
    };
    let name = &unit.id;
    match &unit.active {
        ActiveState::Active | ActiveState::Reloading if unit.restarts >= MANY_RESTARTS => Finding::warn(
            format!("{name} runs, and was restarted {} times by systemd", unit.restarts),
            "its log says why it ended: `journalctl -u` it",
        ),
        ActiveState::Active | ActiveState::Reloading => Finding::ok(format!("{name} runs")),
        ActiveState::Failed if !job_needs_daemon(facts) && has_no_map(facts) => {
            Finding::ok(format!("{name} did not start for want of a node map, and no job needs it"))
        }
        ActiveState::Failed => Finding::fail(
            format!("{name} failed: {:?}, exit code or signal {}", unit.result, unit.exec_main_status),
            "its log says why: `journalctl -u` it; docs/exit-codes.md lists the codes",
        ),
        ActiveState::Activating | ActiveState::Deactivating => Finding::warn(
            format!("{name} is {}", unit.sub),
            "it becomes active when the domain's quorum is there: look again, or see D21",
        ),
        ActiveState::Inactive | ActiveState::Other(_) if job_needs_daemon(facts) => {
            Finding::fail(format!("{name} does not run, and a job has a domain here"), requeue(facts))
        }
        ActiveState::Inactive | ActiveState::Other(_) => {
            Finding::ok(format!("{name} does not run, and no job needs it"))
        }
    }
}

pub(super) fn one_daemon(facts: &Facts) -> Finding {
    let service = &facts.service;
    let runs = |unit: &Told<Unit>| match unit.known() {
        Some(Unit::Found(unit)) if unit.may_run() => Some(unit.id.clone()),
        Some(Unit::Found(_) | Unit::Missing) | None => None,
    };
    let (own, other) = (runs(&service.state), runs(&service.other));
    if let (Some(own), Some(other)) = (&own, &other)
        && own != other
    {
        return Finding::fail(
            format!("{own} and {other} both run"),
            "disable one of them: the driver has one session, and the second daemon gets \"in use\"",
        );
    }
    let daemons: Vec<String> =
        service.processes.iter().map(|process| format!("{} ({})", process.name, process.pid)).collect();
    match daemons.len() {
        0 => Finding::ok("no IMEX daemon runs"),
        1 => Finding::ok(format!("{} alone", daemons[0])),
        many => Finding::warn(
            match many.saturating_sub(SHOWN_DAEMONS) {
                0 => daemons.join(", "),
                more => format!("{} and {more} more", daemons[..SHOWN_DAEMONS].join(", ")),
            },
            "if these are not of containers or a lab, end those that no unit owns: one node has one session",
        ),
    }
}

pub(super) fn configuration(facts: &Facts) -> Finding {
    if let Told::Unknown(why) = &facts.config.judged {
        return Finding::unknown(why);
    }
    // A map that is empty between jobs is how an epilog leaves it; what else is wrong counts all the same.
    let between_jobs = facts.config.entries.known().is_none_or(Vec::is_empty) && facts.job.alive.is_empty();
    let of_map = if between_jobs { &[][..] } else { &facts.config.map_problems };
    let problems = || facts.config.problems.iter().chain(of_map);
    let Some(worst) = problems().map(|(severity, _)| *severity).max() else {
        let path = facts.config.path.display();
        return Finding::ok(match of_map.len() == facts.config.map_problems.len() {
            true => format!("{path} is as it should be"),
            false => format!("{path} is as it should be; no job is here, and the node map is empty"),
        });
    };
    let text = problems().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n");
    match worst {
        Severity::Note => Finding::ok(text),
        Severity::Warning => Finding::warn(text, "`imexd --check` tells the same"),
        Severity::Error if no_service(facts) => Finding::not_applicable("there is no IMEX service here"),
        Severity::Error => {
            Finding::fail(text, "correct what is named: the daemon does not start before that")
        }
    }
}

pub(super) fn certificates(facts: &Facts) -> Finding {
    let Some(found) = &facts.config.certificates else {
        return Finding::not_applicable("links are not secured by TLS, or the configuration cannot be used");
    };
    let text = found.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n");
    match found.iter().map(|(severity, _)| *severity).max() {
        None => Finding::ok("key, certificate and authority of both halves go together"),
        Some(Severity::Note) => Finding::ok(text),
        Some(Severity::Warning) => Finding::warn(
            text,
            "issue new ones (`imex pki`), then SIGUSR1: the daemon takes them without a restart",
        ),
        Some(Severity::Error) => Finding::fail(
            text,
            "issue new ones (`imex pki`), then SIGUSR1: the daemon takes them without a restart",
        ),
    }
}

pub(super) fn node_map(facts: &Facts) -> Finding {
    let map = facts.config.map.display();
    match &facts.config.entries {
        Told::Unknown(_) if no_service(facts) => Finding::not_applicable("there is no IMEX service here"),
        // Where maps are made for jobs, there is none before the first.
        Told::Unknown(_) if has_no_map(facts) && !is_expected(facts) => {
            Finding::not_applicable(format!("there is no {map}, and no domain that needs it"))
        }
        Told::Unknown(why) => Finding::unknown(format!("{map}: {why}")),
        Told::Known(entries) if entries.is_empty() => {
            Finding::ok(format!("{map} is empty: no domain is formed"))
        }
        Told::Known(entries) => match facts.config.own {
            Some(own) => Finding::ok(format!("{map} has {} nodes, this one is number {own}", entries.len())),
            None => Finding::fail(
                format!("{map} has {} nodes, and this one is not among them", entries.len()),
                "add this node's address, the same line in the same place on all nodes",
            ),
        },
    }
}

pub(super) fn map_unchanged(facts: &Facts) -> Finding {
    let started = match facts.service.state.known() {
        Some(Unit::Found(unit)) if unit.main_pid.is_some() => unit.since,
        Some(_) | None => None,
    };
    match (started, facts.config.map_changed) {
        (Some(started), Some(changed)) if changed > started => Finding::warn(
            format!("the map was changed at {changed:.0}, after the daemon started at {started:.0}"),
            "restart the service on all members together: a daemon that has read another map is `!M!` to the rest",
        ),
        (Some(_), Some(_)) => Finding::ok("the map is older than the daemon"),
        (None, _) => Finding::not_applicable("no daemon of the unit runs"),
        (_, None) => Finding::unknown("the map's time of change cannot be read"),
    }
}

/// If neither provider's unit is here.
fn no_service(facts: &Facts) -> bool {
    let missing = |unit: &Told<Unit>| matches!(unit, Told::Known(Unit::Missing) | Told::Unknown(_));
    missing(&facts.service.state) && missing(&facts.service.other) && facts.service.processes.is_empty()
}

/// If there is no node map, or none with a node: between jobs that is as it should be.
fn has_no_map(facts: &Facts) -> bool {
    match &facts.config.entries {
        Told::Known(entries) => entries.is_empty(),
        Told::Unknown(_) => facts.config.map_changed.is_none(),
    }
}

/// If a daemon should run now: its unit does, or a job has a domain here.
pub(super) fn is_expected(facts: &Facts) -> bool {
    let runs = match facts.service.state.known() {
        Some(Unit::Found(unit)) => unit.may_run(),
        Some(Unit::Missing) | None => !facts.service.processes.is_empty(),
    };
    runs || job_needs_daemon(facts)
}

/// If a job has a domain here that is more than a channel or nothing, and has not failed.
fn job_needs_daemon(facts: &Facts) -> bool {
    let domain = facts.job.domain.known().and_then(Option::as_ref);
    domain.is_some_and(|domain| !matches!(domain.stage.as_str(), "channel_only" | "skipped" | "failed"))
}

/// If the unit starts at boot.
pub(super) fn is_enabled(facts: &Facts) -> bool {
    match &facts.service.state {
        Told::Known(Unit::Found(unit)) => unit.enablement == Enablement::Enabled,
        Told::Known(Unit::Missing) | Told::Unknown(_) => false,
    }
}
