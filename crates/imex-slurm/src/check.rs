//! Judges Slurm's settings for jobs that need a verified domain: from a `slurm.conf` or from what a controller holds.
//!
//! Reading ([`conf`], [`live`]), looking at scripts ([`scripts`]) and judging are apart: [`check`] is a function of what
//! was read and seen. Its rules are [`rules::ALL`].

pub mod conf;
mod flags;
pub mod live;
mod partitions;
mod plugins;
pub mod rules;
pub mod scripts;
mod timeouts;

use std::fmt;
use std::path::Path;

pub use conf::{Conf, Place};
pub use imex_config::{Rule, Severity};

use crate::release::Release;
use crate::settings::{Budget, ChannelMaker};
use conf::FaultKind;
use scripts::Look;

/// One breach of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// Where; `None` if it is about what is not there.
    pub place: Option<Place>,
    /// What was found, with its values: a fragment.
    pub what: String,
}

/// The files about topology that lie beside `slurm.conf`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopologyFiles {
    /// Nobody could look.
    Unknown,
    /// There is neither.
    Neither,
    /// There is a `topology.conf` alone.
    Conf,
    /// There is a `topology.yaml`, which counts.
    Yaml,
}

/// What is judged.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// Slurm's settings.
    pub conf: &'a Conf,
    /// The folder of `slurm.conf`, from which relative paths are taken.
    pub folder: &'a Path,
    /// How scripts are looked at.
    pub look: &'a dyn Look,
    /// Which topology files there are.
    pub topology: TopologyFiles,
    /// Which Slurm it is, if that is known. A controller tells it itself.
    pub release: Option<Release>,
    /// How long our scripts may take.
    pub budget: Budget,
    /// Who makes the channels, by `openimex.toml`.
    pub channels: ChannelMaker,
}

/// Judges; the findings are by place, those without one first.
pub fn check(subject: &Subject<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for fault in &subject.conf.faults {
        let place = Some(fault.place.clone());
        findings.push(match &fault.kind {
            FaultKind::Include { file, why } => {
                Finding::new(&rules::INCLUDE, place, format!("{}: {why}", file.display()))
            }
            FaultKind::Malformed { text } => Finding::new(&rules::MALFORMED, place, format!("`{text}`")),
        });
    }
    for (one, last) in subject.conf.replaced() {
        let what = format!("{}={} does not count; {} says {}", one.key, one.value, last.place, last.value);
        findings.push(Finding::new(&rules::REPLACED, Some(one.place.clone()), what));
    }
    let prolog = scripts::judge("Prolog", subject, &mut findings);
    let epilog = scripts::judge("Epilog", subject, &mut findings);
    for key in ["TaskProlog", "HealthCheckProgram"] {
        scripts::judge(key, subject, &mut findings);
    }
    scripts::missing(subject.conf, &prolog, &epilog, &mut findings);
    flags::judge(subject, &mut findings);
    timeouts::judge(subject, &mut findings);
    plugins::judge(subject, &mut findings);
    partitions::judge(subject.conf, &mut findings);
    findings.sort_by(|a, b| (&a.place, a.rule.id, &a.what).cmp(&(&b.place, b.rule.id, &b.what)));
    findings
}

impl Subject<'_> {
    /// Which Slurm it is: what the controller says, or what was said about it.
    fn release(&self) -> Option<Release> {
        let said = self.conf.get("SLURM_VERSION").and_then(|setting| setting.value.parse().ok());
        said.or(self.release)
    }
}

impl Finding {
    fn new(rule: &'static Rule, place: Option<Place>, what: impl Into<String>) -> Self {
        Finding { rule, place, what: what.into() }
    }

    /// A breach by the value that a key has.
    fn of(rule: &'static Rule, conf: &Conf, key: &str) -> Self {
        match conf.get(key) {
            Some(setting) => {
                Finding::new(rule, Some(setting.place.clone()), format!("{}={}", setting.key, setting.value))
            }
            None => Finding::new(rule, None, format!("{key} is not set")),
        }
    }
}

impl fmt::Debug for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subject")
            .field("conf", self.conf)
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
