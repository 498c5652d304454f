//! One open page: takes its wishes, sends it the list, the markers and the traces.
//!
//! There is no queue to overflow. What is due is made when the connection has room for it; while a slow browser does
//! not read, this thread alone waits, and the view it did not ask drops its oldest columns.

use core::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use std::{
    io,
    net::TcpStream,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use schwann::{inlet::Protection, local_clock};
use schwann_recorder::{Gap, Trouble, Verdict, twins};
use serde::Deserialize;
use serde_json::{Value, json};
use tungstenite::{
    Error, Message, WebSocket,
    protocol::{Role, WebSocketConfig},
};

use super::{
    decimate::{Decimator, Selection},
    lab::Lab,
    monitor::{Kind, Monitor},
    reading::Health,
};

/// Serves a page until it is closed or the dashboard ends.
///
/// - Errors: those of the connection.
pub(super) fn attend(stream: TcpStream, rest: Vec<u8>, lab: &Lab, stopping: &AtomicBool) -> io::Result<()> {
    stream.set_read_timeout(Some(TICK))?;
    let config =
        WebSocketConfig::default().max_message_size(Some(WISH_LIMIT)).max_frame_size(Some(WISH_LIMIT));
    let socket = WebSocket::from_partially_read(stream, rest, Role::Server, Some(config));
    let mut browser = Browser { socket, lab, view: None, seen_markers: 0, next_list: Instant::now() };
    match browser.run(stopping) {
        Err(Error::Io(error)) => Err(error),
        _ => Ok(()),
    }
}

struct Browser<'a> {
    socket: WebSocket<TcpStream>,
    lab: &'a Lab,
    view: Option<View>,
    seen_markers: u64,
    next_list: Instant,
}

/// The stream that the page shows.
struct View {
    monitor: Arc<Monitor>,
    decimator: Arc<Mutex<Decimator>>,
    /// The page's own number for it, so that it knows frames of an older one.
    generation: u32,
}

/// What a page asks for.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Request {
    /// To forget streams that have stopped.
    Dismiss { dismiss: Vec<u32> },
    /// To see one.
    Show(Wish),
}

/// What a page wants to see.
#[derive(Debug, Deserialize)]
struct Wish {
    generation: u32,
    stream: u32,
    /// Channels in the order in which they are drawn; none for the first ones.
    channels: Option<Vec<u32>>,
    /// Pixel columns.
    columns: u32,
    /// Seconds from the left edge to the right one.
    window: f64,
    /// Hz; 0 for none.
    high_pass: f64,
}

impl Browser<'_> {
    fn run(&mut self, stopping: &AtomicBool) -> Result<(), Error> {
        self.send(json!({
            "type": "hello",
            "version": env!("CARGO_PKG_VERSION"),
            "now": local_clock(),
        }))?;
        while !stopping.load(Ordering::Relaxed) {
            match self.socket.read() {
                Ok(Message::Text(text)) => self.take_request(&text)?,
                Ok(Message::Close(_)) => return Ok(()),
                Ok(_) => {}
                Err(Error::Io(error)) if is_pause(&error) => {}
                Err(error) => return Err(error),
            }
            self.send_traces()?;
            self.send_markers()?;
            if Instant::now() >= self.next_list {
                self.send_list()?;
                self.next_list = Instant::now() + LIST_INTERVAL;
            }
        }
        self.socket.close(None)?;
        self.socket.flush()
    }

    /// Does what the page asks for. What makes no sense is answered by nothing.
    fn take_request(&mut self, text: &str) -> Result<(), Error> {
        match serde_json::from_str(text) {
            Ok(Request::Show(wish)) => self.show(&wish),
            Ok(Request::Dismiss { dismiss }) => {
                self.lab.dismiss(&dismiss);
                self.send_list()
            }
            Err(_) => Ok(()),
        }
    }

    fn show(&mut self, wish: &Wish) -> Result<(), Error> {
        let Some(monitor) = self.lab.row(wish.stream) else { return Ok(()) };
        let Some(selection) = wish.selection(&monitor) else { return Ok(()) };
        let labels = monitor.labels();
        let count = monitor.info().channel_count() as usize;
        self.send(json!({
            "type": "view",
            "generation": wish.generation,
            "stream": wish.stream,
            "channels": selection.channels,
            "labels": (0..count.min(MAX_LABELS)).map(|channel| labels.name(channel)).collect::<Vec<_>>(),
            "unit": labels.unit,
            "column_seconds": selection.column_seconds,
            "columns": selection.columns,
            "high_pass": selection.high_pass,
            "now": local_clock(),
        }))?;
        let decimator = monitor.open_view(selection);
        self.view = Some(View { monitor, decimator, generation: wish.generation });
        self.send_traces()
    }

    fn send_traces(&mut self) -> Result<(), Error> {
        let Some(view) = &self.view else { return Ok(()) };
        let columns = {
            let mut decimator = view.decimator.lock().unwrap_or_else(PoisonError::into_inner);
            if decimator.columns().is_empty() {
                return Ok(());
            }
            decimator.take()
        };
        let channels = columns.front().map_or(0, |column| column.extremes.len() / 2);
        let mut frame = Vec::with_capacity(24 + columns.len() * (8 + 8 * channels));
        frame.extend(view.generation.to_le_bytes());
        frame.extend((channels as u32).to_le_bytes());
        frame.extend((columns.len() as u32).to_le_bytes());
        frame.extend(0_u32.to_le_bytes());
        frame.extend(local_clock().to_le_bytes());
        columns.iter().for_each(|column| frame.extend((column.index as f64).to_le_bytes()));
        columns
            .iter()
            .flat_map(|column| &column.extremes)
            .for_each(|value| frame.extend(value.to_le_bytes()));
        self.socket.send(Message::binary(frame))
    }

    fn send_markers(&mut self) -> Result<(), Error> {
        let markers = self.lab.markers().since(&mut self.seen_markers);
        if markers.is_empty() {
            return Ok(());
        }
        self.send(json!({ "type": "markers", "markers": markers }))
    }

    fn send_list(&mut self) -> Result<(), Error> {
        let monitors = self.lab.rows();
        let is_there = |monitor: &&Arc<Monitor>| monitor.health() != Health::Stopped;
        let there: Vec<_> = monitors.iter().filter(is_there).map(|monitor| monitor.info()).collect();
        let twins: Vec<_> = there.iter().zip(twins(there.iter())).filter(|(_, is_twin)| *is_twin).collect();
        let has_twin = |monitor: &Monitor| {
            let own = monitor.info();
            twins.iter().any(|(info, _)| info.uid() == own.uid())
        };
        let rows: Vec<_> = monitors.iter().map(|monitor| row(monitor, has_twin(monitor))).collect();
        let gaps = self.view.as_ref().map(|view| {
            let gaps: Vec<_> = view.monitor.gaps().iter().map(gap_json).collect();
            json!({ "stream": view.monitor.id, "gaps": gaps })
        });
        self.send(json!({ "type": "streams", "now": local_clock(), "streams": rows, "shown": gaps }))
    }

    fn send(&mut self, value: Value) -> Result<(), Error> {
        self.socket.send(Message::text(value.to_string()))
    }
}

