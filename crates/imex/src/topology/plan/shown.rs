//! How a plan is shown.

use std::io::{self, Write};

use imex_topology::plan::job::meaning;
use imex_topology::plan::{
    Alternative, Gres, GroupAdvice, Outcome, Place, Plan, Rack, Refusal, Sharing, Spread, Start, Uncovered,
    Waiting, picture,
};
use serde::Serialize;

use super::asked::Asked;
use crate::exit::Exit;
use crate::output::count;

/// A plan as JSON.
#[derive(Debug, Serialize)]
pub(super) struct Document<'a> {
    exit_code: Exit,
    outcome: &'static str,
    /// What would happen and why, for people.
    summary: String,
    request: RequestRow,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<JobRow<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<GroupAdvice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waits: Option<&'a Waiting>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<&'a Refusal>,
    /// The nodes that the job gets; empty unless it starts.
    nodes: String,
    segments: Vec<SegmentRow<'a>>,
    stranded: usize,
    blocks: Vec<BlockRow<'a>>,
    alternatives: &'a [Alternative],
    /// What Slurm goes by and the plan does not.
    not_covered: Vec<UncoveredRow<'a>>,
}

#[derive(Debug, Serialize)]
struct UncoveredRow<'a> {
    #[serde(flatten)]
    uncovered: &'a Uncovered,
    /// The same for people.
    summary: String,
}

#[derive(Debug, Serialize)]
struct RequestRow {
    nodes: usize,
    segment: Option<usize>,
    spread: Spread,
    sharing: Sharing,
    nodelist: String,
    exclude: String,
    gres: String,
}

#[derive(Debug, Serialize)]
struct JobRow<'a> {
    id: u64,
    state: &'a str,
    reason: Option<&'a str>,
    meaning: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct SegmentRow<'a> {
    nodes: String,
    blocks: Vec<&'a str>,
}

#[derive(Debug, Serialize)]
struct BlockRow<'a> {
    block: &'a str,
    nodes: usize,
    for_the_job: usize,
    free: usize,
    stranded: usize,
}

/// What the JSON document holds.
pub(super) fn document<'a>(asked: &'a Asked, plan: &'a Plan) -> Document<'a> {
    let (outcome, waits, refused) = match &plan.outcome {
        Outcome::Starts => ("starts", None, None),
        Outcome::Waits(why) => ("waits", Some(why), None),
        Outcome::Refused(why) => ("refused", None, Some(why)),
    };
    let request = &asked.request;
    Document {
        exit_code: super::exit(plan),
        outcome,
        summary: headline(asked, plan),
        request: RequestRow {
            nodes: request.nodes,
            segment: request.segment,
            spread: request.spread,
            sharing: request.sharing,
            nodelist: request.wanted.to_list(),
            exclude: request.excluded.to_list(),
            gres: request.gres.iter().map(Gres::to_string).collect::<Vec<_>>().join(","),
        },
        job: asked.job.as_ref().map(|job| JobRow {
            id: job.id,
            state: &job.state,
            reason: job.reason.as_deref(),
            meaning: job.reason.as_deref().and_then(meaning),
        }),
        group: asked.group,
        waits,
        refused,
        nodes: plan.chosen().to_list(),
        segments: segments(plan),
        stranded: plan.stranded(),
        blocks: plan.racks.iter().map(BlockRow::from).collect(),
        alternatives: &plan.alternatives,
        not_covered: asked
            .uncovered
            .iter()
            .map(|uncovered| UncoveredRow { uncovered, summary: uncovered.to_string() })
            .collect(),
    }
}

/// Writes the plan for people.
pub(super) fn write(asked: &Asked, plan: &Plan, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", headline(asked, plan))?;
    for uncovered in &asked.uncovered {
        writeln!(out, "not covered, so that Slurm may do otherwise: {uncovered}")?;
    }
    if let Some(GroupAdvice { segment, groups }) = asked.group {
        writeln!(out, "--segment={segment} keeps each of {} in one block", count(groups, "group"))?;
    }
    if let Some(job) = &asked.job {
        let reason = job.reason.as_deref().unwrap_or("None");
        let means = meaning(reason).map(|words| format!(": {words}")).unwrap_or_default();
        writeln!(out, "job {} is {}, reason {reason}{means}", job.id, job.state)?;
    }
    if let Outcome::Waits(why) = &plan.outcome {
        writeln!(out, "Slurm's reason for that: {}", why.slurm_reason())?;
    }
    writeln!(out)?;
    picture::write(plan, out)?;
    if !plan.alternatives.is_empty() {
        writeln!(out)?;
    }
    for alternative in &plan.alternatives {
        let when = match alternative.start {
            Start::Now => "would start now",
            Start::Later => "could start on an empty cluster",
        };
        writeln!(out, "{}: {when}", options(alternative.nodes, alternative.segment))?;
    }
    Ok(())
}

/// What would happen and why, in one line.
pub(super) fn headline(asked: &Asked, plan: &Plan) -> String {
    let what = options(asked.request.nodes, asked.request.segment);
    match &plan.outcome {
        Outcome::Starts => {
            let stranded = match plan.stranded() {
                0 => String::new(),
                number => format!(", {} stranded", count(number, "free node")),
            };
            format!("{what} starts now on {}{stranded}", plan.chosen().to_list())
        }
        Outcome::Waits(why) => format!("{what} waits: {why}"),
        Outcome::Refused(why) => format!("{what} is refused: {why}"),
    }
}

/// A request as `sbatch` takes it.
fn options(nodes: usize, segment: Option<usize>) -> String {
    match segment {
        Some(segment) => format!("-N{nodes} --segment={segment}"),
        None => format!("-N{nodes}"),
    }
}

fn segments(plan: &Plan) -> Vec<SegmentRow<'_>> {
    let last = plan.racks.iter().flat_map(|rack| &rack.nodes).filter_map(|place| place.segment).max();
    let numbers = last.map_or(0..0, |last| 0..last + 1);
    let row = |number| SegmentRow {
        nodes: plan.segment(number).to_list(),
        blocks: plan.racks.iter().filter(|rack| rack.holds(number)).map(|rack| rack.name.as_str()).collect(),
    };
    numbers.map(row).collect()
}

impl<'a> From<&'a Rack> for BlockRow<'a> {
    fn from(rack: &'a Rack) -> Self {
        BlockRow {
            block: &rack.name,
            nodes: rack.nodes.len(),
            for_the_job: rack.nodes.iter().filter(|place| place.segment.is_some()).count(),
            free: rack.nodes.iter().filter(|place| Place::is_left(place)).count(),
            stranded: rack.stranded,
        }
    }
}
