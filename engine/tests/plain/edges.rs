//! What happens at the edges: streams without channels, and what a lost stream still tells.

use std::sync::Arc;

use schwann::inlet::{Inlet, InletOptions, Recover};
use schwann::outlet::{Flush, Outlet, OutletOptions};
use schwann::{Error, StreamInfo};
use schwann_proto::stream::ChannelFormat;

use crate::pairs::{LONG, connect, context};

/// An outlet, and an inlet that is connected to it.
fn pair(channels: i32, format: ChannelFormat, extra: &str) -> (Outlet, Inlet) {
    let context = context(extra);
    let info = StreamInfo::new("Test", "EEG", channels, 0.0, format, "edges-test").expect("a description");
    let outlet =
        Outlet::in_context(&info, &OutletOptions::default(), Arc::clone(&context)).expect("an outlet");
    let inlet = connect(&context, &InletOptions { recover: Recover::No, ..InletOptions::default() });
    (outlet, inlet)
}

#[test]
fn the_stamps_of_a_stream_without_channels_arrive_in_every_protocol() {
    for extra in ["", "[tuning]\nUseProtocolVersion=100\n"] {
        let (outlet, inlet) = pair(0, ChannelFormat::Float32, extra);
        outlet.push_sample::<f32>(&[], 5.0, Flush::Now).expect("a push");
        outlet.push_strings(&[], 6.0, Flush::Now).expect("a push");
        outlet.push_raw_sample(&[], 7.0, Flush::Now).expect("a push");
        for stamp in [5.0, 6.0, 7.0] {
            assert_eq!(inlet.pull_sample::<f32>(&mut [], LONG), Ok(Some(stamp)), "{extra}");
        }
        assert_eq!(outlet.push_sample(&[1.0_f32], 8.0, Flush::Now), Err(Error::ChunkShape));
    }
}

#[test]
fn chunks_of_a_stream_without_channels_are_refused() {
    let (outlet, inlet) = pair(0, ChannelFormat::Float32, "");
    assert_eq!(outlet.push_chunk(&[1.0_f32, 2.0], 5.0, Flush::Now), Err(Error::ChunkShape));
    assert_eq!(outlet.push_chunk_stamped::<f32>(&[], &[5.0, 6.0], Flush::Now), Err(Error::ChunkShape));
    assert_eq!(outlet.push_chunk::<f32>(&[], 5.0, Flush::Now), Ok(()));
    outlet.push_sample::<f32>(&[], 7.0, Flush::Now).expect("a push");
    assert_eq!(inlet.pull_chunk::<f32>(&mut [], &mut [0.0; 4], LONG), Err(Error::ChunkShape));
    assert_eq!(inlet.pull_sample::<f32>(&mut [], LONG), Ok(Some(7.0)));
}

#[test]
fn a_description_that_was_fetched_outlives_its_stream() {
    let (outlet, inlet) = pair(1, ChannelFormat::Float32, "");
    let uid = inlet.full_info(LONG).expect("a description").uid().to_owned();
    drop(outlet);
    assert_eq!(inlet.pull_sample(&mut [0.0_f32], LONG), Err(Error::Lost));
    assert_eq!(inlet.full_info(LONG).map(|info| info.uid().to_owned()), Ok(uid));
}
