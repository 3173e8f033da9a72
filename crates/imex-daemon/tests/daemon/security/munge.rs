//! MUNGE, against real munged's.

use std::rc::Rc;

use super::{FAULTY, Fault, Mode, NODES, Outcome, Phase, prove};
use crate::support::Rack;
use crate::support::realm::Cell;

#[test]
fn with_munge_each_fault_is_in_its_own_cells_and_is_named() {
    let (Some(site), Some(stranger)) = (Cell::start("site"), Cell::start("stranger")) else { return };
    let site = Rc::new(site);
    let good = {
        let site = Rc::clone(&site);
        move |rack: &Rack| {
            (0..NODES).for_each(|k| site.admit(rack, k));
            rack.set_all("OPENIMEX_RECONNECT_MAX_MS", 300);
            rack.set(FAULTY, "OPENIMEX_DOMAIN_TOKEN", "");
        }
    };
    prove(&Mode { good: Box::new(good), faults: faults(stranger) });
}

fn faults(stranger: Cell) -> Vec<Fault> {
    let both = |outcome| vec![(Phase::Start, outcome), (Phase::Running, outcome)];
    vec![
        Fault {
            name: "another key",
            make: Box::new(move |rack| stranger.admit(rack, FAULTY)),
            outcomes: both(Outcome::Alone("both machines must have the same /etc/munge/munge.key")),
        },
        Fault {
            name: "no munged",
            make: Box::new(|rack| rack.set(FAULTY, "OPENIMEX_MUNGE_SOCKET", "/nonexistent/munged.sock")),
            outcomes: both(Outcome::Nobody("MUNGE does not work yet")),
        },
        Fault {
            name: "no security where all others have it",
            make: Box::new(|rack| rack.set(FAULTY, "OPENIMEX_AUTH", "none")),
            outcomes: both(Outcome::Alone("it speaks another kind of security, or none")),
        },
        Fault {
            name: "token of another domain",
            make: Box::new(|rack| rack.set(FAULTY, "OPENIMEX_DOMAIN_TOKEN", "job-7")),
            outcomes: both(Outcome::Alone("its address belongs to another domain")),
        },
        Fault {
            name: "nothing wrong",
            make: Box::new(|_| {}),
            outcomes: vec![(Phase::Running, Outcome::Unchanged("Connection established to node 0"))],
        },
    ]
}
