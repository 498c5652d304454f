//! What C hands over at creation, and what it reads back.

use core::ffi::{CStr, c_char, c_void};

use schwann_node::{Description, Keep, Pace, Ports, Shape, Uid};
use schwann_proto::stream::ChannelFormat;
use schwann_session::{Entropy, NoEntropy};

/// `schwann_node_settings`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Name of the stream.
    pub name: *const c_char,
    /// Content type; may be null.
    pub stream_type: *const c_char,
    /// What identifies the device across restarts; may be null.
    pub source_id: *const c_char,
    /// Name of the device; may be null.
    pub hostname: *const c_char,
    /// Session; null for `default`.
    pub session_id: *const c_char,
    /// Content of `desc`, well-formed XML; may be null.
    pub desc: *const c_char,
    /// Samples per second, in Hz; 0 if irregular.
    pub nominal_rate: f64,
    /// Seconds on the device's clock.
    pub created_at: f64,
    /// Fills memory with unpredictable bytes; returns 0 on success.
    pub entropy: Option<unsafe extern "C" fn(*mut c_void, *mut u8, usize) -> i32>,
    /// Handed to `entropy`.
    pub entropy_user: *mut c_void,
    /// What the key store holds; null for a plain stream.
    pub keys: *const u8,
    /// Its length, in bytes.
    pub keys_len: usize,
    /// Number of values per sample.
    pub channel_count: u32,
    /// `cft_float32` and so on.
    pub format: i32,
    /// Longest time that samples wait to be sent together, in microseconds; 0 sends each at once.
    pub within_us: u32,
    /// 0 keeps the newest samples, 1 the oldest.
    pub keep_oldest: i32,
    /// Room for the strings of one sample, with two bytes for each.
    pub string_room: u32,
    /// TCP port of samples.
    pub data_port: u16,
    /// UDP port of time.
    pub service_port: u16,
}

/// `schwann_node_counters`: see `schwann_node::Counters`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Calls of `poll`.
    pub polls: u32,
    /// Samples pushed.
    pub pushed: u32,
    /// Pushes refused because the ring was full.
    pub refused: u32,
    /// Samples sent, over all subscribers.
    pub sent: u32,
    /// Samples that a subscriber missed, over all subscribers.
    pub lost: u32,
    /// Writes that carried samples.
    pub records: u32,
    /// Sealed sessions made.
    pub sessions: u32,
    /// Connections given up.
    pub strangers: u32,
    /// Datagrams that were no valid request.
    pub odd_datagrams: u32,
}

impl From<schwann_node::Counters> for Counters {
    fn from(from: schwann_node::Counters) -> Self {
        let schwann_node::Counters {
            polls,
            pushed,
            refused,
            sent,
            lost,
            records,
            sessions,
            strangers,
            odd_datagrams,
        } = from;
        Self { polls, pushed, refused, sent, lost, records, sessions, strangers, odd_datagrams }
    }
}

/// A generator of the caller's.
#[derive(Clone, Copy)]
pub(crate) struct Dice {
    fill: Option<unsafe extern "C" fn(*mut c_void, *mut u8, usize) -> i32>,
    user: *mut c_void,
}

impl Entropy for Dice {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), NoEntropy> {
        let fill = self.fill.ok_or(NoEntropy)?;
        // SAFETY: the caller promises that its function takes what it was registered with, and any length.
        let outcome = unsafe { fill(self.user, out.as_mut_ptr(), out.len()) };
        if outcome == 0 { Ok(()) } else { Err(NoEntropy) }
    }
}

impl Settings {
    pub(crate) fn dice(&self) -> Dice {
        Dice { fill: self.entropy, user: self.entropy_user }
    }

    pub(crate) fn keep(&self) -> Keep {
        if self.keep_oldest == 0 { Keep::Newest } else { Keep::Oldest }
    }

    pub(crate) fn pace(&self) -> Pace {
        if self.within_us == 0 { Pace::EverySample } else { Pace::Within(self.within_us.into()) }
    }

    pub(crate) fn shape(&self) -> Option<Shape> {
        Some(Shape {
            format: ChannelFormat::from_code(self.format)?,
            channel_count: usize::try_from(self.channel_count).ok()?,
            string_room: usize::try_from(self.string_room).ok()?,
        })
    }

    /// What the key store holds, for as long as the node lives.
    pub(crate) fn keys(&self) -> Option<&'static [u8]> {
        if self.keys.is_null() {
            return None;
        }
        // SAFETY: the caller promises `keys_len` bytes for as long as the node lives.
        Some(unsafe { core::slice::from_raw_parts(self.keys, self.keys_len) })
    }

    pub(crate) fn description(&self, uid: [u8; 16]) -> Option<Description<'static>> {
        let shape = self.shape()?;
        Some(Description {
            name: text(self.name)?,
            stream_type: text(self.stream_type)?,
            channel_count: shape.channel_count,
            format: shape.format,
            nominal_rate: self.nominal_rate,
            source_id: text(self.source_id)?,
            hostname: text(self.hostname)?,
            session_id: if self.session_id.is_null() { "default" } else { text(self.session_id)? },
            uid: Uid::new(uid),
            created_at: self.created_at,
            ports: Ports { data_port: self.data_port, service_port: self.service_port },
            desc: text(self.desc)?,
        })
    }
}

/// A text of the caller's, for as long as the node lives; null is empty. Nothing if it is not UTF-8.
fn text(text: *const c_char) -> Option<&'static str> {
    if text.is_null() {
        return Some("");
    }
    // SAFETY: the caller promises a terminated text for as long as the node lives.
    unsafe { CStr::from_ptr(text) }.to_str().ok()
}
