//! `imex pki issue`: the five files of each node, and the keys of config.cfg that name them.

use std::io::Write;
use std::path::{Path, PathBuf};

use imex_config::{NodeAddress, chain, read_nodes};
use jiff::Timestamp;
use rcgen::SanType;
use serde::Serialize;

use super::args::IssueArgs;
use super::authority::{self, Authority, Side, Terms};
use super::files::{self, Draft, Existing, Secrecy};
use super::lock::{Lock, WAIT};
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::output::{self, Format, count};

/// Issues to all nodes or to none.
pub(super) fn run(args: &IssueArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    let nodes = nodes(args)?;
    let _lock = Lock::take(&args.common.dir, WAIT)?;
    let authority = Authority::open(&args.common.dir)?;
    authority.outlives(args.days)?;
    let target = args.out.clone().unwrap_or_else(|| args.common.dir.join("nodes"));
    let mut drafts = Vec::with_capacity(nodes.len() * 6);
    let mut issued = Vec::with_capacity(nodes.len());
    for node in nodes {
        let dir = target.join(&node.entry);
        let terms = Terms { subject: node.entry.clone(), names: node.names, days: args.days };
        let not_after = draft(&authority, &terms, &dir, &mut drafts)?;
        issued.push(IssuedTo { node: node.entry, dir, not_after });
    }
    files::write(&drafts, Existing::from_force(args.common.force, replacing(&issued)))?;
    let subject = &authority.facts().subject;
    let answer = Answer {
        authority: subject,
        authority_not_after: authority.facts().not_after,
        issued: &issued,
        config: lines(&args.installed),
    };
    match crate::cli::format(args.common.json) {
        Format::Json => output::json(&answer, out)?,
        Format::Text => answer.write(&args.installed, out)?,
    }
    Ok(Exit::Done)
}

/// What to do about files that are there already: if that is so of some nodes only, the others are new.
fn replacing(asked: &[IssuedTo]) -> String {
    /// So many names are read.
    const NAMED: usize = 10;
    let new: Vec<&str> = asked.iter().filter(|to| !to.dir.exists()).map(|to| to.node.as_str()).collect();
    let rest = match new.len().checked_sub(NAMED) {
        None | Some(0) => String::new(),
        Some(more) => format!(" and {more} more"),
    };
    match new.as_slice() {
        [] => "--force issues anew to every node, and what they have counts until it ends; --node ENTRY issues to one"
            .to_owned(),
        [..] => format!(
            "only {}{rest} {} new; --node ENTRY issues to one, --force anew to every node",
            new[..new.len().min(NAMED)].join(", "),
            if new.len() == 1 { "is" } else { "are" }
        ),
    }
}

/// A node that gets certificates.
struct Node {
    entry: String,
    names: Vec<SanType>,
}

#[derive(Serialize)]
struct Answer<'a> {
    authority: &'a str,
    /// When the authority itself ends, and with it all that it issued.
    authority_not_after: Timestamp,
    issued: &'a [IssuedTo],
    /// The lines for `config.cfg`, the same on every node.
    config: Vec<String>,
}

#[derive(Serialize)]
struct IssuedTo {
    node: String,
    dir: PathBuf,
    not_after: Timestamp,
}

impl Answer<'_> {
    fn write(&self, installed: &Path, out: &mut dyn Write) -> std::io::Result<()> {
        let nodes = count(self.issued.len(), "node");
        writeln!(out, "{} issued certificates for {nodes}:", self.authority)?;
        let width = self.issued.iter().map(|to| to.node.len()).max().unwrap_or_default();
        for IssuedTo { node, dir, not_after } in self.issued {
            writeln!(out, "  {node:width$}  until {not_after}, in {}", dir.display())?;
        }
        if self.issued.iter().any(|to| to.not_after > self.authority_not_after) {
            writeln!(
                out,
                "They count no longer than the authority, which ends {}.",
                self.authority_not_after
            )?;
        }
        writeln!(out)?;
        writeln!(out, "Copy each node's files to {} on that node, owned by root.", installed.display())?;
        writeln!(
            out,
            "Then set these keys in config.cfg on every node. Where it has them already, as the example does, change"
        )?;
        writeln!(out, "its lines, or add these to its end: of two lines of a key the last counts.")?;
        writeln!(out)?;
        self.config.iter().try_for_each(|line| writeln!(out, "{line}"))
    }
}

