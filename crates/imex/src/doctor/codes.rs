//! The codes of CUDA that a missing or broken domain shows itself by, and what each can mean on these machines.
//!
//! CUDA has one code for several causes: 800 is what a program sees without a channel, and also what it sees on a machine
//! that has no multi-node NVLink at all. Each cause here says how it is told from the others.

use serde::Serialize;

/// A code.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Code {
    /// The number: the same in the driver's and the runtime's interface.
    pub(crate) number: u32,
    /// Its name in the driver's interface.
    pub(crate) name: &'static str,
    /// What it says in general.
    pub(crate) means: &'static str,
    /// What it comes from here, the likeliest first.
    pub(crate) causes: &'static [Cause],
}

/// One cause of a code.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Cause {
    /// What is the matter.
    pub(crate) what: &'static str,
    /// By what it is told from the others.
    pub(crate) told_by: &'static str,
    /// What to check next.
    pub(crate) next: &'static str,
}

/// All of them, by number.
pub(crate) const ALL: &[Code] = &[
    Code {
        number: 101,
        name: "CUDA_ERROR_INVALID_DEVICE",
        means: "a device is named that this process does not have",
        causes: &[
            Cause {
                what: "an imported handle names a GPU of another node that this node's domain does not have",
                told_by: "only jobs of several nodes fail, and each rank's own GPUs work",
                next: "`imex validate` in the job: are the domain's members the job's nodes?",
            },
            Cause {
                what: "the process sees fewer GPUs than its rank counts on (CUDA_VISIBLE_DEVICES, a container)",
                told_by: "it fails on one node alone, too",
                next: "compare `nvidia-smi -L` inside and outside of the step",
            },
        ],
    },
    Code {
        number: 400,
        name: "CUDA_ERROR_INVALID_HANDLE",
        means: "a handle is not valid where it is used",
        causes: &[
            Cause {
                what: "the exporting node's service was restarted after the export: what it exported before cannot be \
                       imported any more",
                told_by: "D33 or the log shows a start after the job's first line; a new job works",
                next: "`imex doctor` on the exporter: D11 (restarts), D31 (power-cycle), D15 (map changed)",
            },
            Cause {
                what: "exporter and importer are not in one NVLink partition although their domain is UP",
                told_by: "ranks within one rack work, ranks across racks fail",
                next: "D06 on both nodes: cluster UUID and clique must be equal; scope in openimex.toml must divide",
            },
            Cause {
                what: "the node's place in the node map changed under a running service",
                told_by: "D15 warns, or D14 and D21 name different members",
                next: "restart the service on all members with one map: requeue the job",
            },
        ],
    },
    Code {
        number: 401,
        name: "CUDA_ERROR_ILLEGAL_STATE",
        means: "something needed is not in the state that the call needs",
        causes: &[
            Cause {
                what: "the IMEX service of this node does not run, or was killed while memory was exported: the driver \
                       then refuses fabric memory until a service runs again",
                told_by: "D11 or D20 fail; the kernel's log has \"Abrupt nvidia-imex daemon shutdown detected\"",
                next: "`imex doctor`: D10 to D12; start the service; stop it gracefully from now on, never with kill -9",
            },
            Cause {
                what: "a member was lost, and the driver disabled what had been imported from it",
                told_by: "D21 names the member; every process that imported from it fails alike",
                next: "`imex wait` names who is missing and why; the job has to start anew",
            },
        ],
    },
    Code {
        number: 719,
        name: "CUDA_ERROR_LAUNCH_FAILED",
        means: "a kernel failed while it ran; the process cannot go on",
        causes: &[
            Cause {
                what: "memory that it had imported went away: its node, its process or its service ended",
                told_by: "several ranks fail within a second, and one node or rank ended just before",
                next: "find the first rank that failed; D33 and the records show if a prolog or epilog ran meanwhile",
            },
            Cause {
                what: "a fault of the program, or of the GPU",
                told_by: "it fails on one node alone, too; the kernel's log has an Xid of that GPU",
                next: "`dmesg | grep Xid` on the node of the first rank that failed",
            },
        ],
    },
    Code {
        number: 800,
        name: "CUDA_ERROR_NOT_PERMITTED",
        means: "the operation is not permitted",
        causes: &[
            Cause {
                what: "channel missing: the process can open no IMEX channel, because the device is not there, has another \
                       major than the driver, or must not be opened by this user or in this container",
                told_by: "D02 is ok, so the driver has channels here, and D04 or D05 fails",
                next: "`imex channel check --as USER`; in the job `imex validate`; in a container look for \
                       /dev/nvidia-caps-imex-channels",
            },
            Cause {
                what: "not supported here: the machine has no multi-node NVLink (HGX and PCIe boards), and the program asks for \
                       fabric handles all the same",
                told_by: "D02 says that the driver has no channels, or D06 that the GPUs are in no fabric",
                next: "have the program ask for POSIX file handles, or ask CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED (128) first; no channel will help",
            },
            Cause {
                what: "exporter and importer use different channels",
                told_by: "each node passes D04 and D05, and only imports fail",
                next: "one channel for all nodes of the job: `imex validate` compares them",
            },
        ],
    },
    Code {
        number: 801,
        name: "CUDA_ERROR_NOT_SUPPORTED",
        means: "the operation is not supported",
        causes: &[
            Cause {
                what: "not supported here: the GPUs, the driver or the platform know no fabric handles",
                told_by: "D06 says unsupported or an all-zero cluster, and CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED (128) is 0",
                next: "nothing to repair: use POSIX file handles within the node, the network between nodes",
            },
            Cause {
                what: "channels are switched off in the driver (NVreg_ImexChannelCount=0), which takes fabric handles away",
                told_by: "D03 fails, and the GPUs do have a fabric (D06 is ok)",
                next: "remove the module parameter, reload the driver; it must be equal on all nodes",
            },
            Cause {
                what: "two domains share one NVLink partition, and the access of one disturbs the other",
                told_by: "it comes and goes, and another job ran on the rack at that time",
                next: "one job per partition at a time, or see `imex topology plan` for how jobs are placed",
            },
        ],
    },
    Code {
        number: 802,
        name: "CUDA_ERROR_SYSTEM_NOT_READY",
        means: "the system is not ready to start any work",
        causes: &[
            Cause {
                what: "the GPUs have not completed their registration with the fabric, as for a while after a boot",
                told_by: "D06 says that a GPU is in progress; it passes within minutes",
                next: "wait, then `imex topology identify`; if it stays, the fabric manager of the rack's switches",
            },
            Cause {
                what: "the registration failed",
                told_by: "D06 fails with a status such as \"Insufficient Resources\"",
                next: "drain the node; the switches' fabric manager knows more; reset the GPUs only while the node is idle",
            },
        ],
    },
];

