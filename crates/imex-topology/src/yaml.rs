//! YAML as slurmctld's reader sees it: scalars are text, aliases are refused, every value has its line.
//!
//! Slurm reads with libyaml and gives no type to plain scalars, so `null`, `true` and `18` are texts here too, until a
//! field asks for a number or a truth value.

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span, StructureStyle};

/// Slurm refuses deeper nesting.
const MAX_DEPTH: usize = 64;

/// A value and its line, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) line: usize,
    pub(crate) value: Value,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Scalar(String),
    List(Vec<Node>),
    Map(Vec<Field>),
}

/// One key of a map. The same key may stand there twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) key: String,
    pub(crate) line: usize,
    pub(crate) node: Node,
}

/// Why a text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum YamlError {
    /// There is no document in it.
    Empty,
    /// It is not YAML.
    Syntax { line: usize, message: String },
    /// It uses an alias.
    Alias { line: usize },
    /// A key is a list or a map.
    Key { line: usize },
    /// It is nested too deep.
    Depth { line: usize },
}

/// Reads the first document of a text; Slurm reads no further either.
pub(crate) fn parse(text: &str) -> Result<Node, YamlError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some(error) = forbidden(text) {
        return Err(error);
    }
    let mut reader =
        Reader { text, events: Parser::new_from_str(text), depth: 0, loose: Vec::new(), quoted: 0 };
    loop {
        let (event, span) = reader.next()?;
        #[expect(clippy::wildcard_enum_match_arm, reason = "the parser's events are foreign and open")]
        match event {
            Event::StreamStart | Event::DocumentStart(..) => {}
            Event::StreamEnd | Event::DocumentEnd => return Err(YamlError::Empty),
            event => {
                let node = reader.node(event, &span)?;
                reader.finish()?;
                reader.judge_blanks()?;
                return Ok(node);
            }
        }
    }
}

/// What libyaml refuses and this parser takes, whatever is around it: control characters and directives.
fn forbidden(text: &str) -> Option<YamlError> {
    let control =
        |letter: char| matches!(letter, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}');
    let fault = |line: usize, message: &str| YamlError::Syntax { line, message: message.to_owned() };
    if let Some(index) = text.lines().position(|line| line.contains(control)) {
        return Some(fault(index + 1, "control characters are not allowed"));
    }
    let head = text
        .lines()
        .enumerate()
        .take_while(|(_, line)| matches!(line.chars().next(), None | Some('#' | '%')));
    for (index, line) in head.filter(|(_, line)| line.starts_with('%')) {
        let mut words = line.split_whitespace();
        match (words.next(), words.next()) {
            (Some("%TAG"), _) | (Some("%YAML"), Some("1.1" | "1.2")) => {}
            (Some("%YAML"), _) => return Some(fault(index + 1, "the YAML version is not 1.1 or 1.2")),
            _ => return Some(fault(index + 1, "the directive is unknown")),
        }
    }
    None
}

/// Letters that YAML 1.1, and so libyaml, takes for the end of a line.
fn is_break(letter: char) -> bool {
    matches!(letter, '\u{85}' | '\u{2028}' | '\u{2029}')
}

