//! The checks: each a row with an id that never changes its meaning, and a function of the facts.
//!
//! Ids: D00 policy; D01 driver, channels, fabric; D10 service and files; D20 domain and network; D30 jobs; D40 Slurm.

mod domain;
mod hardware;
mod jobs;
mod network;
mod service;
mod slurm;

use std::borrow::Cow;

use serde::Serialize;

use super::facts::Facts;

/// A check.
#[derive(Debug)]
pub(crate) struct Check {
    /// Its id.
    pub(crate) id: &'static str,
    /// Its name.
    pub(crate) name: &'static str,
    /// What it looks at, and what would be wrong.
    #[cfg_attr(not(test), expect(dead_code, reason = "the document is held against it"))]
    pub(crate) about: &'static str,
    /// What needs root; empty if nothing does.
    #[cfg_attr(not(test), expect(dead_code, reason = "the document is held against it"))]
    pub(crate) root: &'static str,
    /// Judges.
    pub(crate) judge: fn(&Facts) -> Finding,
}

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    /// All is well.
    Ok,
    /// It works, but not as well as it could, or not for long.
    Warn,
    /// It does not work.
    Fail,
    /// There is nothing to check here.
    NotApplicable,
    /// It could not be told.
    Unknown,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// How it came out.
    pub(crate) verdict: Verdict,
    /// By what.
    pub(crate) evidence: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fix: Option<Cow<'static, str>>,
}

macro_rules! checks {
    ($($id:literal $name:literal $judge:path: $about:literal, $root:literal;)*) => {
        /// All checks, by id.
        pub(crate) const ALL: &[Check] =
            &[$(Check { id: $id, name: $name, about: $about, root: $root, judge: $judge }),*];
    };
}

checks! {
    "D00" "policy" service::policy: "openimex.toml can be used", "";
    "D01" "driver" hardware::driver: "NVIDIA's driver is loaded", "";
    "D02" "channel class" hardware::channel_class: "/proc/devices has `nvidia-caps-imex-channels`, which is not `nvidia-caps`", "";
    "D03" "channel count" hardware::channel_count: "the driver has channels, and as many as openimex.toml says", "";
    "D04" "channel device" hardware::channel_device: "the job's channel, else channel 0, has the right major, minor, mode and owner; a node from before a driver reload has a stale major", "";
    "D05" "channel access" hardware::channel_access: "the user can open it (`--as USER`)", "to try it as another user; else the mode bits are judged";
    "D06" "fabric" hardware::fabric: "all GPUs have registered with one NVLink partition: completed, successful, a cluster UUID that is not zero, one clique", "";
    "D07" "fabric health" hardware::fabric_health: "no GPU complains of its fabric: bandwidth, routes, time-outs, configuration", "";
    "D10" "unit" service::unit: "the service's unit is installed, loaded, not masked, and starts at boot or by a job", "";
    "D11" "running" service::running: "the unit runs, has not failed, does not restart by itself again and again", "";
    "D12" "one daemon" service::one_daemon: "only one IMEX daemon is here: the driver has one session", "";
    "D13" "configuration" service::configuration: "config.cfg has no unknown keys and no wrong values", "where the files are root's";
    "D14" "node map" service::node_map: "the node map can be read and has this node", "where the file is root's";
    "D15" "map unchanged" service::map_unchanged: "the map was not changed since the daemon started: a daemon reads it only then", "";
    "D16" "port" network::port: "nobody else has the service's port", "to name another user's process";
    "D17" "port range" network::port_range: "the port is not one that the kernel gives to outgoing connections", "";
    "D18" "versions" domain::versions: "all members run one version, and that of the driver", "";
    "D20" "answers" domain::answers: "the local daemon answers", "where its socket is root's";
    "D21" "up" domain::up: "every ordered pair of the domain is connected; who is missing and why", "";
    "D22" "same map" domain::same_map: "no member is `!M!`: all have the same node map", "";
    "D23" "same version" domain::same_version: "no member is `!V!`", "";
    "D24" "command port" domain::command_port: "members are not UNAVAILABLE only because their command port is closed", "";
    "D25" "names" network::names: "each name of the map stands for addresses that other nodes can reach", "";
    "D26" "reachable" network::reachable: "members that the daemon does not reach answer at its port: refused means no service, silence a firewall or a machine that is off", "";
    "D27" "refusals" domain::refusals: "the daemon's statistics count no refused members", "where the file is root's";
    "D28" "certificates" service::certificates: "with TLS: keys, certificates and authorities go together, are this node's, and do not end within 30 days", "where the files are root's";
    "D30" "lease" jobs::lease: "a lease has a job, and a job with a domain has a lease", "";
    "D31" "power-cycle" jobs::power_cycle: "the job's domain was made on this boot", "";
    "D32" "job's map" jobs::map: "the node map has the members of the job's domain", "";
    "D33" "last prologs" jobs::prologs: "the newest prologs ended well", "where records are root's";
    "D34" "left behind" jobs::left_behind: "no domain of several nodes stands where no job is", "";
    "D35" "last epilogs" jobs::epilogs: "the newest epilogs and sweeps ended well", "where records are root's";
    "D36" "own folders" jobs::folders: "files.state, files.run and files.logs are not on a network's file system, where other nodes would write into them too", "";
    "D40" "Slurm's settings" slurm::settings: "`imex slurm check` has no errors", "";
    "D41" "second owner" slurm::second_owner: "no other prolog or epilog starts, stops or configures the service", "";
    "D42" "reported fabric" slurm::reported_fabric: "the file of fabric reports says of this node what its GPUs say: topology is made from it", "";
}

