//! Plain streams for one test each, over real sockets on loopback.

use core::time::Duration;
use std::sync::Arc;

use schwann::inlet::{Inlet, InletOptions};
use schwann::outlet::{Outlet, OutletOptions};
use schwann::{Config, Context, StreamInfo, resolver};
use schwann_proto::stream::ChannelFormat;

use crate::ports::ports;

/// Long enough for a busy machine; a test that passes never waits for it.
pub(crate) const LONG: f64 = 20.0;

/// A configuration that no other test shares ports or a session with.
pub(crate) fn context(extra: &str) -> Arc<Context> {
    let base = ports();
    let text = format!(
        "[ports]\nMulticastPort={}\nBasePort={base}\nIPv6=disable\n[multicast]\nResolveScope=machine\n\
         [lab]\nSessionID=streams{base}\n{extra}",
        base + 38
    );
    Arc::new(Context::new(Config::parse(&text).expect("a valid configuration")))
}

pub(crate) fn info(format: ChannelFormat, channels: i32, rate: f64) -> StreamInfo {
    StreamInfo::new("Test", "EEG", channels, rate, format, "streaming-test").expect("a valid description")
}

/// An outlet, and an inlet that is connected to it.
pub(crate) fn pair(info: &StreamInfo, options: &OutletOptions) -> (Outlet, Inlet) {
    let context = context("");
    let outlet = Outlet::in_context(info, options, Arc::clone(&context)).expect("an outlet");
    let inlet = connect(&context, &InletOptions::default());
    (outlet, inlet)
}

pub(crate) fn connect(context: &Arc<Context>, options: &InletOptions) -> Inlet {
    let timeout = Duration::from_secs_f64(LONG);
    let found = resolver::resolve_byprop(context, "name", "Test", 1, timeout).expect("a search");
    let inlet = Inlet::in_context(&found[0], options, Arc::clone(context)).expect("an inlet");
    inlet.open_stream(LONG).expect("a connection");
    inlet
}
