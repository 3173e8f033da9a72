//! Texts that many nodes send through one srun, in pieces that stay whole whatever srun does to what lies between them.
//!
//! slurmstepd takes a task's output line by line, but cuts a line of more than 1,024 bytes, and srun writes what comes from
//! all nodes as it comes: the pieces of two long lines end up in one another. So each text is sent in lines that are far
//! shorter than that, each written by one `write(2)`, each with its sender, its place, and two checks:
//!
//! ```text
//! imex-piece NODE SEQUENCE/TOTAL DIGEST CHECK PART
//! ```
//!
//! `DIGEST` is that of the whole text, so that two texts of one sender do not mix; `CHECK` is that of the line, so that a
//! line that was damaged all the same is known for it. What is put together is the text that was sent or nothing, and a
//! sender of which only a part came is told as such.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// The most bytes of a line with its end: half of what slurmstepd takes as a whole.
const LONGEST: usize = 512;

/// The most bytes of a text in one line: what is before it has room in the rest, with the longest name of a node.
const PART: usize = 360;

/// What a line begins with.
const MARK: &str = "imex-piece ";

/// The most lines of one text, so that what comes from elsewhere cannot ask for more room than it fills.
const MOST_PIECES: usize = 1 << 20;

/// What came.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Gathered<'t> {
    /// The whole texts by sender; the last, if one sent several.
    pub(crate) whole: BTreeMap<&'t str, String>,
    /// Those who have sent something of which a part is missing or damaged, and nothing that is whole.
    pub(crate) broken: BTreeSet<&'t str>,
    /// Lines that are no pieces: those of a login shell, for instance.
    pub(crate) others: Vec<&'t str>,
}

/// Sends `text`, which has no end of a line in it, as that of `node`.
pub(crate) fn send(node: &str, text: &str, out: &mut dyn Write) -> io::Result<()> {
    let parts = parts(text);
    let (total, digest) = (parts.len(), digest(&[text]));
    for (index, part) in parts.iter().enumerate() {
        let place = format!("{}/{total}", index + 1);
        let check = check(node, &place, digest, part);
        let line = format!("{MARK}{node} {place} {digest:016x} {check:016x} {part}\n");
        debug_assert!(line.len() <= LONGEST, "{line:?} is longer than a line may be");
        // As a whole: the standard output passes on a line that comes with its end by one write.
        out.write_all(line.as_bytes())?;
        out.flush()?;
    }
    Ok(())
}

/// Puts together what has come.
pub(crate) fn gather(text: &str) -> Gathered<'_> {
    let mut gathered = Gathered::default();
    let mut arriving: BTreeMap<(&str, u64), Arriving<'_>> = BTreeMap::new();
    for line in text.lines() {
        // What srun or another task put before it does not hurt it, nor does a piece that was cut off by it.
        let mut pieces = line.match_indices(MARK).map(|(at, _)| &line[at..]).peekable();
        if pieces.peek().is_none() {
            gathered.others.push(line);
        }
        for piece in pieces {
            match Piece::read(piece) {
                Ok(piece) => {
                    let key = (piece.node, piece.digest);
                    let arriving = arriving.entry(key).or_insert_with(|| Arriving::of(piece.total));
                    arriving.take(&piece);
                }
                Err(Damaged { node: Some(node) }) => drop(gathered.broken.insert(node)),
                Err(Damaged { node: None }) => {}
            }
        }
    }
    for ((node, digest), arriving) in arriving {
        match arriving.whole(digest) {
            Some(text) => drop(gathered.whole.insert(node, text)),
            None => drop(gathered.broken.insert(node)),
        }
    }
    gathered.broken.retain(|node| !gathered.whole.contains_key(node));
    gathered
}

/// One line.
#[derive(Debug)]
struct Piece<'t> {
    node: &'t str,
    /// Its place, from 0.
    index: usize,
    total: usize,
    digest: u64,
    part: &'t str,
}

/// A line that is not what was sent, and whose it seems to be.
#[derive(Debug)]
struct Damaged<'t> {
    node: Option<&'t str>,
}

impl<'t> Piece<'t> {
    /// Reads from a mark to the end of the line.
    fn read(line: &'t str) -> Result<Self, Damaged<'t>> {
        let text = &line[MARK.len()..];
        let node = text.split(' ').next().filter(|node| imex_host::hostlist::is_name(node));
        Piece::sound(text).ok_or(Damaged { node })
    }

    fn sound(text: &'t str) -> Option<Self> {
        let [node, place, digest, claimed, part] = text.splitn(5, ' ').collect::<Vec<_>>().try_into().ok()?;
        let (sequence, total) = place.split_once('/')?;
        let (sequence, total): (usize, usize) = (sequence.parse().ok()?, total.parse().ok()?);
        let number = |word: &str| u64::from_str_radix(word, 16).ok();
        let (digest, claimed) = (number(digest)?, number(claimed)?);
        let known = (1..=MOST_PIECES).contains(&total) && (1..=total).contains(&sequence);
        let sound = known && check(node, place, digest, part) == claimed;
        sound.then(|| Piece { node, index: sequence - 1, total, digest, part })
    }
}

/// The pieces of one text that have come.
struct Arriving<'t> {
    total: usize,
    parts: BTreeMap<usize, &'t str>,
}

impl<'t> Arriving<'t> {
    fn of(total: usize) -> Self {
        Arriving { total, parts: BTreeMap::new() }
    }

    fn take(&mut self, piece: &Piece<'t>) {
        self.parts.insert(piece.index, piece.part);
    }

    fn whole(&self, expected: u64) -> Option<String> {
        if self.parts.len() != self.total {
            return None;
        }
        let text: String = self.parts.values().copied().collect();
        (digest(&[&text]) == expected).then_some(text)
    }
}

/// A text in parts of at most [`PART`] bytes, cut between letters; two at least, so that a sender of whom one line was damaged
/// beyond knowing is known by another.
fn parts(text: &str) -> Vec<&str> {
    debug_assert!(!text.contains('\n'), "a text of several lines");
    /// The longest letter of UTF-8 fits into any part.
    const LEAST: usize = 4;
    let most = text.len().div_ceil(2).clamp(LEAST, PART);
    let mut rest = text;
    let mut parts = Vec::new();
    while rest.len() > most {
        let end = (0..=most).rev().find(|at| rest.is_char_boundary(*at)).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        parts.push(part);
        rest = after;
    }
    parts.push(rest);
    parts
}

fn check(node: &str, place: &str, whole: u64, part: &str) -> u64 {
    digest(&[node, " ", place, " ", &format!("{whole:016x}"), " ", part])
}

/// FNV-1a of 64 bits: against accidents, and the same in every release. Nobody is kept from lying by it.
fn digest(texts: &[&str]) -> u64 {
    const START: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let bytes = texts.iter().flat_map(|text| text.bytes());
    bytes.fold(START, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests;
