//! From paths: files that are missing, unreadable, or not files; and what a control tool makes of bad ones.

use std::fs;
use std::path::{Path, PathBuf};

use imex_config::file::FileError;
use imex_config::{
    ClientError, ClientLoaded, NodeMapUnreadable, Overrides, Severity, ThisMachine, load, load_client,
};

#[test]
fn a_missing_configuration_says_what_to_do() {
    let site = Site::empty();
    assert_eq!(
        site.first_problem(),
        "config.cfg: error: file does not exist\n  hint: copy the example config.cfg there, or name another file with -c"
    );
    assert!(matches!(site.client(), Err(ClientError::Config { source: FileError::Missing, .. })));
}

#[test]
fn a_directory_is_no_configuration() {
    let site = Site::empty();
    fs::create_dir(site.config()).unwrap();
    assert_eq!(
        site.first_problem(),
        "config.cfg: error: is a directory, not a file\n  hint: name the file itself with -c"
    );
}

#[test]
fn a_pipe_is_refused_without_waiting_for_its_writer() {
    let site = Site::new("", None);
    let status = std::process::Command::new("mkfifo").arg(site.nodes()).status().unwrap();
    assert!(status.success());
    assert_eq!(
        site.first_problem(),
        "nodes_config.cfg: error: is not a regular file\n  hint: name the file itself in IMEX_NODE_CONFIG_FILE"
    );
}

#[test]
fn binary_files_are_told_with_their_line() {
    let site = Site::new("", Some(b"127.0.0.1\n\x7fELF\0"));
    assert_eq!(
        site.first_problem(),
        "nodes_config.cfg:2: error: file is binary: there is a zero byte in line 2\n  \
         hint: is it the right file, and was it written to the end?"
    );
    let site = Site::empty();
    fs::write(site.config(), b"A=\xff\n").unwrap();
    assert!(
        site.first_problem()
            .starts_with("config.cfg:1: error: line 1 is not UTF-8 text: byte 0xff in column 3")
    );
}

#[test]
fn an_enormous_configuration_is_not_read_to_its_end() {
    let site = Site::empty();
    fs::File::create(site.config()).unwrap().set_len(1 << 40).unwrap();
    assert!(site.first_problem().starts_with("config.cfg: error: file has more than 1048576 bytes"));
}

#[test]
fn a_missing_node_file_is_reported_together_with_what_is_wrong_with_the_configuration() {
    let site = Site::new("LOG_LEVEL=9\n", None);
    let loaded = load(&site.config(), &Overrides::default(), &ThisMachine);
    let texts: Vec<_> = loaded.problems.iter().map(|problem| problem.what.as_str()).collect();
    assert_eq!(texts, ["LOG_LEVEL: 9 is out of range, 0 to 4 are allowed", "file does not exist"]);
    assert!(loaded.settings.is_none());
}

#[test]
fn a_hundred_thousand_lines_are_too_many_nodes_but_not_too_many_comments() {
    let nodes: String = (0..100_000).map(|n| format!("node-{n}\n")).collect();
    let site = Site::new("", Some(nodes.as_bytes()));
    assert!(
        site.first_problem().starts_with(
            "nodes_config.cfg:65535: error: node map has 100000 entries, at most 65534 are allowed"
        ),
        "{}",
        site.first_problem()
    );
    let mut comments = "# nobody\n".repeat(100_000);
    comments.push_str("127.0.0.1\n");
    assert!(
        load(&Site::new("", Some(comments.as_bytes())).config(), &Overrides::default(), &ThisMachine)
            .settings
            .is_some()
    );
}

#[test]
fn a_hundred_thousand_bad_lines_are_reported_by_the_first_fifty() {
    let site = Site::new("", Some("10.0.0.256\n".repeat(65_000).as_bytes()));
    let loaded = load(&site.config(), &Overrides::default(), &ThisMachine);
    assert_eq!(loaded.problems.iter().count(), 50);
    assert_eq!(loaded.problems.left_out(), 64_950);
}

#[test]
fn a_control_tool_loads_where_a_daemon_would_refuse() {
    let config = "LOG_LEVEL=9\nIMEX_ENABLE_AUTH_ENCRYPTION=1\nIMEX_CMD_UNIX_DOMAIN_PATH=/run/a.sock\n";
    let site = Site::new(config, Some(b"198.51.100.1\n198.51.100.2\n"));
    let loaded = site.client().unwrap();
    assert_eq!(loaded.settings.map.len(), 2);
    assert_eq!(loaded.settings.node, None, "no entry is this machine");
    assert_eq!(loaded.settings.socket, Path::new("/run/a.sock"));
    assert_eq!(loaded.problems.worst(), Some(Severity::Error));
    assert!(load(&site.config(), &Overrides::default(), &ThisMachine).settings.is_none());
}

#[test]
fn a_control_tool_knows_its_own_node_from_addresses() {
    let site = Site::new("BIND_INTERFACE_IP=127.0.0.2\n", Some(b"127.0.0.1\n127.0.0.2\n"));
    let loaded = site.client().unwrap();
    assert_eq!(loaded.settings.node.unwrap().number(), 1);
}

#[test]
fn a_node_map_that_cannot_be_read_is_its_own_error_for_a_control_tool() {
    let missing = Site::new("", None).client().unwrap_err();
    assert!(matches!(
        missing,
        ClientError::NodeMap { source: NodeMapUnreadable::File(FileError::Missing), .. }
    ));
    let empty = Site::new("", Some(b"\n")).client().unwrap_err();
    let ClientError::NodeMap { source: NodeMapUnreadable::Faults { problems }, .. } = empty else {
        panic!("{empty:?}");
    };
    assert_eq!(problems.iter().next().unwrap().what, "node map is empty");
}

/// A directory with both files.
struct Site(tempfile::TempDir);

impl Site {
    fn empty() -> Self {
        Site(tempfile::tempdir().unwrap())
    }

    fn new(config: &str, nodes: Option<&[u8]>) -> Self {
        let site = Site::empty();
        let line = format!("IMEX_NODE_CONFIG_FILE={}\n", site.nodes().display());
        fs::write(site.config(), format!("{config}{line}")).unwrap();
        if let Some(nodes) = nodes {
            fs::write(site.nodes(), nodes).unwrap();
        }
        site
    }

    fn config(&self) -> PathBuf {
        self.0.path().join("config.cfg")
    }

    fn nodes(&self) -> PathBuf {
        self.0.path().join("nodes_config.cfg")
    }

    fn client(&self) -> Result<ClientLoaded, ClientError> {
        load_client(&self.config(), &ThisMachine)
    }

    /// The first problem of loading for a daemon, without the directory's path.
    fn first_problem(&self) -> String {
        let loaded = load(&self.config(), &Overrides::default(), &ThisMachine);
        assert!(loaded.settings.is_none());
        let first = loaded.problems.iter().next().unwrap().to_string();
        first.replace(&format!("{}/", self.0.path().display()), "")
    }
}