struct Reader<'t> {
    text: &'t str,
    events: Parser<'t, granit_parser::StrInput<'t>>,
    depth: usize,
    /// From the first to the last line of values inside of which indentation does not count.
    loose: Vec<(usize, usize)>,
    /// How many letters for the end of a line stand in quotes.
    quoted: usize,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Result<(Event<'t>, Span), YamlError> {
        match self.events.next() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(syntax(&error)),
            None => Err(YamlError::Empty),
        }
    }

    /// Reads on to the end of the document: what follows the value must be YAML as well.
    fn finish(&mut self) -> Result<(), YamlError> {
        while !matches!(self.next()?.0, Event::DocumentEnd) {}
        Ok(())
    }

    /// Refuses what libyaml refuses between values: tabs that indent, and letters that end a line for it.
    fn judge_blanks(&self) -> Result<(), YamlError> {
        for (index, text) in self.text.lines().enumerate() {
            let line = index + 1;
            let indent = text.trim_start_matches([' ', '-']).starts_with('\t');
            let loose = || self.loose.iter().any(|(first, last)| *first < line && line <= *last);
            if indent && !loose() {
                return Err(YamlError::Syntax { line, message: "a tab indents the line".to_owned() });
            }
        }
        if self.text.chars().filter(|letter| is_break(*letter)).count() > self.quoted {
            let line = self.text.lines().position(|line| line.contains(is_break)).unwrap_or(0) + 1;
            return Err(YamlError::Syntax {
                line,
                message: "a letter that ends a line in YAML 1.1".to_owned(),
            });
        }
        Ok(())
    }

    fn node(&mut self, event: Event<'t>, span: &Span) -> Result<Node, YamlError> {
        let line = span.start.line();
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(YamlError::Depth { line });
        }
        #[expect(clippy::wildcard_enum_match_arm, reason = "the parser's events are foreign and open")]
        let value = match event {
            Event::Scalar(text, style, ..) => {
                self.scalar(style, span);
                Value::Scalar(text.into_owned())
            }
            Event::SequenceStart(style, ..) => Value::List(self.list(style, line)?),
            Event::MappingStart(style, ..) => Value::Map(self.map(style, line)?),
            Event::Alias(_) | Event::UnresolvedAlias(_) => return Err(YamlError::Alias { line }),
            _ => {
                let message = "a value is missing".to_owned();
                return Err(YamlError::Syntax { line, message });
            }
        };
        self.depth -= 1;
        Ok(Node { line, value })
    }

    fn scalar(&mut self, style: ScalarStyle, span: &Span) {
        if style == ScalarStyle::Plain {
            return;
        }
        if span.end.line() > span.start.line() {
            self.loose.push((span.start.line(), span.end.line()));
        }
        if matches!(style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted) && !self.text.is_ascii() {
            let raw = span.slice(self.text).unwrap_or_default();
            self.quoted += raw.chars().filter(|letter| is_break(*letter)).count();
        }
    }

    fn list(&mut self, style: StructureStyle, start: usize) -> Result<Vec<Node>, YamlError> {
        let mut nodes = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::SequenceEnd) {
                self.close(style, start, &span);
                return Ok(nodes);
            }
            nodes.push(self.node(event, &span)?);
        }
    }

    fn close(&mut self, style: StructureStyle, start: usize, end: &Span) {
        if style == StructureStyle::Flow && end.end.line() > start {
            self.loose.push((start, end.end.line()));
        }
    }

    fn map(&mut self, style: StructureStyle, start: usize) -> Result<Vec<Field>, YamlError> {
        let mut fields = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::MappingEnd) {
                self.close(style, start, &span);
                return Ok(fields);
            }
            let Node { line, value: Value::Scalar(key) } = self.node(event, &span)? else {
                return Err(YamlError::Key { line: span.start.line() });
            };
            let (event, span) = self.next()?;
            fields.push(Field { key, line, node: self.node(event, &span)? });
        }
    }
}

fn syntax(error: &ScanError) -> YamlError {
    YamlError::Syntax { line: error.marker().line().max(1), message: error.info() }
}

impl Node {
    /// What Slurm's reader calls the kind of the value.
    pub(crate) fn kind(&self) -> &'static str {
        match self.value {
            Value::Scalar(_) => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_texts_with_their_lines() {
        let node = parse("- a: null\n  b: 18\n- [x, 'y']\n").unwrap();
        let Value::List(nodes) = node.value else { panic!("a list") };
        let Value::Map(fields) = &nodes[0].value else { panic!("a map") };
        assert_eq!((fields[1].key.as_str(), fields[1].line), ("b", 2));
        assert_eq!(fields[1].node.value, Value::Scalar("18".to_owned()));
        assert_eq!((nodes[1].line, nodes[1].kind()), (3, "a list"));
    }

    #[test]
    fn what_slurm_refuses_as_yaml_is_refused_with_its_line() {
        assert_eq!(parse(""), Err(YamlError::Empty));
        assert_eq!(parse("# only a comment\n"), Err(YamlError::Empty));
        assert_eq!(parse("a: &x [1]\nb: *x\n"), Err(YamlError::Alias { line: 2 }));
        assert!(matches!(parse("a: 1\nb: [\n"), Err(YamlError::Syntax { .. })));
        assert!(matches!(parse("a: 1\nb: \u{7}\n"), Err(YamlError::Syntax { line: 2, .. })));
        let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
        assert_eq!(parse(&deep), Err(YamlError::Depth { line: 1 }));
    }

    #[test]
    fn only_the_first_document_is_read() {
        assert_eq!(parse("a\n---\n[").unwrap().value, Value::Scalar("a".to_owned()));
    }
}
