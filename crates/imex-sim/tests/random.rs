//! Random schedules: whatever happens, the invariants hold, and a healed cluster heals.

use std::path::Path;

use imex_core::Moment;
use imex_sim::schedule::Course;
use imex_sim::{Keep, Schedule};

/// Schedules that once broke something, one a file, with what it was in its first line. Kept as they ran, not as seeds:
/// a change of how schedules are drawn would make other runs of these. Never removed.
const REGRESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/schedules");

/// How many schedules run each time: a few seconds of work.
const SCHEDULES: u64 = 300;

fn prove(seeds: impl IntoIterator<Item = u64>) {
    for seed in seeds {
        if let Err(failure) = Schedule::random(seed).prove() {
            panic!("{failure}");
        }
    }
}

#[test]
fn schedules_that_once_broke_an_invariant_break_none() {
    let mut files: Vec<_> =
        Path::new(REGRESSIONS).read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        let schedule: Schedule = std::fs::read_to_string(&file).unwrap().parse().unwrap();
        if let Err(failure) = schedule.prove() {
            panic!("{}: {failure}", file.display());
        }
    }
}

#[test]
fn no_random_schedule_breaks_an_invariant() {
    prove(0..SCHEDULES);
}

#[test]
#[ignore = "takes minutes: the long form, for nights and for changes of the rules"]
fn no_random_schedule_of_many_breaks_an_invariant() {
    prove(SCHEDULES..50_000);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let record = |seed| {
        let schedule = Schedule::random(seed);
        let mut world = schedule.world(Keep::All);
        let course = schedule.run(&mut world, Moment::after(std::time::Duration::MAX));
        let lines: Vec<_> = world.take_lines().collect();
        (course, lines)
    };
    for seed in [1, 2, 3] {
        let (course, lines) = record(seed);
        assert!(matches!(course, Ok(Course::Healed { .. })), "{course:?}");
        assert!(lines.len() > 1000, "only {} lines", lines.len());
        assert_eq!((course, lines), record(seed));
    }
}
