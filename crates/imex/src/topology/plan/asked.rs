//! What a plan is made of: blocks, states and request, from files or from the controller.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use imex_topology::plan::job::{self, Job};
use imex_topology::plan::{
    GroupAdvice, NodeStates, Request, Sharing, Spread, Uncovered, best_segment, uncovered,
};
use imex_topology::source::{SourceError, show_topology};
use imex_topology::{BlockTopology, Topologies};
use tokio::process::Command;

use super::super::args::PlanArgs;
use super::super::files;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::run::block_on;

/// Everything that a plan needs.
pub(super) struct Asked {
    pub(super) blocks: BlockTopology,
    pub(super) states: NodeStates,
    pub(super) request: Request,
    /// The job of the controller, if one was named.
    pub(super) job: Option<Job>,
    /// What `--gpus-per-group` led to.
    pub(super) group: Option<GroupAdvice>,
    /// What the plan does not go by.
    pub(super) uncovered: Vec<Uncovered>,
}

impl Asked {
    /// Reads files and asks the controller, as the command line says.
    pub(super) fn gather(args: &PlanArgs) -> Result<Self, Failure> {
        let blocks = match &args.topology {
            Some(path) => chosen(files::topologies(path)?, args.name.as_deref(), path)?,
            None => shown(args)?,
        };
        let states = match (&args.nodes_json, &args.topology) {
            (Some(path), _) => states(&files::read(path)?, path)?,
            (None, Some(_)) if !args.live => NodeStates::default(),
            (None, _) => {
                states(&scontrol(&["show", "nodes", "--json"], args.timeout)?, Path::new(LIVE_NODES))?
            }
        };
        let states = match &args.down {
            Some(down) => states.with_down(down.clone()),
            None => states,
        };
        known(args, &blocks, &states)?;
        let job = args.job.map(|id| job(args, id)).transpose()?;
        let mut request = job.as_ref().map_or_else(|| request(args), |job| job.request.clone());
        let group =
            args.gpus_per_group.map(|gpus| best_segment(&blocks, request.nodes, gpus, args.gpus_per_node));
        let group = group.transpose().map_err(|error| Failure::new(Exit::JobRefused, &error))?;
        if let Some(group) = group {
            request.segment = Some(group.segment);
        }
        let mut not_covered = job.as_ref().map(|job| job.uncovered.clone()).unwrap_or_default();
        not_covered.extend(uncovered(&states, &request));
        Ok(Asked { blocks, states, request, job, group, uncovered: not_covered })
    }
}

const LIVE_NODES: &str = "scontrol show nodes --json";
const LIVE_JOB: &str = "scontrol show job --json";
const LIVE_TOPOLOGY: &str = "scontrol show topology";

/// A node that is named on the command line and that nobody knows is a slip: left alone, it would change the answer to another
/// question's.
fn known(args: &PlanArgs, blocks: &BlockTopology, states: &NodeStates) -> Result<(), Failure> {
    let placed: HashSet<&str> = blocks.blocks.iter().flat_map(|block| block.nodes.iter()).collect();
    let options = [("--nodelist", &args.nodelist), ("--exclude", &args.exclude), ("--down", &args.down)];
    for (option, nodes) in options {
        let unknown = |node: &&str| !placed.contains(node) && states.knows(node) != Some(true);
        let unknown: Vec<&str> = nodes.iter().flat_map(|nodes| nodes.iter()).filter(unknown).collect();
        if !unknown.is_empty() {
            let (nodes, place) = (imex_host::compress(&unknown), whose(args));
            let what = format!("{option}: there is no node {nodes} in {place}");
            return Err(Failure::because(Exit::Usage, what));
        }
    }
    Ok(())
}

/// Who tells which nodes there are.
fn whose(args: &PlanArgs) -> String {
    let files = args.topology.iter().chain(&args.nodes_json);
    let files: Vec<String> = files.map(|path| path.display().to_string()).collect();
    match (files.is_empty(), args.live || (args.topology.is_none() && args.nodes_json.is_none())) {
        (true, _) => "what the controller holds".to_owned(),
        (false, true) => format!("{}, nor in what the controller holds", files.join(" and ")),
        (false, false) => files.join(" or "),
    }
}

