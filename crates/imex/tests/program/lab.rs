//! Labs whose processes are counted: in the foreground, in the library, and after the end.

mod foreground;
mod library;
mod orphans;
