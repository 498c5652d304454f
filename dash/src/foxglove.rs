//! The streams for Foxglove and other programs that speak its WebSocket protocol, version 1, with channels of JSON.
//!
//! Source: <https://github.com/foxglove/ws-protocol/blob/main/docs/spec.md>. The protocol's own library serves every
//! program that reaches its port; here the guard decides, as about every request.

use core::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    sync::Arc,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use schwann::local_clock;
use serde::Deserialize;
use serde_json::{Value, json};
use tungstenite::{Error, Message};

use super::{
    lab::Lab,
    link::Link,
    live::{self, Live},
    monitor::{Kind, Monitor},
};

/// The name of the protocol that a client offers; none if it is none of those that are spoken here.
pub(super) fn agreed(offered: &str) -> Option<&'static str> {
    PROTOCOLS.into_iter().find(|own| offered.split(',').any(|name| name.trim() == *own))
}

/// Serves a client until it leaves or the dashboard ends.
///
/// - Errors: those of the connection.
pub(super) fn attend(link: Link, rest: Vec<u8>, lab: &Lab, stopping: &AtomicBool) -> io::Result<()> {
    let live = Live::new(link, rest, ORDER_LIMIT)?;
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64() - local_clock();
    let mut client = Client {
        live,
        lab,
        wall,
        told: BTreeSet::new(),
        subscriptions: BTreeMap::new(),
        seen_markers: 0,
        next_look: Instant::now(),
    };
    live::ended(client.run(stopping))
}

struct Client<'a> {
    live: Live,
    lab: &'a Lab,
    /// Seconds since 1970 at the zero of the local clock.
    wall: f64,
    /// Rows that the client knows as channels.
    told: BTreeSet<u32>,
    subscriptions: BTreeMap<u32, Subscription>,
    seen_markers: u64,
    next_look: Instant,
}

struct Subscription {
    monitor: Arc<Monitor>,
    /// Number of the sample that follows.
    next: u64,
    /// Samples that were passed over, which the client is not told yet.
    untold: u64,
}

