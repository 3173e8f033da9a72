//! The files that every machine of a cluster has beyond its packages, as one layer of its file system.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use super::conf::{Nodes, Setup};
use super::root::Root;
use super::{LAB, fakes};
use crate::error::TaskError;
use crate::tree;

/// A file of the layer.
#[derive(Clone, Debug)]
pub(crate) struct File {
    /// Where it is, from the root.
    path: PathBuf,
    content: Content,
    mode: u32,
}

#[derive(Clone, Debug)]
enum Content {
    Text(String),
    /// A copy of a file of this machine.
    Copy(PathBuf),
    /// A symbolic link to here.
    Link(PathBuf),
}

/// What does nothing for a node of a test: it slows the boot, or would change what all of this machine share.
const MASKED: [&str; 32] = [
    "apt-daily-upgrade.timer",
    "apt-daily.timer",
    "dev-hugepages.mount",
    "dev-mqueue.mount",
    "dpkg-db-backup.timer",
    "fstrim.timer",
    "getty.target",
    "imports.target",
    "kmod-static-nodes.service",
    "ldconfig.service",
    "proc-sys-fs-binfmt_misc.automount",
    "remote-fs.target",
    "slurmctld.service",
    "sys-fs-fuse-connections.mount",
    "sys-kernel-config.mount",
    "sys-kernel-debug.mount",
    "sys-kernel-tracing.mount",
    "systemd-ask-password-console.path",
    "systemd-ask-password-wall.path",
    "systemd-binfmt.service",
    "systemd-firstboot.service",
    "systemd-hibernate-clear.service",
    "systemd-journal-catalog-update.service",
    "systemd-logind.service",
    "systemd-machine-id-commit.service",
    "systemd-pstore.service",
    "systemd-random-seed.service",
    "systemd-sysctl.service",
    "systemd-sysusers.service",
    "systemd-tmpfiles-setup-dev-early.service",
    "systemd-tmpfiles-setup-dev.service",
    "systemd-update-done.service",
];

impl File {
    /// A file with this text, that everybody may read.
    pub(crate) fn text(path: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        File { path: path.into(), content: Content::Text(text.into()), mode: 0o644 }
    }

    /// An executable copy of a file of this machine.
    pub(crate) fn program(path: impl Into<PathBuf>, from: impl Into<PathBuf>) -> Self {
        File { path: path.into(), content: Content::Copy(from.into()), mode: 0o755 }
    }

    /// An executable text.
    pub(crate) fn script(path: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        File { mode: 0o755, ..File::text(path, text) }
    }

    /// A symbolic link.
    pub(crate) fn link(path: impl Into<PathBuf>, to: impl Into<PathBuf>) -> Self {
        File { path: path.into(), content: Content::Link(to.into()), mode: 0o777 }
    }

    fn write_below(&self, folder: &Path) -> Result<(), TaskError> {
        let path = folder.join(self.path.strip_prefix("/").unwrap_or(&self.path));
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(TaskError::file("create", parent))?;
        // A later file of the same name replaces an earlier one.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(TaskError::file("replace", path)(error));
            }
            Ok(()) | Err(_) => {}
        }
        let written = match &self.content {
            Content::Text(text) => fs::write(&path, text),
            // One file with two names costs nothing; where a program lies on another disk it is copied.
            Content::Copy(from) => match fs::hard_link(from, &path) {
                Ok(()) => return Ok(()),
                Err(_) => return fs::copy(from, &path).map(drop).map_err(TaskError::file("copy", from)),
            },
            Content::Link(to) => return symlink(to, &path).map_err(TaskError::file("link", path)),
        };
        let permitted =
            written.and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(self.mode)));
        permitted.map_err(TaskError::file("write", path))
    }
}

/// Writes the whole layer to a folder.
pub(super) fn write(setup: &Setup, root: &Root, folder: &Path) -> Result<(), TaskError> {
    let mut files = vec![
        File::text("/etc/hosts", setup.hosts()),
        File::text("/etc/slurm/slurm.conf", setup.slurm_conf()),
        File::text("/etc/slurm/cgroup.conf", "CgroupPlugin=disabled\n"),
    ];
    files.extend(setup.topology.as_deref().map(|text| File::text("/etc/slurm/topology.yaml", text)));
    files.extend(setup.gres_conf().map(|text| File::text("/etc/slurm/gres.conf", text)));
    if let Nodes::Machines(machines) = &setup.nodes_are {
        files.extend(machine_files()?);
        files.extend(machines.files.iter().cloned());
    }
    files.iter().try_for_each(|file| file.write_below(folder))?;
    munge_key(root, folder)
}

/// What a machine needs to boot and to be looked into.
fn machine_files() -> Result<Vec<File>, TaskError> {
    let this = tree::this_program().map_err(TaskError::file("find", "the program that runs"))?;
    let mut files = vec![
        File::program(LAB, this),
        File::text("/etc/slurm/gres.conf", "Name=gpu File=/dev/nvidia[0-3]\n"),
        File::text(
            "/etc/systemd/journald.conf.d/lab.conf",
            "[Journal]\nStorage=volatile\nRuntimeMaxUse=16M\nRateLimitBurst=0\n",
        ),
    ];
    files.extend(fakes::files());
    files.extend(MASKED.map(|unit| File::link(format!("/etc/systemd/system/{unit}"), "/dev/null")));
    Ok(files)
}

/// One key for the whole cluster, which no other cluster has.
fn munge_key(root: &Root, folder: &Path) -> Result<(), TaskError> {
    let path = folder.join("etc/munge/munge.key");
    let failed = |error| TaskError::file("write", &path)(error);
    let mut key = [0_u8; 128];
    fs::File::open("/dev/urandom")
        .and_then(|mut source| io::Read::read_exact(&mut source, &mut key))
        .map_err(TaskError::file("read", "/dev/urandom"))?;
    let parent = folder.join("etc/munge");
    let (user, group) = root.user("munge")?;
    fs::create_dir_all(&parent).map_err(failed)?;
    fs::write(&path, key).map_err(failed)?;
    for (path, mode) in [(&path, 0o400), (&parent, 0o700)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(failed)?;
        chown(path, Some(user), Some(group)).map_err(failed)?;
    }
    Ok(())
}
