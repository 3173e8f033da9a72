//! Lists of operations with their times: drawn from a seed, or read from a file.

mod draw;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use imex_core::Moment;
use thiserror::Error;

use crate::invariants::Violation;
use crate::network::Delay;
use crate::operation::{Operation, OperationError};
use crate::{Keep, Plan, World};

/// One operation and when it is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// When, from the start of the run.
    pub at: Duration,
    /// What.
    pub operation: Operation,
}

/// A whole run: the world and what is done to it.
///
/// Its text form has a line each for `hosts`, `seed` and `delay` (least and spread, in microseconds), then a line per
/// step: the time in seconds, and the [`Operation`]. Empty lines and lines that begin with `#` are skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// How many hosts there are.
    pub hosts: usize,
    /// Where the world's chance comes from.
    pub seed: u64,
    /// How long packets take.
    pub delay: Delay,
    /// The steps, by time.
    pub steps: Vec<Step>,
}

/// Why a text is no schedule.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ScheduleError {
    /// A line is not what its place asks for.
    #[error("line {line}: {found:?} is not {needs}")]
    Line {
        /// Which line, from 1.
        line: usize,
        /// What it says.
        found: String,
        /// What was needed.
        needs: &'static str,
    },
    /// A line holds no operation.
    #[error("line {line}")]
    Operation {
        /// Which line, from 1.
        line: usize,
        /// Why not.
        source: OperationError,
    },
    /// A line is missing.
    #[error("there is no line {0:?}")]
    Missing(&'static str),
}

/// How a run went that broke no invariant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// To its end: all faults were healed, and the domain was UP everywhere again.
    Healed {
        /// How long that took after the last repair.
        took: Duration,
        /// How long it may take, see [`World::healing_bound`].
        bound: Duration,
    },
    /// To the moment at which it was to stop.
    Stopped,
}

impl Schedule {
    /// The most hosts of a schedule: ids of a node map.
    pub const MAX_HOSTS: usize = imex_core::NodeMap::MAX_ENTRIES - 1;

    /// The world before the first step.
    pub fn world(&self, keep: Keep) -> World {
        World::new(Plan { delay: self.delay, keep, ..Plan::new(self.hosts, self.seed) })
    }

    /// Does the steps, then heals the network and checks the quiet cluster, then repairs every host and checks that
    /// the domain is UP within the bound and stays true. Stops at `until` if that comes first.
    pub fn run(&self, world: &mut World, until: Moment) -> Result<Course, Box<Violation>> {
        for step in &self.steps {
            let at = Moment::after(step.at);
            world.run_until(at.min(until))?;
            if at > until {
                return Ok(Course::Stopped);
            }
            world.apply(&step.operation)?;
        }
        world.heal()?;
        if go_on(world, until)? == Course::Stopped {
            return Ok(Course::Stopped);
        }
        world.check_quiet()?;
        world.repair()?;
        let bound = world.healing_bound();
        if world.now() + bound > until {
            world.run_until(until)?;
            return Ok(Course::Stopped);
        }
        let took = world.check_heals()?;
        let healed = Course::Healed { took, bound };
        if go_on(world, until)? == Course::Stopped {
            return Ok(Course::Stopped);
        }
        world.check_quiet()?;
        Ok(healed)
    }

    /// Runs it to its end without a record; if an invariant breaks, runs it again and returns the last lines with the
    /// violation.
    pub fn prove(&self) -> Result<Course, Failure> {
        let end = Moment::after(Duration::MAX);
        let violation = match self.run(&mut self.world(Keep::Nothing), end) {
            Ok(course) => return Ok(course),
            Err(violation) => violation,
        };
        let mut world = self.world(Keep::Last(Failure::LINES));
        // The same seed, so the same violation; what is wanted is the record.
        let _ = self.run(&mut world, end);
        let lines: Vec<_> = world.log().lines().map(ToString::to_string).collect();
        Err(Failure { seed: self.seed, violation, lines: lines.join("\n") })
    }
}

