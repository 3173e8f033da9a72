//! What can be wrong with a field of a message, and the checks that find it.

use std::sync::Arc;

use imex_core::{NodeId, NodeMap};
use thiserror::Error;

/// Why a field of a message is out of its bounds. The bounds stand beside each field in the `.proto` files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FieldError {
    /// It must be there.
    #[error("{field} is missing")]
    Missing {
        /// Which one.
        field: &'static str,
    },
    /// It must not be there.
    #[error("{field} is set where it has no meaning")]
    Unexpected {
        /// Which one.
        field: &'static str,
    },
    /// It has a number that stands for nothing, or for nothing that may stand here.
    #[error("{field} has the unknown number {found}")]
    UnknownNumber {
        /// Which one.
        field: &'static str,
        /// The number.
        found: i32,
    },
    /// It is below or above its range.
    #[error("{field} is {found}, not in {min} to {max}")]
    OutOfRange {
        /// Which one.
        field: &'static str,
        /// Its value.
        found: u64,
        /// The least allowed.
        min: u64,
        /// The most allowed.
        max: u64,
    },
    /// It has a fixed length, and this is another.
    #[error("{field} has {found} bytes instead of {wanted}")]
    WrongLength {
        /// Which one.
        field: &'static str,
        /// Its length in bytes.
        found: usize,
        /// The right length in bytes.
        wanted: usize,
    },
    /// Its text is too long.
    #[error("{field} has {found} bytes, at most {max} are allowed")]
    TooLong {
        /// Which one.
        field: &'static str,
        /// Its length in bytes.
        found: usize,
        /// The most allowed.
        max: usize,
    },
    /// Its list is too long.
    #[error("{field} has {found} elements, at most {max} are allowed")]
    TooMany {
        /// Which one.
        field: &'static str,
        /// How many there are.
        found: usize,
        /// The most allowed.
        max: usize,
    },
    /// Its list belongs to the node map and has another length.
    #[error("{field} has {found} elements instead of {wanted}")]
    WrongCount {
        /// Which one.
        field: &'static str,
        /// How many there are.
        found: usize,
        /// The length of the map.
        wanted: usize,
    },
    /// Its text could do harm on a terminal or in a log.
    #[error("{field} holds a control character")]
    NotPrintable {
        /// Which one.
        field: &'static str,
    },
}

/// A number that must fit below a bound.
pub(crate) fn number(field: &'static str, found: u32, max: u16) -> Result<u16, FieldError> {
    u16::try_from(found).ok().filter(|number| *number <= max).ok_or(FieldError::OutOfRange {
        field,
        found: found.into(),
        min: 0,
        max: max.into(),
    })
}

/// A node id.
pub(crate) fn node(field: &'static str, found: u32) -> Result<NodeId, FieldError> {
    number(field, found, LAST_NODE).map(NodeId::new)
}

/// The largest node id, and the largest number of other nodes.
pub(crate) const LAST_NODE: u16 = 65_533;

const _: () = assert!(LAST_NODE as usize == NodeMap::MAX_ENTRIES - 1);

/// A text for people: bounded, and without control characters.
pub(crate) fn text(field: &'static str, found: &str, max: usize) -> Result<Arc<str>, FieldError> {
    if found.len() > max {
        let found = found.len();
        return Err(FieldError::TooLong { field, found, max });
    }
    if found.chars().any(char::is_control) {
        return Err(FieldError::NotPrintable { field });
    }
    Ok(found.into())
}

/// A list with a bound.
pub(crate) fn count<T>(field: &'static str, list: &[T], max: usize) -> Result<(), FieldError> {
    if list.len() > max {
        let found = list.len();
        return Err(FieldError::TooMany { field, found, max });
    }
    Ok(())
}

/// Bytes with a fixed length.
pub(crate) fn bytes<const N: usize>(field: &'static str, found: &[u8]) -> Result<[u8; N], FieldError> {
    found.try_into().map_err(|_| FieldError::WrongLength { field, found: found.len(), wanted: N })
}

/// An enum's number, by the generated conversion.
pub(crate) fn known<E: TryFrom<i32>>(field: &'static str, found: i32) -> Result<E, FieldError> {
    E::try_from(found).map_err(|_| FieldError::UnknownNumber { field, found })
}
