//! Kerberos, against a real KDC.

use std::fs;
use std::path::Path;
use std::rc::Rc;

use super::{FAULTY, Fault, Mode, NODES, Outcome, Phase, prove};
use crate::support::Rack;
use crate::support::realm::{LONG, Realm, key_table, set_clock};

/// What the library says of a key table without the key that it looks for.
const NO_KEY: &str = "No key table entry found matching";

/// A good one, whose key the faulty one takes.
const OTHER: usize = 5;

#[test]
fn with_kerberos_and_encryption_each_fault_is_in_its_own_cells_and_is_named() {
    let Some(realm) = Realm::start("RACK.TEST", LONG) else { return };
    prove_all(&Rc::new(realm), "GSS_AUTH_ENCRYPT");
}

#[test]
fn with_kerberos_for_authentication_only_each_fault_is_in_its_own_cells_and_is_named() {
    let Some(realm) = Realm::start("RACK.TEST", LONG) else { return };
    prove_all(&Rc::new(realm), "GSS_AUTH_ONLY");
}

fn prove_all(realm: &Rc<Realm>, mode: &'static str) {
    let mut faults = faults_of_keys(realm);
    faults.extend(faults_of_two(realm));
    faults.extend(faults_of_kind());
    // Last, because with these the others do meet the node.
    faults.extend(faults_of_tickets(realm));
    prove(&Mode { good: good(realm, mode), faults });
}

/// The others' keys stay as they are; only the faulty node's files are made good again.
fn good(realm: &Rc<Realm>, mode: &'static str) -> Box<dyn Fn(&Rack)> {
    let (realm, admitted) = (Rc::clone(realm), std::cell::Cell::new(false));
    Box::new(move |rack| {
        if !admitted.replace(true) {
            realm.admit_all(rack, NODES, mode);
            // A fault is to be seen in the table, not by the end of the daemon.
            rack.set_all("IMEX_GSS_SHUTDOWN_ON_FAILURE", 0);
            fs::copy(key_table(rack, FAULTY), realm.path("kept.keytab")).unwrap();
        }
        fs::copy(realm.path("kept.keytab"), key_table(rack, FAULTY)).unwrap();
        realm.admit(rack, FAULTY);
        rack.set(FAULTY, "IMEX_ENABLE_AUTH_ENCRYPTION", 1);
        rack.set(FAULTY, "IMEX_AUTH_ENCRYPTION_MODE", mode);
        rack.set(FAULTY, "IMEX_SECURITY_TARGET_OVERRIDE", "");
    })
}

/// The same at the start and later, and what a reload makes of it.
fn always(outcome: Outcome, reloaded: Outcome) -> Vec<(Phase, Outcome)> {
    vec![(Phase::Start, outcome), (Phase::Running, outcome), (Phase::Reload, reloaded)]
}

/// What the node can know by itself: it authenticates nobody, itself included, until it is mended.
fn faults_of_keys(realm: &Rc<Realm>) -> Vec<Fault> {
    let other = realm.kdc.add("host/somebody.else").unwrap();
    vec![
        Fault {
            name: "no key table",
            make: Box::new(|rack| fs::remove_file(key_table(rack, FAULTY)).unwrap()),
            outcomes: always(
                Outcome::Nobody("find the key of host@"),
                Outcome::Unchanged("find the key of host@"),
            ),
        },
        Fault {
            name: "the key of somebody else",
            make: Box::new(move |rack| keep(&other, &key_table(rack, FAULTY))),
            outcomes: always(Outcome::Nobody(NO_KEY), Outcome::Unchanged(NO_KEY)),
        },
    ]
}

