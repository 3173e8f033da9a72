//! A site that has installed this project: its programs, units, settings and Slurm's hooks, as files of a cluster.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::TaskError;
use crate::process::Program;
use crate::slurm_lab::{CHANNELS_FILE, DRIVER, File, Keep, LAB, Machines, Network, Setup};
use crate::tree;

mod shipped;

/// Whose names the service goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Provider {
    /// Ours.
    Imexd,
    /// Ours under NVIDIA's names; only what those promise is used.
    NvidiaImex,
}

/// What Slurm runs before and after a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hooks {
    /// `imex slurm …`.
    Ours,
    /// The same, and what each run costs goes to `/var/log/NAME.usage`.
    Measured,
    /// What is shipped, as it is: the scripts, all units, and the lines that `imex slurm settings` prints.
    Shipped,
    /// Nothing: what a job costs without.
    Empty,
    /// A prolog and perhaps an epilog of somebody else, as they are.
    Scripts { prolog: PathBuf, epilog: Option<PathBuf> },
}

/// How the programs are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Build {
    /// Can be killed at a chosen step.
    Debug,
    /// What is shipped.
    Release,
}

/// Which channels the fake's driver has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channels {
    /// As many as a real one. Most cannot be opened.
    Many,
    /// So many that each job has the one that the driver behind the fake opens on any machine: number 1 of 0 and 1.
    Openable,
}

/// A site.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub(crate) nodes: u8,
    pub(crate) provider: Provider,
    pub(crate) hooks: Hooks,
    pub(crate) build: Build,
    pub(crate) network: Network,
    pub(crate) channels: Channels,
    /// The text of `topology.yaml`.
    pub(crate) topology: Option<String>,
    /// How long a prolog may take in all.
    pub(crate) budget: Duration,
    /// More lines for `slurm.conf`.
    pub(crate) slurm_conf: String,
    /// What the names of the nodes' addresses begin with, where those are not the nodes' names.
    pub(crate) address_names: Option<&'static str>,
    /// How long the cluster goes on.
    pub(crate) keep: Keep,
}

/// Below what Slurm is told, and several times what a healthy domain takes on a busy machine. What waits for a dead node waits
/// this long.
const BUDGET: Duration = Duration::from_secs(7);

/// When Slurm ends a prolog or epilog: above the budgets of both.
const SLURM_TIMEOUT: Duration = Duration::from_secs(40);

/// How long a daemon may take to stop before it is killed.
const STOP: Duration = Duration::from_secs(2);

/// Where this harness's own files are on a node.
pub(crate) const LAB_FILES: &str = "/etc/openimex-lab";

/// The site's policy for jobs.
pub(crate) const OPERATOR: &str = "/etc/openimex/openimex.toml";

/// What the fake of NVML says.
pub(crate) const FABRIC: &str = "/etc/imex-fake-nvml.conf";

/// Its line for a GPU that is in a fabric.
const HEALTHY_GPU: &str = "gpu 5b1e6f4e-8d3a-4c0b-9a52-0123456789ab 7 completed success\n";

const NO_GPU: &str = "[Service]\nExecStart=\nExecStart=PROGRAM -c /etc/nvidia-imex/config.cfg --nogpu\n";

impl Provider {
    /// The unit without its ending, which is also the daemon's name.
    pub(crate) fn daemon(self) -> &'static str {
        match self {
            Provider::Imexd => "imexd",
            Provider::NvidiaImex => "nvidia-imex",
        }
    }

    /// The control tool.
    pub(crate) fn control(self) -> &'static str {
        match self {
            Provider::Imexd => "imexctl",
            Provider::NvidiaImex => "nvidia-imex-ctl",
        }
    }
}

impl Hooks {
    /// Under whose names the service has to be installed for them.
    pub(crate) fn provider(&self) -> Provider {
        match self {
            Hooks::Ours | Hooks::Measured | Hooks::Shipped | Hooks::Empty => Provider::Imexd,
            Hooks::Scripts { .. } => Provider::NvidiaImex,
        }
    }
}

