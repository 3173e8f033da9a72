//! Reading the XML of EC2's answers: elements by their names, lists of `item`s.

use roxmltree::{Document, Node, ParsingOptions};

/// The most elements that an answer may have. A full page of instances has a few hundred thousand.
const MAX_ELEMENTS: u32 = 4_000_000;

/// Why bytes are not the answer that they should be: a lower-case fragment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct XmlError(String);

impl XmlError {
    pub(crate) fn new(why: String) -> Self {
        XmlError(why)
    }
}

/// Reads a document whose root has this name, and hands the root to `read`.
pub(crate) fn read<T>(
    bytes: &[u8],
    root: &str,
    read: impl FnOnce(Element<'_, '_>) -> Result<T, XmlError>,
) -> Result<T, XmlError> {
    let text = std::str::from_utf8(bytes).map_err(|error| XmlError(format!("it is no text: {error}")))?;
    let options = ParsingOptions { nodes_limit: MAX_ELEMENTS, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options)
        .map_err(|error| XmlError(format!("it is no XML: {error}")))?;
    let element = Element(document.root_element());
    let name = element.0.tag_name().name();
    if name != root {
        return Err(XmlError(format!("it is `{name}` where `{root}` was expected")));
    }
    read(element)
}

/// An element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Element<'d, 'i>(Node<'d, 'i>);

impl<'d, 'i> Element<'d, 'i> {
    /// The first child of this name.
    pub(crate) fn child(self, name: &str) -> Option<Element<'d, 'i>> {
        let child = self.0.children().find(|child| child.is_element() && child.tag_name().name() == name);
        child.map(Element)
    }

    /// The child at the end of this path.
    pub(crate) fn at(self, path: &[&str]) -> Option<Element<'d, 'i>> {
        path.iter().try_fold(self, |element, name| element.child(name))
    }

    /// The text of the child at the end of this path; an empty one counts as none.
    pub(crate) fn text(self, path: &[&str]) -> Option<String> {
        let text = self.at(path)?.0.text()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// The text of a child that must be there.
    pub(crate) fn needed(self, name: &str) -> Result<String, XmlError> {
        let own = self.0.tag_name().name();
        self.text(&[name]).ok_or_else(|| XmlError(format!("`{own}` has no `{name}`")))
    }

    /// The items of the list of this name. A list that is not there is an error: half an answer is none.
    pub(crate) fn list(self, name: &str) -> Result<Vec<Element<'d, 'i>>, XmlError> {
        let own = self.0.tag_name().name();
        let list = self.child(name).ok_or_else(|| XmlError(format!("`{own}` has no `{name}`")))?;
        Ok(list.items())
    }

    /// The items of the list of this name, which may be absent when it is empty.
    pub(crate) fn optional_list(self, name: &str) -> Vec<Element<'d, 'i>> {
        self.child(name).map(Element::items).unwrap_or_default()
    }

    /// The element's own text.
    pub(crate) fn own_text(self) -> String {
        self.0.text().unwrap_or_default().trim().to_owned()
    }

    fn items(self) -> Vec<Element<'d, 'i>> {
        let items = self.0.children().filter(|child| child.is_element() && child.tag_name().name() == "item");
        items.map(Element).collect()
    }
}
