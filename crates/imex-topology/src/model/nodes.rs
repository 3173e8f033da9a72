//! A set of nodes.

use imex_host::{HostList, HostListError, compress, natural};

/// A set of node names in natural order.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct NodeSet {
    names: Vec<String>,
}

impl NodeSet {
    /// The names of a list like `n[1-18]`.
    ///
    /// # Errors
    ///
    /// If the text is no list.
    pub fn parse(list: &str) -> Result<Self, HostListError> {
        Ok(HostList::parse(list)?.iter().collect())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// If there is none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// If `name` is among them.
    pub fn contains(&self, name: &str) -> bool {
        self.names.binary_search_by(|own| natural::cmp(own, name)).is_ok()
    }

    /// The names, in natural order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> + DoubleEndedIterator {
        self.names.iter().map(String::as_str)
    }

    /// The names as a list like `n[1-18]`.
    pub fn to_list(&self) -> String {
        compress(&self.names)
    }
}

impl<S: Into<String>> FromIterator<S> for NodeSet {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Self {
        let mut names: Vec<String> = names.into_iter().map(Into::into).collect();
        names.sort_by(|a, b| natural::cmp(a, b));
        names.dedup();
        NodeSet { names }
    }
}
