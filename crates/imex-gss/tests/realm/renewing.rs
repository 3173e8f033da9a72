//! Contexts that are replaced while traffic goes on.

use std::time::Duration;

use imex_gss::Settings;
use imex_gss::stream::StreamError;
use tokio::io::AsyncReadExt;
use tokio::time::{Instant, sleep};

use super::story::{echo, link, load, tell};

#[test]
fn a_link_lives_on_over_many_lifetimes_of_its_context() {
    tell(Duration::from_secs(36_000), |realm| async move {
        let node = |node| load(Settings { lifetime: Some(Duration::from_secs(1)), ..realm.node(node) });
        let (two, three) = (node(2), node(3));
        let (mut near, mut far) = link(&two, &three).await;
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(2400) {
            echo(&mut near, &mut far, "traffic goes on").await;
            sleep(Duration::from_millis(20)).await;
        }
        echo(&mut near, &mut far, &"0123456789abcdef".repeat(100_000)).await;
    });
}

#[test]
fn a_kdc_that_is_down_at_renewal_does_no_harm_while_the_ticket_is_good() {
    tell(Duration::from_secs(36_000), |mut realm| async move {
        let node = |node| load(Settings { lifetime: Some(Duration::from_secs(1)), ..realm.node(node) });
        let (two, three) = (node(2), node(3));
        let (mut near, mut far) = link(&two, &three).await;
        realm.kdc.stop();
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(1500) {
            echo(&mut near, &mut far, "traffic goes on").await;
            sleep(Duration::from_millis(20)).await;
        }
    });
}

#[test]
fn a_kdc_that_is_down_until_the_ticket_ends_ends_the_link_then_and_not_before() {
    tell(Duration::from_secs(3), |mut realm| async move {
        let (two, three) = (load(realm.node(2)), load(realm.node(3)));
        let (mut near, mut far) = link(&two, &three).await;
        realm.kdc.stop();
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(1500) {
            echo(&mut near, &mut far, "traffic goes on").await;
            sleep(Duration::from_millis(20)).await;
        }
        let error = near.read_u8().await.unwrap_err();
        let why = error.get_ref().and_then(|why| why.downcast_ref::<StreamError>());
        assert_eq!(why, Some(&StreamError::Ended));
        realm.kdc.start().unwrap();
        sleep(two.settings().retry_interval).await;
        let (mut near, mut far) = link(&two, &three).await;
        echo(&mut near, &mut far, "back again").await;
    });
}

#[test]
fn tickets_that_end_soon_are_replaced_before_they_do() {
    tell(Duration::from_secs(3), |realm| async move {
        let (two, three) = (load(realm.node(2)), load(realm.node(3)));
        let (mut near, mut far) = link(&two, &three).await;
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(4500) {
            echo(&mut near, &mut far, "traffic goes on").await;
            sleep(Duration::from_millis(20)).await;
        }
    });
}
