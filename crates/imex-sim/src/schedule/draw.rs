//! Random schedules.

use std::time::Duration;

use imex_core::{Grace, QuorumMode};

use super::{Schedule, Step};
use crate::network::{Cut, Delay};
use crate::operation::Operation;
use crate::{Address, Chance, MapChoice};

/// How long faults go on before everything is healed.
const FAULTY_SPAN: Duration = Duration::from_secs(60);

impl Schedule {
    /// A schedule of four to nine hosts on which faults rain for a simulated minute.
    pub fn random(seed: u64) -> Self {
        let mut chance = Chance::new(seed ^ 0x5EED_5C4E_D01E);
        let mut draw = Draw {
            hosts: 4 + chance.index(6),
            steps: Vec::new(),
            at: Duration::ZERO,
            focus: Address::new(0),
            calm: 1 + chance.below(8),
            chance,
        };
        draw.begin();
        draw.pass();
        while draw.at < FAULTY_SPAN {
            draw.fault();
            draw.pass();
        }
        let delay = draw.delay();
        let mut steps = draw.steps;
        steps.sort_by_key(|step| step.at);
        Schedule { hosts: draw.hosts, seed, delay, steps }
    }
}

struct Draw {
    hosts: usize,
    steps: Vec<Step>,
    at: Duration,
    /// The host that the last fault struck: every second one strikes it again, so that faults meet.
    focus: Address,
    /// Of ten pauses between two faults, how many let the cluster come to rest.
    calm: u64,
    chance: Chance,
}

impl Draw {
    fn put(&mut self, after: Duration, operation: Operation) {
        let at = self.at + after;
        self.steps.push(Step { at, operation });
    }

    fn host(&mut self) -> Address {
        Address::at(self.chance.index(self.hosts))
    }

    fn other_than(&mut self, host: Address) -> Address {
        Address::at((host.index() + 1 + self.chance.index(self.hosts - 1)) % self.hosts)
    }

    fn millis(&mut self, below: u64) -> Duration {
        Duration::from_micros(self.chance.below(below * 1000))
    }

    /// Time goes on: mostly a little, so that faults meet each other, now and then enough to come to rest.
    fn pass(&mut self) {
        let span = match self.chance.below(10) {
            rest if rest < self.calm => self.millis(6000),
            short if short % 2 == 0 => self.millis(3),
            _ => self.millis(800),
        };
        self.at += span;
    }

    /// A rack, a slow network, or one in which streams overtake one another by far.
    fn delay(&mut self) -> Delay {
        let (least, spread) = match self.chance.below(3) {
            0 => return Delay::RACK,
            1 => (500, 5_000),
            _ => (1_000, 150_000),
        };
        Delay { least: Duration::from_micros(least), spread: Duration::from_micros(spread) }
    }

    fn begin(&mut self) {
        let quorum = match self.chance.below(4) {
            0 => QuorumMode::None,
            1 => QuorumMode::Full,
            _ => QuorumMode::Recovery,
        };
        let grace = match self.chance.below(4) {
            0 => Grace::For(Duration::ZERO),
            1 => Grace::For(Duration::from_millis(1 + self.chance.below(5_000))),
            _ => Grace::Forever,
        };
        let together = self.chance.permille(300);
        for host in (0..self.hosts).map(Address::at) {
            self.put(Duration::ZERO, Operation::Quorum(host, quorum));
            self.put(Duration::ZERO, Operation::Grace(host, grace));
            let wait = if together { Duration::ZERO } else { self.millis(2000) };
            self.put(wait, Operation::Start(host));
        }
    }

