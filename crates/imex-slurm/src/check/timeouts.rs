//! Rules about time-outs, held against the budget.

use std::time::Duration;

use super::conf::Conf;
use super::{Finding, Rule, Subject, rules};
use crate::budget::BEYOND;

/// What Slurm shows for a time-out that is not set.
const UNSET: &str = "65534";

/// Slurm's `BatchStartTimeout` and `MessageTimeout` where none is set.
const SLURMS_OWN: Duration = Duration::from_secs(10);

/// Slurm's `ReturnToService` where none is set.
const RETURN_TO_SERVICE: &str = "0";

/// What a script should have beyond its budget on a busy machine.
const ROOM: Duration = Duration::from_secs(10);

pub(super) fn judge(subject: &Subject<'_>, findings: &mut Vec<Finding>) {
    let (conf, budget) = (subject.conf, subject.budget);
    script(conf, "PrologTimeout", budget.prolog, findings);
    script(conf, "EpilogTimeout", budget.epilog, findings);
    let batch = limit(conf, "BatchStartTimeout").unwrap_or(SLURMS_OWN);
    if batch <= budget.prolog {
        findings.push(against(&rules::BATCH_START, conf, "BatchStartTimeout", budget.prolog));
    }
    let message = limit(conf, "MessageTimeout").unwrap_or(SLURMS_OWN);
    if conf.words("PrologFlags").is_empty() && message <= budget.prolog {
        findings.push(against(&rules::MESSAGE, conf, "MessageTimeout", budget.prolog));
    }
    if limit(conf, "SlurmdTimeout") == Some(Duration::ZERO) {
        findings.push(Finding::of(&rules::SLURMD, conf, "SlurmdTimeout"));
    }
    if conf.get("ReturnToService").map_or(RETURN_TO_SERVICE, |setting| &setting.value) == "2" {
        findings.push(Finding::of(&rules::POWER_CYCLE, conf, "ReturnToService"));
    }
}

/// The time-out of one script: its own key, else that of both.
fn script(conf: &Conf, own: &str, budget: Duration, findings: &mut Vec<Finding>) {
    let both = "PrologEpilogTimeout";
    let (key, time) = match (limit(conf, own), limit(conf, both)) {
        (Some(time), _) => (own, Some(time)),
        (None, Some(time)) => (both, Some(time)),
        (None, None) => (own, None),
    };
    match time {
        Some(time) if time < budget + BEYOND => findings.push(against(&rules::SHORT, conf, key, budget)),
        Some(time) if time < budget + ROOM => findings.push(against(&rules::TIGHT, conf, key, budget)),
        Some(_) => {}
        None => {
            let place = conf.get(both).map(|setting| setting.place.clone());
            findings.push(Finding::new(&rules::FOR_EVER, place, format!("neither {own} nor {both} is set")));
        }
    }
}

fn against(rule: &'static Rule, conf: &Conf, key: &str, budget: Duration) -> Finding {
    let Finding { rule, place, what } = Finding::of(rule, conf, key);
    Finding { rule, place, what: format!("{what}, and the script may take {} s", budget.as_secs_f64()) }
}

/// A number of seconds, `10 sec`, `2 min`; `None` if it is not set, or for ever.
fn limit(conf: &Conf, key: &str) -> Option<Duration> {
    let value = &conf.get(key)?.value;
    let mut words = value.split_whitespace();
    let number: u64 = words.next().filter(|number| *number != UNSET)?.parse().ok()?;
    let seconds = match words.next() {
        Some("min") => number.saturating_mul(60),
        Some(_) | None => number,
    };
    Some(Duration::from_secs(seconds))
}
