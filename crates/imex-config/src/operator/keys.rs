//! Every key of `openimex.toml`: its values, its default, and what it is for.
//!
//! The table is the one source: values are judged by it, defaults come from it, and the commented example and the table in
//! the documents are written from it. A key's comment is its documentation here and there.

use std::fmt;

use super::words;

/// One key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperatorKey {
    /// The table that it stands in, without the brackets.
    pub table: &'static str,
    /// Its name in that table.
    pub name: &'static str,
    /// What it has when the file does not set it, as TOML writes it.
    pub default: &'static str,
    /// Which values it takes.
    pub kind: Kind,
    /// What it is for, in lines that each begin with a blank.
    pub doc: &'static [&'static str],
}

/// Which values a key takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Switch,
    /// A whole number.
    Number {
        /// The least.
        min: u32,
        /// The greatest.
        max: u32,
    },
    /// A text with a number and a unit: `"500ms"`, `"60s"`, `"2m"`.
    Span {
        /// The least, in milliseconds.
        min: u32,
        /// The greatest, in milliseconds.
        max: u32,
    },
    /// Permission bits in octal, as a text: `"0666"`.
    Mode,
    /// One of some words.
    Word(&'static [&'static str]),
    /// A path from the root.
    Path,
    /// A path from the root, or empty.
    OptionalPath,
    /// A program: a path from the root, or a name that is looked for in `tools.path`.
    Program,
    /// The same, or empty.
    OptionalProgram,
    /// A unit of systemd's, `NAME.service`, or empty.
    OptionalUnit,
    /// Folders with colons between them, as in `PATH`.
    SearchPath,
    /// Numbers and ranges of channels with commas between them, `"0,4-7"`, or empty.
    Channels,
    /// A list of texts that are not empty.
    Texts,
}

impl fmt::Display for Kind {
    /// The values, for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Switch => f.write_str("true or false"),
            Kind::Number { min, max } => write!(f, "{min} to {max}"),
            Kind::Span { min, max } => write!(f, "a time from \"{}\" to \"{}\"", span(*min), span(*max)),
            Kind::Mode => f.write_str("\"0000\" to \"0777\", octal"),
            Kind::Word(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
                f.write_str(&quoted.join(", "))
            }
            Kind::Path => f.write_str("a path from the root"),
            Kind::OptionalPath => f.write_str("a path from the root, or \"\""),
            Kind::Program => f.write_str("a path from the root, or a name"),
            Kind::OptionalProgram => f.write_str("a path from the root, a name, or \"\""),
            Kind::OptionalUnit => f.write_str("the name of a unit, or \"\""),
            Kind::SearchPath => f.write_str("paths from the root with colons between"),
            Kind::Channels => f.write_str("numbers and ranges of channels such as \"0,4-7\", or \"\""),
            Kind::Texts => f.write_str("a list of texts"),
        }
    }
}

/// Milliseconds as a span is written.
fn span(millis: u32) -> String {
    match millis {
        0..1_000 => format!("{millis}ms"),
        1_000..120_000 => format!("{}s", millis / 1_000),
        _ => format!("{}m", millis / 60_000),
    }
}

impl OperatorKey {
    /// Its name with its table: `service.provider`.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.table, self.name)
    }
}

/// The key with this name in this table.
pub(super) fn find(table: &str, name: &str) -> Option<&'static OperatorKey> {
    ALL.iter().copied().find(|key| (key.table, key.name) == (table, name))
}

