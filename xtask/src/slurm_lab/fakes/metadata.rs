//! A fake of an instance's metadata service, version 2: a token by PUT, then values by GET.
//!
//! What it answers and how badly it behaves stands in a file that is read anew for each connection, so a test changes its
//! mind while it runs. Only the reader of a prolog needs to believe in it: no keep-alive, no chunks, one thread for each
//! connection.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use super::METADATA_ADDRESS;
use crate::error::TaskError;

/// What it says, as `name=value` lines: `instance-type` and `behaviour`. Without the file all is well.
pub(crate) const CONFIGURATION: &str = "/etc/openimex-lab/metadata.conf";

/// What it says of the machine unless told otherwise.
const INSTANCE_TYPE: &str = "p6e-gb200.36xlarge";

/// The only token that it gives out.
const TOKEN: &str = "openimex-lab-token";

/// How long a connection may do nothing.
const IDLE: Duration = Duration::from_secs(10);

/// The most that it reads of a request.
const REQUEST_BYTES: u64 = 16 * 1024;

/// How it treats a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behaviour {
    Well,
    /// Takes the connection and says nothing.
    Hangs,
    /// Closes the connection at once.
    Closes,
    /// Gives no token: metadata is switched off for this instance.
    Forbids,
    /// Gives tokens, and an error for every value.
    Fails,
    /// Announces more than it sends.
    Truncates,
    /// Sends what is no HTTP.
    Babbles,
}

/// What a request asks.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    method: String,
    path: String,
    has_token: bool,
    has_lifetime: bool,
}

/// Serves for ever.
pub(in super::super) fn serve() -> Result<(), TaskError> {
    let listener = TcpListener::bind((METADATA_ADDRESS, 80))
        .map_err(|error| TaskError::NotHere(format!("{METADATA_ADDRESS} cannot be served: {error}")))?;
    for stream in listener.incoming().flatten() {
        // A client that has gone is no matter of the server.
        thread::spawn(move || drop(answer(stream)));
    }
    Ok(())
}

fn answer(mut stream: TcpStream) -> io::Result<()> {
    let text = fs::read_to_string(CONFIGURATION).unwrap_or_default();
    stream.set_read_timeout(Some(IDLE))?;
    stream.set_write_timeout(Some(IDLE))?;
    let behaviour = behaviour(&text);
    match behaviour {
        Behaviour::Closes => return Ok(()),
        Behaviour::Hangs => {
            // Until the client gives up.
            stream.set_read_timeout(None)?;
            return io::copy(&mut stream, &mut io::sink()).map(drop);
        }
        Behaviour::Babbles => return stream.write_all(b"\x00\xff not HTTP at all\n"),
        Behaviour::Well | Behaviour::Forbids | Behaviour::Fails | Behaviour::Truncates => {}
    }
    let Some(request) = read(BufReader::new((&stream).take(REQUEST_BYTES)))? else { return Ok(()) };
    let instance_type = value(&text, "instance-type").unwrap_or(INSTANCE_TYPE);
    let (status, body) = reply(&request, behaviour, instance_type);
    let announced = if behaviour == Behaviour::Truncates { body.len() + 100 } else { body.len() };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nServer: openimex-lab (a fake)\r\nContent-Type: text/plain\r\n\
         Content-Length: {announced}\r\nConnection: close\r\n\r\n{body}"
    )
}

/// Status and body, as the service's documents say.
fn reply<'a>(request: &Request, behaviour: Behaviour, instance_type: &'a str) -> (&'static str, &'a str) {
    match (request.method.as_str(), request.path.as_str()) {
        ("PUT", "/latest/api/token") if behaviour == Behaviour::Forbids => ("403 Forbidden", ""),
        ("PUT", "/latest/api/token") if request.has_lifetime => ("200 OK", TOKEN),
        ("PUT", "/latest/api/token") => ("400 Bad Request", ""),
        ("GET", _) if !request.has_token => ("401 Unauthorized", ""),
        ("GET", _) if behaviour == Behaviour::Fails => ("500 Internal Server Error", ""),
        ("GET", "/latest/meta-data/instance-type") => ("200 OK", instance_type),
        ("GET", _) => ("404 Not Found", ""),
        (_, _) => ("405 Method Not Allowed", ""),
    }
}

/// A request without a body; none if the client sent something else.
fn read(reader: impl BufRead) -> io::Result<Option<Request>> {
    let mut lines = reader.lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    let mut words = first.split(' ');
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(None) };
    let mut request =
        Request { method: method.to_owned(), path: path.to_owned(), has_token: false, has_lifetime: false };
    for line in lines {
        let line = line?;
        let Some((name, value)) = line.split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "x-aws-ec2-metadata-token" => request.has_token = value.trim() == TOKEN,
            "x-aws-ec2-metadata-token-ttl-seconds" => {
                request.has_lifetime = value.trim().parse::<u32>().is_ok()
            }
            _ => {}
        }
    }
    Ok(Some(request))
}

fn behaviour(text: &str) -> Behaviour {
    match value(text, "behaviour").unwrap_or("well") {
        "hangs" => Behaviour::Hangs,
        "closes" => Behaviour::Closes,
        "forbids" => Behaviour::Forbids,
        "fails" => Behaviour::Fails,
        "truncates" => Behaviour::Truncates,
        "babbles" => Behaviour::Babbles,
        _ => Behaviour::Well,
    }
}

fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs.filter(|(key, _)| key.trim() == name).map(|(_, value)| value.trim()).next_back()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_needs_the_token_that_was_put_for() {
        let ask = |text: &str| {
            let request = read(BufReader::new(text.as_bytes())).unwrap().unwrap();
            reply(&request, Behaviour::Well, "kind")
        };
        let token = "X-aws-EC2-metadata-token";
        assert_eq!(
            ask(&format!("PUT /latest/api/token HTTP/1.1\r\n{token}-ttl-seconds: 60\r\n\r\n")).1,
            TOKEN
        );
        assert_eq!(ask("PUT /latest/api/token HTTP/1.1\r\n\r\n").0, "400 Bad Request");
        let kind = "GET /latest/meta-data/instance-type HTTP/1.1\r\n";
        assert_eq!(ask(&format!("{kind}{token}: {TOKEN}\r\n\r\n")), ("200 OK", "kind"));
        assert_eq!(ask(&format!("{kind}{token}: other\r\n\r\n")).0, "401 Unauthorized");
        assert_eq!(ask(&format!("{kind}\r\n")).0, "401 Unauthorized");
    }

    #[test]
    fn the_last_word_about_a_behaviour_counts() {
        assert_eq!(behaviour(""), Behaviour::Well);
        assert_eq!(behaviour("behaviour=hangs\nbehaviour = fails\n"), Behaviour::Fails);
        assert_eq!(value("instance-type=p5.48xlarge\n", "instance-type"), Some("p5.48xlarge"));
    }
}
