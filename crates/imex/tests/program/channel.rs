//! Golden files of `imex channel`: every command, its help, its misuse, its refusals.
//!
//! Making devices takes root: without it, what takes it is left out.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use tempfile::TempDir;

use crate::program::{imex, redactions, run, transcript};

#[test]
fn help_and_wrong_command_lines_of_channel_are_as_recorded() {
    let _redacted = redactions();
    for (name, words) in [
        ("channel-help", "channel --help"),
        ("channel-list-help", "channel list --help"),
        ("channel-create-help", "channel create --help"),
        ("channel-remove-help", "channel remove --help"),
        ("channel-check-help", "channel check --help"),
        ("channel-create-nothing", "channel create"),
        ("channel-create-backwards", "channel create 7-4"),
        ("channel-create-boot-and-more", "channel create 0 --boot"),
        ("channel-remove-too-high", "channel remove 1048576"),
        ("channel-remove-nothing", "channel remove"),
    ] {
        let words: Vec<&str> = words.split_whitespace().collect();
        insta::assert_snapshot!(name, transcript(&mut imex(&words), Path::new("/nowhere")));
    }
}

#[test]
fn a_node_that_cannot_have_channels_says_why() {
    let node = Node::new();
    fs::write(node.file("devices"), "Character devices:\n  1 mem\n234 nvidia-caps\n\nBlock devices:\n")
        .unwrap();
    node.golden("channel-create-no-driver", "create 0");
    node.golden("channel-check-no-driver-json", "check --json");
    node.golden("channel-list-nothing", "list");
    fs::write(node.file("devices"), "no list\n").unwrap();
    node.golden("channel-check-no-list", "check 0");
}

#[test]
fn what_the_driver_and_the_users_of_the_node_do_not_have_is_refused() {
    let node = Node::new();
    node.golden("channel-create-too-high", "create 4-5 --json");
    node.golden("channel-check-nobody", "check 0 --as no-such-user");
    node.golden("channel-check-missing", "check 0");
    fs::write(node.file("params"), "ImexChannelCount: 0\n").unwrap();
    node.golden("channel-create-switched-off", "create 0");
    fs::write(node.file("openimex.toml"), "[channels]\nmode = \"rw\"\n").unwrap();
    node.golden("channel-list-bad-configuration", "list");
}

#[test]
fn what_is_no_device_is_left_where_it_is() {
    let node = Node::new();
    fs::create_dir(node.channels()).unwrap();
    fs::write(node.channels().join("channel0"), "precious").unwrap();
    symlink("/dev/null", node.channels().join("channel1")).unwrap();
    node.golden("channel-create-no-device", "create 0-1");
    node.golden("channel-remove-no-device", "remove 0-1");
    node.golden("channel-check-no-device", "check 0-1 --json");
    assert_eq!(fs::read_to_string(node.channels().join("channel0")).unwrap(), "precious");
}

#[test]
fn the_boot_makes_what_the_configuration_says_and_leaves_the_plugins_folder_alone() {
    let node = Node::new();
    for (name, configuration) in [
        ("channel-create-boot-switch", "[channels]\nuse = \"switch\"\n"),
        ("channel-create-boot-none", "[channels]\nboot = \"\"\n"),
    ] {
        fs::write(node.file("openimex.toml"), configuration).unwrap();
        node.golden(name, "create --boot");
        assert!(!node.channels().exists());
    }
}

#[test]
fn channels_are_made_listed_checked_and_removed_as_recorded() {
    let node = Node::new();
    if !node.has_devices() {
        return eprintln!("left out: devices cannot be made here");
    }
    node.golden("channel-create", "create 0,2");
    node.golden("channel-create-again", "create 0,2 --json");
    node.golden("channel-check-as", "check 0 --as nobody");
    node.golden("channel-check", "check 0,2");
    let stale = |name: &str, kind, mode, major, minor| {
        let path = node.channels().join(name);
        let _ = fs::remove_file(&path);
        mknod(&path, kind, Mode::empty(), makedev(major, minor)).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    stale("channel0", SFlag::S_IFCHR, 0o600, 498, 0);
    stale("channel3", SFlag::S_IFBLK, 0o666, 60, 3);
    fs::write(node.channels().join("channel03"), "").unwrap();
    node.golden("channel-list", "list");
    node.golden("channel-list-json", "list --json");
    node.golden("channel-check-stale", "check 0,3 --as nobody");
    node.golden("channel-check-stale-json", "check 0 --as nobody --json");
    node.golden("channel-create-replaces", "create 0,3");
    fs::set_permissions(node.channels(), fs::Permissions::from_mode(0o700)).unwrap();
    node.golden("channel-check-folder", "check 0 --as nobody");
    node.golden("channel-create-repairs", "create 0");
    node.golden("channel-remove", "remove 0-1");
    node.golden("channel-remove-all-json", "remove --all --json");
    node.golden("channel-remove-all-again", "remove --all");
}

#[test]
fn a_channel_of_a_users_is_that_users_alone() {
    let node = Node::new();
    if !node.has_devices() {
        return eprintln!("left out: devices cannot be made here");
    }
    fs::write(node.file("openimex.toml"), "[channels]\nmode = \"0600\"\n").unwrap();
    for (words, code) in [
        ("create 1 --owner nobody", 0),
        ("check 1 --owner nobody --as daemon", 63),
        ("check 1 --owner nobody --as nobody", 64),
        ("check 1", 62),
    ] {
        let said = node.run(words);
        assert_eq!(said.code, code, "{words}: {}{}", said.out, said.err);
    }
}

/// A node: its driver, its configuration and its folder of channels are files of the test's.
struct Node {
    dir: TempDir,
}

impl Node {
    fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("channel-").tempdir_in("/tmp").unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let node = Node { dir };
        let devices =
            "Character devices:\n  1 mem\n234 nvidia-caps\n 60 nvidia-caps-imex-channels\n\nBlock devices:\n";
        fs::write(node.file("openimex.toml"), "").unwrap();
        fs::write(node.file("devices"), devices).unwrap();
        fs::write(node.file("params"), "CreateImexChannel0: 0\nImexChannelCount: 4\n").unwrap();
        node
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn channels(&self) -> PathBuf {
        self.file("channels")
    }

    /// Devices can be made here by whoever runs this test.
    fn has_devices(&self) -> bool {
        let probe = self.file("probe");
        let made = mknod(&probe, SFlag::S_IFCHR, Mode::empty(), makedev(1, 3)).is_ok();
        let _ = fs::remove_file(probe);
        made
    }

    fn command(&self, words: &str) -> std::process::Command {
        let mut words = words.split_whitespace();
        let mut command = imex(&["channel"]);
        command.args(words.next()).args(words);
        for (option, file) in
            [("-c", "openimex.toml"), ("--dir", "channels"), ("--devices", "devices"), ("--params", "params")]
        {
            command.arg(option).arg(self.file(file));
        }
        command
    }

    fn run(&self, words: &str) -> crate::program::Said {
        run(&mut self.command(words))
    }

    fn golden(&self, name: &str, words: &str) {
        let _redacted = redactions();
        insta::assert_snapshot!(name, transcript(&mut self.command(words), self.dir.path()));
    }
}
