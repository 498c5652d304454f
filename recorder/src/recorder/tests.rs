//! A recorder and a sender in this process.

use std::env;
use std::fs;

use schwann::outlet::{Flush, Outlet, OutletOptions};
use schwann::{Config, StreamInfo};
use schwann_proto::stream::ChannelFormat;

use super::*;
use crate::status::Phase;
use ports::ports;

#[path = "../../../engine/tests/ports/mod.rs"]
mod ports;

/// A network of this computer alone.
fn network() -> Arc<Context> {
    let base = ports();
    let text = format!(
        "[ports]\nMulticastPort={}\nBasePort={base}\nPortRange=8\nIPv6=disable\n\
         [multicast]\nResolveScope=machine\n[lab]\nSessionID=recorder-{base}\n[log]\nlevel=-3\n",
        base + 8
    );
    Arc::new(Context::new(Config::parse(&text).expect("it is valid")))
}

#[test]
fn a_stream_whose_thread_panics_has_failed() {
    let context = network();
    let info = StreamInfo::new("EEG", "EEG", 1, 0.0, ChannelFormat::Int16, "amp-1").expect("a description");
    let outlet =
        Outlet::in_context(&info, &OutletOptions::default(), Arc::clone(&context)).expect("a sender");
    let path = env::temp_dir().join(format!("schwann-recorder-{}-panic.xdf", std::process::id()));
    let mut recorder = Recorder::create_for(&path, context, None).expect("a file");
    let inspect = Box::new(|_: &Chunk| panic!("on purpose"));
    recorder.add(outlet.info(), Meter::new(0.0), inspect).expect("a thread");
    while recorder.streams()[0].phase != Phase::Failed {
        outlet.push_sample(&[1_i16], 0.0, Flush::Now).expect("a sample");
        thread::yield_now();
    }
    let finished = recorder.finish().expect("a file");
    assert_eq!(finished.streams[0].phase, Phase::Failed);
    for made in [crate::certificate::certificate_path(&path), path] {
        fs::remove_file(made).expect("it was made");
    }
}
