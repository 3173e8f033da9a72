//! What a daemon says of itself in a credential.
//!
//! ```text
//! "IMEXMUN1" role(1) from(2) to(2) instance(16) binding(32) token(0 to 128)       numbers are big-endian
//! ```

use imex_core::{DomainToken, InstanceId, NodeId};
use thiserror::Error;

/// The length in bytes of what tells one connection from all others.
pub const BINDING: usize = 32;

const MAGIC: &[u8; 8] = b"IMEXMUN1";

/// What one end of a connection says of itself, to the other end and on this connection alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Which end it is.
    pub role: Role,
    /// Which node it is.
    pub from: NodeId,
    /// Which node it says this to.
    pub to: NodeId,
    /// Which run of its daemon it is.
    pub instance: InstanceId,
    /// Which domain it is of.
    pub token: DomainToken,
    /// Which connection this is: a value that both ends know and that no other connection has had or will have.
    pub binding: [u8; BINDING],
}

/// Which end of a connection makes a claim, so that it cannot be sent back to where it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The end that dialled.
    Dialler,
    /// The end that accepted.
    Acceptor,
}

/// Why a claim is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ClaimError {
    /// It is no claim.
    #[error("it carries no claim of an openimex daemon")]
    Malformed,
    /// It was made for another connection.
    #[error("it was made for another connection")]
    OtherConnection,
    /// It was made by the other end.
    #[error("it was made by the wrong end of the connection")]
    OtherRole,
    /// It is of another domain.
    #[error("it was made in another domain")]
    OtherDomain,
    /// It was made by, or for, another node.
    #[error("it was made by node {from} for node {to}")]
    OtherNode {
        /// Who made it.
        from: u16,
        /// For whom.
        to: u16,
    },
    /// It was made by another run of the node's daemon.
    #[error("it was made by another run of the daemon")]
    OtherInstance,
}

impl Claim {
    /// Its bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(64 + self.token.as_str().len());
        bytes.extend_from_slice(MAGIC);
        bytes.push(self.role.number());
        bytes.extend_from_slice(&self.from.number().to_be_bytes());
        bytes.extend_from_slice(&self.to.number().to_be_bytes());
        bytes.extend_from_slice(&self.instance.number().to_be_bytes());
        bytes.extend_from_slice(&self.binding);
        bytes.extend_from_slice(self.token.as_str().as_bytes());
        bytes
    }

    /// Reads a claim.
    pub fn parse(bytes: &[u8]) -> Result<Self, ClaimError> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(ClaimError::Malformed)?;
        let (role, rest) = take::<1>(rest)?;
        let (from, rest) = take(rest)?;
        let (to, rest) = take(rest)?;
        let (instance, rest) = take(rest)?;
        let (binding, rest) = take(rest)?;
        let token = std::str::from_utf8(rest).map_err(|_| ClaimError::Malformed)?;
        Ok(Claim {
            role: Role::from_number(role[0]).ok_or(ClaimError::Malformed)?,
            from: NodeId::new(u16::from_be_bytes(from)),
            to: NodeId::new(u16::from_be_bytes(to)),
            instance: InstanceId::new(u128::from_be_bytes(instance)),
            token: DomainToken::new(token).map_err(|_| ClaimError::Malformed)?,
            binding,
        })
    }

    /// Whether a payload is exactly this claim.
    pub fn check(&self, payload: &[u8]) -> Result<(), ClaimError> {
        let found = Claim::parse(payload)?;
        if found.binding != self.binding {
            return Err(ClaimError::OtherConnection);
        }
        if found.role != self.role {
            return Err(ClaimError::OtherRole);
        }
        if found.token != self.token {
            return Err(ClaimError::OtherDomain);
        }
        if (found.from, found.to) != (self.from, self.to) {
            return Err(ClaimError::OtherNode { from: found.from.number(), to: found.to.number() });
        }
        if found.instance != self.instance {
            return Err(ClaimError::OtherInstance);
        }
        Ok(())
    }
}

fn take<const N: usize>(bytes: &[u8]) -> Result<([u8; N], &[u8]), ClaimError> {
    let (first, rest) = bytes.split_first_chunk().ok_or(ClaimError::Malformed)?;
    Ok((*first, rest))
}

impl Role {
    fn number(self) -> u8 {
        match self {
            Role::Dialler => 1,
            Role::Acceptor => 2,
        }
    }

    fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Role::Dialler),
            2 => Some(Role::Acceptor),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_claim_is_good_for_its_own_connection_domain_ends_and_run_alone() {
        let claim = claim();
        assert_eq!(claim.check(&claim.bytes()), Ok(()));
        let cases = [
            (Claim { binding: [8; BINDING], ..claim.clone() }, ClaimError::OtherConnection),
            (Claim { role: Role::Acceptor, ..claim.clone() }, ClaimError::OtherRole),
            (Claim { token: DomainToken::new("job-8").unwrap(), ..claim.clone() }, ClaimError::OtherDomain),
            (Claim { from: NodeId::new(3), ..claim.clone() }, ClaimError::OtherNode { from: 3, to: 2 }),
            (Claim { to: NodeId::new(3), ..claim.clone() }, ClaimError::OtherNode { from: 1, to: 3 }),
            (Claim { instance: InstanceId::new(6), ..claim.clone() }, ClaimError::OtherInstance),
        ];
        for (other, error) in cases {
            assert_eq!(claim.check(&other.bytes()), Err(error));
        }
    }

    #[test]
    fn what_is_no_claim_is_malformed() {
        let bytes = claim().bytes();
        let long = [&bytes[..], &[b'x'; 128]].concat();
        for bytes in [&[][..], b"IMEXMUN1", &bytes[..60], &bytes[1..], b"\xff", &long] {
            assert_eq!(Claim::parse(bytes), Err(ClaimError::Malformed), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn a_claim_is_read_as_it_was_written(from: u16, to: u16, instance: u128, binding: [u8; BINDING]) {
            let (from, to) = (NodeId::new(from), NodeId::new(to));
            let claim = Claim { from, to, instance: InstanceId::new(instance), binding, ..claim() };
            prop_assert_eq!(Claim::parse(&claim.bytes()), Ok(claim));
        }

        #[test]
        fn whatever_is_read_writes_the_same_bytes(tail: Vec<u8>) {
            let bytes = [&MAGIC[..], &tail].concat();
            if let Ok(claim) = Claim::parse(&bytes) {
                prop_assert_eq!(claim.bytes(), bytes);
            }
        }
    }

    fn claim() -> Claim {
        Claim {
            role: Role::Dialler,
            from: NodeId::new(1),
            to: NodeId::new(2),
            instance: InstanceId::new(5),
            token: DomainToken::new("job-7").unwrap(),
            binding: [7; BINDING],
        }
    }
}