impl Site {
    /// A site with so many nodes and everything as the documents advise.
    pub(crate) fn new(nodes: u8) -> Self {
        Site {
            nodes,
            provider: Provider::Imexd,
            hooks: Hooks::Ours,
            build: Build::Debug,
            network: Network::Both,
            channels: Channels::Many,
            topology: None,
            budget: BUDGET,
            slurm_conf: String::new(),
            address_names: None,
            keep: Keep::WhileStarterLives,
        }
    }

    /// Builds the programs that it installs.
    pub(crate) fn build(&self) -> Result<(), TaskError> {
        let cargo = Program::cargo().words("build --quiet --locked --package imex --package imex-daemon");
        let cargo = cargo.words("--package imex-ctl --package imex-fake-nvml --lib --bins");
        match self.build {
            Build::Debug => cargo.run(),
            Build::Release => cargo.arg("--release").run(),
        }
    }

    /// The cluster that it has.
    pub(crate) fn setup(&self) -> Result<Setup, TaskError> {
        let mut files = self.programs();
        files.extend(self.units()?);
        files.extend(self.settings()?);
        files.extend(self.hook_files()?);
        if self.channels == Channels::Openable {
            files.push(File::text(CHANNELS_FILE, "2\n"));
        }
        let (slurm_conf, partition) = match self.hooks {
            Hooks::Shipped => (shipped::slurm_conf(self)?, shipped::PARTITION),
            Hooks::Ours | Hooks::Measured | Hooks::Empty | Hooks::Scripts { .. } => (self.hook_lines(), ""),
        };
        if self.hooks == Hooks::Shipped {
            files.extend(shipped::files()?);
        }
        let machines = Machines {
            network: self.network,
            address_names: self.address_names,
            slurm_conf,
            partition,
            files,
        };
        Ok(Setup { topology: self.topology.clone(), ..Setup::machines(self.nodes, machines) })
    }

    fn programs(&self) -> Vec<File> {
        let folder = match self.build {
            Build::Debug => tree::target().join("debug"),
            Build::Release => tree::target().join("release"),
        };
        let program = |name: &str, from: &str| File::program(format!("/usr/bin/{name}"), folder.join(from));
        let mut programs = vec![
            program("imex", "imex"),
            program(self.provider.daemon(), "imexd"),
            program(self.provider.control(), "imexctl"),
        ];
        // NVML as a library that says what it is told to.
        let library = format!("/usr/lib/{}-linux-gnu/libnvidia-ml.so.1", std::env::consts::ARCH);
        programs.push(File::program(library, folder.join("libimex_fake_nvml.so")));
        programs
    }

    /// The unit as it is shipped, without a GPU driver, and enabled.
    fn units(&self) -> Result<Vec<File>, TaskError> {
        let name = self.provider.daemon();
        let shipped = tree::read(&tree::root().join("dist/systemd/imexd.service"))?;
        let at = format!("/usr/lib/systemd/system/{name}.service");
        let etc = "/etc/systemd/system";
        let program = format!("/usr/bin/{name}");
        let mut files = vec![
            File::text(&at, shipped.replace("/usr/bin/imexd", &program)),
            File::text(format!("{etc}/{name}.service.d/lab.conf"), NO_GPU.replace("PROGRAM", &program)),
            File::link(format!("{etc}/multi-user.target.wants/{name}.service"), &at),
        ];
        let sweep = tree::read(&tree::root().join("dist/systemd/imex-sweep.service"))?;
        let sweep_at = "/usr/lib/systemd/system/imex-sweep.service";
        files.push(File::text(sweep_at, sweep));
        files.push(File::link(format!("{etc}/multi-user.target.wants/imex-sweep.service"), sweep_at));
        if self.provider == Provider::Imexd {
            files.push(File::link(format!("{etc}/nvidia-imex.service"), &at));
        }
        Ok(files)
    }

