//! From names to the shortest list that stands for them.

use std::borrow::Cow;
use std::collections::HashMap;

use super::{MAX_DIGITS, MAX_RANGE};
use crate::natural;

/// The list that stands for these names: in natural order, each once.
///
/// The same set of names gives the same text. Numbers are joined from the last one of a name to the first and the
/// other way round, and the shorter text is taken. Takes time linear in the number of names if they come sorted.
///
/// ```
/// assert_eq!(imex_host::compress(["n10", "n9", "n08", "n9"]), "n[08,9-10]");
/// assert_eq!(imex_host::compress(["a1x1", "a1x2", "a2x1", "a2x2"]), "a[1-2]x[1-2]");
/// ```
pub fn compress<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    let names: Vec<S> = names.into_iter().collect();
    let mut sorted: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    sorted.sort_by(|a, b| natural::cmp(a, b));
    sorted.dedup();
    let terms: Vec<String> = by_shape(&sorted).into_iter().flat_map(Shape::terms).collect();
    terms.join(",")
}

/// Names that differ in nothing but their numbers.
struct Shape<'n> {
    /// What stands before, between and after the numbers: one piece more than there are numbers.
    texts: Vec<&'n str>,
    /// The numbers of each name, in the order of the names.
    rows: Vec<Row<'n>>,
}

/// The numbers of one name, or the joined numbers of several: one entry for each place.
type Row<'n> = Vec<Cow<'n, str>>;

/// Divides sorted names by shape, in the order of their first names.
fn by_shape<'n>(names: &[&'n str]) -> Vec<Shape<'n>> {
    let mut shapes: Vec<Shape<'n>> = Vec::new();
    let mut places: HashMap<Vec<&str>, usize> = HashMap::new();
    let mut last: Option<usize> = None;
    for name in names {
        let (texts, row) = split(name);
        // Neighbours mostly have the same shape: no need to hash then.
        let place = match last {
            Some(place) if shapes[place].texts == texts => place,
            Some(_) | None => *places.entry(texts.clone()).or_insert_with(|| {
                shapes.push(Shape { texts, rows: Vec::new() });
                shapes.len() - 1
            }),
        };
        shapes[place].rows.push(row);
        last = Some(place);
    }
    shapes
}

/// A name as texts and the numbers between them. Numbers too long for a range are text.
fn split(name: &str) -> (Vec<&str>, Row<'_>) {
    let (mut texts, mut row) = (Vec::new(), Vec::new());
    let bytes = name.as_bytes();
    let (mut text_from, mut at) = (0, 0);
    while at < bytes.len() {
        let length = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if (1..=MAX_DIGITS).contains(&length) {
            texts.push(&name[text_from..at]);
            row.push(Cow::Borrowed(&name[at..at + length]));
            text_from = at + length;
        }
        at += length.max(1);
    }
    texts.push(&name[text_from..]);
    (texts, row)
}

impl<'n> Shape<'n> {
    fn terms(self) -> Vec<String> {
        let places = self.texts.len() - 1;
        if places == 0 {
            return vec![self.texts[0].to_owned()];
        }
        let backwards = self.written((0..places).rev());
        if places == 1 {
            return backwards;
        }
        let forwards = self.written(0..places);
        let length = |terms: &[String]| terms.iter().map(|term| term.len() + 1).sum::<usize>();
        if length(&forwards) < length(&backwards) { forwards } else { backwards }
    }

    fn written(&self, places: impl Iterator<Item = usize>) -> Vec<String> {
        let mut rows = Cow::Borrowed(&self.rows);
        for place in places {
            rows = Cow::Owned(join(&rows, place));
        }
        rows.iter().map(|row| self.term(row)).collect()
    }

    fn term(&self, row: &Row<'n>) -> String {
        let mut term = String::from(self.texts[0]);
        for (number, text) in row.iter().zip(&self.texts[1..]) {
            let joined = number.contains([',', '-']);
            term.push_str(if joined { "[" } else { "" });
            term.push_str(number);
            term.push_str(if joined { "]" } else { "" });
            term.push_str(text);
        }
        term
    }
}

/// Joins the rows that differ at one place only.
fn join<'n>(rows: &[Row<'n>], place: usize) -> Vec<Row<'n>> {
    let mut joined: Vec<(Row<'n>, Vec<&str>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for row in rows {
        let others = row.iter().enumerate().filter(|(index, _)| *index != place);
        let key = others.fold(String::new(), |key, (_, number)| key + number + ";");
        let index = *places.entry(key).or_insert_with(|| {
            joined.push((row.clone(), Vec::new()));
            joined.len() - 1
        });
        joined[index].1.push(&row[place]);
    }
    let finish = |(mut row, numbers): (Row<'n>, Vec<&str>)| {
        if numbers.len() > 1 {
            row[place] = Cow::Owned(ranges(numbers));
        }
        row
    };
    joined.into_iter().map(finish).collect()
}

/// Consecutive numbers of one way of padding.
struct Run<'n> {
    low: &'n str,
    high: &'n str,
    first: u64,
    next: u64,
}

/// Numbers as ranges: `1-3,7`.
fn ranges(mut numbers: Vec<&str>) -> String {
    let value = |digits: &str| digits.parse::<u64>().expect("at most 18 digits");
    numbers.sort_by_key(|digits| (value(digits), digits.len()));
    let mut runs: Vec<Run<'_>> = Vec::new();
    // The runs that the next number may prolong: one for each way of padding at most.
    let mut open: Vec<usize> = Vec::new();
    for digits in numbers {
        let number = value(digits);
        open.retain(|run| runs[*run].next >= number);
        let fits = |run: &Run<'_>| {
            run.next == number
                && number - run.first < MAX_RANGE
                && digits.len() == run.low.len().max(length(number))
        };
        match open.iter().find(|run| fits(&runs[**run])) {
            Some(&run) => (runs[run].high, runs[run].next) = (digits, number + 1),
            None => {
                open.push(runs.len());
                runs.push(Run { low: digits, high: digits, first: number, next: number + 1 });
            }
        }
    }
    let write = |run: &Run<'_>| match run.low == run.high {
        true => run.low.to_owned(),
        false => format!("{}-{}", run.low, run.high),
    };
    runs.iter().map(write).collect::<Vec<_>>().join(",")
}

/// How many digits a number has without padding.
fn length(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}
