//! Golden files of the scripts that Slurm runs: help, environments that are none, and what they say on a machine that has no
//! IMEX. Jobs that get a domain are tried on a real Slurm (`cargo xtask e2e`).

mod hung;

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::program::{imex, redactions, run, transcript};

const BOOT: &str = "/proc/sys/kernel/random/boot_id";

#[test]
fn help_of_the_scripts_is_as_recorded() {
    let _redacted = redactions();
    for script in ["prolog", "epilog", "sweep", "task-prolog"] {
        let text = transcript(&mut imex(&["slurm", script, "--help"]), Path::new("/nowhere"));
        // The exit codes are those of every command.
        let text = text.split("Exit codes:").next().unwrap().trim_end().to_owned();
        insta::assert_snapshot!(format!("slurm-{script}-help"), text);
    }
}

#[test]
fn an_environment_that_is_no_jobs_is_told_as_a_whole() {
    let _redacted = redactions();
    let site = Site::new("");
    site.golden("slurm-prolog-no-job", "prolog", &[]);
    site.golden("slurm-epilog-no-job", "epilog", &[]);
    site.golden("slurm-prolog-stranger", "prolog", &[("SLURMD_NODENAME", "n9"), ("SLURM_JOB_UID", "root")]);
    site.golden("slurm-prolog-no-job-json", "prolog --json", &[]);
    let record = site.record();
    assert!(record.contains("\"exit_code\": 70") && record.contains("\"job\": null"), "{record}");
}

#[test]
fn a_configuration_that_is_wrong_fails_every_script() {
    let _redacted = redactions();
    let site = Site::new("prolog.bugdet = \"1s\"");
    site.golden("slurm-prolog-wrong-config", "prolog", &JOB);
    for script in ["epilog", "sweep", "task-prolog"] {
        assert_eq!(run(site.script(script, &JOB).args(["--json"])).code, 3, "{script}");
    }
    for kind in ["prolog", "epilog"] {
        let record = site.record_of(&format!("7.0-{kind}"));
        assert!(record.contains("\"ending\": \"misconfigured\""), "{record}");
        assert!(record.contains("\"exit_code\": 3") && record.contains("prolog.bugdet"), "{record}");
    }
    let log = fs::read_to_string(site.dir.path().join("logs/job-7.log")).unwrap();
    assert!(log.contains("[ERROR] [PID:") && log.contains("prolog.bugdet"), "{log}");
}

#[test]
fn a_machine_without_imex_is_skipped_unless_it_should_have_it() {
    let _redacted = redactions();
    let site = Site::new("");
    site.golden("slurm-prolog-no-channels", "prolog", &JOB);
    site.golden("slurm-prolog-no-channels-json", "prolog --json", &JOB);
    let log = fs::read_to_string(site.dir.path().join("logs/job-7.log")).unwrap();
    insta::assert_snapshot!(
        "slurm-prolog-log",
        site.plain(&log.lines().take(3).collect::<Vec<_>>().join("\n"))
    );
    insta::assert_snapshot!("slurm-prolog-record", site.plain(&site.record()));
    Site::new("hardware.expect = \"always\"").golden("slurm-prolog-expected", "prolog", &JOB);
}

#[test]
fn an_epilog_and_a_sweep_of_a_clean_node_find_nothing() {
    let _redacted = redactions();
    let site = Site::new("");
    for _ in 0..2 {
        site.golden("slurm-epilog-nothing", "epilog", &JOB);
    }
    site.golden("slurm-epilog-nothing-json", "epilog --json", &JOB);
    site.golden("slurm-sweep-nothing", "sweep", &[]);
    site.golden("slurm-sweep-nothing-json", "sweep --node n1 --json", &[]);
}

#[test]
fn a_task_is_let_in_by_the_state_of_its_jobs_domain() {
    let _redacted = redactions();
    // Whether it is UP now only a service of this machine could tell.
    let site = Site::new("service.unit = \"imexd-of-no-machine.service\"");
    let boot = fs::read_to_string(BOOT).unwrap();
    site.golden("slurm-task-no-domain", "task-prolog", &JOB);
    site.domain("up", boot.trim());
    site.golden("slurm-task-up", "task-prolog", &JOB);
    site.golden("slurm-task-up-json", "task-prolog --json", &[JOB[0], ("NCCL_MNNVL_ENABLE", "0")]);
    site.golden("slurm-task-of-another-job", "task-prolog", &[("SLURM_JOB_ID", "8")]);
    site.domain("failed", boot.trim());
    site.golden("slurm-task-failed", "task-prolog", &JOB);
    site.domain("up", "0d2b9c1e-1111-2222-3333-444455556666");
    site.golden("slurm-task-rebooted", "task-prolog", &JOB);
}