/// The check with this id, in letters of any case.
pub(crate) fn known(id: &str) -> Result<&'static Check, String> {
    let check = ALL.iter().find(|check| check.id.eq_ignore_ascii_case(id));
    check.ok_or_else(|| {
        let ids: Vec<&str> = ALL.iter().map(|check| check.id).collect();
        format!("the checks are {}; docs/doctor.md says what each looks at", ids.join(", "))
    })
}

/// What a prolog, epilog or sweep makes and takes away: the channel, the service with its map and port, the domain, the lease.
const CHANGING: [&str; 12] =
    ["D04", "D05", "D11", "D14", "D15", "D16", "D20", "D21", "D30", "D31", "D32", "D34"];

impl Check {
    /// Judges. While a script is at work, what it is changing is not called wrong: nobody should requeue a job whose epilog is
    /// taking its domain away.
    pub(crate) fn finding(&self, facts: &Facts) -> Finding {
        let finding = (self.judge)(facts);
        let wrong = matches!(finding.verdict, Verdict::Fail | Verdict::Warn);
        if wrong && facts.job.at_work && CHANGING.contains(&self.id) {
            return Finding::unknown(format!(
                "a prolog, epilog or sweep is at work, look again when it has ended; now: {}",
                finding.evidence
            ));
        }
        finding
    }
}

impl Verdict {
    /// The word for people.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::Warn => "warn",
            Verdict::Fail => "FAIL",
            Verdict::NotApplicable => "n/a",
            Verdict::Unknown => "unknown",
        }
    }
}

impl Finding {
    fn ok(evidence: impl Into<String>) -> Self {
        Finding { verdict: Verdict::Ok, evidence: evidence.into(), fix: None }
    }

    fn warn(evidence: impl Into<String>, fix: impl Into<Cow<'static, str>>) -> Self {
        Finding { verdict: Verdict::Warn, evidence: evidence.into(), fix: Some(fix.into()) }
    }

    fn fail(evidence: impl Into<String>, fix: impl Into<Cow<'static, str>>) -> Self {
        Finding { verdict: Verdict::Fail, evidence: evidence.into(), fix: Some(fix.into()) }
    }

    fn not_applicable(because: impl Into<String>) -> Self {
        Finding { verdict: Verdict::NotApplicable, evidence: because.into(), fix: None }
    }

    fn unknown(because: impl Into<String>) -> Self {
        Finding { verdict: Verdict::Unknown, evidence: because.into(), fix: None }
    }
}

#[cfg(test)]
mod tests;
