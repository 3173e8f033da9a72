//! What strangers may send before they have shown who they are: the frames of Kerberos links and the claims of MUNGE.

use imex_gss::frame::{self, HEADER, Header, Kind, MAX_OVERHEAD, MAX_TOKEN, PREFACE, Purpose};
use imex_gss::{Expected, Peer, Protection};
use imex_munge::Claim;

/// A message is refused, or what is read of it is within its bounds and writes the same bytes.
pub fn auth_message(bytes: &[u8]) {
    preface(bytes);
    frames(bytes);
    record(bytes);
    refusal(bytes);
    claim(bytes);
    principals(bytes);
}

fn preface(bytes: &[u8]) {
    let Some(first) = bytes.first_chunk::<PREFACE>() else { return };
    for ours in [Protection::Integrity, Protection::Privacy] {
        let accepted = frame::check_preface(first, ours).is_ok();
        assert_eq!(accepted, *first == frame::preface(ours), "one preface is right, and no other");
    }
}

/// Reads frame after frame, as an end of a link does.
fn frames(mut bytes: &[u8]) {
    while let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() {
        let Ok(header) = Header::parse(*header) else { return };
        let most = match header.kind {
            Kind::Token => MAX_TOKEN,
            Kind::Refusal => 1 + MAX_TOKEN,
            Kind::Record => 1 + MAX_TOKEN + MAX_OVERHEAD,
        };
        assert!((1..=most).contains(&header.length), "a frame is within the bounds of its kind");
        assert_eq!(Header::parse(header.bytes()), Ok(header), "a header is read as it is written");
        let Some((_, next)) = rest.split_at_checked(header.length) else { return };
        bytes = next;
    }
}

fn record(bytes: &[u8]) {
    if let Ok((purpose, carried)) = Purpose::split(bytes) {
        assert_eq!(bytes, [&[purpose.number()], carried].concat(), "a record is its purpose and the rest");
    }
}

fn refusal(bytes: &[u8]) {
    let (reason, token) = frame::split_refusal(bytes);
    assert!(token.len() < bytes.len().max(1), "the reason is one byte");
    assert!(!reason.to_string().is_empty(), "every reason has words");
}

fn claim(bytes: &[u8]) {
    let Ok(claim) = Claim::parse(bytes) else { return };
    assert_eq!(claim.bytes(), bytes, "a claim is written as it was read");
    assert_eq!(claim.check(bytes), Ok(()), "a claim is what it says");
    let elsewhere = Claim { binding: claim.binding.map(|byte| !byte), ..claim };
    assert!(elsewhere.check(bytes).is_err(), "a claim is good on its own connection only");
}

/// The input is two names: who somebody is, and who it should be.
fn principals(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Some((found, wanted)) = text.split_once('\n') else { return };
    let peer = Peer::new(found, "host/me@OWN");
    if peer.check(&Expected::new(wanted.to_owned())).is_ok() {
        let same =
            [wanted.to_owned(), format!("{wanted}@OWN"), format!("{wanted}OWN")].contains(&found.to_owned());
        assert!(same, "`{found}` passes for `{wanted}`");
    }
}
