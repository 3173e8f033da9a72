//! What can be done to a cluster from outside, and how it is written in a schedule.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use imex_core::{Grace, QuorumMode};
use thiserror::Error;

use crate::network::Cut;
use crate::{Address, MapChoice};

/// Something that is done to a cluster from outside. Its text form is one line of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Starts the daemon of a host that runs none; powers the host on if it is off.
    Start(Address),
    /// Kills the daemon (SIGKILL): its kernel ends its streams after what they had taken in.
    Kill(Address),
    /// The host loses power: nobody is told.
    PowerOff(Address),
    /// Asks the daemon to leave (SIGTERM).
    Leave(Address),
    /// Stops the daemon (SIGSTOP): its kernel goes on taking in what comes.
    Pause(Address),
    /// Lets it go on (SIGCONT).
    Continue(Address),
    /// Makes the daemon dial all peers anew (SIGUSR1).
    Redial(Address),
    /// Asks the daemon for the domain's table.
    AskTable(Address),
    /// Cuts one direction between two hosts.
    Cut(Address, Address, Cut),
    /// Joins one direction between two hosts again.
    Join(Address, Address),
    /// Adds up to this long to the delay of one direction, in milliseconds.
    Slow(Address, Address, u32),
    /// Of a thousand messages, so many come twice.
    Duplicate(u16),
    /// Ends all streams between two hosts, as a middlebox does that lost its memory.
    Sever(Address, Address),
    /// Puts a notice of leaving that names an earlier run at the first host on the second's stream to it: what a daemon
    /// says that mixes up its runs, and what no honest one can.
    StaleNotice(Address, Address),
    /// Makes every wire whole and fast, and every message come once.
    Heal,
    /// Puts another node map on a host.
    Map(Address, MapChoice),
    /// Puts a host into another domain.
    Token(Address, u8),
    /// Puts credentials of another authority on a host.
    Authority(Address, u8),
    /// Installs another driver on a host.
    Driver(Address, u8),
    /// Sets whom a host's daemon waits for.
    Quorum(Address, QuorumMode),
    /// Sets how long a host's daemon waits for a lost peer.
    Grace(Address, Grace),
    /// Tells a host's daemon who imports from it, by node ids.
    Importers(Address, BTreeSet<u16>),
}

/// Why a line is no operation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OperationError {
    /// The first word is none of those known.
    #[error("no operation is called {0:?}")]
    Unknown(String),
    /// A word is missing.
    #[error("{operation:?} needs {needs}")]
    Missing {
        /// The first word.
        operation: String,
        /// What is needed.
        needs: &'static str,
    },
    /// A word is not what is needed in its place.
    #[error("{found:?} is not {needs}")]
    Bad {
        /// The word.
        found: String,
        /// What is needed.
        needs: &'static str,
    },
    /// There are more words than the operation takes.
    #[error("{0:?} is one word too many")]
    TooMany(String),
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operation::Start(a) => write!(f, "start {a}"),
            Operation::Kill(a) => write!(f, "kill {a}"),
            Operation::PowerOff(a) => write!(f, "power-off {a}"),
            Operation::Leave(a) => write!(f, "leave {a}"),
            Operation::Pause(a) => write!(f, "pause {a}"),
            Operation::Continue(a) => write!(f, "continue {a}"),
            Operation::Redial(a) => write!(f, "redial {a}"),
            Operation::AskTable(a) => write!(f, "ask-table {a}"),
            Operation::Cut(a, b, Cut::Silent) => write!(f, "cut {a} {b} silent"),
            Operation::Cut(a, b, Cut::Reject) => write!(f, "cut {a} {b} reject"),
            Operation::Join(a, b) => write!(f, "join {a} {b}"),
            Operation::Slow(a, b, ms) => write!(f, "slow {a} {b} {ms}"),
            Operation::Duplicate(permille) => write!(f, "duplicate {permille}"),
            Operation::Sever(a, b) => write!(f, "sever {a} {b}"),
            Operation::StaleNotice(a, b) => write!(f, "stale-notice {a} {b}"),
            Operation::Heal => f.write_str("heal"),
            Operation::Map(a, choice) => write!(f, "map {a} {}", map_word(*choice)),
            Operation::Token(a, token) => write!(f, "token {a} {token}"),
            Operation::Authority(a, authority) => write!(f, "authority {a} {authority}"),
            Operation::Driver(a, driver) => write!(f, "driver {a} {driver}"),
            Operation::Quorum(a, mode) => write!(f, "quorum {a} {}", quorum_word(*mode)),
            Operation::Grace(a, Grace::Forever) => write!(f, "grace {a} forever"),
            Operation::Grace(a, Grace::For(wait)) => write!(f, "grace {a} {}", wait.as_millis()),
            Operation::Importers(a, nodes) => {
                write!(f, "importers {a}")?;
                nodes.iter().try_for_each(|node| write!(f, " {node}"))
            }
        }
    }
}

