//! No daemon outlives its lab, however that ends.

use std::fs;

use nix::sys::signal::Signal;

use super::foreground::{read_until, start};
use crate::program::{Background, processes_of, signal, until};

#[test]
fn killing_a_foreground_lab_leaves_no_daemon_not_even_a_stopped_one() {
    let temp = tempfile::tempdir_in("/tmp").unwrap();
    let mut lab = start(temp.path());
    read_until(&mut lab, "Ctrl-C ends the lab");
    let daemons = processes_of(temp.path(), "imexd");
    assert_eq!(daemons.len(), 3);
    signal(daemons[1], Signal::SIGSTOP);
    signal(lab.id(), Signal::SIGKILL);
    lab.wait().unwrap();
    until("all daemons have ended", || processes_of(temp.path(), "imexd").is_empty());
}

#[test]
fn killing_the_owner_in_the_background_leaves_no_daemon_not_even_a_stopped_one() {
    let lab = Background::up(3);
    lab.lab(&["kill", "2", "--signal", "STOP"]);
    signal(lab.owner(), Signal::SIGKILL);
    until("all daemons have ended", || lab.daemons().is_empty());
    assert_eq!(lab.lab(&["status"]).code, 21);
}

#[test]
fn a_lab_whose_directory_goes_ends() {
    let lab = Background::up(2);
    let owner = lab.owner();
    fs::remove_dir_all(&lab.dir).unwrap();
    until("all daemons have ended", || lab.daemons().is_empty());
    until("the owner has ended", || {
        fs::read(format!("/proc/{owner}/cmdline")).unwrap_or_default().is_empty()
    });
}
