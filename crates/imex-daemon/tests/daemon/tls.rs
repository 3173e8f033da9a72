//! Mutual TLS between real daemons.

use imex_core::DomainState;

use crate::support::Rack;
use crate::support::pki::Authority;

#[test]
fn eight_nodes_with_certificates_of_one_authority_form_a_domain() {
    let rack = Rack::new(8);
    rack.secure_all(8, &Authority::new("site"));
    let nodes = rack.start_all();
    for node in &nodes {
        let table = node.table().unwrap();
        assert_eq!(table.state, DomainState::Up);
    }
}
