//! `imex-replay` as a person uses it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::io;

use clap::Parser as _;
use imex_sim::replay::{self, Args, Verdict};

#[test]
fn a_seed_is_run_to_its_end_and_its_bound_is_told() {
    let (verdict, text) = run(&["--seed", "7", "--last", "3"]);
    assert!(matches!(verdict, Verdict::Held(_)), "{verdict:?}");
    assert_eq!(text.lines().count(), 4, "{text}");
    assert!(text.lines().last().unwrap().starts_with("UP again after "), "{text}");
}

#[test]
fn a_host_and_a_span_are_cut_out() {
    let (_, text) = run(&["--seed", "7", "--node", "2", "--since", "1", "--until", "2.5"]);
    let lines: Vec<_> = text.lines().filter(|line| line.contains('[')).collect();
    assert!(!lines.is_empty());
    for line in lines {
        assert!(line.starts_with("   1.") || line.starts_with("   2."), "{line}");
        assert!(line.contains("[ 2]"), "{line}");
    }
    assert!(text.ends_with("stopped at 2.5s\n"), "{text}");
}

#[test]
fn the_table_shows_every_link_and_every_view() {
    let (_, text) = run(&["--seed", "7", "--last", "0", "--table"]);
    let hosts = text.lines().next().unwrap().split_whitespace().count() - 1;
    let rows = text.lines().filter(|line| line.contains("domain UP")).count();
    assert_eq!(rows, hosts, "{text}");
}

#[test]
fn a_printed_schedule_runs_from_a_file_as_its_seed_does() {
    let (_, schedule) = run(&["--seed", "7", "--print-schedule"]);
    let path = std::env::temp_dir().join(format!("imex-replay-{}", std::process::id()));
    std::fs::write(&path, schedule).unwrap();
    let (_, from_file) = run(&["--schedule", path.to_str().unwrap()]);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(from_file, run(&["--seed", "7"]).1);
}

#[test]
fn a_bad_schedule_names_its_line_and_exits_with_2() {
    let path = std::env::temp_dir().join(format!("imex-replay-bad-{}", std::process::id()));
    std::fs::write(&path, "hosts 3\nseed 1\n0.5 begin 1\n").unwrap();
    let args = Args::parse_from(["imex-replay", "--schedule", path.to_str().unwrap()]);
    let result = replay::run(&args, &mut Vec::new(), &mut io::empty());
    std::fs::remove_file(&path).unwrap();
    let mut err = Vec::new();
    let code = replay::exit_code(result, &mut err);
    let text = String::from_utf8(err).unwrap();
    assert!(text.ends_with(": line 3: no operation is called \"begin\"\n"), "{text}");
    assert_eq!(format!("{code:?}"), format!("{:?}", std::process::ExitCode::from(2)));
}

fn run(args: &[&str]) -> (Verdict, String) {
    let args = Args::parse_from(std::iter::once("imex-replay").chain(args.iter().copied()));
    let mut out = Vec::new();
    let verdict = replay::run(&args, &mut out, &mut io::empty()).unwrap();
    (verdict, String::from_utf8(out).unwrap())
}
