//! The table itself. A key's comment is its documentation here and in the example file, so it reads as plain text.
//!
//! No comment names another key of NVIDIA's Slurm prolog: that script rewrites the rest of every line in which it finds
//! one.

use super::{Group, Key, Kind};

/// Writes each key as a constant of its own name, and all of them as [`ALL`].
macro_rules! keys {
    ($( $group:ident { $( $(#[doc = $doc:literal])+ $name:ident = $default:literal: $kind:expr; )+ } )+) => {
        $( $(
            $(#[doc = $doc])+
            pub const $name: Key = Key {
                name: stringify!($name),
                default: $default,
                kind: $kind,
                group: Group::$group,
                doc: &[$($doc),+],
            };
        )+ )+

        /// Every key, in the order of the file.
        pub static ALL: &[&Key] = &[$( $( &$name, )+ )+];
    };
}

/// Seconds that fit any timer: 68 years.
const SECONDS_OR_MINUS_ONE: Kind = Kind::Integer { min: -1, max: i32::MAX as i64 };

keys! {
    Process {
        /// How much is logged: 0 nothing, 1 what ends the service, 2 also errors, 3 also warnings, 4 also
        /// what happens in the ordinary course. What is held back stays in memory for a while; SIGHUP
        /// writes it to the verbose file.
        LOG_LEVEL = "4": Kind::Integer { min: 0, max: 4 };
        /// The log file. If it is empty or cannot be opened, the log goes to standard error.
        LOG_FILE_NAME = "/var/log/nvidia-imex.log": Kind::OptionalPath;
        /// The file for statistics. If it is empty or cannot be opened, they go to standard error. If it is
        /// the log file, they go there between the messages.
        STATS_FILE_NAME = "/var/log/nvidia-imex-stats.log": Kind::OptionalPath;
        /// What happens to the log file of an earlier run: 1 it is continued, 0 it is overwritten.
        LOG_APPEND_TO_LOG = "1": Kind::Switch;
        /// The size in MB at which the log file is full.
        LOG_FILE_MAX_SIZE = "1024": Kind::Integer { min: 1, max: 1_048_576 };
        /// How many full log files are kept besides the current one; the oldest is dropped. With 0, logging
        /// stops when the file is full. NVIDIA's documents state no default; this one is ours.
        LOG_MAX_ROTATE_COUNT = "3": Kind::Integer { min: 0, max: 1000 };
        /// 1 sends the log to the system's log instead of the file.
        LOG_USE_SYSLOG = "0": Kind::Switch;
        /// 1 detaches from the terminal. Under a systemd unit of the notify type it is ignored: there the
        /// service always stays in the foreground.
        DAEMONIZE = "1": Kind::Switch;
    }
    Network {
        /// The address at which this node's peers reach it. It must be in the node list. Empty takes the
        /// entry of the node list that is an address of this machine.
        BIND_INTERFACE_IP = "": Kind::OptionalAddress;
        /// The TCP port for peers, the same on every node. 0 takes any free port, which only tests can use.
        SERVER_PORT = "50000": Kind::Integer { min: 0, max: 65_535 };
        /// The list of the domain's nodes: one address or host name per line, in the same order on all.
        IMEX_NODE_CONFIG_FILE = "/etc/nvidia-imex/nodes_config.cfg": Kind::Path;
        /// The network interface, needed only for an IPv6 link-local address that several interfaces have.
        NETWORK_INTERFACE = "": Kind::OptionalInterface;
    }
    Quorum {
        /// Whom the service waits for before it is ready: NONE nobody; RECOVERY after an unclean end those
        /// nodes that had imported memory from this one, otherwise nobody; FULL every node of the list.
        IMEX_WAIT_FOR_QUORUM = "RECOVERY": Kind::Word(&["NONE", "RECOVERY", "FULL"]);
        /// Seconds between the loss of a node and the clean-up of what was shared with it. 0 cleans up at
        /// once, -1 waits for its return. A node whose service was restarted is cleaned up at once anyway.
        IMEX_NODE_DISCONNECTED_GRACE_TIME = "-1": SECONDS_OR_MINUS_ONE;
    }
    Security {
        /// 1 makes peers authenticate each other as the keys below say. With 0 those are ignored.
        IMEX_ENABLE_AUTH_ENCRYPTION = "0": Kind::Switch;
        /// How: SSL_TLS mutual TLS; GSS_AUTH_ENCRYPT Kerberos with encryption; GSS_AUTH_ONLY Kerberos
        /// without. When security is on, anything else keeps the service from starting.
        IMEX_AUTH_ENCRYPTION_MODE = "SSL_TLS": Kind::SecurityWord(MODES);
        /// What the six TLS keys below hold: FILE a path; ENV_PATH the name of an environment variable that
        /// holds a path; ENV_VAL the name of one that holds the PEM text itself.
        IMEX_AUTH_SOURCE = "": Kind::SecurityWord(SOURCES);
        /// The private key that is used towards nodes that connect to this one.
        IMEX_SERVER_KEY = "": Kind::Free;
        /// The certificate that is shown to nodes that connect to this one.
        IMEX_SERVER_CERT = "": Kind::Free;
        /// The authority that must have signed the certificates of nodes that connect to this one.
        IMEX_SERVER_CERT_AUTH = "": Kind::Free;
        /// The private key that is used towards nodes that this one connects to.
        IMEX_CLIENT_KEY = "": Kind::Free;
        /// The certificate that is shown to nodes that this one connects to.
        IMEX_CLIENT_CERT = "": Kind::Free;
        /// The authority that must have signed the certificates of nodes that this one connects to.
        IMEX_CLIENT_CERT_AUTH = "": Kind::Free;
        /// The name that must be in a peer's certificate, instead of its entry in the node list.
        IMEX_SECURITY_TARGET_OVERRIDE = "": Kind::OptionalHost;
        /// The service part of the Kerberos principal.
        IMEX_GSS_SERVICE_NAME = "host": Kind::Text;
        /// Seconds in which Kerberos authentication has to succeed; -1 tries for ever.
        IMEX_GSS_TIMEOUT_SEC = "-1": SECONDS_OR_MINUS_ONE;
        /// Seconds between two tries of Kerberos authentication.
        IMEX_GSS_RETRY_INTERVAL_SEC = "5": Kind::Integer { min: 0, max: i32::MAX as i64 };
        /// Seconds that a Kerberos security context lives; -1 leaves it to the credential.
        IMEX_GSS_SEC_CONTEXT_LIFETIME_SEC = "-1": SECONDS_OR_MINUS_ONE;
        /// What a final Kerberos failure does: 1 ends the service, 0 drops the connection to that peer.
        IMEX_GSS_SHUTDOWN_ON_FAILURE = "1": Kind::Switch;
    }
    Command {
        /// 1 answers questions over TCP too. It asks nobody who they are, so it is off here unless wanted;
        /// the Unix socket is always served.
        IMEX_CMD_ENABLED = "0": Kind::Switch;
        /// The address for questions over TCP. Empty takes all interfaces.
        IMEX_CMD_BIND_INTERFACE_IP = "": Kind::OptionalListenAddress;
        /// The port for questions over TCP, the same on every node. Empty means none, 0 any free one.
        IMEX_CMD_PORT = "50005": Kind::OptionalPort;
        /// The Unix socket for questions. Empty takes /var/run/nvidia-imex/command.sock.
        IMEX_CMD_UNIX_DOMAIN_PATH = "": Kind::OptionalPath;
    }
    Own {
        /// Tells apart domains that have the same node list, for example by a job's id and restart count.
        /// It must be the same on every node of a domain; nodes with another one are refused.
        OPENIMEX_DOMAIN_TOKEN = "": Kind::Token;
        /// Another way for peers to authenticate each other, for Slurm clusters: munge goes by the key that
        /// MUNGE shares among all nodes, and encrypts. It needs nothing else, and excludes the ways above.
        OPENIMEX_AUTH = "none": Kind::Word(&["none", "munge"]);
        /// The socket of MUNGE's daemon. Empty takes the usual one of this machine.
        OPENIMEX_MUNGE_SOCKET = "": Kind::OptionalPath;
        /// The number of the user that this service runs as on all nodes. What MUNGE says is from anybody else
        /// is refused.
        OPENIMEX_MUNGE_UID = "0": Kind::Integer { min: 0, max: u32::MAX as i64 - 1 };
        /// Where a node's MUNGE credential may be made: any is on any machine with the cluster's key, peer
        /// on the one with the node's own IPv4 address, as munged there calls it (its option --origin).
        OPENIMEX_MUNGE_ORIGIN = "any": Kind::Word(&["any", "peer"]);
        /// The permission bits of the Unix socket.
        OPENIMEX_CMD_SOCKET_MODE = "0660": Kind::Mode;
        /// The file that remembers which nodes import memory from this one, for the RECOVERY quorum. It
        /// should not outlive a reboot.
        OPENIMEX_PERSIST_FILE = "/var/run/nvidia-imex/persist.dat": Kind::Path;
        /// Where SIGHUP, and the end of the service, write the messages that the log level held back.
        OPENIMEX_VERBOSE_LOG_FILE_NAME = "/var/log/nvidia-imex-verbose.log": Kind::Path;
        /// Seconds between two blocks of statistics.
        OPENIMEX_STATS_INTERVAL_SEC = "30": Kind::Integer { min: 1, max: 86_400 };
        /// Milliseconds between two pings to each peer, the same on every node. Empty is 1000, and more where
        /// the node list has over 50 entries: 20 per entry, at most 10000. A value holds for any length.
        OPENIMEX_PING_INTERVAL_MS = "": Kind::OptionalInteger { min: 100, max: 60_000 };
        /// How many pings in a row a peer may leave unanswered before it counts as lost.
        OPENIMEX_PING_MISSES = "3": Kind::Integer { min: 1, max: 100 };
        /// The longest time in milliseconds between two tries to reach a peer.
        OPENIMEX_RECONNECT_MAX_MS = "3000": Kind::Integer { min: 50, max: 600_000 };
        /// How long in milliseconds one try to reach a peer may take.
        OPENIMEX_DIAL_TIMEOUT_MS = "2000": Kind::Integer { min: 100, max: 60_000 };
    }
    Legacy {
        /// Seconds to wait for connections at the start, in early versions of NVIDIA's service. Without
        /// effect: the quorum decides.
        IMEX_CONN_WAIT_TIMEOUT = "": Kind::Free;
    }
}

/// Words of [`IMEX_AUTH_ENCRYPTION_MODE`].
const MODES: &[&str] = &["SSL_TLS", "GSS_AUTH_ENCRYPT", "GSS_AUTH_ONLY"];

/// Words of [`IMEX_AUTH_SOURCE`].
const SOURCES: &[&str] = &["FILE", "ENV_PATH", "ENV_VAL"];
