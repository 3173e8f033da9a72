//! Takes secrets out of a text before it leaves the machine.
//!
//! Whole files that are secrets (keys, keytabs, certificates) are never taken in the first place; this is for what other
//! files and logs quote. Rather too much is taken out than too little: an unquoted password ends where its line does.

use regex::{Captures, Regex};
use serde_json::Value;

/// What stands in the place of a secret.
const REDACTED: &str = "[redacted]";

/// Names whose value is a secret whatever it looks like: `StoragePass`, `pass phrase`, `api_token`. Not `passed`.
const STRONG: &str = r"[\w.-]*(?:pass[ _-]?(?:word|wd|phrase|code)[\w.-]*|pass(?:[_.-][\w.-]*|file|key|env|\d+)?|pwd|psk|(?:secret|token|credential|slurm_jwt)[\w.-]*)";

/// Names whose value often is one, and often a path or a number.
const WEAK: &str = r"[\w.-]*(?:private|authinfo|key)[\w.-]*";

/// Headers of HTTP with a credential of one or several words.
const HEADERS: &str = r"(?:(?:proxy-|www-)?auth(?:orization|enticate)|(?:set-)?cookie)";

/// A value in quotes, also in quotes within a string of JSON.
const QUOTED: &str = r#""(?:\\.|[^"\\\n])*"|\\"(?:[^"\\\n]|\\\\\\"|\\\\|\\[^"\\\n])*\\"|'[^'\n]*'"#;

/// Programs that take a password as the value of a short option.
const CLIENTS: &str = r"(?:mysql\w*|mariadb\w*|sshpass|ldap\w+|curl|wget)";

/// Finds secrets.
pub(super) struct Redactor {
    pem: Regex,
    /// A name and all that may be its value.
    strong: Regex,
    weak: Regex,
    option: Regex,
    client: Regex,
    url: Regex,
    known: Regex,
    run: Regex,
    strong_name: Regex,
    weak_name: Regex,
}

