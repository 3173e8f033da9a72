//! `slurm.conf` as it is written: which value counts, and where each one stands.
//!
//! Keys in any case; several `key=value` on a line; values plain or in double quotes; `#` begins a comment, `\` at the end
//! continues a line; `Include FILE` is read in its place. Of a key that stands twice Slurm takes the later one, except for
//! keys of which it keeps a list. Tried on Slurm 26.05.5.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// How deep files may include one another. Slurm has no bound of its own; a file that includes itself would never end.
const DEEPEST: usize = 16;

/// How many files are read. Large sites have tens.
const MOST_FILES: usize = 512;

/// Of these keys each line counts, in order.
const LISTS: [&str; 2] = ["prolog", "epilog"];

/// Keys that begin a line about something else than the cluster as a whole.
const OTHER_LINES: [&str; 5] = ["nodename", "nodeset", "downnodes", "frontendname", "partitionname"];

/// Reads files for [`read`].
pub trait Files {
    /// The text of a file; bytes that are no UTF-8 may be replaced.
    ///
    /// # Errors
    ///
    /// Those of the system.
    fn read(&self, path: &Path) -> io::Result<String>;
}

/// A configuration, from files or from a controller.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Conf {
    settings: BTreeMap<String, Vec<Setting>>,
    /// The partitions, in order, with what `PartitionName=DEFAULT` gives them.
    pub partitions: Vec<Partition>,
    /// What could not be read.
    pub faults: Vec<Fault>,
}

/// One `key=value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The key as it is written.
    pub key: String,
    /// The value; may be empty.
    pub value: String,
    /// Where it stands.
    pub place: Place,
}

/// Where something stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
pub enum Place {
    /// In what the controller says.
    Controller {},
    /// In a file.
    Line {
        /// The file.
        file: PathBuf,
        /// Its line, from 1.
        line: usize,
    },
}

/// A partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Its name.
    pub name: String,
    /// Where it is defined.
    pub place: Place,
    options: BTreeMap<String, String>,
}

/// A part that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where.
    pub place: Place,
    /// What kind.
    pub kind: FaultKind,
}

/// Why a part could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A file that is included.
    Include {
        /// Which.
        file: PathBuf,
        /// Why: a lower-case fragment.
        why: String,
    },
    /// A line, or the rest of one.
    Malformed {
        /// It.
        text: String,
    },
}

/// Reads a file with all that it includes.
///
/// # Errors
///
/// If the file itself cannot be read. What else cannot is among the [`Conf::faults`].
pub fn read(path: &Path, files: &impl Files) -> io::Result<Conf> {
    let text = files.read(path)?;
    let mut reader = Reader::new(path, Some(files));
    reader.text(path, &text, 0);
    Ok(reader.conf)
}

/// Reads a text alone; each `Include` is a fault.
pub fn parse(path: &Path, text: &str) -> Conf {
    let mut reader = Reader::<NoFiles>::new(path, None);
    reader.text(path, text, 0);
    reader.conf
}

/// The type of files that are not read.
struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _path: &Path) -> io::Result<String> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

struct Reader<'a, F> {
    folder: PathBuf,
    files: Option<&'a F>,
    left: usize,
    defaults: BTreeMap<String, String>,
    conf: Conf,
}

impl<'a, F: Files> Reader<'a, F> {
    fn new(path: &Path, files: Option<&'a F>) -> Self {
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Reader { folder, files, left: MOST_FILES, defaults: BTreeMap::new(), conf: Conf::default() }
    }

    fn text(&mut self, file: &Path, text: &str, depth: usize) {
        for (line, text) in logical_lines(text) {
            let place = Place::Line { file: file.to_owned(), line };
            match included(&text) {
                Some(name) => self.include(name, place, depth),
                None => self.line(&text, place),
            }
        }
    }

    fn include(&mut self, name: &str, place: Place, depth: usize) {
        let cluster = self.conf.get("ClusterName").map_or("", |setting| setting.value.as_str());
        let file = self.folder.join(name.replace("%c", &cluster.to_ascii_lowercase()));
        let read = match self.files {
            None => Err("it was not looked for".to_owned()),
            Some(_) if depth >= DEEPEST => Err(format!("files include one another {DEEPEST} deep")),
            Some(_) if self.left == 0 => Err(format!("more than {MOST_FILES} files are included")),
            Some(files) => files.read(&file).map_err(|error| error.to_string()),
        };
        match read {
            Ok(text) => {
                self.left -= 1;
                self.text(&file, &text, depth + 1);
            }
            Err(why) => self.conf.faults.push(Fault { place, kind: FaultKind::Include { file, why } }),
        }
    }

