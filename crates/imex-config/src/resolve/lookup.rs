//! Many host names at once.

use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::machine::Machine;

/// How many names are looked up at a time: a rack of names that do not resolve then costs one time-out of the
/// resolver instead of eighteen, and its server is not flooded by a large map.
const AT_A_TIME: usize = 32;

/// Looks up all names; the answers are in the order of the names.
pub(super) fn look_up(names: &[&str], machine: &dyn Machine) -> Vec<io::Result<Vec<IpAddr>>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut answers = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(name) = names.get(index) else {
                return answers;
            };
            answers.push((index, machine.look_up(name)));
        }
    };
    let mut answers = thread::scope(|scope| {
        let workers: Vec<_> = (0..names.len().min(AT_A_TIME)).map(|_| scope.spawn(work)).collect();
        let answers = workers.into_iter().map(|worker| worker.join().expect("a look-up does not panic"));
        answers.flatten().collect::<Vec<_>>()
    });
    answers.sort_by_key(|(index, _)| *index);
    answers.into_iter().map(|(_, answer)| answer).collect()
}
