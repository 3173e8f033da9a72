//! What can go wrong, by name.

use thiserror::Error;

/// A credential could not be made or opened. Its text reads after "failed to".
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{call}: {text}")]
pub struct MungeError {
    /// What was to be done.
    call: &'static str,
    fault: Fault,
    /// In the library's words.
    text: String,
}

/// What a failure comes down to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// munged does not answer on its socket.
    NotRunning,
    /// The credential was made with another key, or has been changed.
    Invalid,
    /// What came is no credential.
    Malformed,
    /// The credential has expired, or the clocks differ.
    Expired,
    /// The credential was made in the future: the clocks differ.
    Rewound,
    /// The credential has been opened on this machine before.
    Replayed,
    /// The credential is for another user to open.
    NotForUs,
    /// Something else; the text says what.
    Other,
}

impl Fault {
    /// The fault of an error number of libmunge (munge.h, `munge_err_t`).
    fn of(number: i32) -> Self {
        match number {
            // EMUNGE_SOCKET, EMUNGE_TIMEOUT
            6 | 7 => Fault::NotRunning,
            // EMUNGE_BAD_LENGTH; EMUNGE_BAD_CRED to EMUNGE_BAD_REALM
            3 | 8..=13 => Fault::Malformed,
            14 => Fault::Invalid,
            15 => Fault::Expired,
            16 => Fault::Rewound,
            17 => Fault::Replayed,
            18 => Fault::NotForUs,
            _ => Fault::Other,
        }
    }
}

impl MungeError {
    pub(crate) fn numbered(call: &'static str, number: i32, text: String) -> Self {
        MungeError { call, fault: Fault::of(number), text }
    }

    pub(crate) fn new(call: &'static str, fault: Fault, text: &str) -> Self {
        MungeError { call, fault, text: text.to_owned() }
    }

    /// What it comes down to.
    pub fn fault(&self) -> Fault {
        self.fault
    }

    /// What to do about it, where that can be said.
    pub fn hint(&self) -> Option<&'static str> {
        let hint = match self.fault {
            Fault::NotRunning => "start munged on this machine (`systemctl start munge`)",
            Fault::Invalid => {
                "both machines must have the same /etc/munge/munge.key; restart munged after changing it"
            }
            Fault::Expired | Fault::Rewound => "set the clocks of both machines",
            Fault::Replayed => {
                "somebody repeats what was sent, or two daemons of one machine got the same credential"
            }
            Fault::NotForUs => "all daemons of a domain must run as the same user: see OPENIMEX_MUNGE_UID",
            Fault::Malformed | Fault::Other => return None,
        };
        Some(hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_the_library_has_its_fault() {
        let faults: Vec<Fault> = (1..=18).map(Fault::of).collect();
        let expected = [
            Fault::Other,
            Fault::Other,
            Fault::Malformed,
            Fault::Other,
            Fault::Other,
            Fault::NotRunning,
            Fault::NotRunning,
            Fault::Malformed,
            Fault::Malformed,
            Fault::Malformed,
            Fault::Malformed,
            Fault::Malformed,
            Fault::Malformed,
            Fault::Invalid,
            Fault::Expired,
            Fault::Rewound,
            Fault::Replayed,
            Fault::NotForUs,
        ];
        assert_eq!(faults, expected);
    }
}