fn map_word(choice: MapChoice) -> &'static str {
    match choice {
        MapChoice::Right => "right",
        MapChoice::Swapped => "swapped",
        MapChoice::Short => "short",
        MapChoice::Long => "long",
    }
}

fn quorum_word(mode: QuorumMode) -> &'static str {
    match mode {
        QuorumMode::None => "none",
        QuorumMode::Recovery => "recovery",
        QuorumMode::Full => "full",
    }
}

impl FromStr for Operation {
    type Err = OperationError;

    fn from_str(line: &str) -> Result<Self, OperationError> {
        let mut words = Words::new(line);
        let operation = match words.operation.as_str() {
            "start" => Operation::Start(words.address()?),
            "kill" => Operation::Kill(words.address()?),
            "power-off" => Operation::PowerOff(words.address()?),
            "leave" => Operation::Leave(words.address()?),
            "pause" => Operation::Pause(words.address()?),
            "continue" => Operation::Continue(words.address()?),
            "redial" => Operation::Redial(words.address()?),
            "ask-table" => Operation::AskTable(words.address()?),
            "cut" => Operation::Cut(words.address()?, words.address()?, words.cut()?),
            "join" => Operation::Join(words.address()?, words.address()?),
            "slow" => Operation::Slow(words.address()?, words.address()?, words.number("milliseconds")?),
            "duplicate" => Operation::Duplicate(words.number("a number out of a thousand")?),
            "sever" => Operation::Sever(words.address()?, words.address()?),
            "stale-notice" => Operation::StaleNotice(words.address()?, words.address()?),
            "heal" => Operation::Heal,
            "map" => Operation::Map(words.address()?, words.map()?),
            "authority" => {
                Operation::Authority(words.address()?, words.number("the number of an authority")?)
            }
            "token" => Operation::Token(words.address()?, words.number("the number of a domain")?),
            "driver" => Operation::Driver(words.address()?, words.number("the number of a driver")?),
            "quorum" => Operation::Quorum(words.address()?, words.quorum()?),
            "grace" => Operation::Grace(words.address()?, words.grace()?),
            "importers" => Operation::Importers(words.address()?, words.numbers()?),
            other => return Err(OperationError::Unknown(other.to_owned())),
        };
        words.end()?;
        Ok(operation)
    }
}

/// The words of one line, read one by one.
struct Words<'a> {
    operation: String,
    rest: std::str::SplitWhitespace<'a>,
}

impl<'a> Words<'a> {
    fn new(line: &'a str) -> Self {
        let mut rest = line.split_whitespace();
        let operation = rest.next().unwrap_or_default().to_owned();
        Words { operation, rest }
    }

    fn word(&mut self, needs: &'static str) -> Result<&'a str, OperationError> {
        self.rest.next().ok_or_else(|| OperationError::Missing { operation: self.operation.clone(), needs })
    }

    fn number<N: FromStr>(&mut self, needs: &'static str) -> Result<N, OperationError> {
        let word = self.word(needs)?;
        word.parse().map_err(|_| bad(word, needs))
    }

    fn numbers(&mut self) -> Result<BTreeSet<u16>, OperationError> {
        let parse = |word: &str| word.parse().map_err(|_| bad(word, "a node id"));
        self.rest.by_ref().map(parse).collect()
    }

    fn address(&mut self) -> Result<Address, OperationError> {
        self.number("the number of a host").map(Address::new)
    }

    fn cut(&mut self) -> Result<Cut, OperationError> {
        match self.word("silent or reject")? {
            "silent" => Ok(Cut::Silent),
            "reject" => Ok(Cut::Reject),
            other => Err(bad(other, "silent or reject")),
        }
    }

    fn map(&mut self) -> Result<MapChoice, OperationError> {
        let all = [MapChoice::Right, MapChoice::Swapped, MapChoice::Short, MapChoice::Long];
        let word = self.word("right, swapped, short or long")?;
        let found = all.into_iter().find(|choice| map_word(*choice) == word);
        found.ok_or_else(|| bad(word, "right, swapped, short or long"))
    }

    fn quorum(&mut self) -> Result<QuorumMode, OperationError> {
        let all = [QuorumMode::None, QuorumMode::Recovery, QuorumMode::Full];
        let word = self.word("none, recovery or full")?;
        let found = all.into_iter().find(|mode| quorum_word(*mode) == word);
        found.ok_or_else(|| bad(word, "none, recovery or full"))
    }

    fn grace(&mut self) -> Result<Grace, OperationError> {
        match self.word("forever or milliseconds")? {
            "forever" => Ok(Grace::Forever),
            word => {
                let millis = word.parse().map_err(|_| bad(word, "forever or milliseconds"))?;
                Ok(Grace::For(Duration::from_millis(millis)))
            }
        }
    }

    fn end(&mut self) -> Result<(), OperationError> {
        match self.rest.next() {
            Some(word) => Err(OperationError::TooMany(word.to_owned())),
            None => Ok(()),
        }
    }
}

fn bad(found: &str, needs: &'static str) -> OperationError {
    OperationError::Bad { found: found.to_owned(), needs }
}
