//! Who a peer is, and who it should be.

use thiserror::Error;

/// A Kerberos principal of a service on a host, as `service/host@REALM`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Principal<'a> {
    /// What is before the realm.
    name: &'a str,
    realm: &'a str,
}

/// Who a peer should be: what the node map's entry comes to as a principal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected(String);

/// Who a peer is, proven by its ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    principal: String,
    own: String,
}

/// The peer is not who it should be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PrincipalError {
    /// It has another name.
    #[error("it is {found}, not {expected}")]
    Name {
        /// Who it is.
        found: String,
        /// Who it should be.
        expected: String,
    },
    /// It is of another realm.
    #[error("it is {found}, of another realm than {expected}")]
    Realm {
        /// Who it is.
        found: String,
        /// The realm that it should be of.
        expected: String,
    },
}

impl PrincipalError {
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            PrincipalError::Name { .. } => {
                "each node needs a key of its own, for the name or address that it has in the node list"
            }
            PrincipalError::Realm { .. } => {
                "all nodes of a domain are of one realm, unless krb5.conf's [domain_realm] says otherwise"
            }
        }
    }
}

impl<'a> Principal<'a> {
    /// Splits at the last `@` that is not escaped, as `krb5_parse_name(3)` writes them.
    fn split(text: &'a str) -> Self {
        let at = text.rmatch_indices('@').map(|(at, _)| at).find(|at| !text[..*at].ends_with('\\'));
        match at {
            Some(at) => Principal { name: &text[..at], realm: &text[at + 1..] },
            None => Principal { name: text, realm: "" },
        }
    }
}

impl Expected {
    /// The principal as the Kerberos library writes it; without a realm, that of this machine is meant.
    pub fn new(principal: String) -> Self {
        Expected(principal)
    }

    /// The whole principal, as the machine with the principal `own` expects it.
    pub(crate) fn principal(&self, own: &str) -> String {
        let Principal { name, realm } = Principal::split(&self.0);
        let realm = if realm.is_empty() { Principal::split(own).realm } else { realm };
        format!("{name}@{realm}")
    }
}

impl Peer {
    /// `principal` has shown itself to `own`, which is this machine's.
    pub fn new(principal: &str, own: &str) -> Self {
        Peer { principal: principal.to_owned(), own: own.to_owned() }
    }

    /// Its principal, `service/host@REALM`.
    pub fn principal(&self) -> &str {
        &self.principal
    }

    /// Whether it is who it should be.
    pub fn check(&self, expected: &Expected) -> Result<(), PrincipalError> {
        let expected = expected.principal(&self.own);
        let (found, wanted) = (Principal::split(&self.principal), Principal::split(&expected));
        if found.name != wanted.name {
            return Err(PrincipalError::Name { found: self.principal.clone(), expected });
        }
        if found.realm != wanted.realm {
            let (found, expected) = (self.principal.clone(), wanted.realm.to_owned());
            return Err(PrincipalError::Realm { found, expected });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_judged_by_its_whole_principal() {
        let cases = [
            ("host/a@R", "host/a@R", ""),
            ("host/a@R", "host/a@", ""),
            ("host/a@R", "host/a", ""),
            ("host/b@R", "host/a@R", "it is host/b@R, not host/a@R"),
            ("imex/a@R", "host/a@R", "it is imex/a@R, not host/a@R"),
            ("alice@R", "host/a@", "it is alice@R, not host/a@R"),
            ("host/a@S", "host/a@", "it is host/a@S, of another realm than R"),
            ("host/a@S", "host/a@R", "it is host/a@S, of another realm than R"),
            ("host/a@R", "host/a@S", "it is host/a@R, of another realm than S"),
            // The realm cannot be put into the name.
            (r"host/a\@R@S", "host/a@R", r"it is host/a\@R@S, not host/a@R"),
            ("host/a", "host/a@R", "it is host/a, of another realm than R"),
        ];
        for (principal, expected, error) in cases {
            let found = Peer::new(principal, "host/me@R").check(&Expected::new(expected.to_owned()));
            let found = found.map_or_else(|error| error.to_string(), |()| String::new());
            assert_eq!(found, error, "{principal} for {expected}");
        }
    }
}
