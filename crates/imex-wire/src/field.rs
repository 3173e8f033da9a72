//! What can be wrong with a field of a message.

use thiserror::Error;

/// Why a field of a message is out of its bounds.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FieldError {
    /// It must be there.
    #[error("{field} is missing")]
    Missing {
        /// Which one.
        field: &'static str,
    },
}
