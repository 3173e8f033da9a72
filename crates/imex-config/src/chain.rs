//! How every program of this project tells an error: once, at its edge, with all that caused it.

use std::error::Error;

/// An error and what caused it, one after the other: one line if each of their texts is.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::ThisMachine;

    #[test]
    fn causes_follow_in_their_order() {
        let error = crate::load_client(Path::new("/nowhere/config.cfg"), &ThisMachine).unwrap_err();
        let text = "Unable to open configuration file at /nowhere/config.cfg: file does not exist";
        assert_eq!(chain(&error), text);
    }
}
