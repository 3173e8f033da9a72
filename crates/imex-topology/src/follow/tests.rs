//! The rule as stories of single members, and as a rack under random jobs and changes.

use proptest::prelude::*;

use super::*;

const TIMING: Timing =
    Timing { claim: Duration::from_secs(10), commit: Duration::from_secs(60), pause: Duration::from_secs(5) };

#[test]
fn a_map_that_stays_the_same_changes_nothing() {
    let mut member = Follower::new(Some(map(&[0, 1])), TIMING);
    assert_eq!(member.announcement(), None);
    member.want(map(&[0, 1]));
    assert_eq!(member.step(Lease::Free, &told(&[]), at(0)), Step::Rest);
    assert_eq!(member.announcement().unwrap().stage, Stage::Moved);
}

#[test]
fn a_map_that_somebody_else_changed_or_removed_is_written_anew() {
    for found in [None, Some(map(&[0])), Some(map(&[1, 0]))] {
        let mut member = Follower::new(Some(map(&[0, 1])), TIMING);
        member.found(found.clone());
        member.want(map(&[0, 1]));
        member.found(Some(map(&[0, 1])));
        assert!(member.is_settled());
        member.found(found);
        assert!(!member.is_settled());
        let moved = Some(Announcement { map: map(&[0, 1]).digest(), stage: Stage::Moved });
        assert_eq!(member.step(Lease::Held, &told(&[]), at(0)), Step::Wait(Waiting::OwnLease));
        assert_eq!(member.step(Lease::Free, &[("1".to_owned(), moved)], at(1)), Step::Claim);
        member.claimed(at(1));
        assert_eq!(member.step(Lease::Free, &[("1".to_owned(), moved)], at(2)), Step::Move(map(&[0, 1])));
    }
}

#[test]
fn a_member_waits_for_its_job_then_for_the_others_then_claims_then_moves() {
    let wanted = map(&[0, 1]);
    let mut member = Follower::new(Some(map(&[0, 1, 2, 3])), TIMING);
    member.want(wanted.clone());
    let says = |stage| [("1".to_owned(), Some(Announcement { map: map(&[0, 1]).digest(), stage }))];
    let other = [("1".to_owned(), Some(Announcement { map: map(&[1]).digest(), stage: Stage::Free }))];
    let one = || vec!["1".to_owned()];
    let mut step = |lease, told: &[Told], second| member.step(lease, told, at(second));
    assert_eq!(step(Lease::Held, &says(Stage::Free), 0), Step::Wait(Waiting::OwnLease));
    assert_eq!(step(Lease::Free, &[("1".to_owned(), None)], 1), Step::Wait(Waiting::Silent(one())));
    assert_eq!(step(Lease::Free, &other, 2), Step::Wait(Waiting::OtherMap(one())));
    assert_eq!(step(Lease::Free, &says(Stage::Busy), 3), Step::Wait(Waiting::Busy(one())));
    assert_eq!(step(Lease::Free, &says(Stage::Free), 4), Step::Claim);
    member.claimed(at(4));
    assert!(member.needs_claim());
    assert_eq!(member.step(Lease::Free, &says(Stage::Free), at(5)), Step::Wait(Waiting::Claims(one())));
    assert_eq!(member.step(Lease::Free, &says(Stage::Claimed), at(6)), Step::Move(wanted));
    member.moved(Moved::Restarted, at(7));
    assert!(member.is_settled() && !member.needs_claim());
}

#[test]
fn a_claim_that_leads_to_nothing_is_given_up_and_tried_again() {
    let mut member = Follower::new(None, TIMING);
    member.want(map(&[0, 1]));
    let says = |stage| [("1".to_owned(), Some(Announcement { map: map(&[0, 1]).digest(), stage }))];
    assert_eq!(member.step(Lease::Free, &says(Stage::Free), at(0)), Step::Claim);
    member.claimed(at(0));
    let waiting = Waiting::Claims(vec!["1".to_owned()]);
    assert_eq!(member.step(Lease::Free, &says(Stage::Free), at(10)), Step::Release(waiting));
    assert_eq!(member.step(Lease::Free, &says(Stage::Free), at(11)), Step::Wait(Waiting::Pause));
    assert_eq!(member.step(Lease::Free, &says(Stage::Free), at(15)), Step::Claim);
    member.claimed(at(15));
    assert!(matches!(member.step(Lease::Free, &says(Stage::Busy), at(16)), Step::Release(_)));
}

#[test]
fn a_claim_is_held_longer_when_a_member_has_moved() {
    let mut member = Follower::new(None, TIMING);
    member.want(map(&[0, 1, 2]));
    let digest = map(&[0, 1, 2]).digest();
    let says = |stage| Some(Announcement { map: digest, stage });
    let told = [("1".to_owned(), says(Stage::Moved)), ("2".to_owned(), says(Stage::Free))];
    assert_eq!(member.step(Lease::Free, &told, at(0)), Step::Claim);
    member.claimed(at(0));
    assert!(matches!(member.step(Lease::Free, &told, at(59)), Step::Wait(Waiting::Claims(_))));
    assert!(matches!(member.step(Lease::Free, &told, at(60)), Step::Release(_)));
}

