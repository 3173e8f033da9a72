//! The words of `openimex.toml`, each set a type of its own.

use std::fmt;

/// Writes an enum whose variants are words of the file.
macro_rules! words {
    ($( $(#[doc = $doc:literal])+ $type:ident { $( $(#[doc = $variant_doc:literal])+ $variant:ident = $word:literal, )+ } )+) => {
        $(
            $(#[doc = $doc])+
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub enum $type {
                $( $(#[doc = $variant_doc])+ $variant, )+
            }

            impl $type {
                /// The words.
                pub const WORDS: &[&str] = &[$($word),+];

                /// Its word.
                pub const fn word(self) -> &'static str {
                    match self {
                        $( $type::$variant => $word, )+
                    }
                }

                /// The one with this word.
                pub(super) fn from_word(word: &str) -> Option<Self> {
                    match word {
                        $( $word => Some($type::$variant), )+
                        _ => None,
                    }
                }
            }

            impl fmt::Display for $type {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.pad(self.word())
                }
            }
        )+
    };
}

words! {
    /// Whose service forms the domains.
    Provider {
        /// This project's.
        Imexd = "imexd",
        /// NVIDIA's: only its documented command line and files are used.
        NvidiaImex = "nvidia-imex",
    }
    /// What a unit that cannot be used means where it is needed.
    Unusable {
        /// The prolog fails.
        Fail = "fail",
        /// The job runs without a domain.
        Skip = "skip",
    }
    /// Where the port between the nodes comes from.
    Port {
        /// From the service's own configuration.
        Keep = "keep",
        /// From the job's number.
        Rotate = "rotate",
    }
    /// What a node without IMEX channels means.
    Expect {
        /// It is skipped.
        Detect = "detect",
        /// It is broken.
        Always = "always",
    }
    /// What the fabric identity of the GPUs must be.
    Fabric {
        /// Healthy, where it can be asked.
        IfKnown = "if-known",
        /// Healthy.
        Required = "required",
        /// Anything: it is not asked.
        Ignored = "ignored",
    }
    /// What a fabric that is not well means.
    Health {
        /// It is told.
        Warn = "warn",
        /// The prolog fails.
        Refuse = "refuse",
    }
    /// What happens to a job that shares its nodes.
    Shared {
        /// It runs without a domain.
        Skip = "skip",
        /// Its prolog fails.
        Fail = "fail",
    }
    /// What a job on one node gets.
    OneNode {
        /// A domain of one.
        Domain = "domain",
        /// The channel alone.
        Channel = "channel",
        /// Nothing.
        Skip = "skip",
    }
    /// Which channel device a job gets.
    Channels {
        /// Channel 0, which stays.
        Channel0 = "channel0",
        /// One of its own, made for it and removed after it.
        PerJob = "per-job",
        /// The one that switch/nvidia_imex makes.
        Switch = "switch",
        /// None.
        Off = "off",
    }
    /// Whose a channel device is.
    ChannelOwner {
        /// Root's.
        Root = "root",
        /// The job's user's.
        User = "user",
    }
    /// How the nodes of a job are divided into domains.
    ScopeBy {
        /// By the topology file if there is one that places this node, else not at all.
        Auto = "auto",
        /// By the blocks of the topology file.
        TopologyFile = "topology-file",
        /// By the blocks that the controller tells.
        Scontrol = "scontrol",
        /// By the fabric that each node reported.
        Fabric = "fabric",
        /// Not at all: the job is one domain.
        Job = "job",
    }
    /// Where the addresses of nodes come from.
    PeersBy {
        /// From the resolver if it knows every name, else from the controller.
        Auto = "auto",
        /// From the system's resolver.
        Resolver = "resolver",
        /// From the controller.
        Scontrol = "scontrol",
        /// From a file.
        Map = "map",
    }
    /// Which addresses are taken.
    Family {
        /// IPv4 if a node has such an address, else IPv6.
        Any = "any",
        /// IPv4 only.
        Ipv4 = "ipv4",
        /// IPv6 only.
        Ipv6 = "ipv6",
    }
    /// What a node does that sees another one at fault.
    Innocent {
        /// Its prolog succeeds, so that it is not drained.
        Pass = "pass",
        /// Its prolog fails.
        Fail = "fail",
    }
    /// What a node does when nobody can tell which side is at fault.
    Tie {
        /// Its prolog fails.
        Fail = "fail",
        /// Its prolog succeeds.
        Pass = "pass",
    }
}
