//! Why the library gives no answer.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

/// Why the GPUs could not be asked.
#[derive(Debug, Error)]
pub enum NvmlError {
    /// There is no such library, or it cannot be loaded.
    #[error("{} cannot be loaded", library.display())]
    Missing {
        /// The file or name.
        library: PathBuf,
        /// What the system said.
        source: imex_clib::SystemError,
    },
    /// The library lacks a call: it is too old, or another library.
    #[error("{} has no `{symbol}`: it is too old, or not NVML", library.display())]
    TooOld {
        /// The file or name.
        library: PathBuf,
        /// The call.
        symbol: &'static str,
    },
    /// A call failed.
    #[error("{call} failed with {code} ({said})")]
    Call {
        /// The call.
        call: &'static str,
        /// Its result, an `nvmlReturn_t`.
        code: u32,
        /// What the library says of it.
        said: String,
    },
    /// The library says something that cannot be.
    #[error("the library reports {found} as {what}")]
    Malformed {
        /// What it should be.
        what: &'static str,
        /// What it is.
        found: String,
    },
    /// It took too long.
    #[error("{} did not answer within {} ms", library.display(), after.as_millis())]
    Overdue {
        /// The file or name.
        library: PathBuf,
        /// The deadline.
        after: Duration,
    },
    /// There is no thread to ask on.
    #[error("no thread can be started")]
    Thread(#[source] io::Error),
}

impl NvmlError {
    /// If it is only that there is no such library, as on a machine without the driver.
    pub fn is_missing(&self) -> bool {
        matches!(self, NvmlError::Missing { .. })
    }
}
