//! A request as the fake reads it.

use std::collections::BTreeMap;
use std::io::{self, BufRead};

use serde_json::Value;

/// What was asked.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: String,
}

impl Request {
    /// Reads one; none if the other end is done.
    pub(super) fn read(reader: &mut impl BufRead) -> io::Result<Option<Self>> {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let mut words = line.split_whitespace().map(str::to_owned);
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut headers = BTreeMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let body = String::from_utf8(body).map_err(io::Error::other)?;
        Ok(Some(Request { method, path, headers, body }))
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// If it is one of PCS's protocol.
    pub(super) fn is_pcs(&self) -> bool {
        self.headers.contains_key("x-amz-target")
    }

    /// The action, or the path where there is none.
    pub(super) fn action(&self) -> String {
        match self.header("x-amz-target").strip_prefix("AWSParallelComputingService.") {
            Some(action) => action.to_owned(),
            None => self.field("Action").unwrap_or_else(|| self.path.clone()),
        }
    }

    /// A field of the form or of the JSON document.
    pub(super) fn field(&self, name: &str) -> Option<String> {
        if self.is_pcs() {
            let body: Value = serde_json::from_str(&self.body).ok()?;
            return body[name].as_str().map(str::to_owned);
        }
        let pairs = self.body.split('&').filter_map(|pair| pair.split_once('='));
        pairs.into_iter().find(|(key, _)| *key == name).map(|(_, value)| decoded(value))
    }

    /// The token of the page that is asked for.
    pub(super) fn token(&self) -> Option<String> {
        self.field(if self.is_pcs() { "nextToken" } else { "NextToken" })
    }

    /// The action and what it is about, for tests to compare.
    pub(super) fn told(&self) -> String {
        let about = ["queueIdentifier", "computeNodeGroupIdentifier", "LaunchTemplateId"];
        let about = about.into_iter().find_map(|name| self.field(name)).or_else(|| self.token());
        match about {
            Some(about) => format!("{} {about}", self.action()),
            None => self.action(),
        }
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let hex =
            (byte == b'%').then(|| tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok())).flatten();
        let value = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(value.unwrap_or(byte));
        rest = if value.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
