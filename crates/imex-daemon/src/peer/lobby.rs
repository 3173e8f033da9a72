//! Who has connected and not yet introduced itself, with a bound for each address and for all together.
//!
//! When there is no room the one who has waited longest goes: an honest peer is through in milliseconds, so whoever
//! floods the port displaces itself and not a member that comes meanwhile.

use std::net::IpAddr;

use tokio::task::AbortHandle;

/// How many connections of one address may be without an introduction at once. A peer needs one, and one more when it
/// was restarted; with this no single machine fills the spare places.
const PER_SOURCE: usize = 8;

/// How many connections from addresses that are no node's may be without an introduction at once, all together: enough
/// to tell a few nodes with another map what is wrong.
const FOREIGN: usize = 8;

/// Those who wait, in the order of their coming.
#[derive(Debug, Default)]
pub(super) struct Lobby {
    guests: Vec<Guest>,
}

#[derive(Debug)]
struct Guest {
    from: IpAddr,
    origin: Origin,
    task: AbortHandle,
}

/// Where somebody comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// From the address of a node, or it cannot be told.
    Node,
    /// From elsewhere.
    Foreign,
}

impl Lobby {
    /// Makes room for one more; true if somebody had to go.
    pub(super) fn make_room(&mut self, from: IpAddr, origin: Origin) -> bool {
        self.guests.retain(|guest| !guest.task.is_finished());
        let same = |guest: &Guest| match origin {
            Origin::Node => guest.from == from,
            Origin::Foreign => guest.origin == Origin::Foreign,
        };
        let bound = match origin {
            Origin::Node => PER_SOURCE,
            Origin::Foreign => FOREIGN,
        };
        let full = self.guests.iter().filter(|guest| same(guest)).count() >= bound;
        full && self.put_out(same)
    }

    /// Puts out the one who has waited longest; false if nobody waits.
    pub(super) fn put_out_longest(&mut self) -> bool {
        self.put_out(|_| true)
    }

    /// Takes somebody in; `task` ends when it has introduced itself or come to nothing.
    pub(super) fn take(&mut self, from: IpAddr, origin: Origin, task: AbortHandle) {
        self.guests.push(Guest { from, origin, task });
    }

    fn put_out(&mut self, which: impl Fn(&Guest) -> bool) -> bool {
        let Some(place) = self.guests.iter().position(which) else { return false };
        self.guests.remove(place).task.abort();
        true
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test]
    async fn the_longest_waiting_of_a_full_source_goes_and_nobody_elses() {
        let mut lobby = Lobby::default();
        let other = guest(&mut lobby, 1, Origin::Node);
        let crowd: Vec<_> = (0..PER_SOURCE).map(|_| guest(&mut lobby, 2, Origin::Node)).collect();
        assert!(lobby.make_room(ip(2), Origin::Node));
        tokio::task::yield_now().await;
        assert!(crowd[0].is_finished());
        assert!(!crowd[1].is_finished() && !other.is_finished());
        assert!(!lobby.make_room(ip(3), Origin::Node), "there is room for another source");
    }

    #[tokio::test]
    async fn strangers_share_one_bound_whatever_their_addresses() {
        let mut lobby = Lobby::default();
        let first = guest(&mut lobby, 100, Origin::Foreign);
        for n in 1..FOREIGN {
            assert!(!lobby.make_room(ip(100), Origin::Foreign), "{n}");
            guest(&mut lobby, 100 + u8::try_from(n).unwrap(), Origin::Foreign);
        }
        assert!(lobby.make_room(ip(200), Origin::Foreign));
        tokio::task::yield_now().await;
        assert!(first.is_finished());
    }

    #[tokio::test]
    async fn those_who_are_through_take_no_room() {
        let mut lobby = Lobby::default();
        for _ in 0..PER_SOURCE {
            let task = tokio::spawn(async {});
            lobby.take(ip(1), Origin::Node, task.abort_handle());
            task.await.unwrap();
        }
        assert!(!lobby.make_room(ip(1), Origin::Node));
        assert!(!lobby.put_out_longest());
    }

    fn guest(lobby: &mut Lobby, last: u8, origin: Origin) -> AbortHandle {
        let task = tokio::spawn(pending::<()>()).abort_handle();
        lobby.take(ip(last), origin, task.clone());
        task
    }

    fn ip(last: u8) -> IpAddr {
        [127, 0, 0, last].into()
    }
}
