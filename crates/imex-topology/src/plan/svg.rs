//! A plan as a picture: racks side by side, one box for each node, coloured by segment.

use std::io::{self, Write};

use super::picture::letter;
use super::{Availability, Place, Plan, Rack};

/// Racks in one row of the picture. Wider pictures are not read.
const RACKS_IN_ROW: usize = 12;

/// Sizes in user units: a rack's width, a node's height, the space around racks, the space above a rack for its name.
const WIDTH: usize = 120;
const HEIGHT: usize = 20;
const GAP: usize = 20;
const HEAD: usize = 24;

/// The space above all racks for the title, and below for the legend.
const TITLE: usize = 48;
const LEGEND: usize = 40;

/// Fill colours of segments, in turn: eight hues that stay apart for colour-blind readers (Okabe and Ito's), lightened
/// so that black text can be read on them.
const HUES: [&str; 8] =
    ["#8cc8f0", "#f2c66e", "#7fd3b5", "#f3a77d", "#b7a4e3", "#e7a9cb", "#f5ef8e", "#a7b8d4"];

/// Writes an SVG document with this title.
///
/// # Errors
///
/// What the writer says.
pub fn write(plan: &Plan, title: &str, out: &mut dyn Write) -> io::Result<()> {
    let tallest = plan.racks.iter().map(|rack| rack.nodes.len()).max().unwrap_or(0);
    let row_height = HEAD + tallest * HEIGHT + GAP;
    let columns = plan.racks.len().clamp(1, RACKS_IN_ROW);
    let rows = plan.racks.len().div_ceil(RACKS_IN_ROW);
    let width = (GAP + columns * (WIDTH + GAP)).max(760);
    let height = TITLE + rows * row_height + LEGEND;
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">"
    )?;
    writeln!(out, "<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>")?;
    writeln!(
        out,
        "<text x=\"{GAP}\" y=\"30\" font-size=\"16\" font-weight=\"bold\">{}</text>",
        escape(title)
    )?;
    for (index, rack) in plan.racks.iter().enumerate() {
        let x = GAP + index % RACKS_IN_ROW * (WIDTH + GAP);
        let y = TITLE + index / RACKS_IN_ROW * row_height;
        write_rack(rack, x, y, out)?;
    }
    write_legend(TITLE + rows * row_height + 8, out)?;
    writeln!(out, "</svg>")
}

fn write_rack(rack: &Rack, x: usize, y: usize, out: &mut dyn Write) -> io::Result<()> {
    let used = rack.nodes.iter().filter(|place| place.segment.is_some()).count();
    let stranded = if rack.stranded > 0 { format!(", {} stranded", rack.stranded) } else { String::new() };
    let free = rack.nodes.iter().filter(|place| place.is_left()).count();
    writeln!(
        out,
        "<g><title>{}: {used} for the job, {free} free{stranded}</title>\
         <text x=\"{x}\" y=\"{}\" font-weight=\"bold\">{}</text>",
        escape(&rack.name),
        y + 14,
        escape(&rack.name)
    )?;
    for (index, place) in rack.nodes.iter().enumerate() {
        write_node(place, x, y + HEAD + index * HEIGHT, out)?;
    }
    writeln!(out, "</g>")
}

fn write_node(place: &Place, x: usize, y: usize, out: &mut dyn Write) -> io::Result<()> {
    let label = match place.segment {
        Some(number) => format!("{} {}", letter(number), place.node),
        None => place.node.clone(),
    };
    writeln!(
        out,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"{}\" stroke=\"#555555\"/>\
         <text x=\"{}\" y=\"{}\" fill=\"{}\">{}</text>",
        fill(place),
        x + 6,
        y + 14,
        ink(place),
        escape(&label)
    )
}

fn write_legend(y: usize, out: &mut dyn Write) -> io::Result<()> {
    let entries = [
        (HUES[0], "segment A, B, C …"),
        ("#ffffff", "free"),
        ("#e4e4e4", "partly used"),
        ("#b0b0b0", "busy"),
        ("#3c3c3c", "down or drained"),
    ];
    for (index, (colour, what)) in entries.iter().enumerate() {
        let x = GAP + index * 145;
        writeln!(
            out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"14\" height=\"14\" fill=\"{colour}\" stroke=\"#555555\"/>\
             <text x=\"{}\" y=\"{}\">{what}</text>",
            x + 20,
            y + 12
        )?;
    }
    Ok(())
}

fn fill(place: &Place) -> &'static str {
    match (place.segment, place.availability) {
        (Some(number), _) => HUES[number % HUES.len()],
        (None, Availability::Free) => "#ffffff",
        (None, Availability::Partly) => "#e4e4e4",
        (None, Availability::Busy) => "#b0b0b0",
        (None, Availability::Down) => "#3c3c3c",
    }
}

fn ink(place: &Place) -> &'static str {
    match (place.segment, place.availability) {
        (None, Availability::Down) => "#ffffff",
        (None, Availability::Free | Availability::Partly | Availability::Busy) | (Some(_), _) => "#000000",
    }
}

/// Text for XML: what has a meaning there is written otherwise, what is not allowed is left out.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            control if control.is_control() => {}
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_the_document() {
        assert_eq!(escape("a<b>&\"c\"\u{0}"), "a&lt;b&gt;&amp;&quot;c&quot;");
    }
}
