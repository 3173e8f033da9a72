//! Calls of the library on threads of their own: so many at once, and nobody waits for ever.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::error::AuthError;

/// How long an authentication waits for one call of the library, once that runs. A KDC answers within milliseconds; where
/// its queue of connections is full, TCP asks it again after a second. The call itself goes on, and its ticket is kept.
pub const CALL_DEADLINE: Duration = Duration::from_millis(1500);

/// How long an authentication waits for its turn in one lane. Several one after the other may add up to more than the core
/// gives an authentication: then that deadline comes first, and what failed is told as that.
const TURN_DEADLINE: Duration = Duration::from_secs(2);

/// After how long a call is late. Others need not wait until a KDC, or a name server, that is slow or silent has answered
/// it.
const LATE: Duration = Duration::from_millis(250);

/// Calls of one kind.
#[derive(Debug)]
pub(crate) struct Lane {
    places: Arc<Semaphore>,
    late: Arc<Semaphore>,
}

/// How many calls of one kind there are at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Width {
    /// That run as they should.
    pub(crate) places: usize,
    /// That are late besides. Each holds a thread until the library gives up, which takes it up to half a minute where a
    /// KDC is silent.
    pub(crate) late: usize,
}

/// A call that somebody waits for. When nobody does any more it is late.
struct Waiting {
    place: Arc<Mutex<OwnedSemaphorePermit>>,
    late: Arc<Semaphore>,
}

impl Width {
    /// How many threads it takes at most.
    pub(crate) const fn threads(self) -> usize {
        self.places + self.late
    }
}

impl Lane {
    pub(crate) fn new(width: Width) -> Self {
        Lane { places: Arc::new(Semaphore::new(width.places)), late: Arc::new(Semaphore::new(width.late)) }
    }

    /// Runs a call when it is its turn. One that is late gives its place to the next if there are not too many such; it
    /// goes on, and what it brings is dropped if nobody waits any more.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        call: impl FnOnce() -> Result<T, AuthError> + Send + 'static,
    ) -> Result<T, AuthError> {
        let turn = take(&self.places).await?;
        let waiting = Waiting { place: Arc::new(Mutex::new(turn)), late: Arc::clone(&self.late) };
        let place = Arc::clone(&waiting.place);
        let mut thread = tokio::task::spawn_blocking(move || {
            let result = call();
            drop(place);
            result
        });
        let called = match timeout(LATE, &mut thread).await {
            Ok(called) => called,
            Err(_) => {
                waiting.make_way();
                let rest = timeout(CALL_DEADLINE - LATE, thread).await;
                rest.map_err(|_| AuthError::Silent { after: CALL_DEADLINE })?
            }
        };
        // A call that panicked has given up its place, and no answer.
        called.unwrap_or(Err(AuthError::Silent { after: CALL_DEADLINE }))
    }
}

/// A permit, as soon as there is one.
pub(crate) async fn take(permits: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, AuthError> {
    let turn = timeout(TURN_DEADLINE, Arc::clone(permits).acquire_owned()).await;
    turn.ok().and_then(Result::ok).ok_or(AuthError::Silent { after: TURN_DEADLINE })
}

impl Waiting {
    fn make_way(&self) {
        if let Ok(late) = Arc::clone(&self.late).try_acquire_owned() {
            *lock(&self.place) = late;
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // Of a call that has ended nobody else knows, and both places are given back.
        self.make_way();
    }
}

// Held only to replace what is in it.
fn lock(place: &Mutex<OwnedSemaphorePermit>) -> MutexGuard<'_, OwnedSemaphorePermit> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use tokio::time::Instant;

    use super::*;

    #[tokio::test]
    async fn calls_that_hang_do_not_hold_up_others_until_too_many_do() {
        let lane = Lane::new(Width { places: 1, late: 2 });
        let begun = Instant::now();
        let (first, second) = (hang(&lane).await, hang(&lane).await);
        assert_eq!(lane.run(|| Ok(7)).await, Ok(7));
        let third = hang(&lane).await;
        // It has the only place, and there is none for those that are late.
        assert_eq!(lane.run(|| Ok(7)).await, Err(AuthError::Silent { after: TURN_DEADLINE }));
        assert!(begun.elapsed() < 3 * CALL_DEADLINE + TURN_DEADLINE + Duration::from_secs(2));
        drop(third);
        assert_eq!(lane.run(|| Ok(7)).await, Ok(7));
        drop((first, second));
    }

    #[tokio::test]
    async fn a_call_that_nobody_waits_for_any_more_is_late_at_once() {
        let lane = Lane::new(Width { places: 1, late: 1 });
        let (hold, held) = channel::<()>();
        let abandoned = lane.run(move || Ok(held.recv().is_ok()));
        assert!(timeout(Duration::from_millis(50), abandoned).await.is_err());
        assert_eq!(timeout(LATE / 2, lane.run(|| Ok(7))).await, Ok(Ok(7)));
        drop(hold);
    }

    #[tokio::test]
    async fn a_call_that_ends_late_but_in_time_is_waited_for_and_gives_back_what_it_held() {
        let lane = Lane::new(Width { places: 1, late: 1 });
        for _ in 0..3 {
            let late = lane.run(|| {
                std::thread::sleep(2 * LATE);
                Ok(7)
            });
            assert_eq!(late.await, Ok(7));
        }
        assert_eq!((lane.places.available_permits(), lane.late.available_permits()), (1, 1));
    }

    /// A call that goes on until what is returned is dropped.
    async fn hang(lane: &Lane) -> Sender<()> {
        let (hold, held) = channel::<()>();
        let called = lane.run(move || Ok(held.recv().is_ok())).await;
        assert_eq!(called, Err(AuthError::Silent { after: CALL_DEADLINE }));
        hold
    }
}