impl Wish {
    /// What is shown for this wish, within what a connection may carry; none if it makes no sense.
    fn selection(&self, monitor: &Monitor) -> Option<Selection> {
        let count = monitor.info().channel_count();
        if monitor.kind() != Kind::Signal || !self.window.is_finite() || !self.high_pass.is_finite() {
            return None;
        }
        let wanted = self.channels.clone().unwrap_or_else(|| (0..count.min(DEFAULT_CHANNELS)).collect());
        let channels: Vec<u32> =
            wanted.into_iter().filter(|&channel| channel < count).take(MAX_CHANNELS).collect();
        let bytes_per_column = 8 + 8 * channels.len() as u32;
        let columns = self.columns.clamp(1, MAX_COLUMNS.min(FRAME_LIMIT / bytes_per_column));
        let window = self.window.clamp(0.1, 600.0);
        let slowest = f64::from(bytes_per_column) / RATE_LIMIT;
        let column_seconds = (window / f64::from(columns)).max(slowest);
        Some(Selection { channels, column_seconds, columns: columns as usize, high_pass: self.high_pass })
    }
}

fn row(monitor: &Monitor, has_twin: bool) -> Value {
    let (info, reading) = (monitor.info(), monitor.reading());
    // Gaps have a place of their own in the row, for as long as the dashboard runs.
    let trouble = reading.verdict.trouble().filter(|trouble| !matches!(trouble, Trouble::Gaps { .. }));
    let trouble = trouble.or(has_twin.then_some(Trouble::Twin));
    json!({
        "id": monitor.id,
        "name": info.name().to_string_lossy(),
        "content": info.stream_type().to_string_lossy(),
        "kind": monitor.kind(),
        "host": info.hostname().to_string_lossy(),
        "source": info.source_id().to_string_lossy(),
        "session": info.session_id().to_string_lossy(),
        "channels": info.channel_count(),
        "format": info.channel_format().name(),
        "nominal_rate": info.nominal_rate(),
        "lock": if reading.refusal.is_some() { Some("refused") } else { reading.protection.map(lock) },
        "sender": reading.sender,
        "refusal": reading.refusal,
        "gone": reading.gone,
        "health": reading.health,
        "is_judged": !matches!(reading.verdict, Verdict::Early | Verdict::Trouble(Trouble::NotConnected)),
        "trouble": trouble.and_then(Trouble::explained),
        "rate": reading.rate,
        "lag": reading.lag,
        "clock_offset": reading.clock_offset,
        "clock_uncertainty": reading.clock_uncertainty,
        "total": reading.total,
        "gaps": reading.gap_count,
        "missing": reading.missing,
        "dropped": reading.dropped,
        "spark": reading.spark,
    })
}

fn gap_json(gap: &Gap) -> Value {
    json!({ "from": gap.from, "to": gap.to, "missing": gap.missing })
}

fn lock(protection: Protection) -> &'static str {
    match protection {
        Protection::Plain => "plain",
        Protection::Sealed => "sealed",
    }
}

/// Whether nothing has come within a tick, which is the usual case.
fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

const DEFAULT_CHANNELS: u32 = 64;
const FRAME_LIMIT: u32 = 4 << 20;
const LIST_INTERVAL: Duration = Duration::from_millis(250);
const MAX_CHANNELS: usize = 256;
const MAX_COLUMNS: u32 = 4096;
const MAX_LABELS: usize = 10_000;
/// Bytes per second of traces that one page gets at most.
const RATE_LIMIT: f64 = 4e6;
/// Shorter than a frame of the screen twice over, so that traces scroll and do not hop.
const TICK: Duration = Duration::from_millis(25);
const WISH_LIMIT: usize = 128 << 10;
