//! What is printed when a scenario fails: enough to find the fault without running it again.

use super::rig::Rig;
use super::site::LAB_FILES;
use crate::report::Report;

/// The last lines of what may be long.
const TAIL: usize = 25;

/// Beside the controller.
const CONTROLLER: [&str; 4] = [
    "sinfo --Node --long",
    "sinfo -R --format='%n %E'",
    "scontrol --oneliner show jobs | tail -3",
    "tail -25 /out/slurmctld.log",
];

/// Prints it.
pub(super) fn print(rig: &Rig, report: &mut Report) {
    report.line("--- evidence: controller");
    for line in CONTROLLER {
        show(report, line, rig.control(line));
    }
    let daemon = rig.site.provider.daemon();
    let node_lines = [
        "cat $(ls -t /var/log/openimex/* 2>/dev/null | head -1) /dev/null | tail -25".to_owned(),
        "cat $(ls -t /var/lib/openimex/* /var/lib/openimex/*/* 2>/dev/null | head -1) /dev/null | head -c 4000".to_owned(),
        "find /run/imex /dev/nvidia-caps-imex-channels -type f -o -type c 2>/dev/null".to_owned(),
        "cat /etc/nvidia-imex/nodes_config.cfg".to_owned(),
        format!("systemctl status --no-pager --lines=8 {daemon}"),
        format!("tail -{TAIL} /var/log/nvidia-imex.log"),
        "grep -E 'rolog|pilog|error' /out/slurmd.$(hostname).log | tail -12".to_owned(),
        format!("nft list ruleset; ls {LAB_FILES}"),
    ];
    for node in rig.nodes() {
        report.line(format_args!("--- evidence: node{node}"));
        for line in &node_lines {
            show(report, line, rig.try_on(node, line).map(|said| said.out + &said.err));
        }
    }
}

fn show(report: &mut Report, line: &str, said: Result<String, crate::error::TaskError>) {
    let said = said.unwrap_or_else(|error| error.to_string());
    if !said.trim().is_empty() {
        report.line(format_args!("$ {line}\n{}", said.trim_end()));
    }
}
