//! The hubs that the configuration remembers: `hub` in section `[relay]`.

use core::fmt;

use schwann::Config;

use crate::address::{Address, AddressError};

/// The hubs of a configuration: one address, or several in braces.
///
/// - Errors: [`RememberedError`] names the first that is none.
pub fn remembered(config: &Config) -> Result<Vec<Address>, RememberedError> {
    let text = config.raw("relay", "hub").unwrap_or_default().trim();
    let list = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(text);
    let words = list.split(',').map(str::trim).filter(|word| !word.is_empty());
    let parse = |word: &str| word.parse().map_err(|error| RememberedError { text: word.to_owned(), error });
    words.map(parse).collect()
}

/// A text of the configuration is no address.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RememberedError {
    text: String,
    error: AddressError,
}

impl fmt::Display for RememberedError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "hub={} in [relay] of lsl_api.cfg: {}", self.text, self.error)
    }
}

impl core::error::Error for RememberedError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_hub_or_several_are_remembered() {
        let hubs = |value: &str| {
            let config = Config::parse(&format!("[relay]\n{value}\n")).expect("it is valid");
            remembered(&config).map(|hubs| hubs.iter().map(|hub| hub.url().to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(hubs("history=7d"), Ok(Vec::new()));
        assert_eq!(hubs("hub=tls://hub:4222"), Ok(vec!["tls://hub:4222".to_owned()]));
        let both = vec!["tls://a:1".to_owned(), "wss://b:2".to_owned()];
        assert_eq!(hubs("hub={tls://a:1, wss://b:2}"), Ok(both));
        let error = hubs("hub={tls://a:1, nats://b:2}").expect_err("one is none");
        assert_eq!((error.text.as_str(), error.error), ("nats://b:2", AddressError::NotEncrypted));
    }
}