/// A job of a prolog.
pub(crate) const JOB: [(&str, &str); 7] = [
    ("SLURM_JOB_ID", "7"),
    ("SLURM_CLUSTER_NAME", "lab"),
    ("SLURM_JOB_NODELIST", "n[1-2]"),
    ("SLURMD_NODENAME", "n1"),
    ("SLURM_JOB_UID", "1001"),
    ("SLURM_JOB_GID", "1001"),
    ("SLURM_JOB_EXCLUSIVE", "NODE"),
];

/// A node whose files are in a folder.
pub(crate) struct Site {
    pub(crate) dir: TempDir,
}

impl Site {
    pub(crate) fn new(policy: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name).display().to_string();
        let text = format!(
            "service.config = {:?}\nservice.node_map = {:?}\nfiles.state = {:?}\nfiles.run = {:?}\nfiles.logs = {:?}\nhardware.fabric = \"ignored\"\n{policy}\n",
            at("config.cfg"),
            at("nodes_config.cfg"),
            at("state"),
            at("run"),
            at("logs")
        );
        fs::write(dir.path().join("openimex.toml"), text).unwrap();
        Site { dir }
    }

    pub(crate) fn script(&self, words: &str, environment: &[(&str, &str)]) -> std::process::Command {
        let config = self.dir.path().join("openimex.toml").display().to_string();
        let words = format!("slurm {words} -c {config}");
        let mut command = imex(&words.split_whitespace().collect::<Vec<_>>());
        // As bare as Slurm's.
        command.env_clear().env("TZ", "UTC").envs(environment.iter().copied());
        command
    }

    fn golden(&self, name: &str, words: &str, environment: &[(&str, &str)]) {
        let said = transcript(&mut self.script(words, environment), self.dir.path());
        insta::assert_snapshot!(name, self.plain(&said));
    }

    /// The newest record.
    fn record(&self) -> String {
        self.record_of("")
    }

    /// The newest record whose name has this.
    pub(crate) fn record_of(&self, name: &str) -> String {
        let folder = fs::read_dir(self.dir.path().join("state/records")).unwrap();
        let paths = folder.map(|entry| entry.unwrap().path());
        let newest = paths.filter(|path| path.to_str().is_some_and(|path| path.contains(name))).max();
        fs::read_to_string(newest.unwrap()).unwrap()
    }

    /// Without what differs from run to run.
    fn plain(&self, text: &str) -> String {
        let dir = self.dir.path().display().to_string();
        let mut settled = String::new();
        for line in text.replace(&dir, "DIR").lines() {
            settled.push_str(&settle(line));
            settled.push('\n');
        }
        settled
    }

    fn domain(&self, stage: &str, boot: &str) {
        let text = format!(
            r#"{{"schema_version":1,"job":7,"run":"0","boot_id":"{boot}","since":"2026-01-01T00:00:00Z","node":"n1","uid":1001,
            "unit":"imexd.service","stage":"{stage}","reason":"the domain is DEGRADED and n2 is at fault","domain_id":"lab/7/0/0",
            "members":[{{"node":"n1","address":"10.0.0.1"}},{{"node":"n2","address":"10.0.0.2"}}],"domains":1,
            "channel":{{"number":0,"path":"/dev/nvidia-caps-imex-channels/channel0","removed_after":false}}}}"#
        );
        fs::create_dir_all(self.dir.path().join("state")).unwrap();
        fs::write(self.dir.path().join("state/domain.json"), text).unwrap();
    }
}

/// A line without times, numbers of processes, and what this boot is called.
fn settle(line: &str) -> String {
    let fields =
        ["\"ended\": ", "\"ms\": ", "\"cpu_ms\": ", "\"max_rss_kib\": ", "\"boot_id\": ", "\"spent_ms\": "];
    if let Some(field) = fields.iter().find(|field| line.trim_start().starts_with(*field)) {
        let comma = if line.ends_with(',') { "," } else { "" };
        let indent = line.len() - line.trim_start().len();
        return format!("{}{field}X{comma}", &line[..indent]);
    }
    let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    for word in &mut words {
        if word.starts_with("[PID:") {
            *word = "[PID:X]".to_owned();
        } else if let Some((folder, _)) = word.split_once("records/20") {
            *word = format!("{folder}records/TIME-…");
        } else if word.len() == 23 && word.as_bytes()[10] == b'T' {
            *word = "TIME".to_owned();
        }
    }
    words.join(" ")
}
