//! A hub that runs already, where one shall be started: by another program, or left by one that was killed.

use core::net::SocketAddr;
use core::time::Duration;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::Instant;

use serde_json::Value;

/// A hub that runs already.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Running {
    /// Its port.
    pub port: u16,
    /// Its process, if that is known.
    pub process: Option<u32>,
}

/// Looks whether the hub `name`, whose process is in `process_file`, answers at `place`. One that is just ending gets time for it.
pub(super) fn look(place: SocketAddr, name: &str, process_file: &Path) -> Option<Running> {
    let begun = Instant::now();
    while server_name(place).as_deref() == Some(name) {
        if begun.elapsed() >= ENDING {
            let process = fs::read_to_string(process_file).ok().and_then(|text| text.trim().parse().ok());
            return Some(Running { port: place.port(), process });
        }
        std::thread::sleep(PAUSE);
    }
    None
}

/// The name that a nats-server gives itself in its first line, which comes before TLS.
fn server_name(place: SocketAddr) -> Option<String> {
    let stream = TcpStream::connect_timeout(&place, GREETING_TIMEOUT).ok()?;
    stream.set_read_timeout(Some(GREETING_TIMEOUT)).ok()?;
    let mut line = String::new();
    BufReader::new(stream.take(LONGEST)).read_line(&mut line).ok()?;
    name_in(&line)
}

fn name_in(line: &str) -> Option<String> {
    let said: Value = serde_json::from_str(line.strip_prefix("INFO ")?).ok()?;
    Some(said.get("server_name")?.as_str()?.to_owned())
}

/// How long a hub may take to end.
const ENDING: Duration = Duration::from_secs(3);
const GREETING_TIMEOUT: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(50);
/// Bytes of the first line that are read at most.
const LONGEST: u64 = 16 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_known_by_its_first_line() {
        let line = "INFO {\"server_id\":\"NB\",\"server_name\":\"schwann-0a1b\",\"version\":\"2.12.1\"} \r\n";
        assert_eq!(name_in(line).as_deref(), Some("schwann-0a1b"));
        for other in ["", "INFO", "INFO {}", "INFO {\"server_name\":7}", "HTTP/1.1 400 Bad Request\r\n"] {
            assert_eq!(name_in(other), None, "{other}");
        }
    }
}