fn request(args: &PlanArgs) -> Request {
    Request {
        nodes: args.nodes.unwrap_or(1),
        segment: args.segment,
        spread: spread(args),
        sharing: sharing(args),
        wanted: args.nodelist.clone().unwrap_or_default(),
        excluded: args.exclude.clone().unwrap_or_default(),
        gres: args.gres.clone().unwrap_or_default().0,
    }
}

fn sharing(args: &PlanArgs) -> Sharing {
    if args.shared { Sharing::Shared } else { Sharing::Exclusive }
}

fn spread(args: &PlanArgs) -> Spread {
    match (args.spread_segments, args.consolidate_segments) {
        (true, _) => Spread::Apart,
        (false, true) => Spread::Consolidated,
        (false, false) => Spread::Together,
    }
}

fn job(args: &PlanArgs, id: u64) -> Result<Job, Failure> {
    let (text, from) = match &args.job_json {
        Some(path) => (files::read(path)?, path.as_path()),
        None => {
            let number = id.to_string();
            (scontrol(&["show", "job", &number, "--json"], args.timeout)?, Path::new(LIVE_JOB))
        }
    };
    job::parse(&text, id, sharing(args), spread(args)).map_err(|error| match error {
        SourceError::Nothing => {
            let from = from.display();
            Failure::because(Exit::SourceUnreadable, format!("there is no job {id} in {from}"))
        }
        error @ (SourceError::Json { .. } | SourceError::Line { .. } | SourceError::Refused { .. }) => {
            files::unreadable(from, &error)
        }
    })
}

fn states(text: &str, from: &Path) -> Result<NodeStates, Failure> {
    NodeStates::parse(text).map_err(|error| files::unreadable(from, &error))
}

/// The blocks of the topology with this name, else of the default one, else of the only one that has any.
fn chosen(topologies: Topologies, name: Option<&str>, path: &Path) -> Result<BlockTopology, Failure> {
    let topology = match name {
        Some(name) => topologies.get(name),
        None => topologies
            .cluster_default()
            .filter(|topology| topology.blocks().is_some())
            .or_else(|| topologies.list.iter().find(|topology| topology.blocks().is_some())),
    };
    topology.and_then(|topology| topology.blocks()).cloned().ok_or_else(|| {
        let what = match name {
            Some(name) => format!("`{}` has no topology of blocks called `{name}`", path.display()),
            None => format!("`{}` has no topology of blocks", path.display()),
        };
        Failure::because(Exit::SourceUnreadable, what)
    })
}

/// The blocks that the controller holds.
fn shown(args: &PlanArgs) -> Result<BlockTopology, Failure> {
    let mut words = vec!["show", "topology"];
    words.extend(args.name.as_deref());
    let text = scontrol(&words, args.timeout)?;
    show_topology::parse(&text).map_err(|error| files::unreadable(Path::new(LIVE_TOPOLOGY), &error))
}

/// What `scontrol` prints.
fn scontrol(words: &[&str], limit: Duration) -> Result<String, Failure> {
    let fail = |what: String| {
        let line = words.join(" ");
        Failure::because(Exit::SourceUnreadable, format!("`scontrol {line}` {what}"))
    };
    let asked = async {
        let output = Command::new("scontrol").args(words).kill_on_drop(true).output();
        tokio::time::timeout(limit, output).await
    };
    match block_on(asked)? {
        Ok(Ok(output)) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        Ok(Ok(output)) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(fail(format!("failed: {}", said.lines().next().unwrap_or("it does not say why"))))
        }
        Ok(Err(error)) => Err(fail(format!("cannot be run: {error}"))
            .hint("give the blocks with --topology and the nodes with --nodes-json or --down")),
        Err(_) => Err(fail(format!("did not end within {}", crate::output::duration(limit)))),
    }
}
