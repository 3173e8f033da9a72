//! Scripts that read from something that does not answer: a pipe that nobody writes to, as a dead network file system. They end
//! all the same, with the code of a run whose time was over.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::{JOB, Site};
use crate::program::{said, signal, until};

/// The budget of these scripts, what a script is given beyond it, and what a busy machine takes.
const BUDGET: Duration = Duration::from_millis(300);
const MARGIN: Duration = imex_slurm::budget::BEYOND;
const BUSY: Duration = Duration::from_secs(5);

/// What a script says whose time was over.
const TERMINATED: i32 = 81;

#[test]
fn a_prolog_that_hangs_ends_soon_after_its_budget_and_says_at_what() {
    let site = Site::new("prolog.budget = \"300ms\"");
    pipe(&site.dir.path().join("logs/job-7.log"));
    let began = now();
    let ended = said(started(&site, "prolog"));
    let took = began.elapsed();
    assert_eq!(ended.code, TERMINATED, "{}", ended.err);
    assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
    assert!(
        ended.err.contains("was over its budget of 300 ms and hung: opening its log in "),
        "{}",
        ended.err
    );
    assert!(took >= BUDGET + MARGIN && took < BUDGET + MARGIN + BUSY, "{took:?}");
    let record = site.record_of("7.0-prolog");
    assert!(
        record.contains("\"ending\": \"terminated\"") && record.contains("\"exit_code\": 81"),
        "{record}"
    );
}

#[test]
fn an_epilog_that_hangs_ends_soon_after_its_budget() {
    let site = Site::new("epilog.budget = \"300ms\"");
    pipe(&site.dir.path().join("logs/job-7.log"));
    let ended = said(started(&site, "epilog"));
    assert_eq!(ended.code, TERMINATED, "{}", ended.err);
    assert!(ended.err.contains("the epilog was over its budget of 300 ms and hung: "), "{}", ended.err);
    assert!(site.record_of("7.0-epilog").contains("\"hung\": true"));
}

#[test]
fn a_state_that_is_no_plain_file_holds_nobody_up() {
    let site = Site::new("service.unit = \"imexd-of-no-machine.service\"");
    let state = site.dir.path().join("state/domain.json");
    pipe(&state);
    for (script, code) in [("task-prolog", 83), ("sweep", 82), ("epilog", 82)] {
        let began = now();
        let ended = said(started(&site, script));
        assert!(began.elapsed() < BUSY, "{script} took {:?}", began.elapsed());
        assert_eq!(ended.code, code, "{script}: {}", ended.err);
    }
}

#[test]
fn slurms_request_to_end_is_answered_while_a_script_hangs() {
    for script in ["prolog", "epilog"] {
        let site = Site::new("");
        pipe(&site.dir.path().join("logs/job-7.log"));
        let child = started(&site, script);
        until_caught(child.id());
        signal(child.id(), Signal::SIGTERM);
        let asked = now();
        let ended = said(child);
        assert_eq!(ended.code, TERMINATED, "{}", ended.err);
        assert!(asked.elapsed() < BUSY, "{:?}", asked.elapsed());
        assert!(
            ended.err.contains(" was told to end after ") && ended.err.contains("hung: opening"),
            "{}",
            ended.err
        );
    }
}

fn started(site: &Site, script: &str) -> std::process::Child {
    let mut command = site.script(script, &JOB);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn pipe(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    mkfifo(path, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
}

/// Waits until a process catches SIGTERM. Before that it would end it, which is no success either.
fn until_caught(pid: u32) {
    let caught = || {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        let bit = 1 << (Signal::SIGTERM as u64 - 1);
        u64::from_str_radix(mask.trim(), 16).unwrap() & bit != 0
    };
    until("SIGTERM is caught", caught);
}

#[expect(clippy::disallowed_methods, reason = "what is measured is a process")]
fn now() -> Instant {
    Instant::now()
}
