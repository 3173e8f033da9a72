//! The root that clusters run over: a minimal Debian with Slurm.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::unistd::geteuid;

use crate::error::TaskError;
use crate::process::Program;
use crate::report::Report;
use crate::{tree, verify};

/// The suite that has Slurm 26.05.
const SUITE: &str = "forky";

/// Slurm's daemons and clients, and what they and the cluster's first process need (Debian's forky has `mount` in a
/// package of its own); systemd with its bus as a node's first process; `nft`, to spoil a node's network; `curl` and
/// `sudo`, which prologs that are tried here as they are published call.
const PACKAGES: &str = "slurmctld,slurmd,slurm-client,slurm-wlm-basic-plugins,munge,iproute2,procps,util-linux,mount,\
                        systemd,systemd-sysv,dbus,nftables,curl,sudo";

/// Who submits jobs: none of them is root.
const USERS: [(&str, u32); 2] = [("alice", 2001), ("bob", 2002)];

/// How long it may take: 120 packages of 40 MB from a mirror, unpacked.
const LIMIT: Duration = Duration::from_secs(15 * 60);

/// A root that is complete.
pub(crate) struct Root {
    path: PathBuf,
}

impl Root {
    /// Makes the root, unless it is there.
    pub(crate) fn build(report: &mut Report) -> Result<Self, TaskError> {
        if !geteuid().is_root() {
            return Err(TaskError::NotHere("a real Slurm needs root for its namespaces".to_owned()));
        }
        let path = tree::target().join("slurm-lab").join(format!("root-{SUITE}"));
        let root = Root { path };
        if root.is_complete() {
            return Ok(root);
        }
        if !verify::has(report, &["mmdebstrap"], "mmdebstrap") {
            return Err(TaskError::NotHere(
                "mmdebstrap is not installed and cannot be; a real Slurm is made with it".to_owned(),
            ));
        }
        report.line(format_args!("making a root with Slurm in {}", root.path.display()));
        let part = root.path.with_extension("part");
        remove(&part)?;
        let folder = root.path.parent().unwrap_or(&root.path);
        fs::create_dir_all(folder).map_err(TaskError::file("create", folder))?;
        bootstrap(&part)?;
        let version = Program::new("chroot").arg(&part).words("slurmctld -V").stdout()?;
        let stamp = part.join("slurm-version");
        fs::write(&stamp, format!("{}\n{PACKAGES}\n", version.trim()))
            .map_err(TaskError::file("write", stamp))?;
        remove(&root.path)?;
        fs::rename(&part, &root.path).map_err(TaskError::file("rename", part))?;
        Ok(root)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What `slurmctld -V` says.
    pub(crate) fn version(&self) -> Result<String, TaskError> {
        Ok(tree::read(&self.stamp())?.lines().next().unwrap_or_default().to_owned())
    }

    /// The numbers of one of its users: user and group.
    pub(super) fn user(&self, name: &str) -> Result<(u32, u32), TaskError> {
        let path = self.path.join("etc/passwd");
        let text = tree::read(&path)?;
        let fields = text.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|f| f[0] == name);
        let number = |at: usize| fields.as_ref()?.get(at)?.parse().ok();
        match (number(2), number(3)) {
            (Some(user), Some(group)) => Ok((user, group)),
            (None, _) | (_, None) => Err(TaskError::NotHere(format!("{} has no {name}", path.display()))),
        }
    }

    /// Whether it has all packages that are wanted today.
    fn is_complete(&self) -> bool {
        fs::read_to_string(self.stamp()).is_ok_and(|stamp| stamp.lines().nth(1) == Some(PACKAGES))
    }

    /// Written last: a root without it is not complete. The version of Slurm and the packages.
    fn stamp(&self) -> PathBuf {
        self.path.join("slurm-version")
    }
}

fn bootstrap(path: &Path) -> Result<(), TaskError> {
    let mirror =
        mirror().ok_or_else(|| TaskError::NotHere("apt has no source that names a mirror".to_owned()))?;
    // Services must not start while they are unpacked; the key and the source that are made then are not for clusters.
    let policy = "mkdir -p \"$1/usr/sbin\" && printf '#!/bin/sh\\nexit 101\\n' > \"$1/usr/sbin/policy-rc.d\" \
                  && chmod 755 \"$1/usr/sbin/policy-rc.d\"";
    let users =
        USERS.map(|(name, number)| format!("chroot \"$1\" useradd -u {number} -m -s /bin/bash {name}"));
    let made = Program::new("mmdebstrap")
        .words("--quiet --variant=apt --mode=root")
        // Mirrors that are frozen at a date have outdated signatures by design.
        .arg("--aptopt=Acquire::Check-Valid-Until \"false\"")
        .arg("--aptopt=Acquire::Check-Date \"false\"")
        .arg("--aptopt=APT::Install-Recommends \"false\"")
        .words("--dpkgopt=path-exclude=/usr/share/man/* --dpkgopt=path-exclude=/usr/share/doc/*")
        .arg("--dpkgopt=path-exclude=/usr/share/locale/*")
        .arg(format!("--setup-hook={policy}"))
        .arg(format!("--include={PACKAGES}"))
        .arg(format!("--customize-hook={}", users.join(" && ")))
        .arg("--customize-hook=rm -f \"$1/etc/munge/munge.key\" \"$1/etc/apt/sources.list\"")
        .arg(SUITE)
        .arg(path)
        .arg(format!("deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] {mirror} {SUITE} main"))
        .limit(LIMIT)
        .run();
    made.map_err(|error| TaskError::NotHere(format!("the packages of Slurm cannot be had: {error}")))
}

/// The mirror that this machine gets its own packages from.
fn mirror() -> Option<String> {
    let folder = Path::new("/etc/apt/sources.list.d");
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    files.insert(0, PathBuf::from("/etc/apt/sources.list"));
    files.iter().filter_map(|path| fs::read_to_string(path).ok()).find_map(|text| mirror_in(&text))
}

/// The first address of a list of sources in either of apt's forms.
fn mirror_in(text: &str) -> Option<String> {
    let is_address = |word: &&str| word.contains("://");
    let lines =
        text.lines().map(str::trim).filter(|line| line.starts_with("deb ") || line.starts_with("URIs:"));
    lines.flat_map(str::split_whitespace).find(is_address).map(str::to_owned)
}

fn remove(path: &Path) -> Result<(), TaskError> {
    if path.exists() { fs::remove_dir_all(path).map_err(TaskError::file("remove", path)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_is_found_in_both_forms_of_sources() {
        let old = "# comment http://no\ndeb [trusted=yes] http://deb.example/debian trixie main\n";
        let new = "Types: deb\nURIs: http://deb.example/debian/\nSuites: trixie\n";
        assert_eq!(mirror_in(old).as_deref(), Some("http://deb.example/debian"));
        assert_eq!(mirror_in(new).as_deref(), Some("http://deb.example/debian/"));
        assert_eq!(mirror_in("# nothing\n"), None);
    }
}