fn nodes(args: &IssueArgs) -> Result<Vec<Node>, Failure> {
    if let Some(path) = &args.whom.nodes {
        return nodes_of_file(path);
    }
    let entry = args.whom.node.clone().unwrap_or_default();
    let address: NodeAddress = entry.parse().map_err(|error| Failure::new(Exit::Usage, &error))?;
    let mut node = node(&entry, &address)?;
    node.names.extend(args.addresses.iter().map(|ip| SanType::IpAddress(*ip)));
    Ok(vec![node])
}

fn nodes_of_file(path: &Path) -> Result<Vec<Node>, Failure> {
    let unreadable = |why: String| Failure::because(Exit::Config, format!("{}: {why}", path.display()));
    let file = read_nodes(path).map_err(|error| unreadable(chain(&error)))?;
    if file.map().is_none() {
        let mut problems = imex_config::Problems::default();
        file.report(path, &mut problems);
        return Err(Failure::because(Exit::Config, problems.to_string()));
    }
    file.entries().iter().map(|entry| node(&entry.text, &entry.address)).collect()
}

/// A certificate is good for the entry as the map has it, because that is what peers compare it with.
fn node(entry: &str, address: &NodeAddress) -> Result<Node, Failure> {
    let name = match address {
        NodeAddress::Ip { ip, .. } => SanType::IpAddress(ip.to_canonical()),
        NodeAddress::Name(name) => {
            let dns = name.as_str().try_into();
            SanType::DnsName(
                dns.map_err(|error: rcgen::Error| Failure::new(Exit::Config, &error).about(entry))?,
            )
        }
    };
    Ok(Node { entry: entry.to_owned(), names: vec![name] })
}

fn draft(
    authority: &Authority,
    terms: &Terms,
    dir: &Path,
    drafts: &mut Vec<Draft>,
) -> Result<Timestamp, Failure> {
    let mut not_after = Timestamp::MAX;
    for (side, name) in [(Side::Server, "server"), (Side::Client, "client")] {
        let issued = authority.issue(side, terms)?;
        not_after = not_after.min(authority::facts(&issued.certificate)?.not_after);
        let file = |part: &str| dir.join(format!("{name}.{part}"));
        drafts.push(Draft { path: file("key"), secrecy: Secrecy::Secret, text: issued.key });
        drafts.push(Draft { path: file("crt"), secrecy: Secrecy::Public, text: issued.certificate });
    }
    let path = dir.join("ca.crt");
    drafts.push(Draft { path, secrecy: Secrecy::Public, text: authority.pem().to_owned() });
    Ok(not_after)
}

fn lines(installed: &Path) -> Vec<String> {
    let file = |name: &str| installed.join(name).display().to_string();
    let mut lines = vec![
        "IMEX_ENABLE_AUTH_ENCRYPTION=1".to_owned(),
        "IMEX_AUTH_ENCRYPTION_MODE=SSL_TLS".to_owned(),
        "IMEX_AUTH_SOURCE=FILE".to_owned(),
    ];
    for (key, side) in [("IMEX_SERVER", "server"), ("IMEX_CLIENT", "client")] {
        lines.push(format!("{key}_KEY={}", file(&format!("{side}.key"))));
        lines.push(format!("{key}_CERT={}", file(&format!("{side}.crt"))));
        lines.push(format!("{key}_CERT_AUTH={}", file("ca.crt")));
    }
    lines
}