    fn settings(&self) -> Result<Vec<File>, TaskError> {
        let shipped = tree::read(&tree::root().join("dist/conf/config.cfg"))?;
        // Users look at the domain from inside their jobs.
        let config = shipped.replace("OPENIMEX_CMD_SOCKET_MODE=0660", "OPENIMEX_CMD_SOCKET_MODE=0666");
        TaskError::unless(config != shipped, || "dist/conf/config.cfg has no mode of 0660".to_owned())?;
        Ok(vec![
            File::text("/etc/nvidia-imex/config.cfg", config),
            File::text(OPERATOR, self.operator()),
            File::text(FABRIC, format!("driver {DRIVER}\n{}", HEALTHY_GPU.repeat(4))),
        ])
    }

    /// The text of `openimex.toml`.
    fn operator(&self) -> String {
        let provider = self.provider.daemon();
        let (budget, stop) = (self.budget.as_millis(), STOP.as_millis());
        let count = match self.channels {
            Channels::Many => "",
            Channels::Openable => "count = 2\n",
        };
        format!(
            "[service]\nprovider = \"{provider}\"\n\n[hardware]\nask_instance_type = true\n\n[channels]\nuse = \"per-job\"\n{count}\n\
             [prolog]\nbudget = \"{budget}ms\"\nstop = \"{stop}ms\"\n"
        )
    }

    fn hook_lines(&self) -> String {
        let mut lines = self.slurm_conf.clone();
        lines += &format!("PrologFlags=Alloc,DeferBatch\nPrologEpilogTimeout={}\n", SLURM_TIMEOUT.as_secs());
        lines += "SchedulerParameters=batch_sched_delay=0,bf_interval=1,sched_interval=2,requeue_delay=1,\
                  nohold_on_prolog_fail\n";
        lines += &format!("Prolog={LAB_FILES}/prolog\n");
        match &self.hooks {
            Hooks::Ours | Hooks::Measured => {
                lines + &format!("Epilog={LAB_FILES}/epilog\nTaskProlog={LAB_FILES}/task-prolog\n")
            }
            Hooks::Scripts { epilog: Some(_), .. } => lines + &format!("Epilog={LAB_FILES}/epilog\n"),
            Hooks::Shipped | Hooks::Empty | Hooks::Scripts { epilog: None, .. } => lines,
        }
    }

    fn hook_files(&self) -> Result<Vec<File>, TaskError> {
        let at = |name: &str| format!("{LAB_FILES}/{name}");
        let theirs = |name: &str, from: &Path| Ok(File::script(at(name), tree::read(from)?));
        match &self.hooks {
            Hooks::Ours => Ok(["prolog", "epilog", "task-prolog"].map(hook).to_vec()),
            Hooks::Measured => {
                let mut files = ["prolog", "epilog"].map(measured_hook).to_vec();
                files.push(hook("task-prolog"));
                Ok(files)
            }
            Hooks::Shipped => Ok(Vec::new()),
            Hooks::Empty => Ok(vec![File::script(at("prolog"), "#!/bin/sh\n")]),
            Hooks::Scripts { prolog, epilog } => {
                let epilog = epilog.iter().map(|path| theirs("epilog", path));
                std::iter::once(theirs("prolog", prolog)).chain(epilog).collect()
            }
        }
    }
}

/// `imex slurm NAME`, with an environment that a scenario may change on one node.
fn hook(name: &str) -> File {
    let path = format!("{LAB_FILES}/{name}");
    let text = format!("#!/bin/sh\n[ -r {path}.env ] && . {path}.env\nexec /usr/bin/imex slurm {name}\n");
    File::script(path, text)
}

/// The same, without anything else, and what it costs is noted.
fn measured_hook(name: &str) -> File {
    let measure = format!("{LAB} slurm-lab measure --to /var/log/{name}.usage");
    let text = format!("#!/bin/sh\nexec {measure} /usr/bin/imex slurm {name}\n");
    File::script(format!("{LAB_FILES}/{name}"), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_under_nvidias_names_has_no_program_called_otherwise() {
        let site = Site { provider: Provider::NvidiaImex, ..Site::new(2) };
        let files = format!("{:?}{:?}", site.programs(), site.units().unwrap());
        assert!(files.contains("/usr/bin/nvidia-imex-ctl"), "{files}");
        assert!(!files.contains("/usr/bin/imexd"), "{files}");
    }
}