#[test]
fn a_member_that_could_not_restart_tries_again() {
    let mut member = Follower::new(Some(map(&[0, 1])), TIMING);
    member.want(map(&[0]));
    assert_eq!(member.step(Lease::Free, &[], at(0)), Step::Claim);
    member.claimed(at(0));
    assert_eq!(member.step(Lease::Free, &[], at(0)), Step::Move(map(&[0])));
    // What comes meanwhile does not turn it round.
    member.want(map(&[0, 1]));
    member.moved(Moved::Failed, at(1));
    assert_eq!(member.step(Lease::Free, &[], at(2)), Step::Wait(Waiting::Pause));
    assert_eq!(member.step(Lease::Free, &[], at(6)), Step::Claim);
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// A job starts on these members, if none of them is claimed, and ends after some seconds.
    Job { members: u8, seconds: u64 },
    /// The topology becomes this partition of four; each member sees it so many seconds later.
    Partition { choice: usize, delays: [u64; 4] },
}

/// The partitions of a rack of four that are tried: for each member the members of its map.
const PARTITIONS: [[&[usize]; 4]; 4] = [
    [&[0, 1, 2, 3], &[0, 1, 2, 3], &[0, 1, 2, 3], &[0, 1, 2, 3]],
    [&[0, 1], &[0, 1], &[2, 3], &[2, 3]],
    [&[0], &[1, 2, 3], &[1, 2, 3], &[1, 2, 3]],
    [&[0, 2], &[1, 3], &[0, 2], &[1, 3]],
];

struct Rack {
    members: Vec<Follower>,
    /// Until when a job runs on each.
    busy: [u64; 4],
    claims: [bool; 4],
    sees: Vec<(u64, usize, &'static [usize])>,
}

impl Rack {
    fn second(&mut self, now: u64) -> Result<(), TestCaseError> {
        for (_, member, list) in self.sees.extract_if(.., |(when, _, _)| *when <= now) {
            self.members[member].want(map(list));
        }
        for own in 0..4 {
            let others = self.members[own].wanted().map(|map| {
                let entries = map.iter().map(|(_, entry)| entry.to_owned());
                entries.filter(|entry| *entry != own.to_string()).collect::<Vec<_>>()
            });
            let told = others.unwrap_or_default().into_iter().map(|other| {
                let announced = self.members[number(&other)].announcement();
                (other, announced)
            });
            let told: Vec<Told> = told.collect();
            let lease = if self.busy[own] > now { Lease::Held } else { Lease::Free };
            match self.members[own].step(lease, &told, at(now)) {
                Step::Rest | Step::Wait(_) | Step::Release(_) => {}
                Step::Claim => {
                    prop_assert_eq!(lease, Lease::Free);
                    self.claims[own] = true;
                    self.members[own].claimed(at(now));
                }
                Step::Move(wanted) => {
                    prop_assert!(self.claims[own], "{} moves without a claim", own);
                    for (other, _) in &told {
                        let other = &self.members[number(other)];
                        prop_assert_eq!(other.wanted(), Some(&wanted));
                        prop_assert!(other.needs_claim() || other.is_settled());
                    }
                    self.members[own].moved(Moved::Restarted, at(now));
                }
            }
            self.claims[own] &= self.members[own].needs_claim();
        }
        Ok(())
    }
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (1_u8..16, 1_u64..40).prop_map(|(members, seconds)| Event::Job { members, seconds }),
        (0..PARTITIONS.len(), prop::array::uniform4(0_u64..20))
            .prop_map(|(choice, delays)| Event::Partition { choice, delays }),
    ]
}

proptest! {
    #[test]
    fn members_move_together_never_under_a_job_and_all_arrive(
        events in prop::collection::vec((event(), 0_u64..30), 1..30),
    ) {
        let whole = || Follower::new(Some(map(&[0, 1, 2, 3])), TIMING);
        let members: Vec<Follower> = std::iter::repeat_with(whole).take(4).collect();
        let mut rack = Rack { members, busy: [0; 4], claims: [false; 4], sees: Vec::new() };
        let (mut now, mut last) = (0, 0);
        for (event, pause) in events {
            match event {
                Event::Job { members, seconds } => {
                    let on = |member: &usize| members & (1 << member) != 0;
                    if (0..4).filter(on).all(|member| !rack.claims[member]) {
                        (0..4).filter(on).for_each(|member| rack.busy[member] = now + seconds);
                    }
                }
                Event::Partition { choice, delays } => {
                    rack.sees = (0..4)
                        .map(|member| (now + delays[member], member, PARTITIONS[choice][member]))
                        .collect();
                    last = choice;
                }
            }
            for _ in 0..=pause {
                rack.second(now)?;
                now += 1;
            }
        }
        for _ in 0..200 {
            rack.second(now)?;
            now += 1;
        }
        for (member, follower) in rack.members.iter().enumerate() {
            let wanted = follower.wanted().cloned().unwrap_or_else(|| map(&[0, 1, 2, 3]));
            prop_assert_eq!(&wanted, &map(PARTITIONS[last][member]));
            prop_assert!(follower.is_settled(), "{} has not arrived", member);
        }
    }
}

fn number(member: &str) -> usize {
    member.parse().unwrap()
}

fn map(members: &[usize]) -> NodeMap {
    NodeMap::new(members.iter().map(|member| member.to_string())).unwrap()
}

fn told(members: &[(&str, Announcement)]) -> Vec<Told> {
    members.iter().map(|(member, told)| ((*member).to_owned(), Some(*told))).collect()
}

fn at(seconds: u64) -> Moment {
    Moment::after(Duration::from_secs(seconds))
}
