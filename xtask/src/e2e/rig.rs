//! A site's running cluster, as the scenarios see it: from outside.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::jobs::{Job, JobId, View};
use super::site::{Hooks, Site};
use crate::clock::Stopwatch;
use crate::error::TaskError;
use crate::report::Report;
use crate::slurm_lab::{Cluster, Network, Root, Said, Seat};

/// How long one command may take.
const COMMAND: Duration = Duration::from_secs(30);

/// How long anything that a scenario waits for may take, unless it says otherwise: several times a prolog's budget.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// How often that is looked at.
const PAUSE: Duration = Duration::from_millis(100);

/// Who submits the jobs.
pub(crate) const USER: &str = "alice";

/// Something that is tried on a cluster.
pub(crate) type Story = fn(&Rig) -> Result<(), TaskError>;

/// Something that is tried on a cluster and says how it went.
pub(crate) type Told = fn(&Rig, &mut Report) -> Result<(), TaskError>;

/// A running cluster of a site.
pub(crate) struct Rig {
    pub(crate) site: Site,
    cluster: Cluster,
}

impl Rig {
    /// Boots it.
    pub(crate) fn up(root: &Root, dir: &Path, site: Site) -> Result<Self, TaskError> {
        let cluster = Cluster::up(root, dir, &site.setup()?, site.keep)?;
        let rig = Rig { site, cluster };
        // Enabled but without a map, as on an image, it is started again and again until systemd has enough.
        let daemon = rig.site.provider.daemon();
        let line = format!(
            "systemctl stop {daemon}; systemctl reset-failed; cp -a /etc/nvidia-imex /var/tmp/before"
        );
        rig.nodes().try_for_each(|node| rig.on(node, &line).map(drop))?;
        Ok(rig)
    }

    pub(crate) fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Ends it.
    pub(crate) fn down(self) -> Result<(), TaskError> {
        self.cluster.down()
    }

    /// Lets it run on.
    pub(crate) fn leave_running(self) {
        self.cluster.leave_running();
    }

