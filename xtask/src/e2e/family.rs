//! Scenario 8: IPv6 only, and addresses that are names.

use super::jobs::Job;
use super::rig::Rig;
use super::{look, traces};
use crate::error::TaskError;
use crate::report::Report;

/// Scenario 8. No resolver knows the nodes' names; Slurm knows each by the name of an address of its own. As on Debian, a
/// node's own name is one of its loopback addresses.
pub(super) fn run(rig: &Rig, report: &mut Report) -> Result<(), TaskError> {
    let shown = rig.control("scontrol --oneliner show node node2")?;
    TaskError::unless(shown.contains("NodeAddr=fabric2 "), || format!("NodeAddr is a name; it is {shown}"))?;
    let known = rig.try_on(1, "getent hosts node2")?;
    TaskError::unless(known.out.is_empty(), || format!("no resolver knows node2; it is {}", known.out))?;
    let job = rig.submit(&Job::exclusive(4, look::script(rig.site.provider)))?;
    rig.completed(job)?;
    look::saw_up(rig, job, &[&[1, 2, 3, 4]])?;
    report.line("four nodes by NodeAddr, over IPv6");
    rig.wait_for_idle()?;
    traces::none_on_the_nodes(rig)
}
