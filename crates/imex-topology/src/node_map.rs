//! The members of a node's domain, where domains are not made for each job: one for each NVLink domain or partition.

use std::collections::BTreeMap;

use imex_host::natural;

use crate::inventory::{BlockKey, Inventory, NoBlock, Placement};

/// Whose domain it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// All nodes of the NVLink cluster, whatever their clique.
    Domain,
    /// The nodes of the NVLink partition.
    Partition,
}

/// Why a node has no members.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodeMapError {
    /// No source knows the node.
    #[error("no source knows the node `{node}`")]
    Unknown {
        /// The node.
        node: String,
    },
    /// It is in no block.
    #[error("the node `{node}` is in no block: {why}")]
    NoBlock {
        /// The node.
        node: String,
        /// Why.
        why: NoBlock,
    },
    /// The scope is the NVLink domain, and the key of the node's block does not say which that is.
    #[error("the block of `{node}` is known as `{key}`, which does not tell its NVLink cluster")]
    NoCluster {
        /// The node.
        node: String,
        /// The block's key.
        key: String,
    },
    /// A member has no address.
    #[error("no address is known for the member `{node}`")]
    NoAddress {
        /// The member.
        node: String,
    },
}

/// The members of the domain that `node` belongs to, in natural order: the same for each of them.
///
/// # Errors
///
/// If the node belongs to none.
pub fn members<'i>(inventory: &'i Inventory, node: &str, scope: Scope) -> Result<Vec<&'i str>, NodeMapError> {
    let entry = inventory.get(node).ok_or_else(|| NodeMapError::Unknown { node: node.to_owned() })?;
    let own = match &entry.placement {
        Placement::Block(key) => key,
        Placement::NoBlock(why) => {
            return Err(NodeMapError::NoBlock { node: node.to_owned(), why: why.clone() });
        }
    };
    let same = |other: &BlockKey| match (scope, own, other) {
        (Scope::Domain, BlockKey::Fabric(own), BlockKey::Fabric(other)) => own.cluster == other.cluster,
        // An UltraServer is one NVLink domain.
        (Scope::Domain | Scope::Partition, _, _) => own == other,
    };
    if scope == Scope::Domain
        && let BlockKey::Named(key) = own
    {
        return Err(NodeMapError::NoCluster { node: node.to_owned(), key: key.clone() });
    }
    let mut members: Vec<&str> = inventory
        .nodes()
        .filter(|(_, entry)| matches!(&entry.placement, Placement::Block(key) if same(key)))
        .map(|(name, _)| name)
        .collect();
    members.sort_by(|a, b| natural::cmp(a, b));
    Ok(members)
}

/// The text of `nodes_config.cfg` for these members: one address a line. Without addresses the names stand there, which
/// the service resolves.
///
/// # Errors
///
/// If addresses are given and a member has none.
pub fn text(members: &[&str], addresses: Option<&BTreeMap<String, String>>) -> Result<String, NodeMapError> {
    let mut text = String::new();
    for member in members {
        let address = match addresses {
            None => member,
            Some(addresses) => addresses
                .get(*member)
                .map(String::as_str)
                .ok_or_else(|| NodeMapError::NoAddress { node: (*member).to_owned() })?,
        };
        text.push_str(address);
        text.push('\n');
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use imex_host::{CliqueId, FabricId};

    use super::*;
    use crate::inventory::{Evidence, SourceKind, SourceReport};

    #[test]
    fn a_partition_is_the_clique_and_a_domain_the_cluster() {
        let inventory = rack();
        assert_eq!(members(&inventory, "n2", Scope::Partition).unwrap(), ["n1", "n2"]);
        assert_eq!(members(&inventory, "n2", Scope::Domain).unwrap(), ["n1", "n2", "n10"]);
        assert_eq!(text(&members(&inventory, "n10", Scope::Domain).unwrap(), None).unwrap(), "n1\nn2\nn10\n");
    }

    #[test]
    fn a_node_without_a_domain_says_why() {
        let inventory = rack();
        let told = |node, scope| members(&inventory, node, scope).unwrap_err().to_string();
        assert_eq!(told("x", Scope::Domain), "no source knows the node `x`");
        assert_eq!(
            told("login", Scope::Domain),
            "the node `login` is in no block: its source places it in no block"
        );
        assert_eq!(
            told("m1", Scope::Domain),
            "the block of `m1` is known as `rack9`, which does not tell its NVLink cluster"
        );
        let addresses = BTreeMap::from([("n1".to_owned(), "10.0.0.1".to_owned())]);
        let error = text(&["n1", "n2"], Some(&addresses)).unwrap_err();
        assert_eq!(error, NodeMapError::NoAddress { node: "n2".to_owned() });
    }

    fn rack() -> Inventory {
        let cluster = "5b1e6f4e-8d3a-4c0b-9a52-0123456789ab".parse().unwrap();
        let fabric =
            |clique| Placement::Block(BlockKey::Fabric(FabricId { cluster, clique: CliqueId(clique) }));
        let mut report = SourceReport::default();
        let places = [
            ("n1", fabric(1)),
            ("n2", fabric(1)),
            ("n10", fabric(2)),
            ("m1", Placement::Block(BlockKey::Named("rack9".to_owned()))),
            ("login", Placement::NoBlock(NoBlock::NotMember)),
        ];
        for (node, placement) in places {
            let evidence = Evidence { source: SourceKind::Nvml, from: "here".into(), line: None };
            report.place(node, placement, evidence);
        }
        report.into()
    }
}
