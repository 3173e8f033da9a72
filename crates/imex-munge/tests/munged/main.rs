//! Against real munged's.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod credentials;
