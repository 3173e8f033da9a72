//! Rules about `PrologFlags`, and what becomes of a job whose prolog fails.

use super::{Finding, Subject, rules};
use crate::release::Release;

/// The words that Slurm 26.05 knows.
const KNOWN: [&str; 8] =
    ["alloc", "contain", "deferbatch", "forcerequeueonfail", "nohold", "runinjob", "serial", "x11"];

/// From this release on every flag implies Alloc.
const IMPLIES_ALLOC: Release = Release::new(26, 5, 0);

pub(super) fn judge(subject: &Subject<'_>, findings: &mut Vec<Finding>) {
    let conf = subject.conf;
    let flags: Vec<String> = conf.words("PrologFlags").into_iter().map(str::to_ascii_lowercase).collect();
    let has = |flag: &str| flags.iter().any(|one| one == flag);
    let mut breach = |rule| findings.push(Finding::of(rule, conf, "PrologFlags"));
    if flags.is_empty() {
        breach(&rules::NO_ALLOC);
    } else {
        let implied = has("contain")
            || has("x11")
            || has("runinjob")
            || subject.release().is_none_or(|release| release >= IMPLIES_ALLOC);
        match (has("alloc"), implied) {
            (true, _) => {}
            (false, true) => breach(&rules::ALLOC_IMPLIED),
            (false, false) => breach(&rules::NO_ALLOC),
        }
        if !has("deferbatch") {
            breach(&rules::NO_DEFER_BATCH);
        }
    }
    let contain = has("contain") || has("x11");
    for (breached, rule) in [
        (has("nohold"), &rules::NO_HOLD),
        (has("nohold") && contain, &rules::NO_HOLD_CONTAIN),
        (has("runinjob"), &rules::RUN_IN_JOB),
        (has("serial"), &rules::SERIAL),
        (contain, &rules::CONTAIN),
        (flags.iter().any(|flag| !KNOWN.contains(&flag.as_str())), &rules::UNKNOWN_FLAG),
    ] {
        if breached {
            breach(rule);
        }
    }
    let after_failure = conf.words("SchedulerParameters");
    if !after_failure.iter().any(|word| word.eq_ignore_ascii_case("nohold_on_prolog_fail")) {
        findings.push(Finding::of(&rules::HELD, conf, "SchedulerParameters"));
    }
    if conf.get("JobRequeue").is_some_and(|setting| setting.value == "0") {
        findings.push(Finding::of(&rules::NO_REQUEUE, conf, "JobRequeue"));
    }
}
