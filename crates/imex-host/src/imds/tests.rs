//! Against a service that behaves, and against one that misbehaves in every way that was thought of.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use super::*;

const TOKEN: &str = "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nAQAEsecr";
const TYPE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\np6e-gb200.36xlarge";

#[test]
fn the_value_is_asked_for_with_the_token_that_was_given() {
    let service = Service::start(vec![TOKEN.into(), TYPE.into()]);
    assert_eq!(service.ask().unwrap().as_str(), "p6e-gb200.36xlarge");
    let requests = service.requests();
    assert!(requests[0].starts_with("PUT /latest/api/token HTTP/1.1\r\n"), "{requests:?}");
    assert!(
        requests[0].to_lowercase().contains("x-aws-ec2-metadata-token-ttl-seconds: 60\r\n"),
        "{requests:?}"
    );
    assert!(requests[1].starts_with("GET /latest/meta-data/instance-type HTTP/1.1\r\n"), "{requests:?}");
    assert!(requests[1].to_lowercase().contains("x-aws-ec2-metadata-token: aqaesecr\r\n"), "{requests:?}");
}

#[test]
fn each_way_to_misbehave_has_its_answer() {
    let huge = format!("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n{}", "x".repeat(1_000_000));
    let endless = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(100_000));
    let headers = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(1_000_000));
    for (answers, told) in [
        (vec!["HTTP/1.1 403 Forbidden\r\n\r\n"], "is switched off for this instance (it answers 403"),
        (vec!["HTTP/1.1 404 Not Found\r\n\r\n"], "answers 404 when asked for a token"),
        (vec![TOKEN, "HTTP/1.1 401 Unauthorized\r\n\r\n"], "answers 401 when asked for the instance type"),
        (vec![TOKEN, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>"], "gives no instance type"),
        (vec![TOKEN, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"], "gives no instance type"),
        (vec!["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"], "gives no usable token"),
        (vec!["HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\na\u{1}b"], "gives no usable token"),
        (vec![&huge], "says more than 4096 bytes when asked for a token"),
        (vec![&endless], "says more than 4096 bytes when asked for a token"),
        (vec![&headers], "breaks off when asked for a token"),
        (vec!["220 mail.example ESMTP\r\n"], "breaks off when asked for a token"),
        (vec!["HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nAQ"], "breaks off when asked for a token"),
        (vec![""], "breaks off when asked for a token"),
        (vec![TOKEN, "HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n"], "answers 302"),
    ] {
        let service = Service::start(answers.iter().map(|answer| (*answer).to_owned()).collect());
        let error = service.ask().unwrap_err().to_string();
        assert!(error.contains(told), "{error}\ninstead of: {told}");
    }
}

#[test]
fn one_deadline_holds_for_both_requests() {
    // Nobody takes what the second connection asks.
    let service = Service::start(vec![TOKEN.into()]);
    let error = block_on(instance_type(service.address, Duration::from_millis(200))).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("the metadata service at {} did not answer within 200 ms", service.address)
    );
}

#[test]
fn nobody_there_is_told_at_once() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = block_on(instance_type(address, Duration::from_secs(5))).unwrap_err();
    assert!(matches!(error, ImdsError::Connect { .. }), "{error}");
}

#[test]
fn a_type_is_a_family_and_a_size() {
    for good in ["p6e-gb300.72xlarge", "m7i.metal-24xl", "u-6tb1.112xlarge"] {
        assert!(good.parse::<InstanceType>().is_ok(), "{good}");
    }
    for wrong in ["", "p6e", ".x", "x.", "a.b.c", "a b.c", "<html>", &"x.".repeat(40)] {
        assert!(wrong.parse::<InstanceType>().is_err(), "{wrong:?}");
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// A service that gives these answers, one for each connection, and listens on without answering.
struct Service {
    address: SocketAddr,
    served: thread::JoinHandle<Vec<String>>,
}

impl Service {
    fn start(answers: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let serve = move || {
            let requests =
                answers.iter().map(|answer| answer_one(listener.accept().unwrap().0, answer)).collect();
            // Connections are still taken, by the system.
            std::mem::forget(listener);
            requests
        };
        Service { address, served: thread::spawn(serve) }
    }

    fn ask(&self) -> Result<InstanceType, ImdsError> {
        block_on(instance_type(self.address, Duration::from_secs(10)))
    }

    fn requests(self) -> Vec<String> {
        self.served.join().unwrap()
    }
}

/// Reads a request's head, answers, and waits for the client to hang up.
fn answer_one(mut stream: TcpStream, answer: &str) -> String {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while reader.read_line(&mut head).unwrap() > 2 {}
    // A client that has heard enough hangs up.
    let _ = stream.write_all(answer.as_bytes());
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let _ = reader.read_to_end(&mut Vec::new());
    head
}
