//! What the operator has been told about failed authentication, so that each reason is told once and not at every try.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use imex_core::{AuthFailure, NodeId};

/// The last reason for each peer; what is this node's own fault is told once for all of them.
#[derive(Debug, Default)]
pub(crate) struct Told(Mutex<BTreeMap<Option<NodeId>, AuthFailure>>);

impl Told {
    /// Whether this failure is for another reason than the last one that was told.
    pub(crate) fn is_news(&self, peer: NodeId, failure: AuthFailure) -> bool {
        let own = matches!(failure, AuthFailure::NoneOfOurs | AuthFailure::Unanswered);
        let about = (!own).then_some(peer);
        self.lock().insert(about, failure) != Some(failure)
    }

    /// Authentication with the peer succeeded.
    pub(crate) fn succeeded(&self, peer: NodeId) {
        let mut told = self.lock();
        told.remove(&Some(peer));
        told.remove(&None);
    }

    // Held only to look or to note, never across a wait.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Option<NodeId>, AuthFailure>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_told_once_per_peer_until_it_changes_or_all_is_well() {
        let told = Told::default();
        let (one, other) = (NodeId::new(1), NodeId::new(2));
        assert!(told.is_news(one, AuthFailure::Expired));
        assert!(!told.is_news(one, AuthFailure::Expired));
        assert!(told.is_news(other, AuthFailure::Expired));
        assert!(told.is_news(one, AuthFailure::Refused));
        told.succeeded(one);
        assert!(told.is_news(one, AuthFailure::Refused));
        assert!(!told.is_news(other, AuthFailure::Expired));
    }

    #[test]
    fn what_is_this_nodes_own_fault_is_told_once_for_all_peers() {
        let told = Told::default();
        assert!(told.is_news(NodeId::new(1), AuthFailure::NoneOfOurs));
        assert!(!told.is_news(NodeId::new(2), AuthFailure::NoneOfOurs));
        told.succeeded(NodeId::new(3));
        assert!(told.is_news(NodeId::new(2), AuthFailure::NoneOfOurs));
    }
}
