//! Simulated time: what happens next.

use std::collections::VecDeque;

use imex_core::Moment;

/// Things that are to happen, handed out in the order of their time; things of the same time in the order in which
/// they were put in.
///
/// A radix heap (Ahuja, Mehlhorn, Orlin, Tarjan: "Faster algorithms for the shortest path problem", 1990): simulated
/// time only moves forward, so an entry needs to be compared only by the highest bit in which its time differs from
/// the present. A push is an append, and a pop touches memory in sequence, which a binary heap with tens of millions
/// of entries does not. Entries of one time always share a bucket and keep their order in it, so the order is total.
#[derive(Debug)]
pub struct EventQueue<E> {
    last: u64,
    due: VecDeque<E>,
    later: [Vec<(u64, E)>; 64],
    occupied: u64,
}

impl<E> EventQueue<E> {
    /// An empty queue at the origin of time.
    pub fn new() -> Self {
        EventQueue { last: 0, due: VecDeque::new(), later: std::array::from_fn(|_| Vec::new()), occupied: 0 }
    }

    /// Puts in something that happens at `at`; at once if that is past.
    pub fn push(&mut self, at: Moment, event: E) {
        self.put(nanos(at), event);
    }

    /// The next thing that happens, if it happens at `limit` or before.
    pub fn pop_until(&mut self, limit: Moment) -> Option<(Moment, E)> {
        if self.due.is_empty() {
            self.advance(nanos(limit))?;
        }
        if self.last > nanos(limit) {
            return None;
        }
        let event = self.due.pop_front()?;
        Some((moment(self.last), event))
    }

    fn put(&mut self, at: u64, event: E) {
        if at <= self.last {
            self.due.push_back(event);
        } else {
            let bucket = (at ^ self.last).ilog2();
            self.later[bucket as usize].push((at, event));
            self.occupied |= 1 << bucket;
        }
    }

    /// Moves the present to the earliest entry, if that is at `limit` or before.
    fn advance(&mut self, limit: u64) -> Option<()> {
        if self.occupied == 0 {
            return None;
        }
        let bucket = self.occupied.trailing_zeros();
        let entries = &mut self.later[bucket as usize];
        let earliest = entries.iter().map(|(at, _)| *at).min()?;
        if earliest > limit {
            return None;
        }
        let entries = std::mem::take(entries);
        self.occupied &= !(1 << bucket);
        self.last = earliest;
        for (at, event) in entries {
            self.put(at, event);
        }
        Some(())
    }
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        EventQueue::new()
    }
}

fn nanos(moment: Moment) -> u64 {
    u64::try_from(moment.since_origin().as_nanos()).unwrap_or(u64::MAX)
}

fn moment(nanos: u64) -> Moment {
    Moment::after(std::time::Duration::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chance;

    const END: Moment = Moment::ZERO;

    #[test]
    fn events_come_by_time_and_then_by_their_order_of_entry() {
        let mut chance = Chance::new(3);
        let mut queue = EventQueue::new();
        let mut expected = Vec::new();
        let mut present = 0;
        let mut out = Vec::new();
        for number in 0..20_000_u64 {
            let at = present + chance.below(50);
            queue.push(moment(at), (at, number));
            expected.push((at, number));
            if chance.permille(700)
                && let Some((when, event)) = queue.pop_until(moment(u64::MAX))
            {
                present = nanos(when);
                out.push(event);
            }
        }
        while let Some((_, event)) = queue.pop_until(moment(u64::MAX)) {
            out.push(event);
        }
        expected.sort_unstable();
        assert_eq!(out, expected);
    }

    #[test]
    fn nothing_comes_before_its_time() {
        let mut queue = EventQueue::new();
        queue.push(moment(5), 'a');
        assert_eq!(queue.pop_until(END), None);
        assert_eq!(queue.pop_until(moment(4)), None);
        assert_eq!(queue.pop_until(moment(5)), Some((moment(5), 'a')));
        assert_eq!(queue.pop_until(moment(9)), None);
    }
}
