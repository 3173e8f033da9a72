//! A folder with a topology file and a fake controller.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::program::{Said, imex, run};

/// The topology that is in use at the start: two blocks of four.
pub(crate) const BEFORE: &[(&str, &str)] = &[("rack1", "n[1-4]"), ("rack2", "n[5-8]")];

/// A topology that a well-behaved controller takes.
pub(crate) const AFTER: &[(&str, &str)] = &[("rack1", "n[1-3]"), ("rack2", "n[4-8]")];

/// A topology over which the fake controller misbehaves.
pub(crate) const POISON: &[(&str, &str)] = &[("rack1", "n[1-4]"), ("poison", "n[5-8]")];

/// [`BEFORE`] as EC2 says it, with a block that has ended. Instances are named by their ids.
pub(crate) const ENDED_BLOCK: &str = include_str!("../../data/topology/ended.json");

/// A site with a fake `scontrol`.
pub(crate) struct Site {
    dir: TempDir,
}

impl Site {
    /// One whose controller holds [`BEFORE`].
    pub(crate) fn new() -> Self {
        let site = Site { dir: tempfile::tempdir().unwrap() };
        fs::create_dir(site.path("bin")).unwrap();
        let scontrol = site.path("bin/scontrol");
        fs::write(&scontrol, include_str!("scontrol.sh")).unwrap();
        fs::set_permissions(&scontrol, fs::Permissions::from_mode(0o755)).unwrap();
        site.write("topology.yaml", &yaml(BEFORE));
        site.write("loaded", &yaml(BEFORE));
        site.write("after.yaml", &yaml(AFTER));
        site.write("poison.yaml", &yaml(POISON));
        site.write("nodes.json", r#"{"nodes": []}"#);
        site.sources(BEFORE);
        site
    }

    /// The folder.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// A file of the site.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// A file's text, empty if there is none.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// How the controller behaves from now on.
    pub(crate) fn mode(&self, mode: &str) {
        self.write("mode", mode);
    }

    /// What the source says from now on.
    pub(crate) fn sources(&self, blocks: &[(&str, &str)]) {
        let mut text = "blocks:\n".to_owned();
        for (block, nodes) in blocks {
            text.push_str(&format!("  - block: {block}\n    nodes: {nodes}\n"));
        }
        self.write("inventory.yaml", &text);
    }

    /// The command `imex topology` with these words; `DIR` is the site.
    pub(crate) fn command(&self, words: &str) -> Command {
        let words = words.replace("DIR", self.dir().to_str().unwrap());
        let mut command = imex(&["topology"]);
        command.args(words.split_whitespace());
        command.env("PATH", format!("{}:/usr/bin:/bin", self.path("bin").display()));
        command.env_remove("NOTIFY_SOCKET");
        command
    }

    /// Runs it.
    pub(crate) fn run(&self, words: &str) -> Said {
        run(&mut self.command(words))
    }

    /// The command that applies a file of the site, with short deadlines.
    pub(crate) fn apply(&self, new: &str) -> Command {
        self.command(&format!("apply DIR/{new} --to DIR/topology.yaml --ask 1s --load 1s"))
    }

    /// How often the controller was told to load its files.
    pub(crate) fn reloads(&self) -> usize {
        self.read("calls").lines().filter(|call| *call == "reconfigure").count()
    }

    /// The names of all files that a change leaves, besides the backup and the lock.
    pub(crate) fn left_over(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dir()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let hidden = |name: &String| name.starts_with('.') && !name.ends_with(".imex-lock");
        let mut names: Vec<String> = names.filter(hidden).collect();
        names.sort();
        names
    }
}

/// A topology file with these blocks.
pub(crate) fn yaml(blocks: &[(&str, &str)]) -> String {
    let mut text =
        "---\n- topology: nvlink\n  cluster_default: true\n  block:\n    block_sizes: [4, 8]\n    blocks:\n"
            .to_owned();
    for (block, nodes) in blocks {
        text.push_str(&format!("      - block: {block}\n        nodes: {nodes}\n"));
    }
    text
}