/// Writes each key as a constant, and all of them as [`ALL`].
macro_rules! keys {
    ($( $table:literal { $( $(#[doc = $doc:literal])+ $constant:ident $name:literal = $default:literal: $kind:expr; )+ } )+) => {
        $( $(
            $(#[doc = $doc])+
            pub const $constant: OperatorKey = OperatorKey {
                table: $table,
                name: $name,
                default: $default,
                kind: $kind,
                doc: &[$($doc),+],
            };
        )+ )+

        /// Every key, in the order of the file.
        pub static ALL: &[&OperatorKey] = &[$( $( &$constant, )+ )+];
    };
}

/// From a tenth of a second to an hour: Slurm's own time-outs lie between.
const SOME_TIME: Kind = Kind::Span { min: 100, max: 3_600_000 };

keys! {
    "service" {
        /// Whose service forms the domain. "nvidia-imex" uses nothing but the command line and the files that NVIDIA
        /// documents.
        PROVIDER "provider" = r#""imexd""#: Kind::Word(words::Provider::WORDS);
        /// Its unit. Empty: imexd.service or nvidia-imex.service.
        UNIT "unit" = r#""""#: Kind::OptionalUnit;
        /// Its control tool. Empty: imexctl or nvidia-imex-ctl.
        CONTROL "control" = r#""""#: Kind::OptionalProgram;
        /// Its configuration file. The prolog sets single keys in it and leaves the rest as it is.
        CONFIG "config" = r#""/etc/nvidia-imex/config.cfg""#: Kind::Path;
        /// The list of the domain's nodes, which the prolog writes. Empty: the one that the configuration file names.
        NODE_MAP "node_map" = r#""""#: Kind::OptionalPath;
        /// What a missing, masked or disabled unit means on hardware that needs it: "fail" fails the job's prolog, "skip" lets
        /// the job run without a domain.
        UNIT_UNUSABLE "unit_unusable" = r#""fail""#: Kind::Word(words::Unusable::WORDS);
        /// The TCP port between the nodes: "keep" leaves SERVER_PORT as it is, "rotate" sets job id % 16384 + 33792, as
        /// NVIDIA's sample does. Those ports are also given to outgoing connections, and repeat every 16384 jobs.
        PORT "port" = r#""keep""#: Kind::Word(words::Port::WORDS);
    }
    "auth" {
        /// Whether the nodes of a domain prove to each other with MUNGE that they are of this cluster. Only imexd can.
        MUNGE "munge" = "false": Kind::Switch;
    }
    "hardware" {
        /// What a node without IMEX channels in /proc/devices means: "detect" skips it, "always" fails the prolog there.
        EXPECT "expect" = r#""detect""#: Kind::Word(words::Expect::WORDS);
        /// Whether the instance type is asked of the cloud's metadata service (IMDSv2), and nodes of other types are skipped.
        ASK_INSTANCE_TYPE "ask_instance_type" = "false": Kind::Switch;
        /// The types that have IMEX; `*` stands for anything.
        INSTANCE_TYPES "instance_types" = r#"["p6e-gb200*", "p6e-gb300*"]"#: Kind::Texts;
        /// What the fabric identity of the GPUs must be: "if-known" fails the prolog if NVML is there and says that a GPU is in no
        /// healthy fabric, "required" also if NVML is not there, "ignored" does not ask.
        FABRIC "fabric" = r#""if-known""#: Kind::Word(words::Fabric::WORDS);
        /// What it means that NVML calls a GPU's fabric degraded, unhealthy or configured wrongly: "warn" writes it into log and
        /// record, "refuse" fails the prolog.
        HEALTH "health" = r#""warn""#: Kind::Word(words::Health::WORDS);
    }
    "jobs" {
        /// What happens to a job that does not have its nodes for itself: "skip" lets it run without a domain, "fail" fails it.
        SHARED "shared" = r#""skip""#: Kind::Word(words::Shared::WORDS);
        /// What a job on one node gets: a "domain" of one, only the "channel", or nothing ("skip").
        ONE_NODE "one_node" = r#""domain""#: Kind::Word(words::OneNode::WORDS);
    }
    "channels" {
        /// Which channel device a job gets: "channel0", "per-job" one of its own, the one that Slurm's plugin
        /// switch/nvidia_imex makes ("switch"), or none ("off").
        CHANNELS "use" = r#""channel0""#: Kind::Word(words::Channels::WORDS);
        /// The folder of the channel devices.
        CHANNEL_DIRECTORY "directory" = r#""/dev/nvidia-caps-imex-channels""#: Kind::Path;
        /// The permission bits of a channel device.
        CHANNEL_MODE "mode" = r#""0666""#: Kind::Mode;
        /// Whose a channel device is: "root"'s, or the job's "user"'s.
        CHANNEL_OWNER "owner" = r#""root""#: Kind::Word(words::ChannelOwner::WORDS);
        /// How many channels the driver has (its parameter NVreg_ImexChannelCount).
        CHANNEL_COUNT "count" = "2048": Kind::Number { min: 1, max: 1_048_576 };
        /// The channels that the boot unit makes, where jobs share "channel0": beside channels "per-job" it makes none.
        CHANNELS_AT_BOOT "boot" = r#""0""#: Kind::Channels;
    }
    "scope" {
        /// Which of the job's nodes form a domain with this one: those of its block in the "topology-file", or as "scontrol"
        /// show topology tells it, those with the same "fabric" in a file of reports, or all of the "job". "auto" takes the
        /// topology file if there is one that places this node, else the whole job.
        SCOPE "by" = r#""auto""#: Kind::Word(words::ScopeBy::WORDS);
        /// The topology file. Empty: topology.yaml, or else topology.conf, beside slurm.conf.
        TOPOLOGY_FILE "topology_file" = r#""""#: Kind::OptionalPath;
        /// The file of reports, as `imex topology collect` writes it.
        REPORTS "reports" = r#""/etc/openimex/fabric.jsonl""#: Kind::Path;
    }
    "peers" {
        /// Where the addresses of the nodes come from: the system's "resolver", one call of "scontrol" show node, or a "map".
        /// "auto" takes the resolver if it knows every name, else scontrol. All nodes must come to the same addresses.
        PEERS "by" = r#""auto""#: Kind::Word(words::PeersBy::WORDS);
        /// The map: lines of a node's name and its address.
        PEER_MAP "map" = r#""/etc/openimex/nodes""#: Kind::Path;
        /// Which addresses are taken: "ipv4", "ipv6", or "any", which prefers IPv4 where a node has both.
        FAMILY "family" = r#""any""#: Kind::Word(words::Family::WORDS);
    }
    "prolog" {
        /// How long the prolog may take in all. Keep it below Slurm's PrologTimeout: that one ends the prolog as a failure.
        PROLOG_BUDGET "budget" = r#""60s""#: SOME_TIME;
        /// How long a service may take to stop before it is killed. A killed service blocks fabric memory on the node.
        STOP "stop" = r#""10s""#: SOME_TIME;
        /// What a node does that sees another one at fault: "pass" lets Slurm drain the other alone, "fail" drains this one too.
        INNOCENT "innocent" = r#""pass""#: Kind::Word(words::Innocent::WORDS);
        /// What a node does when nobody can tell which side is at fault: exactly half of the nodes are cut off from the other half,
        /// or a single link between two good nodes is missing. "fail" drains both ends, "pass" neither.
        TIE "tie" = r#""fail""#: Kind::Word(words::Tie::WORDS);
    }
    "epilog" {
        /// How long the epilog may take in all. Keep it below Slurm's EpilogTimeout.
        EPILOG_BUDGET "budget" = r#""30s""#: SOME_TIME;
    }
    "files" {
        /// Where the records of runs are kept over a reboot.
        STATE "state" = r#""/var/lib/openimex""#: Kind::Path;
        /// Where the state of running jobs is, gone after a reboot.
        RUN "run" = r#""/run/imex""#: Kind::Path;
        /// Where the log of each job goes.
        LOGS "logs" = r#""/var/log/openimex""#: Kind::Path;
        /// How many records, and how many logs, are kept.
        KEEP "keep" = "200": Kind::Number { min: 1, max: 100_000 };
    }
    "tools" {
        /// Where programs are looked for: a prolog has no PATH.
        TOOL_PATH "path" = r#""/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/slurm/bin""#: Kind::SearchPath;
        /// Slurm's scontrol.
        SCONTROL "scontrol" = r#""scontrol""#: Kind::Program;
        /// How long one call of scontrol may take.
        SCONTROL_DEADLINE "scontrol_deadline" = r#""5s""#: SOME_TIME;
    }
    "hints" {
        /// Whether tasks get NCCL_MNNVL_ENABLE and NCCL_CUMEM_ENABLE where their job has a domain of several nodes.
        NCCL "nccl" = "true": Kind::Switch;
    }
}
