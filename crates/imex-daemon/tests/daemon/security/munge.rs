//! MUNGE, against real munged's.

use std::cell::RefCell;
use std::rc::Rc;

use super::{FAULTY, Fault, Mode, NODES, Outcome, Phase, prove};
use crate::support::Rack;
use crate::support::realm::Cell;

#[test]
fn with_munge_each_fault_is_in_its_own_cells_and_is_named() {
    // The faulty node's machine has a munged of its own.
    let (Some(site), Some(own)) = (Cell::start("site"), Cell::start("site")) else { return };
    let own = Rc::new(RefCell::new(own));
    let good = {
        let own = Rc::clone(&own);
        move |rack: &Rack| {
            (0..NODES).for_each(|k| site.admit(rack, k));
            own.borrow_mut().restart_with("site");
            own.borrow().admit(rack, FAULTY);
            rack.set_all("OPENIMEX_RECONNECT_MAX_MS", 300);
            rack.set(FAULTY, "OPENIMEX_DOMAIN_TOKEN", "");
        }
    };
    prove(&Mode { good: Box::new(good), faults: faults(&own) });
}

fn faults(own: &Rc<RefCell<Cell>>) -> Vec<Fault> {
    let always = |outcome, reloaded| {
        vec![(Phase::Start, outcome), (Phase::Running, outcome), (Phase::Reload, reloaded)]
    };
    let (other, none) = (Rc::clone(own), Rc::clone(own));
    let other_key = Outcome::Alone("both machines must have the same /etc/munge/munge.key");
    vec![
        Fault {
            name: "another key",
            make: Box::new(move |_| other.borrow_mut().restart_with("stranger")),
            outcomes: always(other_key, other_key),
        },
        Fault {
            name: "no munged",
            make: Box::new(move |_| none.borrow_mut().munged.stop()),
            outcomes: always(
                Outcome::Nobody("MUNGE does not work yet"),
                Outcome::Unchanged("start munged on this machine"),
            ),
        },
        Fault {
            name: "no security where all others have it",
            make: Box::new(|rack| rack.set(FAULTY, "OPENIMEX_AUTH", "none")),
            outcomes: always(Outcome::Alone("it speaks another kind of security, or none"), Outcome::Unseen),
        },
        Fault {
            name: "token of another domain",
            make: Box::new(|rack| rack.set(FAULTY, "OPENIMEX_DOMAIN_TOKEN", "job-7")),
            outcomes: always(Outcome::Alone("its address belongs to another domain"), Outcome::Unseen),
        },
        Fault {
            name: "nothing wrong",
            make: Box::new(|_| {}),
            outcomes: vec![
                (Phase::Running, Outcome::Unchanged("Connection established to node 0")),
                (Phase::Reload, Outcome::Unseen),
            ],
        },
    ]
}
