//! The committed example file: in step with the key table, without a problem, and fit for a job's prolog.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use imex_config::keys::{self, Group};
use imex_config::{Overrides, ServiceFile, Settings, Severity, Strictness, ThisMachine, example, load};

#[test]
fn the_committed_file_is_the_generated_one() {
    let committed = fs::read_to_string(committed()).unwrap();
    assert!(
        committed == example(),
        "write it anew: cargo run -p imex-config --example config_cfg > dist/conf/config.cfg"
    );
}

#[test]
fn it_sets_every_key_but_legacy_ones_to_its_default() {
    let file = ServiceFile::parse(example().as_bytes()).unwrap();
    let written: Vec<_> = file.assignments().map(|found| (found.key, found.value)).collect();
    let keys = keys::ALL.iter().filter(|key| key.group != Group::Legacy);
    let table: Vec<_> = keys.map(|key| (key.name, key.default)).collect();
    assert_eq!(written, table);
}

#[test]
fn our_own_check_finds_no_problem_in_it() {
    let site = Site::new(&example());
    let loaded = load(&site.config(), &Overrides::default(), &ThisMachine);
    assert!(loaded.problems.is_empty(), "{}", loaded.problems);
    assert!(loaded.settings.is_some());
}

#[test]
fn it_means_what_an_empty_file_means() {
    let nodes = "IMEX_NODE_CONFIG_FILE=/etc/nvidia-imex/nodes_config.cfg\n";
    assert_eq!(Site::new(&example()).settings(), Site::new(nodes).settings());
}

/// The edits that the Slurm prolog of NVIDIA's deployment guide makes, by the same tool in the same way.
#[test]
fn a_prologs_edits_change_three_lines_and_leave_it_valid() {
    let site = Site::new(&example());
    let before = site.text();
    for edit in [
        "s/SERVER_PORT.*/SERVER_PORT=34567/",
        "s/IMEX_CMD_PORT.*/IMEX_CMD_PORT=50005/",
        "s/IMEX_CMD_ENABLED.*/IMEX_CMD_ENABLED=1/",
        "s/IMEX_CONN_WAIT_TIMEOUT.*/IMEX_CONN_WAIT_TIMEOUT=70/",
    ] {
        let status = Command::new("sed").arg("-i").arg(edit).arg(site.config()).status().unwrap();
        assert!(status.success(), "{edit}");
    }
    let after = site.text();
    let changed: Vec<_> = after.lines().zip(before.lines()).filter(|(new, old)| new != old).collect();
    assert_eq!(
        changed,
        [("SERVER_PORT=34567", "SERVER_PORT=50000"), ("IMEX_CMD_ENABLED=1", "IMEX_CMD_ENABLED=0")]
    );
    assert_eq!(after.lines().count(), before.lines().count());

    let loaded = load(&site.config(), &Overrides::default(), &ThisMachine);
    assert!(!loaded.problems.fail(Strictness::Strict), "{}", loaded.problems);
    assert_eq!(loaded.problems.worst(), Some(Severity::Note), "that TCP asks nobody is worth a note");
    let settings = loaded.settings.unwrap();
    assert_eq!(settings.port, 34567);
    assert_eq!(settings.command.tcp.unwrap().port, 50005);
}

#[test]
fn a_prologs_node_file_cleared_between_jobs_keeps_the_service_from_starting() {
    let site = Site::new(&example());
    fs::write(site.nodes(), "").unwrap();
    let loaded = load(&site.config(), &Overrides::default(), &ThisMachine);
    assert!(loaded.settings.is_none());
    let problem = loaded.problems.iter().next().unwrap();
    assert_eq!(problem.what, "node map is empty");
    assert_eq!(problem.file, site.nodes());
}

fn committed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dist/conf/config.cfg")
}

/// A directory with a configuration that names a node file in the same directory; the map is this machine alone.
struct Site(tempfile::TempDir);

impl Site {
    fn new(config: &str) -> Self {
        let site = Site(tempfile::tempdir().unwrap());
        let mut file = ServiceFile::parse(config.as_bytes()).unwrap();
        file.set("IMEX_NODE_CONFIG_FILE", site.nodes().to_str().unwrap()).unwrap();
        fs::write(site.config(), file.to_string()).unwrap();
        fs::write(site.nodes(), "127.0.0.1\n").unwrap();
        site
    }

    fn config(&self) -> PathBuf {
        self.0.path().join("config.cfg")
    }

    fn nodes(&self) -> PathBuf {
        self.0.path().join("nodes_config.cfg")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.config()).unwrap()
    }

    fn settings(&self) -> Settings {
        let loaded = load(&self.config(), &Overrides::default(), &ThisMachine);
        loaded.settings.unwrap_or_else(|| panic!("{}", loaded.problems))
    }
}