    fn line(&mut self, text: &str, place: Place) {
        let (pairs, rest) = pairs(text);
        if !rest.is_empty() {
            let kind = FaultKind::Malformed { text: rest.chars().take(60).collect() };
            self.conf.faults.push(Fault { place: place.clone(), kind });
        }
        let Some(((first, name), others)) = pairs.split_first() else { return };
        let first = first.to_ascii_lowercase();
        if !OTHER_LINES.contains(&first.as_str()) {
            for (key, value) in pairs {
                self.conf.put(Setting { key, value, place: place.clone() });
            }
        } else if first == "partitionname" {
            let own = others.iter().map(|(key, value)| (key.to_ascii_lowercase(), value.clone()));
            if name.eq_ignore_ascii_case("DEFAULT") {
                self.defaults.extend(own);
            } else {
                let mut options = self.defaults.clone();
                options.extend(own);
                self.conf.partitions.push(Partition { name: name.clone(), place, options });
            }
        }
    }
}

impl Conf {
    /// The setting of this key that counts: the last one. Keys are compared in any case.
    pub fn get(&self, key: &str) -> Option<&Setting> {
        self.all(key).last()
    }

    /// All settings of this key, in order.
    pub fn all(&self, key: &str) -> &[Setting] {
        self.settings.get(&key.to_ascii_lowercase()).map_or(&[], Vec::as_slice)
    }

    /// The settings of this key that count: all of a list, else the last one.
    pub fn counting(&self, key: &str) -> &[Setting] {
        let all = self.all(key);
        if LISTS.contains(&key.to_ascii_lowercase().as_str()) {
            all
        } else {
            &all[all.len().saturating_sub(1)..]
        }
    }

    /// The words of a value with commas between.
    pub fn words(&self, key: &str) -> Vec<&str> {
        let value = self.get(key).map_or("", |setting| setting.value.as_str());
        value.split(',').map(str::trim).filter(|word| !word.is_empty()).collect()
    }

    /// Settings that a later one of the same key replaces, each with the one that counts.
    pub fn replaced(&self) -> impl Iterator<Item = (&Setting, &Setting)> {
        let several = self.settings.iter().filter(|(key, _)| !LISTS.contains(&key.as_str()));
        several.filter_map(|(_, all)| all.split_last()).flat_map(|(last, before)| {
            before.iter().filter(move |one| one.value != last.value).map(move |one| (one, last))
        })
    }

    /// Adds a setting.
    pub(super) fn put(&mut self, setting: Setting) {
        self.settings.entry(setting.key.to_ascii_lowercase()).or_default().push(setting);
    }
}

impl Partition {
    /// A partition as the controller shows it.
    pub(super) fn shown(pairs: Vec<(String, String)>) -> Option<Self> {
        let mut options: BTreeMap<String, String> =
            pairs.into_iter().map(|(key, value)| (key.to_ascii_lowercase(), value)).collect();
        Some(Partition { name: options.remove("partitionname")?, place: Place::Controller {}, options })
    }

    /// The value of an option, compared in any case.
    pub fn option(&self, key: &str) -> Option<&str> {
        self.options.get(&key.to_ascii_lowercase()).map(String::as_str)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Controller {} => f.write_str("controller"),
            Place::Line { file, line } => write!(f, "{}:{line}", file.display()),
        }
    }
}

/// The lines without comments, continued ones as one, with the number of the first, from 1.
fn logical_lines(text: &str) -> impl Iterator<Item = (usize, String)> + '_ {
    let mut lines = text.lines().enumerate();
    std::iter::from_fn(move || {
        let (index, first) = lines.next()?;
        let mut whole = without_comment(first);
        while whole.ends_with('\\') {
            whole.pop();
            let Some((_, next)) = lines.next() else { break };
            whole.push_str(&without_comment(next));
        }
        Some((index + 1, whole))
    })
}

/// A `#` begins a comment unless a backslash stands before it.
fn without_comment(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    for letter in line.chars() {
        match letter {
            '#' if kept.ends_with('\\') => {
                kept.pop();
                kept.push('#');
            }
            '#' => break,
            other => kept.push(other),
        }
    }
    kept.truncate(kept.trim_end().len());
    kept
}

/// The file that a line includes.
fn included(line: &str) -> Option<&str> {
    let (word, rest) = line.trim().split_once(char::is_whitespace)?;
    let rest = rest.trim();
    (word.eq_ignore_ascii_case("include") && !rest.starts_with('=')).then_some(rest)
}

/// The `key=value` pairs of a line, and the rest that is none. Blanks around `=` do not count.
pub(super) fn pairs(line: &str) -> (Vec<(String, String)>, &str) {
    let mut pairs = Vec::new();
    let mut rest = line.trim();
    while let Some((key, after)) = rest.split_once('=') {
        // Slurm knows `Key+=value` and the like, and takes them for `=`.
        let key = key.trim_end().trim_end_matches(['+', '-', '*', '/']).trim_end();
        if key.is_empty() || key.contains(char::is_whitespace) {
            break;
        }
        let after = after.trim_start();
        let (value, left) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => after.split_at(after.find(char::is_whitespace).unwrap_or(after.len())),
        };
        pairs.push((key.to_owned(), value.to_owned()));
        rest = left.trim_start();
    }
    (pairs, rest)
}

#[cfg(test)]
mod tests;
