//! Keys that change while samples flow.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Instant;

use schwann::inlet::Recover;
use schwann::outlet::Flush;
use schwann::security::Policy;
use schwann_proto::stream_info::IpVersion;

use crate::sealing::{LONG, Lab, context, description_of, inlet_of, network, outlet};

/// How often a key must have changed.
const CHANGES: u64 = 20;

#[test]
fn a_stream_whose_keys_change_all_the_time_loses_nothing() {
    let (lab, network) = (Lab::new(), network());
    let member = |serial| lab.member(serial, |_| {}).with_key_lifetime(Duration::from_millis(20));
    let [sending, receiving] = [1, 2].map(|serial| context(&network, Policy::Require, Some(member(serial))));
    let outlet = outlet(&sending).expect("an outlet");
    let mut info = description_of(&outlet);
    let (port, changes) = listen_before(info.endpoint(IpVersion::V4).data_port);
    info.set_ports(IpVersion::V4, port, info.endpoint(IpVersion::V4).service_port);
    let inlet = inlet_of(&info, &receiving, Recover::No).expect("an inlet");
    inlet.open_stream(LONG).expect("a connection");
    assert!(outlet.wait_for_consumers(1, Some(Duration::from_secs_f64(LONG))));
    // Every sample must come before the next one goes, so no change may hold one up for long.
    let (mut count, deadline) = (0_u32, Instant::now() + Duration::from_secs_f64(LONG));
    while changes.load(Ordering::Relaxed) < CHANGES {
        assert!(Instant::now() < deadline, "{changes:?} changes of key after {count} samples");
        let stamp = f64::from(count) + 1.0;
        outlet.push_sample(&[count as f32; 8], stamp, Flush::Now).expect("a push");
        let mut sample = [0.0_f32; 8];
        assert_eq!(inlet.pull_sample(&mut sample, LONG), Ok(Some(stamp)));
        assert_eq!(sample, [count as f32; 8]);
        count += 1;
    }
    assert_eq!(outlet.consumer_count(), 1);
}

/// Stands between one inlet and the outlet at `port`; counts how often the outlet changes its key.
fn listen_before(port: u16) -> (u16, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (own, changes) = (listener.local_addr().expect("bound").port(), Arc::new(AtomicU64::new(0)));
    let counted = Arc::clone(&changes);
    std::thread::spawn(move || {
        let inlet = listener.accept().expect("one inlet: a second connection would be a loss").0;
        let outlet = TcpStream::connect(("127.0.0.1", port)).expect("the outlet");
        let (from_inlet, to_outlet) =
            (inlet.try_clone().expect("a copy"), outlet.try_clone().expect("a copy"));
        std::thread::spawn(move || pass_on(from_inlet, to_outlet));
        // What cannot be passed on has no receiver left.
        let _ = count_changes(outlet, inlet, &counted);
    });
    (own, changes)
}

fn pass_on(mut from: TcpStream, mut to: TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Both);
}

/// Message 2 of the handshake, then records (secure-session §3.2, §4.1).
fn count_changes(mut from: TcpStream, mut to: TcpStream, changes: &AtomicU64) -> std::io::Result<()> {
    const REKEY: u8 = 2;
    let mut len = [0; 2];
    from.read_exact(&mut len)?;
    let mut message = vec![0; usize::from(u16::from_be_bytes(len))];
    from.read_exact(&mut message)?;
    to.write_all(&[len.as_slice(), &message].concat())?;
    loop {
        let mut head = [0; 4];
        from.read_exact(&mut head)?;
        let [kind, len @ ..] = head;
        let mut record = vec![0; u32::from_le_bytes([len[0], len[1], len[2], 0]) as usize + 16];
        from.read_exact(&mut record)?;
        to.write_all(&[head.as_slice(), &record].concat())?;
        changes.fetch_add(u64::from(kind == REKEY), Ordering::Relaxed);
    }
}
