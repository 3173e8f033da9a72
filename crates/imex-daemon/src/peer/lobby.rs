//! Who has connected and not yet introduced itself, with a bound for each address and for all together.
//!
//! When there is no room the one who has waited longest goes: an honest peer is through in milliseconds, so whoever
//! holds the port's places displaces itself and not a member that comes meanwhile. Whoever is not known to be a node
//! displaces only its own kind, and goes before any node.

use std::net::IpAddr;

use tokio::task::AbortHandle;

use super::addresses::Whereabouts;

/// How many connections of one address may be without an introduction at once. A peer needs one, and one more when it
/// was restarted; with this no single machine fills the spare places.
const PER_SOURCE: usize = 8;

/// How many connections from addresses that are no node's may be without an introduction at once, all together: enough
/// to tell a few nodes with another map what is wrong. Where names have not resolved, one more for each of them.
const ELSEWHERE: usize = 8;

/// Those who wait, in the order of their coming.
#[derive(Debug, Default)]
pub(super) struct Lobby {
    guests: Vec<Guest>,
}

#[derive(Debug)]
struct Guest {
    from: IpAddr,
    origin: Whereabouts,
    task: AbortHandle,
}

impl Lobby {
    /// Makes room for one more; true if somebody had to go.
    pub(super) fn make_room(&mut self, from: IpAddr, origin: Whereabouts) -> bool {
        self.guests.retain(|guest| !guest.task.is_finished());
        let (bound, same): (_, &dyn Fn(&Guest) -> bool) = match origin {
            Whereabouts::Node => (PER_SOURCE, &|guest| guest.from == from),
            Whereabouts::Unknown { unresolved } => (ELSEWHERE + unresolved, &is_unknown),
            Whereabouts::Foreign => (ELSEWHERE, &is_foreign),
        };
        let full = self.guests.iter().filter(|guest| same(guest)).count() >= bound;
        full && self.put_out(same)
    }

    /// Puts out the one who has waited longest among those who have less of a claim to a place than a newcomer, or the
    /// same; false if there is none.
    pub(super) fn put_out_for(&mut self, newcomer: Whereabouts) -> bool {
        match newcomer {
            Whereabouts::Node => {
                self.put_out(is_foreign) || self.put_out(is_unknown) || self.put_out(|_| true)
            }
            Whereabouts::Unknown { .. } => self.put_out(is_unknown),
            Whereabouts::Foreign => self.put_out(is_foreign),
        }
    }

    /// Takes somebody in; `task` ends when it has introduced itself or come to nothing.
    pub(super) fn take(&mut self, from: IpAddr, origin: Whereabouts, task: AbortHandle) {
        self.guests.push(Guest { from, origin, task });
    }

    fn put_out(&mut self, which: impl Fn(&Guest) -> bool) -> bool {
        let Some(place) = self.guests.iter().position(which) else { return false };
        self.guests.remove(place).task.abort();
        true
    }
}

fn is_foreign(guest: &Guest) -> bool {
    guest.origin == Whereabouts::Foreign
}

fn is_unknown(guest: &Guest) -> bool {
    matches!(guest.origin, Whereabouts::Unknown { .. })
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test]
    async fn the_longest_waiting_of_a_full_source_goes_and_nobody_elses() {
        let mut lobby = Lobby::default();
        let other = guest(&mut lobby, 1, Whereabouts::Node);
        let crowd: Vec<_> = (0..PER_SOURCE).map(|_| guest(&mut lobby, 2, Whereabouts::Node)).collect();
        assert!(lobby.make_room(ip(2), Whereabouts::Node));
        tokio::task::yield_now().await;
        assert!(crowd[0].is_finished());
        assert!(!crowd[1].is_finished() && !other.is_finished());
        assert!(!lobby.make_room(ip(3), Whereabouts::Node), "there is room for another source");
    }

    #[tokio::test]
    async fn strangers_share_one_bound_whatever_their_addresses() {
        let mut lobby = Lobby::default();
        let first = guest(&mut lobby, 100, Whereabouts::Foreign);
        for n in 1..ELSEWHERE {
            assert!(!lobby.make_room(ip(100), Whereabouts::Foreign), "{n}");
            guest(&mut lobby, 100 + u8::try_from(n).unwrap(), Whereabouts::Foreign);
        }
        assert!(lobby.make_room(ip(200), Whereabouts::Foreign));
        tokio::task::yield_now().await;
        assert!(first.is_finished());
    }

    #[tokio::test]
    async fn those_who_are_through_take_no_room() {
        let mut lobby = Lobby::default();
        for _ in 0..PER_SOURCE {
            let task = tokio::spawn(async {});
            lobby.take(ip(1), Whereabouts::Node, task.abort_handle());
            task.await.unwrap();
        }
        assert!(!lobby.make_room(ip(1), Whereabouts::Node));
        assert!(!lobby.put_out_for(Whereabouts::Node));
    }

    #[tokio::test]
    async fn whoever_is_not_known_to_be_a_node_displaces_its_own_kind_and_goes_before_any_node() {
        let unknown = |unresolved| Whereabouts::Unknown { unresolved };
        let mut lobby = Lobby::default();
        let node = guest(&mut lobby, 1, Whereabouts::Node);
        assert!(!lobby.put_out_for(unknown(1)) && !lobby.put_out_for(Whereabouts::Foreign));
        let first = guest(&mut lobby, 100, unknown(1));
        for n in 1..=ELSEWHERE {
            assert!(!lobby.make_room(ip(101), unknown(1)), "{n}: one more than the bound, for the one name");
            guest(&mut lobby, 101, unknown(1));
        }
        assert!(lobby.make_room(ip(102), unknown(1)));
        assert!(lobby.put_out_for(Whereabouts::Node));
        tokio::task::yield_now().await;
        assert!(first.is_finished() && !node.is_finished());
        while lobby.put_out_for(unknown(1)) {}
        assert!(!node.is_finished());
        assert!(lobby.put_out_for(Whereabouts::Node), "nodes displace nodes where there is nobody else");
    }

    fn guest(lobby: &mut Lobby, last: u8, origin: Whereabouts) -> AbortHandle {
        let task = tokio::spawn(pending::<()>()).abort_handle();
        lobby.take(ip(last), origin, task.clone());
        task
    }

    fn ip(last: u8) -> IpAddr {
        [127, 0, 0, last].into()
    }
}
