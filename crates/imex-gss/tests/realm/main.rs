//! Links between nodes of a real Kerberos realm: MIT's KDC with its own database, started by each story.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod asking;
mod failing;
mod hostile;
mod renewing;
mod story;
mod talking;
