//! A plan as text: one row for each block, one character for each node.

use std::io::{self, Write};

use super::{Availability, Place, Plan, Rack};

/// The most blocks that are shown without the job having a part in them.
const MOST_ROWS: usize = 64;

/// The widest column that is still aligned. What is longer is shown whole; a wider one no format string can have.
const WIDEST: usize = 1_000;

/// The letters of the first segments. A job with more shares the last.
const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+";

/// Writes the blocks, the segments and a legend.
///
/// # Errors
///
/// What the writer says.
pub fn write(plan: &Plan, out: &mut dyn Write) -> io::Result<()> {
    let few = plan.racks.len() <= MOST_ROWS;
    let shown: Vec<&Rack> = plan.racks.iter().filter(|rack| few || rack.is_used()).take(MOST_ROWS).collect();
    let name = shown.iter().map(|rack| rack.name.chars().count()).max().unwrap_or(0).min(WIDEST);
    let cells = shown.iter().map(|rack| rack.nodes.len()).max().unwrap_or(0).min(WIDEST);
    for rack in &shown {
        let row: String = rack.nodes.iter().map(cell).collect();
        writeln!(out, "{:name$}  {row:cells$}  {}", rack.name, counts(rack))?;
    }
    let hidden = plan.racks.len() - shown.len();
    if hidden > 0 {
        let plural = if hidden == 1 { "" } else { "s" };
        writeln!(out, "and {hidden} other block{plural}")?;
    }
    segments(plan, out)?;
    writeln!(out, "A B C: segments of the job  .: free  ~: partly used  #: busy  x: down")
}

fn segments(plan: &Plan, out: &mut dyn Write) -> io::Result<()> {
    let last = plan.racks.iter().flat_map(|rack| &rack.nodes).filter_map(|place| place.segment).max();
    let Some(last) = last else { return Ok(()) };
    if last == 0 {
        return Ok(());
    }
    for number in (0..=last).take(LETTERS.len() - 1) {
        let racks = plan.racks.iter().filter(|rack| rack.holds(number));
        let racks: Vec<&str> = racks.map(|rack| rack.name.as_str()).collect();
        writeln!(out, "{}: {} in {}", letter(number), plan.segment(number).to_list(), racks.join(", "))?;
    }
    Ok(())
}

fn counts(rack: &Rack) -> String {
    let count = |wanted: fn(&Place) -> bool| rack.nodes.iter().filter(|place| wanted(place)).count();
    let parts = [
        (count(|place| place.segment.is_some()), "for the job"),
        (count(Place::is_left), "free"),
        (count(|place| place.segment.is_none() && place.availability == Availability::Partly), "partly used"),
        (count(|place| place.availability == Availability::Busy), "busy"),
        (count(|place| place.availability == Availability::Down), "down"),
        (rack.stranded, "stranded"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    parts.map(|(count, what)| format!("{count} {what}")).collect::<Vec<_>>().join(", ")
}

fn cell(place: &Place) -> char {
    match (place.segment, place.availability) {
        (Some(number), _) => letter(number),
        (None, Availability::Free) => '.',
        (None, Availability::Partly) => '~',
        (None, Availability::Busy) => '#',
        (None, Availability::Down) => 'x',
    }
}

/// The letter of a segment.
pub(super) fn letter(segment: usize) -> char {
    char::from(LETTERS[segment.min(LETTERS.len() - 1)])
}

impl Rack {
    /// If this segment has nodes of it.
    pub fn holds(&self, segment: usize) -> bool {
        self.nodes.iter().any(|place| place.segment == Some(segment))
    }

    /// If the job has nodes of it.
    pub fn is_used(&self) -> bool {
        self.nodes.iter().any(|place| place.segment.is_some())
    }
}
