//! Contexts that are replaced while traffic goes on.

use std::time::Duration;

use imex_gss::stream::StreamError;
use imex_gss::{Fault, GssStream, Settings};
use tokio::io::{AsyncReadExt, DuplexStream};
use tokio::time::{Instant, sleep};

use super::failing::{asked, asked_since};
use super::story::{echo, link, load, tell};

type Stream = GssStream<DuplexStream>;

const LONG: Duration = Duration::from_secs(36_000);

/// What is left of it after the first renewal is due is more than renewals take on the slowest machine.
const SHORT: Duration = Duration::from_secs(9);

#[test]
fn a_link_lives_on_over_many_lifetimes_of_its_context() {
    tell(LONG, |realm| async move {
        let (two, three) = (load(renewing(realm.node(2))), load(renewing(realm.node(3))));
        let (mut near, mut far) = link(&two, &three).await;
        talk(&mut near, &mut far, Duration::from_secs(5)).await;
        echo(&mut near, &mut far, &"0123456789abcdef".repeat(100_000)).await;
    });
}

#[test]
fn a_kdc_that_is_down_at_renewal_does_no_harm_while_the_ticket_is_good() {
    tell(LONG, |mut realm| async move {
        let (two, three) = (load(renewing(realm.node(2))), load(renewing(realm.node(3))));
        let (mut near, mut far) = link(&two, &three).await;
        realm.kdc.stop();
        talk(&mut near, &mut far, Duration::from_secs(5)).await;
    });
}

#[test]
fn a_kdc_that_is_down_until_the_ticket_ends_ends_the_link_then_and_not_before() {
    tell(SHORT, |mut realm| async move {
        // Tickets end by the library's clock.
        tokio::time::resume();
        let (two, three) = (load(realm.node(2)), load(realm.node(3)));
        let begun = Instant::now();
        let (mut near, mut far) = link(&two, &three).await;
        realm.kdc.stop();
        let error = tokio::select! {
            read = near.read_u8() => read.unwrap_err(),
            read = far.read_u8() => panic!("the acceptor bears with the initiator's clock: {read:?}"),
        };
        // It counts in whole seconds.
        assert!(begun.elapsed() > SHORT - Duration::from_secs(1), "{:?}", begun.elapsed());
        let why = error.get_ref().and_then(|why| why.downcast_ref::<StreamError>());
        // Or a renewal by the same ticket was under way at its end.
        let ended = match why {
            Some(StreamError::Renewal(why)) => why.fault() == Some(Fault::Expired),
            why => why == Some(&StreamError::Ended),
        };
        assert!(ended, "{why:?}");
        realm.kdc.start().unwrap();
        sleep(two.settings().retry_interval).await;
        let (mut near, mut far) = link(&two, &three).await;
        echo(&mut near, &mut far, "back again").await;
    });
}

#[test]
fn tickets_that_end_soon_are_replaced_before_they_do() {
    tell(SHORT, |realm| async move {
        // Tickets end by the library's clock.
        tokio::time::resume();
        let (two, three) = (load(realm.node(2)), load(realm.node(3)));
        let (mut near, mut far) = link(&two, &three).await;
        let before = asked(&realm);
        talk(&mut near, &mut far, SHORT + Duration::from_secs(2)).await;
        let (own, service) = asked_since(&realm, before);
        assert!(own > 0 && service > 0, "{own} {service}");
    });
}

/// A node whose contexts live for a second.
fn renewing(settings: Settings) -> Settings {
    Settings { lifetime: Some(Duration::from_secs(1)), ..settings }
}

/// Traffic goes on for a time.
async fn talk(near: &mut Stream, far: &mut Stream, time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        echo(near, far, "traffic goes on").await;
        sleep(Duration::from_millis(20)).await;
    }
}