/// The code with this number or name: `800`, `CUDA_ERROR_NOT_PERMITTED`, `not_permitted`, `cudaErrorNotPermitted`.
pub(crate) fn find(text: &str) -> Option<&'static Code> {
    let wanted = plain(text);
    ALL.iter().find(|code| text.trim() == code.number.to_string() || plain(code.name) == wanted)
}

/// A name without what differs between the interfaces.
fn plain(name: &str) -> String {
    let name: String = name.to_ascii_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
    name.strip_prefix("cudaerror").map_or_else(|| name.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_found_by_its_number_and_by_each_of_its_names() {
        for text in ["800", " 800 ", "CUDA_ERROR_NOT_PERMITTED", "not_permitted", "cudaErrorNotPermitted"] {
            assert_eq!(find(text).map(|code| code.number), Some(800), "{text}");
        }
        for text in ["", "8", "0800", "cudaSuccess", "error"] {
            assert_eq!(find(text), None, "{text:?}");
        }
    }

    #[test]
    fn each_code_has_causes_and_each_check_that_it_names_exists() {
        assert!(ALL.is_sorted_by(|a, b| a.number < b.number));
        let known: Vec<&str> = crate::doctor::checks::ALL.iter().map(|check| check.id).collect();
        for cause in ALL.iter().flat_map(|code| code.causes) {
            let words = [cause.what, cause.told_by, cause.next].join(" ");
            let words = words.split(|letter: char| !letter.is_ascii_alphanumeric());
            let named = words.filter(|word| {
                word.len() == 3
                    && word.starts_with('D')
                    && word[1..].bytes().all(|byte| byte.is_ascii_digit())
            });
            for id in named {
                assert!(known.contains(&id), "{id} of `{}`", cause.what);
            }
        }
        assert!(ALL.iter().all(|code| !code.causes.is_empty()));
    }
}