/// What a client says, as far as it matters here.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "camelCase")]
enum Order {
    Subscribe {
        subscriptions: Vec<Wanted>,
    },
    #[serde(rename_all = "camelCase")]
    Unsubscribe {
        subscription_ids: Vec<u32>,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wanted {
    id: u32,
    channel_id: u32,
}

impl Client<'_> {
    fn run(&mut self, stopping: &AtomicBool) -> Result<(), Error> {
        self.send(&json!({
            "op": "serverInfo", "name": "Schwann", "capabilities": [], "supportedEncodings": [], "metadata": {},
        }))?;
        // What was before is no news.
        let _ = self.lab.markers().since(&mut self.seen_markers);
        while !stopping.load(Ordering::Relaxed) {
            match self.live.hear()? {
                Some(Message::Text(text)) => self.take(&text)?,
                Some(Message::Close(_)) => return Ok(()),
                Some(_) | None => {}
            }
            if Instant::now() >= self.next_look {
                self.next_look = Instant::now() + LOOK;
                self.tell_channels()?;
                self.tell_passed_over()?;
            }
            self.send_samples()?;
            self.send_markers()?;
        }
        self.live.close()
    }

    fn take(&mut self, text: &str) -> Result<(), Error> {
        match serde_json::from_str(text) {
            Ok(Order::Subscribe { subscriptions }) => {
                subscriptions.iter().try_for_each(|wanted| self.subscribe(wanted))
            }
            Ok(Order::Unsubscribe { subscription_ids }) => {
                subscription_ids.iter().for_each(|id| drop(self.subscriptions.remove(id)));
                Ok(())
            }
            Ok(Order::Other) => self.warn("This server gives streams, and nothing else."),
            Err(error) => self.warn(&format!("This is no message that is known: {error}")),
        }
    }

    fn subscribe(&mut self, &Wanted { id, channel_id }: &Wanted) -> Result<(), Error> {
        if self.subscriptions.len() >= MOST {
            return self.warn(&format!(
                "Channel {channel_id} is not sent: a client has {MOST} subscriptions at most."
            ));
        }
        self.lab.receive(channel_id);
        let Some(monitor) = self.lab.row(channel_id) else {
            return self.warn(&format!("There is no channel {channel_id}."));
        };
        let next = monitor.newest();
        self.subscriptions.insert(id, Subscription { monitor, next, untold: 0 });
        Ok(())
    }

    fn warn(&mut self, message: &str) -> Result<(), Error> {
        self.send(&json!({ "op": "status", "level": 1, "message": message }))
    }

    /// Says which channels are new, and which are no more.
    fn tell_channels(&mut self) -> Result<(), Error> {
        let rows = self.lab.rows();
        let present: BTreeSet<u32> = rows.iter().map(|row| row.id).collect();
        let gone: Vec<u32> = self.told.difference(&present).copied().collect();
        if !gone.is_empty() {
            self.subscriptions.retain(|_, subscription| present.contains(&subscription.monitor.id));
            self.send(&json!({ "op": "unadvertise", "channelIds": gone }))?;
        }
        let new: Vec<_> =
            rows.iter().filter(|row| !self.told.contains(&row.id)).map(|row| channel(row)).collect();
        if !new.is_empty() {
            self.send(&json!({ "op": "advertise", "channels": new }))?;
        }
        self.told = present;
        Ok(())
    }

    /// Says how many samples did not go out.
    fn tell_passed_over(&mut self) -> Result<(), Error> {
        let mut told = Vec::new();
        for subscription in self.subscriptions.values_mut().filter(|subscription| subscription.untold > 0) {
            let name = subscription.monitor.info().name().to_string_lossy().into_owned();
            let count = core::mem::take(&mut subscription.untold);
            told.push(format!("{name} is faster than this connection takes: {count} samples were left out."));
        }
        told.iter().try_for_each(|text| self.warn(text))
    }

    fn send_samples(&mut self) -> Result<(), Error> {
        let mut frames = Vec::new();
        for (&id, subscription) in &mut self.subscriptions {
            let (samples, passed_over) = subscription.monitor.samples(&mut subscription.next, VALUES_MOST);
            subscription.untold += passed_over;
            for (stamp, values) in samples {
                frames.push(frame(id, stamp + self.wall, &json!({ "values": values })));
            }
        }
        frames.into_iter().try_for_each(|frame| self.live.send(Message::binary(frame)))
    }

    fn send_markers(&mut self) -> Result<(), Error> {
        for marker in self.lab.markers().since(&mut self.seen_markers) {
            let to = self.subscriptions.iter().filter(|(_, wanted)| wanted.monitor.id == marker.stream);
            let ids: Vec<u32> = to.map(|(id, _)| *id).collect();
            for id in ids {
                let frame = frame(id, marker.time + self.wall, &json!({ "text": marker.text }));
                self.live.send(Message::binary(frame))?;
            }
        }
        Ok(())
    }

    fn send(&mut self, value: &Value) -> Result<(), Error> {
        self.live.send(Message::text(value.to_string()))
    }
}

/// How a row is called and what comes of it.
fn channel(row: &Monitor) -> Value {
    let name = row.info().name().to_string_lossy().into_owned();
    let (kind, properties) = match row.kind() {
        Kind::Signal => ("samples", json!({ "values": { "type": "array", "items": { "type": "number" } } })),
        Kind::Markers => ("marker", json!({ "text": { "type": "string" } })),
    };
    let schema = json!({ "type": "object", "properties": properties }).to_string();
    json!({
        "id": row.id, "topic": format!("/{name}"), "encoding": "json",
        "schemaName": format!("schwann.{kind}"), "schema": schema, "schemaEncoding": "jsonschema",
    })
}

/// Message data: 1, the subscription in 32 bits, nanoseconds since 1970 in 64, all little-endian; then the message.
fn frame(subscription: u32, time: f64, message: &Value) -> Vec<u8> {
    let mut frame = vec![1];
    frame.extend(subscription.to_le_bytes());
    frame.extend(((time * 1e9) as u64).to_le_bytes());
    frame.extend(message.to_string().as_bytes());
    frame
}

const LOOK: Duration = Duration::from_secs(1);
/// Subscriptions of one client.
const MOST: usize = 64;
const ORDER_LIMIT: usize = 64 << 10;
/// The second is what the protocol was called before.
const PROTOCOLS: [&str; 2] = ["foxglove.sdk.v1", "foxglove.websocket.v1"];
/// Values of one stream that go out at a time; what is more is left out, so that nothing piles up.
const VALUES_MOST: usize = 20_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_protocol_is_agreed_on_or_not() {
        assert_eq!(agreed("foxglove.sdk.v1.1, foxglove.sdk.v1"), Some("foxglove.sdk.v1"));
        assert_eq!(agreed("foxglove.websocket.v1"), Some("foxglove.websocket.v1"));
        assert_eq!(agreed("foxglove.sdk.v1.1"), None);
        assert_eq!(agreed(""), None);
    }

    #[test]
    fn a_frame_is_as_the_protocol_lays_it_down() {
        let frame = frame(7, 1.5, &json!({ "values": [1.0] }));
        assert_eq!(frame[..13], [1, 7, 0, 0, 0, 0, 0x2f, 0x68, 0x59, 0, 0, 0, 0]);
        assert_eq!(&frame[13..], br#"{"values":[1.0]}"#);
    }
}
