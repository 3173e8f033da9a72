//! Without security: what the map and the token alone keep out.

use super::{FAULTY, Fault, Mode, NODES, Outcome, Phase, prove};
use crate::support::Rack;

#[test]
fn without_security_each_fault_is_in_its_own_cells() {
    prove(&Mode { good: Box::new(good), faults: faults() });
}

fn good(rack: &Rack) {
    rack.set(FAULTY, "OPENIMEX_DOMAIN_TOKEN", "");
    rack.set(FAULTY, "IMEX_ENABLE_AUTH_ENCRYPTION", 0);
    rack.write_nodes(FAULTY, map(rack, std::array::from_fn(|k| k)));
}

fn faults() -> Vec<Fault> {
    // All of it is read at the start alone.
    let outcomes =
        |outcome| vec![(Phase::Start, outcome), (Phase::Running, outcome), (Phase::Reload, Outcome::Unseen)];
    vec![
        Fault {
            name: "token of another domain",
            make: Box::new(|rack| rack.set(FAULTY, "OPENIMEX_DOMAIN_TOKEN", "job-7")),
            outcomes: outcomes(Outcome::Alone("its address belongs to another domain")),
        },
        Fault {
            name: "security that nobody else has",
            make: Box::new(|rack| {
                rack.set(FAULTY, "IMEX_ENABLE_AUTH_ENCRYPTION", 1);
                rack.set(FAULTY, "IMEX_AUTH_SOURCE", "");
            }),
            outcomes: outcomes(Outcome::Refused("IMEX_AUTH_SOURCE: value is empty, but security is on")),
        },
        // Last, because a refusal stays on show while its node is down for repair.
        Fault {
            name: "another node map",
            make: Box::new(|rack| rack.write_nodes(FAULTY, map(rack, [0, 1, 2, 3, 4, 5, 7, 6]))),
            outcomes: outcomes(Outcome::Mismatch("Node configuration mapping mismatch")),
        },
    ]
}

fn map(rack: &Rack, order: [usize; NODES]) -> String {
    order.iter().map(|k| format!("{}\n", rack.address(*k))).collect()
}
