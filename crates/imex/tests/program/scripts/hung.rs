//! Scripts that read from something that does not answer: a pipe that nobody writes to, as a dead network file system. They end
//! all the same, with the code of a run whose time was over. And scripts that are at work when Slurm has them end: those have not
//! hung, and do not say so.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{self, PipeReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::Signal;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::{JOB, Site};
use crate::program::{said, signal, until};

/// The budget of these scripts, what a script is given beyond it, and what a busy machine takes.
const BUDGET: Duration = Duration::from_millis(300);
const MARGIN: Duration = imex_slurm::budget::BEYOND;
const BUSY: Duration = Duration::from_secs(20);

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
    for (script, hangs, at) in [
        ("prolog", "logs/job-7.log", "hung: opening its log in "),
        ("epilog", "logs/job-7.log", "hung: opening its log in "),
        ("sweep", "run/turn", "hung: looking for what was left in "),
    ] {
        let site = Site::new("");
        pipe(&site.dir.path().join(hangs));
        let child = started(&site, script);
        until_caught(child.id());
        until(&format!("{script} hangs"), || hangs_opening(child.id()));
        signal(child.id(), Signal::SIGTERM);
        let asked = now();
        let ended = said(child);
        assert_eq!(ended.code, TERMINATED, "{}", ended.err);
        assert!(asked.elapsed() < BUSY, "{:?}", asked.elapsed());
        assert!(ended.err.contains(" was told to end after ") && ended.err.contains(at), "{}", ended.err);
    }
}

#[test]
fn slurms_request_to_end_is_answered_by_a_script_at_work_which_has_not_hung() {
    for script in ["epilog", "sweep"] {
        let dir = tempfile::tempdir().unwrap();
        let scontrol = dir.path().join("scontrol");
        fs::write(&scontrol, "#!/bin/sh\nexec /bin/sleep 1000\n").unwrap();
        fs::set_permissions(&scontrol, fs::Permissions::from_mode(0o755)).unwrap();
        let site = Site::new(&format!("tools.scontrol = {scontrol:?}\ntools.scontrol_deadline = \"60s\""));
        let run = site.dir.path().join("run");
        fs::create_dir_all(run.join("leases")).unwrap();
        // An epilog waits for its turn, a sweep for Slurm's word, which has no end.
        let turn = File::create(run.join("turn")).unwrap();
        turn.lock().unwrap();
        File::create(run.join("leases/7.0.lease")).unwrap();
        let child = started(&site, script);
        until_caught(child.id());
        match script {
            "epilog" => until("the epilog waits for its turn", || holds(child.id(), &run.join("turn"))),
            _ => until("the sweep asks Slurm", || has_a_child(child.id())),
        }
        until(&format!("the {script} waits"), || waits(child.id()));
        signal(child.id(), Signal::SIGTERM);
        let ended = said(child);
        assert_eq!(ended.code, TERMINATED, "{}", ended.err);
        let told = format!("the {script} was told to end after ");
        assert!(ended.err.contains(&told) && !ended.err.contains("hung"), "{}", ended.err);
        let record = site.record_of(script);
        assert!(record.contains("\"ending\": \"terminated\"") && !record.contains("hung"), "{record}");
    }
}

#[test]
fn a_standard_error_that_takes_nothing_holds_no_script_up() {
    let site = Site::new("prolog.budget = \"300ms\"");
    pipe(&site.dir.path().join("logs/job-7.log"));
    let (unread, full) = full_pipe();
    let hung = site.script("prolog", &JOB).stdout(Stdio::null()).stderr(full).spawn().unwrap();
    assert_eq!(ended(hung).code(), Some(TERMINATED));
    assert!(site.record_of("7.0-prolog").contains("\"hung\": true"));
    // One that fails by itself has its own record, and no other.
    let site = Site::new("prolog.budget = \"60s\"\nhardware.expect = \"always\"");
    let (unread_either, full) = full_pipe();
    let fails = site.script("prolog", &JOB).stdout(Stdio::null()).stderr(full).spawn().unwrap();
    let records = site.dir.path().join("state/records");
    let unfit = |record: fs::DirEntry| {
        fs::read_to_string(record.path()).is_ok_and(|text| text.contains("\"ending\": \"unfit\""))
    };
    until("it has its record", || fs::read_dir(&records).is_ok_and(|of| of.flatten().any(unfit)));
    signal(fails.id(), Signal::SIGTERM);
    assert_eq!(ended(fails).code(), Some(TERMINATED));
    assert!(site.record_of("7.0-prolog").contains("\"ending\": \"unfit\""));
    drop((unread, unread_either));
}

