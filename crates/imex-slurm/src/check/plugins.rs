//! Rules about plugins that stand in each other's way.

use super::{Finding, Subject, TopologyFiles, rules};
use crate::release::Release;
use crate::settings::ChannelMaker;

/// The release that closed the hole of switch/nvidia_imex, by Slurm's list of changes.
const CLOSED: Release = Release::new(24, 5, 2);

pub(super) fn judge(subject: &Subject<'_>, findings: &mut Vec<Finding>) {
    channels(subject, findings);
    topology(subject, findings);
    let conf = subject.conf;
    let prep = conf.words("PrEpPlugins");
    if !prep.is_empty() && !prep.iter().any(|plugin| matches!(*plugin, "prep/script" | "script")) {
        findings.push(Finding::of(&rules::NO_PREP, conf, "PrEpPlugins"));
    }
    let user = conf.get("SlurmdUser").map_or("root", |setting| setting.value.as_str());
    // A controller shows `root(0)`.
    if !matches!(user, "root" | "root(0)" | "0") {
        findings.push(Finding::of(&rules::NOT_ROOT, conf, "SlurmdUser"));
    }
    if conf.words("PreemptMode").iter().any(|mode| mode.eq_ignore_ascii_case("SUSPEND")) {
        findings.push(Finding::of(&rules::SUSPEND, conf, "PreemptMode"));
    }
}

fn channels(subject: &Subject<'_>, findings: &mut Vec<Finding>) {
    let conf = subject.conf;
    let switch = conf.get("SwitchType").map_or("", |setting| setting.value.as_str());
    let slurms = matches!(switch.to_ascii_lowercase().as_str(), "switch/nvidia_imex" | "nvidia_imex");
    let mut breach = |rule| findings.push(Finding::of(rule, conf, "SwitchType"));
    match (slurms, subject.channels) {
        (true, ChannelMaker::Imex) => breach(&rules::TWO_CHANNEL_MAKERS),
        (false, ChannelMaker::Slurm) => breach(&rules::NO_CHANNEL_MAKER),
        (true, ChannelMaker::Slurm | ChannelMaker::Others)
        | (false, ChannelMaker::Imex | ChannelMaker::Others) => {}
    }
    if !slurms {
        return;
    }
    if subject.release().is_some_and(|release| release < CLOSED) {
        breach(&rules::HOLE);
    }
    // Its name until 25.11, and since.
    for key in ["JobContainerType", "NamespaceType"] {
        if conf.get(key).is_some_and(|setting| setting.value.to_ascii_lowercase().ends_with("tmpfs")) {
            findings.push(Finding::of(&rules::NAMESPACE, conf, key));
        }
    }
}

fn topology(subject: &Subject<'_>, findings: &mut Vec<Finding>) {
    let conf = subject.conf;
    let plugin = conf.get("TopologyPlugin");
    let block = plugin.is_some_and(|setting| setting.value.to_ascii_lowercase().ends_with("block"));
    match subject.topology {
        // A controller shows a plugin whether it is set or not.
        TopologyFiles::Yaml => {
            if plugin.is_some_and(|setting| setting.place != super::Place::Controller {}) {
                findings.push(Finding::of(&rules::PLUGIN_IGNORED, conf, "TopologyPlugin"));
            }
        }
        TopologyFiles::Conf if block => {}
        TopologyFiles::Neither | TopologyFiles::Conf => {
            findings.push(Finding::of(&rules::NO_BLOCKS, conf, "TopologyPlugin"));
        }
        TopologyFiles::Unknown => {}
    }
}