    /// All of its nodes' numbers.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = u8> + use<> {
        1..=self.site.nodes
    }

    /// What stands for a node in a node map: its address, or the name that a prolog which resolves nothing takes.
    pub(crate) fn address(&self, node: u8) -> String {
        match (&self.site.hooks, self.site.network) {
            (Hooks::Scripts { .. }, _) => format!("node{node}"),
            (_, Network::Both) => format!("10.77.0.{node}"),
            (_, Network::Ipv6) => format!("fd77::{node}"),
        }
    }

    /// What a shell on a node prints for a line that must succeed.
    pub(crate) fn on(&self, node: u8, line: &str) -> Result<String, TaskError> {
        let said = self.try_on(node, line)?;
        said.judge()?;
        Ok(said.out)
    }

    /// What a shell on a node says to a line.
    pub(crate) fn try_on(&self, node: u8, line: &str) -> Result<Said, TaskError> {
        self.cluster.exec_at(Seat { node: Some(node), user: None }, &["sh", "-c", line], COMMAND)
    }

    /// What a shell beside the controller prints for a line that must succeed.
    pub(crate) fn control(&self, line: &str) -> Result<String, TaskError> {
        let said = self.cluster.exec(&["sh", "-c", line], COMMAND)?;
        said.judge()?;
        Ok(said.out)
    }

    /// What a user's command prints, if it succeeds.
    pub(crate) fn user(&self, words: &[&str]) -> Result<String, TaskError> {
        let said = self.cluster.exec_at(Seat { node: None, user: Some(USER) }, words, COMMAND)?;
        said.judge()?;
        Ok(said.out)
    }

    /// The job with this number.
    pub(crate) fn known(&self, number: u64) -> JobId {
        JobId(number)
    }

    /// Waits until a job is over, however it went.
    pub(crate) fn wait_over(&self, job: JobId) -> Result<View, TaskError> {
        self.wait_job(job, "is over", View::is_over)
    }

    /// Submits a job.
    pub(crate) fn submit(&self, job: &Job) -> Result<JobId, TaskError> {
        let said = self.user(&job.line())?;
        let number = said.trim().split(';').next().unwrap_or_default().parse();
        number.map(JobId).map_err(|_| TaskError::Output { line: "sbatch --parsable".to_owned(), why: said })
    }

    /// What Slurm says of a job now.
    pub(crate) fn job(&self, job: JobId) -> Result<View, TaskError> {
        View::parse(&self.control(&format!("scontrol show job {job} --json"))?)
    }

    /// Waits until Slurm says something of a job.
    pub(crate) fn wait_job(
        &self,
        job: JobId,
        what: &str,
        is_so: impl Fn(&View) -> bool,
    ) -> Result<View, TaskError> {
        let running = Stopwatch::start();
        loop {
            let view = self.job(job)?;
            if is_so(&view) {
                return Ok(view);
            }
            let seconds = LIMIT.as_secs();
            TaskError::unless(running.elapsed() < LIMIT, || {
                format!("job {job} {what} within {seconds} s; it is {view}")
            })?;
            thread::sleep(PAUSE);
        }
    }

    /// Waits until a job is over, which must have gone well.
    pub(crate) fn completed(&self, job: JobId) -> Result<View, TaskError> {
        let view = self.wait_over(job)?;
        TaskError::unless(view.state == "COMPLETED", || format!("job {job} completes; it is {view}"))?;
        Ok(view)
    }

    /// What a job's script has printed so far.
    pub(crate) fn output(&self, job: JobId) -> Result<String, TaskError> {
        self.control(&format!("cat /home/{USER}/job-{job}.out 2>/dev/null || true"))
    }

    /// The nodes that Slurm gives to nobody, with the reason.
    pub(crate) fn drained(&self) -> Result<BTreeMap<u8, String>, TaskError> {
        let text = self.control("sinfo --noheader --Node --partition=main --format='%n %T %E'")?;
        let rows = text.lines().filter_map(|line| {
            let mut words = line.splitn(3, ' ');
            let node = words.next()?.strip_prefix("node")?.parse().ok()?;
            let state = words.next()?;
            (state.contains("drain") || state.contains("down"))
                .then(|| (node, format!("{state}: {}", words.next().unwrap_or_default())))
        });
        Ok(rows.collect())
    }

    /// Waits until something is so.
    pub(crate) fn until(
        &self,
        what: &str,
        limit: Duration,
        mut is_so: impl FnMut() -> Result<bool, TaskError>,
    ) -> Result<Duration, TaskError> {
        let running = Stopwatch::start();
        loop {
            let took = running.elapsed();
            if is_so()? {
                return Ok(took);
            }
            TaskError::unless(took < limit, || format!("{what} within {} s", limit.as_secs_f64()))?;
            thread::sleep(PAUSE);
        }
    }

    /// The numbers of the nodes in a list of Slurm's, in order.
    pub(crate) fn expand(&self, list: &str) -> Result<Vec<u8>, TaskError> {
        let names = self.control(&format!("scontrol show hostnames '{list}'"))?;
        Ok(names.lines().filter_map(|name| name.strip_prefix("node")?.parse().ok()).collect())
    }

    /// The jobs whose line has this text, once there are so many.
    pub(crate) fn jobs_like(&self, text: &str, count: usize) -> Result<Vec<JobId>, TaskError> {
        let mut found = Vec::new();
        self.until(&format!("there are {count} jobs with {text}"), LIMIT, || {
            let lines = self.control("scontrol --oneliner show jobs")?;
            let lines = lines.lines().filter(|line| line.contains(text));
            let ids = lines.filter_map(|line| line.strip_prefix("JobId=")?.split(' ').next()?.parse().ok());
            found = ids.map(JobId).collect();
            Ok(found.len() == count)
        })?;
        found.sort_unstable();
        Ok(found)
    }

    /// Waits until every node is idle.
    pub(crate) fn wait_for_idle(&self) -> Result<(), TaskError> {
        self.cluster.wait_for_nodes(usize::from(self.site.nodes))
    }

    /// Ends all jobs, gives all nodes back, and waits until every one is idle.
    pub(crate) fn rest(&self) -> Result<(), TaskError> {
        self.control(&format!("scancel --user={USER}"))?;
        let busy = || Ok(self.control("squeue --noheader --format=%i")?.trim().is_empty());
        self.until("all jobs are over", LIMIT, busy)?;
        let still = || {
            let states = self.control("sinfo --noheader --Node --partition=main --format=%T")?;
            Ok(!states.contains("comp") && !states.contains("alloc") && !states.contains("draining"))
        };
        self.until("all nodes have come to rest", LIMIT, still)?;
        for node in self.drained()?.keys() {
            self.control(&format!("scontrol update nodename=node{node} state=resume"))?;
        }
        self.cluster.wait_for_nodes(usize::from(self.site.nodes))
    }
}
