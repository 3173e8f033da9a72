//! Calls of the library on threads of their own: so many at once, and nobody waits for ever.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use crate::error::AuthError;

/// How long an authentication waits for one call of the library, once that runs. A KDC answers within milliseconds; where
/// its queue of connections is full, TCP asks it again after a second. The call itself goes on, and its ticket is kept.
pub const CALL_DEADLINE: Duration = Duration::from_millis(1500);

/// After how long a call is late. Others need not wait until a KDC, or a name server, that is slow or silent has answered
/// it.
const LATE: Duration = Duration::from_millis(250);

/// Until when something must be done that may take several calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    at: Instant,
    after: Duration,
}

impl Deadline {
    /// A while from now.
    pub(crate) fn after(after: Duration) -> Self {
        Deadline { at: Instant::now() + after, after }
    }

    /// The sooner of the two.
    fn or(self, other: Deadline) -> Self {
        if other.at < self.at { other } else { self }
    }

    fn silent(self) -> AuthError {
        AuthError::Silent { after: self.after }
    }
}

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
    /// `None` when the call has ended.
    late: Option<Arc<Semaphore>>,
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

    /// Runs a call when it is its turn, and waits no longer than until the deadline, nor than [`CALL_DEADLINE`] once it
    /// runs. One that is late gives its place to the next if there are not too many such; it goes on, and what it brings
    /// is dropped if nobody waits any more.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        deadline: Deadline,
        call: impl FnOnce() -> Result<T, AuthError> + Send + 'static,
    ) -> Result<T, AuthError> {
        let turn = take(&self.places, deadline).await.ok_or(AuthError::Busy { after: deadline.after })?;
        let mut waiting = Waiting { place: Arc::new(Mutex::new(turn)), late: Some(Arc::clone(&self.late)) };
        let place = Arc::clone(&waiting.place);
        let mut thread = tokio::task::spawn_blocking(move || {
            let result = call();
            drop(place);
            result
        });
        let until = deadline.or(Deadline::after(CALL_DEADLINE));
        let called = match timeout_at(until.or(Deadline::after(LATE)).at, &mut thread).await {
            Ok(called) => called,
            Err(_) => {
                waiting.make_way();
                timeout_at(until.at, thread).await.map_err(|_| until.silent())?
            }
        };
        waiting.late = None;
        // A call that panicked has given up its place, and no answer.
        called.unwrap_or_else(|_| Err(until.silent()))
    }
}

/// A permit, as soon as there is one; `None` if there is none until the deadline.
pub(crate) async fn take(permits: &Arc<Semaphore>, deadline: Deadline) -> Option<OwnedSemaphorePermit> {
    timeout_at(deadline.at, Arc::clone(permits).acquire_owned()).await.ok()?.ok()
}

/// A permit of those of whom one is in the library at a time: it does not come back to the one before.
pub(crate) async fn take_turn(
    permits: &Arc<Semaphore>,
    deadline: Deadline,
) -> Result<OwnedSemaphorePermit, AuthError> {
    take(permits, deadline).await.ok_or(deadline.silent())
}

impl Waiting {
    fn make_way(&self) {
        if let Some(late) = &self.late
            && let Ok(late) = Arc::clone(late).try_acquire_owned()
        {
            *lock(&self.place) = late;
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
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

    use tokio::task::{JoinHandle, yield_now};
    use tokio::time::advance;

    use super::*;

    // The clock stands still: it goes on when a test says so, and never because a thread of another call took its time.

    #[tokio::test(start_paused = true)]
    async fn calls_that_hang_do_not_hold_up_others_until_too_many_do() {
        let lane = lane(1, 2);
        let (first, second) = (hang(&lane).await, hang(&lane).await);
        assert_eq!(lane.run(soon(), || Ok(7)).await, Ok(7));
        let third = hang(&lane).await;
        // It has the only place, and there is none for those that are late.
        let waiting = begin(&lane, || Ok(7)).await;
        advance(LONG).await;
        // Which is not to say that this one was not answered.
        assert_eq!(waiting.await.unwrap(), Err(AuthError::Busy { after: LONG }));
        drop(third);
        assert_eq!(lane.run(soon(), || Ok(7)).await, Ok(7));
        drop((first, second));
    }

    #[tokio::test(start_paused = true)]
    async fn calls_one_after_the_other_share_their_deadline() {
        let (asking, naming) = (lane(1, 1), lane(1, 1));
        let deadline = Deadline::after(2 * CALL_DEADLINE / 3);
        advance(CALL_DEADLINE / 3).await;
        assert_eq!(asking.run(deadline, || Ok(7)).await, Ok(7));
        let (hold, held) = channel::<()>();
        let second = tokio::spawn(async move { naming.run(deadline, move || Ok(held.recv().is_ok())).await });
        yield_now().await;
        advance(CALL_DEADLINE / 3).await;
        let after = 2 * CALL_DEADLINE / 3;
        assert_eq!(second.await.unwrap(), Err(AuthError::Silent { after }));
        // And nobody begins what is too late.
        assert_eq!(asking.run(deadline, || Ok(7)).await, Err(AuthError::Silent { after }));
        drop(hold);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_nobody_waits_for_any_more_is_late_at_once() {
        let lane = lane(1, 1);
        let (hold, held) = channel::<()>();
        let abandoned = begin(&lane, move || Ok(held.recv().is_ok())).await;
        abandoned.abort();
        assert!(abandoned.await.unwrap_err().is_cancelled());
        // The clock stands: it is not late because of its time.
        assert_eq!(lane.run(soon(), || Ok(7)).await, Ok(7));
        drop(hold);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_ends_late_but_in_time_is_waited_for_and_gives_back_what_it_held() {
        let lane = lane(1, 1);
        for _ in 0..3 {
            let (hold, held) = channel::<()>();
            let late = begin(&lane, move || Ok(held.recv().is_ok())).await;
            advance(2 * LATE).await;
            yield_now().await;
            assert_eq!((lane.places.available_permits(), lane.late.available_permits()), (1, 0));
            drop(hold);
            assert_eq!(late.await.unwrap(), Ok(false));
        }
        assert_eq!((lane.places.available_permits(), lane.late.available_permits()), (1, 1));
    }

    /// A deadline for more than one call.
    const LONG: Duration = Duration::from_secs(2);

    fn soon() -> Deadline {
        Deadline::after(LONG)
    }

    fn lane(places: usize, late: usize) -> Arc<Lane> {
        Arc::new(Lane::new(Width { places, late }))
    }

    /// A call that has been begun, or waits for its turn.
    async fn begin<T: Send + 'static>(
        lane: &Arc<Lane>,
        call: impl FnOnce() -> Result<T, AuthError> + Send + 'static,
    ) -> JoinHandle<Result<T, AuthError>> {
        let lane = Arc::clone(lane);
        let begun = tokio::spawn(async move { lane.run(soon(), call).await });
        yield_now().await;
        begun
    }

    /// A call that goes on until what is returned is dropped.
    async fn hang(lane: &Arc<Lane>) -> Sender<()> {
        let (hold, held) = channel::<()>();
        let called = begin(lane, move || Ok(held.recv().is_ok())).await;
        advance(LATE).await;
        yield_now().await;
        advance(CALL_DEADLINE - LATE).await;
        assert_eq!(called.await.unwrap(), Err(AuthError::Silent { after: CALL_DEADLINE }));
        hold
    }
}