impl Redactor {
    pub(super) fn new() -> Self {
        let regex = |pattern: &str| Regex::new(pattern).expect("the pattern is tested");
        Redactor {
            // To the end of the text if its own end is cut off.
            pem: regex(r"(?s)-----BEGIN [A-Z0-9 ]+-----.*?(-----END [A-Z0-9 ]+-----|\z)"),
            strong: regex(&format!(
                r#"(?i)(["']?(?:{STRONG}|{HEADERS})\\?["']?[ \t]*[:=][ \t]*)({QUOTED}|[^\n]+)"#
            )),
            weak: regex(&format!(r#"(?i)(["']?{WEAK}\\?["']?[ \t]*[:=][ \t]*)({QUOTED}|[^\s,}}]+)"#)),
            option: regex(&format!(r"(?i)(\B--?(?:{STRONG}|{WEAK})[ \t]+)({QUOTED}|\S+)")),
            client: regex(&format!(r"(\b{CLIENTS}\b)([^\n]*?\s-[pwu][^\n]*)")),
            url: regex(r#"(://)[^\s/:@"']*(?::[^\s"']*)?@"#),
            known: regex(
                r"MUNGE:[A-Za-z0-9+/=]+:?|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|(?i:bearer)\s+[\w.~+/=-]+|\beyJ[\w-]*\.[\w-]+(?:\.[\w-]*)*",
            ),
            run: regex(r#"((?i:digest)["'`]?[ \t]*[:= ][ \t]*["'`]?)?([A-Za-z0-9+/]{40,}={0,2})"#),
            strong_name: regex(&format!("(?i)^(?:{STRONG}|{HEADERS})$")),
            weak_name: regex(&format!("(?i)^{WEAK}$")),
        }
    }

    /// The text without secrets. A value that is a path or a word such as `true` stays: it is no secret, and often the
    /// cause.
    pub(super) fn redact(&self, text: &str) -> String {
        let value = |strict: bool| {
            move |found: &Captures<'_>| {
                let plain = found[2].trim().trim_matches(['"', '\'', '\\']);
                let left = if is_harmless(plain, strict) { &found[2] } else { REDACTED };
                format!("{}{left}", &found[1])
            }
        };
        let text = self.pem.replace_all(text, REDACTED);
        let text = self.url.replace_all(&text, format!("${{1}}{REDACTED}@"));
        let text = self.known.replace_all(&text, REDACTED);
        let text = self.client.replace_all(&text, format!("${{1}} {REDACTED}"));
        let text = self.strong.replace_all(&text, value(true));
        let text = self.weak.replace_all(&text, value(false));
        let text = self.option.replace_all(&text, value(true));
        let text = self.run.replace_all(&text, |found: &Captures<'_>| {
            let digest = found.get(1).is_some() && is_digest(&found[2]);
            if digest || !looks_random(&found[2]) { found[0].to_owned() } else { REDACTED.to_owned() }
        });
        text.into_owned()
    }

    /// A document without secrets. Its strings are judged as what they stand for, without quotes and escapes of JSON.
    pub(super) fn redact_json(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.redact(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_json(item)),
            Value::Object(entries) => {
                for (name, value) in entries.iter_mut() {
                    self.redact_entry(name, value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn redact_entry(&self, name: &str, value: &mut Value) {
        let strong = self.strong_name.is_match(name);
        match value {
            Value::String(text) if name.ends_with("digest") && is_digest(text) => {}
            Value::String(text) if strong || self.weak_name.is_match(name) => {
                if !is_harmless(text, strong) {
                    REDACTED.clone_into(text);
                }
            }
            Value::Number(_) if strong => *value = REDACTED.into(),
            Value::Array(items) if strong => items.iter_mut().for_each(|item| self.redact_entry(name, item)),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => self.redact_json(value),
        }
    }
}

/// If a value says nothing that is secret. What is called a password may be a number.
fn is_harmless(value: &str, strict: bool) -> bool {
    let path = value.starts_with('/')
        && value.matches('/').count() > 1
        && value.chars().all(|letter| letter.is_ascii_alphanumeric() || "/._-%@".contains(letter));
    let number = !strict && value.len() <= 5 && value.bytes().all(|byte| byte.is_ascii_digit());
    path || number
        || matches!(
            value,
            "" | REDACTED
                | "true"
                | "false"
                | "null"
                | "none"
                | "(null)"
                | "NONE"
                | "FILE"
                | "ENV_PATH"
                | "ENV_VAL"
        )
}

/// If it is a SHA-256 as openimex writes them: the digest of a node map tells who has another one.
fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// If a long word is more likely a key than a path or a name: 40 letters are a secret key of AWS.
fn looks_random(word: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| word.as_bytes().iter().any(kind);
    let mixed = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit);
    mixed || (word.len() >= 60 && !word.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_go_and_what_is_none_stays() {
        let redactor = Redactor::new();
        let digest = "d0".repeat(32);
        let told = format!("the map digest {digest} differs");
        for (text, left) in [
            ("password=hunter2x\nPORT=50000", "password=[redacted]\nPORT=50000"),
            ("AccountingStoragePass = s3cr3tpw", "AccountingStoragePass = [redacted]"),
            (r#"{"api_token": "abc def", "n": 1}"#, r#"{"api_token": [redacted], "n": 1}"#),
            (r#"{"token": "ab\"cd", "n": 1}"#, r#"{"token": [redacted], "n": 1}"#),
            (r#"said \"password=\"abc def\"\", n"#, r#"said \"password=[redacted]\", n"#),
            (r#""line": "password=\"abc def\", n""#, r#""line": "password=[redacted], n""#),
            ("IMEX_SERVER_KEY=/etc/pki/imex/server.key", "IMEX_SERVER_KEY=/etc/pki/imex/server.key"),
            ("IMEX_SERVER_KEY_SOURCE=FILE", "IMEX_SERVER_KEY_SOURCE=FILE"),
            ("key_bits=4096 and more", "key_bits=4096 and more"),
            ("a\n-----BEGIN PRIVATE KEY-----\nMIIx\n-----END PRIVATE KEY-----\nb", "a\n[redacted]\nb"),
            ("-----BEGIN EC PRIVATE KEY-----\ncut off", "[redacted]"),
            ("got MUNGE:AwQFAAC8:", "got [redacted]"),
            ("id AKIAABCDEFGHIJKLMNOP", "id [redacted]"),
            ("Authorization: Bearer abc.def", "Authorization: [redacted]"),
            ("Authorization: Basic dXNlcjpwYXNzd29yZA==\nb", "Authorization: [redacted]\nb"),
            ("authorization=Negotiate YIIBszCCAa", "authorization=[redacted]"),
            ("Proxy-Authorization: Token abc", "Proxy-Authorization: [redacted]"),
            ("Cookie: a=b; c=d", "Cookie: [redacted]"),
            ("ssl passphrase = correct horse battery\nb", "ssl passphrase = [redacted]\nb"),
            ("Enter PEM pass phrase: a b", "Enter PEM pass phrase: [redacted]"),
            ("password=12345", "password=[redacted]"),
            ("run x --password hunter2 --nodes 3", "run x --password [redacted] --nodes 3"),
            ("run x --auth-token='a b' c", "run x --auth-token=[redacted] c"),
            ("run x --key /etc/pki/a.key b", "run x --key /etc/pki/a.key b"),
            ("mysql -u slurm -phunter2 db", "mysql [redacted]"),
            ("from https://user:p@w@host/path", "from https://[redacted]@host/path"),
            ("from https://ghp_abc@host/path", "from https://[redacted]@host/path"),
            ("SLURM_JWT=eyJhbGciOi.eyJzdWIiOi.c2ln", "SLURM_JWT=[redacted]"),
            ("sent eyJhbGciOi.eyJzdWIiOi.c2ln on", "sent [redacted] on"),
            ("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "[redacted]"),
            ("node 10.0.0.1 is READY", "node 10.0.0.1 is READY"),
            ("the prolog passed: n3 is to blame", "the prolog passed: n3 is to blame"),
            ("GPU-5a1c5b1e-7b8e-4b8e-9b8e-5a1c5b1e7b8e", "GPU-5a1c5b1e-7b8e-4b8e-9b8e-5a1c5b1e7b8e"),
            (&told, &told),
            (&digest, "[redacted]"),
        ] {
            assert_eq!(redactor.redact(text), left);
        }
    }

    #[test]
    fn strings_of_a_document_are_judged_without_their_escapes() {
        let redactor = Redactor::new();
        let digest = "d0".repeat(32);
        let mut value = serde_json::json!({
            "map_digest": digest, "token": "ab\"cd ef", "password": 12345, "secrets": ["a", "b"],
            "lines": ["password = \"abc \\\" def\"\nPORT=1"], "job": 7, "passed": "n3", "key": "/etc/pki/a.key",
        });
        redactor.redact_json(&mut value);
        let expected = serde_json::json!({
            "map_digest": digest, "token": REDACTED, "password": REDACTED, "secrets": [REDACTED, REDACTED],
            "lines": ["password = [redacted]\nPORT=1"], "job": 7, "passed": "n3", "key": "/etc/pki/a.key",
        });
        assert_eq!(value, expected);
    }
}
