//! Random schedules: whatever happens, the invariants hold, and a healed cluster heals.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::collections::BTreeSet;

use imex_core::Moment;
use imex_sim::schedule::Course;
use imex_sim::{Keep, Schedule};

/// Seeds that once broke something, one a line, with what it was.
const REGRESSIONS: &str = include_str!("seeds.txt");

/// How many schedules run each time: a few seconds of work.
const SCHEDULES: u64 = 300;

fn regressions() -> BTreeSet<u64> {
    let lines = REGRESSIONS.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    lines.map(|line| line.split_whitespace().next().unwrap().parse().unwrap()).collect()
}

fn prove(seeds: impl IntoIterator<Item = u64>) {
    for seed in seeds {
        if let Err(failure) = Schedule::random(seed).prove() {
            panic!("{failure}");
        }
    }
}

#[test]
fn seeds_that_once_broke_an_invariant_break_none() {
    prove(regressions());
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