    fn fault(&mut self) {
        if self.chance.permille(500) {
            self.focus = self.host();
        }
        let host = self.focus;
        match self.chance.below(20) {
            0..4 => self.restart(host, Operation::Kill(host)),
            4..6 => self.restart(host, Operation::Leave(host)),
            6 => self.restart(host, Operation::PowerOff(host)),
            7..9 => self.pause(host),
            9..12 => self.cut(host),
            12 => self.isolate(host),
            13 => {
                let other = self.other_than(host);
                self.put(Duration::ZERO, Operation::Sever(host, other));
            }
            14 => {
                let other = self.other_than(host);
                let slower = u32::try_from(self.chance.below(1500)).expect("below 1500");
                self.put(Duration::ZERO, Operation::Slow(host, other, slower));
            }
            15 => {
                let permille = u16::try_from(self.chance.below(300)).expect("below 300");
                self.put(Duration::ZERO, Operation::Duplicate(permille));
            }
            16 => self.misconfigure(host),
            17 if self.chance.permille(500) => {
                let other = self.other_than(host);
                self.put(Duration::ZERO, Operation::StaleNotice(host, other));
            }
            17 => self.put(Duration::ZERO, Operation::Redial(host)),
            18 => self.put(Duration::ZERO, Operation::AskTable(host)),
            _ => self.import(host),
        }
    }

    fn downtime(&mut self) -> Duration {
        match self.chance.below(3) {
            0 => Duration::ZERO,
            1 => self.millis(100),
            _ => self.millis(6000),
        }
    }

    fn restart(&mut self, host: Address, how: Operation) {
        self.put(Duration::ZERO, how);
        // A daemon that leaves takes a while to do so; a start in that time is lost, as it is under systemd.
        let after = self.downtime() + Duration::from_millis(5);
        if self.chance.permille(900) {
            self.put(after, Operation::Start(host));
        }
    }

    fn pause(&mut self, host: Address) {
        self.put(Duration::ZERO, Operation::Pause(host));
        let after = self.downtime();
        self.put(after, Operation::Continue(host));
        // The kernel of a stopped daemon keeps what came for it; then the daemon dies and all of it meets its successor.
        if self.chance.permille(200) {
            let early = after / 2;
            self.put(early, Operation::Kill(host));
            self.put(early, Operation::Start(host));
        }
    }

    fn cut(&mut self, host: Address) {
        let other = self.other_than(host);
        let how = if self.chance.permille(800) { Cut::Silent } else { Cut::Reject };
        let after = self.downtime();
        let both = self.chance.permille(500);
        for (from, to) in [(host, other), (other, host)].into_iter().take(1 + usize::from(both)) {
            self.put(Duration::ZERO, Operation::Cut(from, to, how));
            self.put(after, Operation::Join(from, to));
        }
    }

    fn isolate(&mut self, host: Address) {
        let after = self.downtime();
        for other in (0..self.hosts).map(Address::at).filter(|other| *other != host) {
            for (from, to) in [(host, other), (other, host)] {
                self.put(Duration::ZERO, Operation::Cut(from, to, Cut::Silent));
                self.put(after, Operation::Join(from, to));
            }
        }
    }

    fn misconfigure(&mut self, host: Address) {
        let (wrong, right) = match self.chance.below(5) {
            0 => (Operation::Token(host, 1), Operation::Token(host, 0)),
            1 => (Operation::Driver(host, 1), Operation::Driver(host, 0)),
            2 => (Operation::Map(host, MapChoice::Swapped), Operation::Map(host, MapChoice::Right)),
            3 => (Operation::Map(host, MapChoice::Short), Operation::Map(host, MapChoice::Right)),
            _ => (Operation::Map(host, MapChoice::Long), Operation::Map(host, MapChoice::Right)),
        };
        let after = self.downtime();
        for (wait, change) in [(Duration::ZERO, wrong), (after, right)] {
            self.put(wait, change);
            self.put(wait, Operation::Kill(host));
            self.put(wait, Operation::Start(host));
            if self.chance.permille(300) {
                break;
            }
        }
    }

    fn import(&mut self, host: Address) {
        let hosts = u16::try_from(self.hosts).expect("few hosts");
        let importers = (0..hosts).filter(|_| self.chance.permille(400)).collect();
        self.put(Duration::ZERO, Operation::Importers(host, importers));
    }
}
