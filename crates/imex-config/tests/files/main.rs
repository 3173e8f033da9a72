//! Both files through the public face: what is reported, what they mean, and how they are found.

#![expect(clippy::unwrap_used, reason = "a helper of tests may panic like a test")]

mod any;
mod example;
mod fake;
mod golden;
mod loading;
mod meaning;
mod own;
