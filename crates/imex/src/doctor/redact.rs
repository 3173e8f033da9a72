//! Takes secrets out of a text before it leaves the machine.
//!
//! Whole files that are secrets (keys, keytabs, certificates) are never taken in the first place; this is for what other
//! files and logs quote. Rather too much is taken out than too little.

use regex::Regex;

/// What stands in the place of a secret.
const REDACTED: &str = "[redacted]";

/// Finds secrets.
pub(super) struct Redactor {
    pem: Regex,
    assigned: Regex,
    known: Regex,
}

impl Redactor {
    pub(super) fn new() -> Self {
        let regex = |pattern: &str| Regex::new(pattern).expect("the pattern is tested");
        Redactor {
            // To the end of the text if its own end is cut off.
            pem: regex(r"(?s)-----BEGIN [A-Z0-9 ]+-----.*?(-----END [A-Z0-9 ]+-----|\z)"),
            assigned: regex(
                r#"(?i)(["']?[\w.-]*(?:pass(?:word|wd|phrase)?|secret|token|credential|private|auth(?:orization|info)|key)[\w.-]*["']?\s*[:=]\s*)("[^"\n]*"|'[^'\n]*'|[^\s,}]+)"#,
            ),
            known: regex(
                r"MUNGE:[A-Za-z0-9+/=]+:?|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|(?i:bearer)\s+[\w.~+/=-]+|\b[A-Za-z0-9+/]{60,}={0,2}",
            ),
        }
    }

    /// The text without secrets. A value that is a path, a number or a word such as `true` stays: it is no secret, and
    /// often the cause.
    pub(super) fn redact(&self, text: &str) -> String {
        let text = self.pem.replace_all(text, REDACTED);
        let text = self.known.replace_all(&text, REDACTED);
        let text = self.assigned.replace_all(&text, |found: &regex::Captures<'_>| {
            let (name, value) = (&found[1], &found[2]);
            let plain = value.trim_matches(['"', '\'']);
            if is_harmless(plain) { format!("{name}{value}") } else { format!("{name}{REDACTED}") }
        });
        text.into_owned()
    }
}

fn is_harmless(value: &str) -> bool {
    let path = value.starts_with('/')
        && value.matches('/').count() > 1
        && value.chars().all(|letter| letter.is_ascii_alphanumeric() || "/._-%@".contains(letter));
    let short = value.len() <= 5 && value.bytes().all(|byte| byte.is_ascii_digit());
    path || short
        || matches!(
            value,
            "" | "true" | "false" | "null" | "none" | "(null)" | "NONE" | "FILE" | "ENV_PATH" | "ENV_VAL"
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_go_and_what_is_none_stays() {
        let redactor = Redactor::new();
        for (text, left) in [
            ("password=hunter2x\nPORT=50000", "password=[redacted]\nPORT=50000"),
            ("AccountingStoragePass = s3cr3tpw", "AccountingStoragePass = [redacted]"),
            (r#"{"api_token": "abc def", "n": 1}"#, r#"{"api_token": [redacted], "n": 1}"#),
            ("IMEX_SERVER_KEY=/etc/pki/imex/server.key", "IMEX_SERVER_KEY=/etc/pki/imex/server.key"),
            ("IMEX_SERVER_KEY_SOURCE=FILE", "IMEX_SERVER_KEY_SOURCE=FILE"),
            ("a\n-----BEGIN PRIVATE KEY-----\nMIIx\n-----END PRIVATE KEY-----\nb", "a\n[redacted]\nb"),
            ("-----BEGIN EC PRIVATE KEY-----\ncut off", "[redacted]"),
            ("got MUNGE:AwQFAAC8:", "got [redacted]"),
            ("id AKIAABCDEFGHIJKLMNOP", "id [redacted]"),
            ("Authorization: Bearer abc.def", "Authorization: [redacted]"),
            ("node 10.0.0.1 is READY", "node 10.0.0.1 is READY"),
        ] {
            assert_eq!(redactor.redact(text), left);
        }
    }
}
