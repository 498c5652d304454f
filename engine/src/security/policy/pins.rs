//! Streams that may come from one device alone.
//!
//! Every member of the lab may offer a stream with any name and source id. A pin says which device a stream must
//! come from; from any other, sealed or not, an inlet does not take it.
//!
//! | Where | How |
//! | --- | --- |
//! | `[security]` in `lsl_api.cfg` | `pin = name='EEG' -> FINGERPRINT; source_id='et-7' -> FINGERPRINT` |
//!
//! The fingerprint is that of the device's key, as `schwann keys status` shows it there.
//!
//! Source: secure-session §6.

use core::fmt;

use schwann_proto::stream_info::StreamInfo;
use schwann_proto::wire::query::Query;
use schwann_session::PublicKey;

/// Which streams come from which devices.
#[derive(Clone, Debug, Default)]
pub struct Pins(Vec<Pin>);

/// The streams that fulfil a condition come from one device.
#[derive(Clone, Debug)]
pub struct Pin {
    condition: String,
    query: Query,
    /// The fingerprint of the device's key.
    device: String,
}

impl Pins {
    /// Reads `CONDITION -> FINGERPRINT; CONDITION -> FINGERPRINT`.
    ///
    /// - Errors: what is wrong with it, to be put behind its place; then no stream may be received.
    pub fn parse(text: &str) -> Result<Self, String> {
        let items = parted(text).into_iter().map(str::trim).filter(|item| !item.is_empty());
        items.map(Pin::parse).collect::<Result<_, _>>().map(Self)
    }

    /// Each pin.
    pub fn iter(&self) -> impl Iterator<Item = &Pin> {
        self.0.iter()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a stream is pinned to any device.
    pub fn concern(&self, info: &StreamInfo) -> bool {
        self.0.iter().any(|pin| pin.concerns(info))
    }

    /// Whether a stream may come from the device with this key; none means that it comes in the clear.
    ///
    /// Where several pins concern a stream, each of their devices may send it.
    pub fn permit(&self, info: &StreamInfo, device: Option<&PublicKey>) -> bool {
        let mut pins = self.0.iter().filter(|pin| pin.concerns(info)).peekable();
        if pins.peek().is_none() {
            return true;
        }
        let device = device.map(|device| device.fingerprint().to_string());
        pins.any(|pin| device.as_ref() == Some(&pin.device))
    }
}

impl FromIterator<Pin> for Pins {
    fn from_iter<Many: IntoIterator<Item = Pin>>(pins: Many) -> Self {
        Self(pins.into_iter().collect())
    }
}

impl fmt::Display for Pins {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, pin) in self.0.iter().enumerate() {
            write!(out, "{}{pin}", if number == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

impl Pin {
    /// Reads `CONDITION -> FINGERPRINT`.
    ///
    /// - Errors: what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some((condition, device)) = text.rsplit_once("->") else {
            return Err(format!("{text:?} is no pin: write CONDITION -> FINGERPRINT"));
        };
        let (condition, device) = (condition.trim(), device.trim().to_uppercase());
        let query = Query::parse(condition).map_err(|error| error.describe(condition))?;
        if condition.is_empty() || !query.is_about_fields() {
            return Err(format!(
                "{condition:?} is no condition of a pin; use name, type, source_id and hostname"
            ));
        }
        if !is_fingerprint(&device) {
            return Err(format!(
                "{device:?} is no fingerprint of a key; `schwann keys status` on that device shows it"
            ));
        }
        Ok(Self { condition: condition.to_owned(), query, device })
    }

    /// The streams that it is about.
    pub fn condition(&self) -> &str {
        &self.condition
    }

    /// The fingerprint of the device's key.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Whether a stream fulfils the condition.
    pub fn concerns(&self, info: &StreamInfo) -> bool {
        info.matches(&self.query)
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} -> {}", self.condition, self.device)
    }
}

/// The parts between semicolons that stand in no quotes.
fn parted(text: &str) -> Vec<&str> {
    let (mut quote, mut start, mut parts) = (None, 0, Vec::new());
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), close) if open == close => quote = None,
            (None, ';') => {
                parts.extend(text.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.extend(text.get(start..));
    parts
}

/// Whether a text has the form of a fingerprint (secure-session §2.6).
fn is_fingerprint(text: &str) -> bool {
    let groups: Vec<_> = text.split('-').collect();
    let is_group =
        |group: &&str| group.len() == 4 && group.bytes().all(|b| matches!(b, b'A'..=b'Z' | b'2'..=b'7'));
    groups.len() == 8 && groups.iter().all(is_group)
}

#[cfg(test)]
mod tests {
    use schwann_proto::stream::ChannelFormat;

    use super::*;

    fn stream(name: &str) -> StreamInfo {
        StreamInfo::new(name, "EEG", 1, 0.0, ChannelFormat::Int8, "amp;1").expect("valid")
    }

    #[test]
    fn a_pinned_stream_comes_from_its_device_alone() {
        let [one, other] = [1, 2].map(|byte| PublicKey([byte; 32]));
        let text = format!(
            "name='EEG' and source_id='amp;1' -> {}; type=\"Eyes\" -> {}",
            one.fingerprint(),
            other.fingerprint()
        );
        let pins = Pins::parse(&text).expect("valid");
        assert_eq!(pins.to_string(), text);
        assert!(pins.permit(&stream("EEG"), Some(&one)));
        assert!(!pins.permit(&stream("EEG"), Some(&other)));
        assert!(!pins.permit(&stream("EEG"), None), "in the clear");
        assert!(pins.permit(&stream("Markers"), None), "no pin concerns it");
        let more = Pin::parse(&format!("name='EEG' -> {}", other.fingerprint())).expect("valid");
        let both: Pins = pins.iter().cloned().chain([more]).collect();
        assert!(both.permit(&stream("EEG"), Some(&other)));
    }

    #[test]
    fn what_is_no_pin_is_refused_with_its_reason() {
        let key = PublicKey([1; 32]).fingerprint();
        for wrong in [
            String::from("name='EEG'"),
            String::from("name='EEG' -> amplifier"),
            format!("name='EEG -> {key}"),
            format!(" -> {key}"),
            format!("desc/owner='me' -> {key}"),
            format!("name='EEG' -> {key}-AAAA"),
        ] {
            assert!(Pins::parse(&wrong).is_err(), "{wrong}");
        }
        assert!(Pins::parse(" ; ").expect("none").is_empty());
    }
}
