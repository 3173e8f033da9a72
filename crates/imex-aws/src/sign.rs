//! Signature version 4: how a request proves who sent it.
//!
//! The rules are those of "Create a signed AWS API request" in AWS's IAM user guide. Only what this crate sends is
//! covered: one POST with a path that needs no encoding and no query. The tests hold it to AWS's own test suite.

use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use sha2::{Digest, Sha256};

use crate::credentials::Credentials;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// What is to be signed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unsigned<'a> {
    /// The path, which needs no encoding.
    pub(crate) path: &'a str,
    /// Headers by their lower-case names; `host` must be among them.
    pub(crate) headers: &'a [(&'static str, String)],
    /// The body.
    pub(crate) body: &'a [u8],
}

/// For whom a signature counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope<'a> {
    /// The region's name.
    pub(crate) region: &'a str,
    /// The service's name in signatures.
    pub(crate) service: &'a str,
}

/// The headers that a request needs besides its own: the time, the session token if there is one, the signature.
pub(crate) fn sign(
    request: Unsigned<'_>,
    credentials: &Credentials,
    scope: Scope<'_>,
    now: Timestamp,
) -> Vec<(&'static str, String)> {
    let now = now.to_zoned(TimeZone::UTC);
    let (time, date) = (now.strftime("%Y%m%dT%H%M%SZ").to_string(), now.strftime("%Y%m%d").to_string());
    let mut added = vec![("x-amz-date", time.clone())];
    added.extend(credentials.session_token().map(|token| ("x-amz-security-token", token.to_owned())));

    let mut headers: Vec<&(&str, String)> = request.headers.iter().chain(&added).collect();
    headers.sort_unstable();
    let signed: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
    let signed = signed.join(";");
    let mut canonical = format!("POST\n{}\n\n", request.path);
    for (name, value) in headers {
        canonical.push_str(&format!("{name}:{}\n", value.trim()));
    }
    canonical.push_str(&format!("\n{signed}\n{}", hex(&Sha256::digest(request.body))));

    let Scope { region, service } = scope;
    let scope = format!("{date}/{region}/{service}/aws4_request");
    let text = format!("{ALGORITHM}\n{time}\n{scope}\n{}", hex(&Sha256::digest(canonical.as_bytes())));
    let secret = format!("AWS4{}", credentials.secret());
    let key = [date.as_str(), region, service, "aws4_request"]
        .iter()
        .fold(secret.into_bytes(), |key, part| keyed(&key, part));
    let signature = hex(&keyed(&key, &text));
    let id = credentials.access_key_id();
    let authorization =
        format!("{ALGORITHM} Credential={id}/{scope}, SignedHeaders={signed}, Signature={signature}");
    added.push(("authorization", authorization));
    added
}

fn keyed(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of every length");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The credentials, time and scope of AWS's Signature Version 4 test suite.
    fn suite(headers: &[(&'static str, String)], body: &[u8]) -> String {
        let credentials = Credentials::new("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", None);
        let now = "2015-08-30T12:36:00Z".parse().unwrap();
        let scope = Scope { region: "us-east-1", service: "service" };
        let added = sign(Unsigned { path: "/", headers, body }, &credentials, scope, now);
        added.last().unwrap().1.clone()
    }

    #[test]
    fn a_target_and_a_session_token_are_signed_as_the_aws_sigv4_crate_does() {
        let secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
        let credentials = Credentials::new("AKIDEXAMPLE", secret, Some("session/token+=="));
        let headers = [
            ("content-type", "application/x-amz-json-1.0"),
            ("x-amz-target", "AWSParallelComputingService.ListQueues"),
            ("host", "127.0.0.1:4566"),
        ];
        let headers = headers.map(|(name, value)| (name, value.to_owned()));
        let body = br#"{"clusterIdentifier":"c"}"#;
        let request = Unsigned { path: "/prefix/", headers: &headers, body };
        let scope = Scope { region: "us-west-2", service: "pcs" };
        let added = sign(request, &credentials, scope, "2015-08-30T18:16:00+05:40".parse().unwrap());
        assert_eq!(
            added.last().unwrap().1,
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-west-2/pcs/aws4_request, \
             SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target, \
             Signature=24ed28fe2805839ef24165b628154d2e1aff2ba044cbfc38c629a520b7582cf9"
        );
    }

    fn host() -> (&'static str, String) {
        ("host", "example.amazonaws.com".to_owned())
    }

    #[test]
    fn the_test_suites_plain_post_is_signed_as_it_says() {
        assert_eq!(
            suite(&[host()], b""),
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, \
             SignedHeaders=host;x-amz-date, \
             Signature=5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"
        );
    }

    #[test]
    fn the_test_suites_form_is_signed_as_it_says() {
        let form = ("content-type", "application/x-www-form-urlencoded".to_owned());
        assert!(
            suite(&[form, host()], b"Param1=value1")
                .ends_with("ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a")
        );
    }
}