#[test]
fn a_library_that_does_not_let_a_process_end_holds_no_script_up() {
    let site = Site::new("prolog.budget = \"300ms\"");
    pipe(&site.dir.path().join("logs/job-7.log"));
    let library =
        library(site.dir.path(), "void __attribute__((destructor)) end(void) { for (;;) pause(); }");
    let mut hung = site.script("prolog", &JOB);
    hung.env("LD_PRELOAD", library).stdout(Stdio::null()).stderr(Stdio::null());
    assert_eq!(ended(hung.spawn().unwrap()).signal(), Some(Signal::SIGKILL as i32));
    assert!(site.record_of("7.0-prolog").contains("\"hung\": true"));
}

/// How a process ends that has to, by itself.
fn ended(child: Child) -> ExitStatus {
    let (child, status) = (RefCell::new(child), RefCell::new(None));
    until("the process has ended", || {
        *status.borrow_mut() = child.borrow_mut().try_wait().unwrap();
        status.borrow().is_some()
    });
    status.take().unwrap()
}

/// A pipe that takes nothing more, and its end that nobody reads.
fn full_pipe() -> (PipeReader, Stdio) {
    let (reader, mut writer) = io::pipe().unwrap();
    fcntl(&writer, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
    while writer.write(&[b'x'; 4096]).is_ok() {}
    while writer.write(b"x").is_ok() {}
    fcntl(&writer, FcntlArg::F_SETFL(OFlag::empty())).unwrap();
    (reader, writer.into())
}

/// A library made of this C, by the compiler that links this test.
fn library(dir: &Path, text: &str) -> PathBuf {
    let (source, library) = (dir.join("end.c"), dir.join("end.so"));
    fs::write(&source, format!("#include <unistd.h>\n{text}\n")).unwrap();
    let compiler = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status();
    assert!(compiler.unwrap().success());
    library
}

/// If a process has a file open.
fn holds(pid: u32, file: &Path) -> bool {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    open.filter_map(|entry| fs::read_link(entry.path()).ok()).any(|target| target == file)
}

/// If a process has started another one.
fn has_a_child(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).is_ok_and(|children| !children.is_empty())
}

/// If the first thread of a process opens something that does not open: the same call at each of some looks, with all that it
/// was called with.
fn hangs_opening(pid: u32) -> bool {
    let first = call(pid);
    let same = || {
        thread::sleep(Duration::from_millis(100));
        call(pid) == first
    };
    number(&first) == Some(nix::libc::SYS_openat) && (0..5).all(|_| same())
}

/// If the first thread of a process waits for whatever wakes it.
fn waits(pid: u32) -> bool {
    #[cfg(target_arch = "x86_64")]
    let waits = [nix::libc::SYS_epoll_wait, nix::libc::SYS_epoll_pwait];
    #[cfg(not(target_arch = "x86_64"))]
    let waits = [nix::libc::SYS_epoll_pwait];
    number(&call(pid)).is_some_and(|call| waits.contains(&call))
}

/// The call of the system in which the first thread of a process is (proc(5), `/proc/pid/syscall`).
fn call(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default()
}

fn number(call: &str) -> Option<nix::libc::c_long> {
    call.split(' ').next()?.parse().ok()
}

fn started(site: &Site, script: &str) -> Child {
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