fn go_on(world: &mut World, until: Moment) -> Result<Course, Box<Violation>> {
    let limit = world.now() + world.healing_bound();
    world.run_until(limit.min(until))?;
    let bound = world.healing_bound();
    Ok(if limit > until { Course::Stopped } else { Course::Healed { took: Duration::ZERO, bound } })
}

/// A run that broke an invariant.
#[derive(Clone, Debug, Error)]
#[error("seed {seed}: {violation}\nlast events:\n{lines}\nagain: imex-replay --seed {seed}")]
pub struct Failure {
    /// The seed of the run.
    pub seed: u64,
    /// What did not hold.
    pub violation: Box<Violation>,
    lines: String,
}

impl Failure {
    /// How many of the last events are shown: enough for the exchange on one link, few enough to read.
    pub const LINES: usize = 60;
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "hosts {}", self.hosts)?;
        writeln!(f, "seed {}", self.seed)?;
        writeln!(f, "delay {} {}", self.delay.least.as_micros(), self.delay.spread.as_micros())?;
        self.steps.iter().try_for_each(|step| {
            let (seconds, nanos) = (step.at.as_secs(), step.at.subsec_nanos());
            writeln!(f, "{seconds}.{nanos:09} {}", step.operation)
        })
    }
}

impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let mut hosts = None;
        let mut seed = None;
        let mut delay = Delay::RACK;
        let mut steps = Vec::new();
        for (index, text) in text.lines().enumerate() {
            let line = index + 1;
            let bad = |needs| ScheduleError::Line { line, found: text.to_owned(), needs };
            let (word, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
            match word {
                "" => {}
                comment if comment.starts_with('#') => {}
                "hosts" => {
                    let number = rest.trim().parse().ok();
                    let number = number.filter(|n| (1..=Schedule::MAX_HOSTS).contains(n));
                    hosts = Some(number.ok_or_else(|| bad("hosts and a number from 1 to 65533"))?);
                }
                "seed" => seed = Some(rest.trim().parse().map_err(|_| bad("seed and a number"))?),
                "delay" => {
                    delay = parse_delay(rest).ok_or_else(|| bad("delay and two numbers of microseconds"))?
                }
                time => {
                    let at = parse_time(time).ok_or_else(|| bad("a time in seconds and an operation"))?;
                    let operation =
                        rest.parse().map_err(|source| ScheduleError::Operation { line, source })?;
                    steps.push(Step { at, operation });
                }
            }
        }
        steps.sort_by_key(|step| step.at);
        Ok(Schedule {
            hosts: hosts.ok_or(ScheduleError::Missing("hosts"))?,
            seed: seed.ok_or(ScheduleError::Missing("seed"))?,
            delay,
            steps,
        })
    }
}

fn parse_delay(text: &str) -> Option<Delay> {
    let (least, spread) = text.trim().split_once(' ')?;
    // Up to an hour: more is no delay, and sums of it must not overflow.
    let micros = |word: &str| word.trim().parse().ok().filter(|micros| *micros <= 3_600_000_000);
    Some(Delay {
        least: Duration::from_micros(micros(least)?),
        spread: Duration::from_micros(micros(spread)?),
    })
}

fn parse_time(word: &str) -> Option<Duration> {
    let (seconds, fraction) = word.split_once('.').unwrap_or((word, "0"));
    if fraction.is_empty() || fraction.len() > 9 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let nanos = format!("{fraction:0<9}").parse().ok()?;
    Some(Duration::new(seconds.parse().ok()?, nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_survives_being_written_and_read() {
        for seed in 0..50 {
            let schedule = Schedule::random(seed);
            assert_eq!(schedule.to_string().parse(), Ok(schedule));
        }
    }

    #[test]
    fn a_bad_line_is_named() {
        let read = |text: &str| text.parse::<Schedule>().unwrap_err().to_string();
        assert_eq!(read("seed 1"), "there is no line \"hosts\"");
        assert_eq!(read("hosts 0"), "line 1: \"hosts 0\" is not hosts and a number from 1 to 65533");
        assert_eq!(
            read("hosts 2\n\nsoon start 0"),
            "line 3: \"soon start 0\" is not a time in seconds and an operation"
        );
        assert_eq!(read("hosts 2\n1.5 stop 0"), "line 2");
    }
}
