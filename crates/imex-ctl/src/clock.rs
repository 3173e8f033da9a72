//! The wall clock, for the time that people see.

use jiff::Zoned;

/// Now, in this machine's time zone.
pub(crate) fn now() -> Zoned {
    Zoned::now()
}
