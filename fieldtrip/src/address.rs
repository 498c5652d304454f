use core::fmt;
use core::str::FromStr;
use std::path::PathBuf;

/// Where a buffer is: `buffer://HOST[:PORT]`, `HOST[:PORT]`, or the path of a UNIX socket.
///
/// A host may be an IPv6 address in brackets. What contains a slash behind the scheme is a path, as is
/// `buffer://PATH:0`, which old programs write.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Address {
    /// TCP.
    Tcp {
        /// Name or number.
        host: String,
        /// Port; a server that listens on 0 gets a free one.
        port: u16,
    },
    /// UNIX socket.
    Unix(PathBuf),
}

/// The text is no address of a buffer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct BadAddress;

impl Address {
    /// This machine, reachable from nowhere else, on this port.
    pub fn loopback(port: u16) -> Self {
        Self::Tcp { host: "localhost".into(), port }
    }
}

impl Default for Address {
    fn default() -> Self {
        Self::loopback(PORT)
    }
}

impl FromStr for Address {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Self, BadAddress> {
        let text = text.strip_prefix("buffer://").unwrap_or(text);
        if text.contains('/') {
            let path = text.strip_suffix(":0").unwrap_or(text);
            return Ok(Self::Unix(path.into()));
        }
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']').ok_or(BadAddress)?;
                (host, if port.is_empty() { None } else { Some(port.strip_prefix(':').ok_or(BadAddress)?) })
            }
            // More than one colon and no brackets: an IPv6 address without a port.
            None if text.matches(':').count() > 1 => (text, None),
            None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
        };
        let port = port.map_or(Ok(PORT), |port| port.parse().map_err(|_| BadAddress))?;
        if host.is_empty() {
            return Err(BadAddress);
        }
        Ok(Self::Tcp { host: host.into(), port })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "buffer://[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "buffer://{host}:{port}"),
            Self::Unix(path) => write!(f, "buffer://{}", path.display()),
        }
    }
}

impl fmt::Display for BadAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "not an address of a buffer: write HOST, HOST:PORT, buffer://HOST:PORT or a path with a slash",
        )
    }
}

impl core::error::Error for BadAddress {}

/// The protocol's usual port.
pub const PORT: u16 = 1972;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_usual_form_is_understood() {
        for (text, host, port) in [
            ("buffer://localhost:1972", "localhost", 1972),
            ("localhost", "localhost", 1972),
            ("meg:1973", "meg", 1973),
            ("buffer://[::1]:1974", "::1", 1974),
            ("[fe80::1]", "fe80::1", 1972),
            ("::1", "::1", 1972),
        ] {
            assert_eq!(text.parse(), Ok(Address::Tcp { host: host.into(), port }), "{text}");
        }
        for text in ["/tmp/ft", "buffer:///tmp/ft", "buffer:///tmp/ft:0"] {
            assert_eq!(text.parse(), Ok(Address::Unix("/tmp/ft".into())), "{text}");
        }
        for text in ["", ":1972", "host:port", "host:70000", "[::1", "[::1]1972"] {
            assert_eq!(text.parse::<Address>(), Err(BadAddress), "{text}");
        }
    }

    #[test]
    fn what_is_printed_can_be_read() {
        for text in ["buffer://localhost:1972", "buffer://[::1]:1", "buffer:///tmp/ft"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
    }
}
