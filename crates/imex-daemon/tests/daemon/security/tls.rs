//! Mutual TLS.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use time::Duration;

use super::{FAULTY, Fault, Mode, NODES, Outcome, Phase, prove};
use crate::support::Rack;
use crate::support::pki::{Authority, Terms};

#[test]
fn with_tls_each_fault_is_in_its_own_cells_and_is_named() {
    let site = Arc::new(Authority::new("site"));
    let good = {
        let site = Arc::clone(&site);
        let issued = std::cell::Cell::new(false);
        move |rack: &Rack| {
            // The others' credentials stay as they are; only the faulty node's are made good again.
            if !issued.replace(true) {
                rack.secure_all(NODES, &site);
            }
            rack.set(FAULTY, "IMEX_SECURITY_TARGET_OVERRIDE", "");
            rack.secure(FAULTY, &site, &Terms::good(rack.address(FAULTY)));
        }
    };
    let mut faults = own_faults(&site);
    faults.extend(faults_of_two(&site));
    prove(&Mode { good: Box::new(good), faults });
}

/// What the node can know by itself: it does not start with it, and a reload changes nothing.
fn own_faults(site: &Arc<Authority>) -> Vec<Fault> {
    let terms = |change: fn(&mut Terms)| {
        let site = Arc::clone(site);
        move |rack: &Rack, side: &str| {
            let mut terms = Terms::good(rack.address(FAULTY));
            change(&mut terms);
            rack.show(FAULTY, side, &site.issue(side, &terms));
        }
    };
    let expired = terms(|terms| terms.ends = -Duration::MINUTE);
    let early = terms(|terms| terms.begins = Duration::HOUR);
    let foreign = terms(|terms| terms.name = "127.1.1.1".to_owned());
    let stranger = Authority::new("strangers");
    vec![
        own("expired", "server.crt expired at", move |rack| expired(rack, "server")),
        own("not yet valid", "client.crt is valid only from", move |rack| early(rack, "client")),
        own("wrong name", "server.crt is good for 127.1.1.1, not for", move |rack| foreign(rack, "server")),
        own("wrong authority", "client.crt was issued by CN=strangers", move |rack| {
            let terms = Terms::good(rack.address(FAULTY));
            rack.show(FAULTY, "client", &stranger.issue("client", &terms));
        }),
        own("wrong purpose", "is not one that a client can show", {
            let site = Arc::clone(site);
            move |rack| {
                let terms = Terms::good(rack.address(FAULTY));
                rack.show(FAULTY, "client", &site.issue("server", &terms));
            }
        }),
        own("key that does not fit", "does not fit the certificate in", |rack| {
            let other = rack.credential(FAULTY, "client", "key");
            fs::copy(other, rack.credential(FAULTY, "server", "key")).unwrap();
        }),
        own("world-readable key", "server.key: mode 0644 lets others read this private key", |rack| {
            let key = rack.credential(FAULTY, "server", "key");
            fs::set_permissions(key, Permissions::from_mode(0o644)).unwrap();
        }),
        own("unreadable key", "server.key: file does not exist", |rack| {
            fs::remove_file(rack.credential(FAULTY, "server", "key")).unwrap();
        }),
        own("no certificate in the file", "client.ca holds no certificate", |rack| {
            let key = fs::read(rack.credential(FAULTY, "client", "key")).unwrap();
            fs::write(rack.credential(FAULTY, "client", "ca"), key).unwrap();
        }),
    ]
}

fn own(name: &'static str, told: &'static str, make: impl Fn(&Rack) + 'static) -> Fault {
    let outcomes = vec![
        (Phase::Start, Outcome::Refused(told)),
        (Phase::Running, Outcome::Refused(told)),
        (Phase::Reload, Outcome::Unchanged(told)),
    ];
    Fault { name, make: Box::new(make), outcomes }
}

/// What only shows when two nodes meet.
fn faults_of_two(site: &Arc<Authority>) -> Vec<Fault> {
    let always = |outcome, reloaded| {
        vec![(Phase::Start, outcome), (Phase::Running, outcome), (Phase::Reload, reloaded)]
    };
    let other_site = "its credential comes from an authority that is not trusted here";
    let stranger = Authority::new("strangers");
    vec![
        Fault {
            name: "credentials of another site, in themselves in order",
            make: Box::new(move |rack| rack.secure(FAULTY, &stranger, &Terms::good(rack.address(FAULTY)))),
            outcomes: vec![
                (Phase::Start, Outcome::Alone(other_site)),
                (Phase::Running, Outcome::Alone(other_site)),
                (Phase::Reload, Outcome::Alone(other_site)),
            ],
        },
        Fault {
            name: "a name that only the node itself expects",
            make: Box::new({
                let site = Arc::clone(site);
                move |rack| {
                    rack.set(FAULTY, "IMEX_SECURITY_TARGET_OVERRIDE", "imex.example");
                    rack.secure(FAULTY, &site, &Terms::good("imex.example"));
                }
            }),
            // The name in the configuration is as it was.
            outcomes: always(
                Outcome::Alone("its credential is not for its entry in the node map"),
                Outcome::Unchanged("is good for imex.example, not for"),
            ),
        },
        Fault {
            name: "no security where all others have it",
            make: Box::new(|rack| rack.set(FAULTY, "IMEX_ENABLE_AUTH_ENCRYPTION", 0)),
            outcomes: always(Outcome::Alone("it speaks another kind of security, or none"), Outcome::Unseen),
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