/// What is wrong with the tickets that a node has, where it cannot get others.
fn faults_of_tickets(realm: &Rc<Realm>) -> Vec<Fault> {
    let skewed = Rc::clone(realm);
    let expired = Rc::clone(realm);
    vec![
        Fault {
            name: "an expired ticket",
            make: Box::new(move |rack| {
                expired.have_tickets_alone(rack, FAULTY, &[], Some(1));
                std::thread::sleep(std::time::Duration::from_millis(2100));
            }),
            outcomes: always(Outcome::Mute("The referenced credential has expired"), Outcome::Unseen),
        },
        Fault {
            name: "a clock that is ten minutes wrong",
            make: Box::new(move |rack| {
                let nodes: Vec<usize> = (0..NODES).collect();
                let cache = skewed.have_tickets_alone(rack, FAULTY, &nodes, None);
                set_clock(&cache, 600);
            }),
            outcomes: always(Outcome::Mute("its clock and this node's differ too much"), Outcome::Unseen),
        },
    ]
}

/// What only shows when two nodes meet.
fn faults_of_two(realm: &Rc<Realm>) -> Vec<Fault> {
    let other = Realm::start("OTHER.TEST", LONG).unwrap();
    let added = std::cell::OnceCell::new();
    let replaced = Rc::clone(realm);
    let elsewhere = realm.kdc.add("host/imex.example").unwrap();
    let refused = "it does not accept this node's credential";
    vec![
        Fault {
            name: "another realm",
            make: Box::new(move |rack| {
                let table = added.get_or_init(|| other.kdc.add(&other.principal(rack, FAULTY)).unwrap());
                fs::copy(table, key_table(rack, FAULTY)).unwrap();
                other.admit(rack, FAULTY);
            }),
            outcomes: always(
                Outcome::Alone("not found in Kerberos database"),
                Outcome::Unchanged("Keytab contains no suitable keys"),
            ),
        },
        Fault {
            name: "a principal that only the node itself expects",
            make: Box::new(move |rack| {
                fs::copy(&elsewhere, key_table(rack, FAULTY)).unwrap();
                rack.set(FAULTY, "IMEX_SECURITY_TARGET_OVERRIDE", "imex.example");
            }),
            // The name in the configuration is as it was.
            outcomes: always(Outcome::Alone(refused), Outcome::Unchanged(NO_KEY)),
        },
        Fault {
            name: "the name and the key of another node",
            make: Box::new(|rack| {
                keep(&key_table(rack, OTHER), &key_table(rack, FAULTY));
                rack.set(FAULTY, "IMEX_SECURITY_TARGET_OVERRIDE", rack.address(OTHER));
            }),
            outcomes: always(
                Outcome::Alone("its credential is not for its entry in the node map"),
                Outcome::Unchanged(NO_KEY),
            ),
        },
        Fault {
            name: "a new key for the node, which all go over to",
            make: Box::new(move |rack| {
                let (principal, table) = (replaced.principal(rack, FAULTY), key_table(rack, FAULTY));
                let commands = format!("ktadd -q -k {} {principal}\n", table.display());
                fs::remove_file(&table).unwrap();
                replaced.kdc.administer(&commands).unwrap();
                keep(&table, &replaced.path("kept.keytab"));
            }),
            outcomes: vec![
                (Phase::Running, Outcome::Unchanged("Connection established to node 0")),
                (Phase::Reload, Outcome::Unseen),
            ],
        },
    ]
}

/// Nodes that want different things.
fn faults_of_kind() -> Vec<Fault> {
    let other_kind = "it speaks another kind of security, or none";
    vec![
        Fault {
            name: "the other protection",
            make: Box::new(|rack| {
                let (only, encrypt) = ("GSS_AUTH_ONLY", "GSS_AUTH_ENCRYPT");
                let other =
                    if rack.get(FAULTY, "IMEX_AUTH_ENCRYPTION_MODE") == only { encrypt } else { only };
                rack.set(FAULTY, "IMEX_AUTH_ENCRYPTION_MODE", other);
            }),
            outcomes: always(Outcome::Alone(other_kind), Outcome::Unseen),
        },
        Fault {
            name: "no security where all others have it",
            make: Box::new(|rack| rack.set(FAULTY, "IMEX_ENABLE_AUTH_ENCRYPTION", 0)),
            outcomes: always(Outcome::Alone(other_kind), Outcome::Unseen),
        },
    ]
}

fn keep(table: &Path, kept: &Path) {
    fs::copy(table, kept).unwrap();
}
