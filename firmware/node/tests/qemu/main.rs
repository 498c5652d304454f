//! The image for QEMU and the desktop, over a network of their own. Run by `checks/70-firmware.sh`, which makes
//! that network (a tap `schwann0` at 10.77.0.1). It also sets `SCHWANN_IMAGES`, and `SCHWANN_PYLSL` for the
//! original library.

mod budgets;
#[path = "../common/mod.rs"]
mod common;
mod machine;

use core::time::Duration;
use std::io::Write as _;
use std::net::{TcpStream, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use common::Lab;
use machine::{Machine, numbers};
use schwann::inlet::{Inlet, InletOptions};
use schwann::outlet::{Flush, Outlet, OutletOptions};
use schwann::security::{Member, Policy, Trust};
use schwann::{Config, Context, StreamInfo, resolver};
use schwann_proto::stream::ChannelFormat;
use schwann_session::provision::Lines;
use schwann_session::{
    Credentials, DeviceKey, DeviceName, Flags, LabId, PublicKey, Roles, Statement, SystemEntropy, UnixSeconds,
};

/// Long enough for a busy machine; a test that passes never waits for it.
const LONG: f64 = 60.0;
const NODE: &str = "10.77.0.2";

fn context(trust: Trust) -> Arc<Context> {
    let text = "[log]\nlevel=-2\n[ports]\nIPv6=disable\n[multicast]\nResolveScope=site\n";
    Arc::new(Context::with_trust(Config::parse(text).expect("a valid configuration"), trust))
}

fn desktop(lab: &Lab, policy: Policy) -> Trust {
    let key = DeviceKey::generate(&mut SystemEntropy).expect("random");
    let certificate = lab.certify(&key, 2, |one| one.flags = Flags::NONE);
    let credentials = Credentials::new(key, certificate, &mut SystemEntropy).expect("credentials");
    Trust::new(policy, Some(Member::new(lab.authority.lab(), credentials, lab.list(), &lab.discovery)))
}

fn find(context: &Arc<Context>) -> Inlet {
    let timeout = Duration::from_secs_f64(LONG);
    let found = resolver::resolve_byprop(context, "name", "QEMU node", 1, timeout).expect("a search");
    let info = found.first().expect("the node answers multicast queries");
    Inlet::in_context(info, &InletOptions::default(), Arc::clone(context)).expect("an inlet")
}

/// Pulls `count` samples and checks every value; returns the first one's number.
fn check(inlet: &Inlet, channel_count: usize, count: u32) -> u32 {
    let mut sample = vec![0.0_f32; channel_count];
    let mut first = None;
    for at in 0..count {
        let stamp = inlet.pull_sample(&mut sample, LONG).expect("the stream goes on");
        assert!(stamp.is_some(), "sample {at} did not come");
        let first = *first.get_or_insert(sample[0] as u32);
        for (channel, value) in sample.iter().enumerate() {
            assert_eq!(*value, ((first + at) & 0xf_ffff) as f32 + channel as f32, "sample {at}");
        }
    }
    first.unwrap_or(0)
}

/// A receiver on the original library, which finds, checks `count` samples, and says so.
fn original(count: u32) -> Child {
    const SCRIPT: &str = "
import sys, pylsl
infos = pylsl.resolve_byprop('name', 'QEMU node', 1, 60)
inlet = pylsl.StreamInlet(infos[0])
assert inlet.info(60).desc().child_value('manufacturer') == 'Schwann'
first = None
for number in range(int(sys.argv[1])):
    sample, stamp = inlet.pull_sample(60)
    first = sample[0] if first is None else first
    expected = [first + number + channel for channel in range(len(sample))]
    assert sample == expected, (number, sample)
assert abs(inlet.time_correction(60)) > 0
print('received', pylsl.library_version())
";
    let python = std::env::var("SCHWANN_PYLSL").expect("checks/70-firmware.sh sets SCHWANN_PYLSL");
    Command::new(python)
        .args(["-c", SCRIPT, &count.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .expect("Python runs")
}

#[test]
#[ignore = "needs the image and a network: checks/70-firmware.sh"]
fn the_desktop_and_the_original_library_receive_plain() {
    let mut machine = Machine::serve("rate=1000\nchannels=8\nslots=2048", None);
    let original = original(3000);
    let context = context(Trust::new(Policy::Off, None));
    let inlets = [find(&context), find(&context)];
    for inlet in &inlets {
        inlet.open_stream(LONG).expect("a connection");
    }
    for inlet in &inlets {
        check(inlet, 8, 3000);
    }
    let output = original.wait_with_output().expect("it ends");
    assert!(output.status.success() && output.stdout.starts_with(b"received"), "{output:?}");
    assert!(machine.child.try_wait().expect("a state").is_none());
}

#[test]
#[ignore = "needs the image and a network: checks/70-firmware.sh"]
fn rates_and_channels_arrive_without_loss_plain_and_sealed() {
    let lab = Lab::new();
    let content = lab.content(1, |_| {});
    for (channel_count, rate, within_us) in
        [(8, 1000, 0), (8, 1000, 10_000), (64, 500, 0), (128, 250, 0), (4, 2000, 0)]
    {
        for sealed in [false, true] {
            arrives(&lab, &content, channel_count, rate, within_us, sealed);
        }
    }
}

/// Serves a stream for a second and checks every sample.
fn arrives(lab: &Lab, content: &[u8], channel_count: usize, rate: u32, within_us: u32, sealed: bool) {
    let trust = if sealed { desktop(lab, Policy::Require) } else { Trust::new(Policy::Off, None) };
    let settings = format!(
        "channels={channel_count}\nrate={rate}\nsealed={}\nvisible=1\nslots=2048\nwithin_us={within_us}",
        u8::from(sealed)
    );
    let mut machine = Machine::serve(&settings, sealed.then_some(content));
    let inlet = find(&context(trust));
    inlet.open_stream(LONG).expect("a connection");
    check(&inlet, channel_count, rate);
    drop(inlet);
    println!("channels={channel_count} rate={rate} sealed={sealed} within_us={within_us} checked={rate}");
    machine.finish(sealed);
}

#[test]
#[ignore = "takes minutes: firmware/long-run.sh"]
fn long_the_whole_grid_arrives_without_loss_plain_and_sealed() {
    let lab = Lab::new();
    let content = lab.content(1, |_| {});
    for rate in [250, 500, 1000, 2000] {
        for channel_count in [4, 8, 16, 32, 64, 128] {
            for sealed in [false, true] {
                arrives(&lab, &content, channel_count, rate, 0, sealed);
            }
        }
    }
}

/// The node finds a stream of the desktop, receives it, checks every value and stamp, and measures its clock.
fn the_node_receives(sealed: bool) {
    const COUNT: u32 = 2000;
    let lab = Lab::new();
    let content = lab.content(1, |_| {});
    // A query in the clear, as a node sends it, finds a stream that prefers sealing. The node then insists on
    // sealing.
    let trust = if sealed { desktop(&lab, Policy::Prefer) } else { Trust::new(Policy::Off, None) };
    let info = StreamInfo::new("Desktop", "EEG", 8, 100.0, ChannelFormat::Float32, "desktop").expect("valid");
    let outlet = Outlet::in_context(&info, &OutletOptions::default(), context(trust)).expect("an outlet");
    let settings = format!("mode=receive\nexpect={COUNT}\nsealed={}", u8::from(sealed));
    let mut machine = Machine::serve(&settings, sealed.then_some(&content[..]));
    assert!(outlet.wait_for_consumers(1, Some(Duration::from_secs_f64(LONG))), "the node comes");
    for sequence in 0..COUNT {
        let sample: [f32; 8] = core::array::from_fn(|channel| (sequence + channel as u32) as f32);
        outlet.push_sample(&sample, f64::from(sequence) + 0.5, Flush::Now).expect("a push");
    }
    let line = machine.wait_for("received");
    println!("sealed={sealed} {line}");
    let numbers = numbers(&line);
    assert_eq!((numbers["count"], numbers["wrong"], numbers["clock"]), (COUNT.into(), 0, 1), "{line}");
    println!("{}", machine.wait_for("stacks"));
    assert_eq!(machine.exit_code(), Some(0));
}

#[test]
#[ignore = "needs the image and a network: checks/70-firmware.sh"]
fn the_node_finds_and_receives_the_desktop_plain_and_sealed() {
    for sealed in [false, true] {
        the_node_receives(sealed);
    }
}

/// Minutes to hours: `SCHWANN_SECONDS=3600 firmware/long-run.sh`.
#[test]
#[ignore = "takes as long as it is told: firmware/long-run.sh"]
fn long_a_sealed_stream_goes_on_without_loss() {
    let seconds = std::env::var("SCHWANN_SECONDS").expect("firmware/long-run.sh sets SCHWANN_SECONDS");
    let count = 1000 * seconds.parse::<u32>().expect("a number of seconds");
    let lab = Lab::new();
    let mut machine = Machine::serve(
        "rate=1000\nchannels=8\nsealed=1\nvisible=1\nslots=2048",
        Some(&lab.content(1, |_| {})),
    );
    let context = context(desktop(&lab, Policy::Require));
    let inlet = find(&context);
    inlet.open_stream(LONG).expect("a connection");
    let started = Instant::now();
    check(&inlet, 8, count);
    println!("checked={count} in {:.1} s", started.elapsed().as_secs_f64());
    drop(inlet);
    machine.finish(true);
}

#[test]
#[ignore = "needs the image and a network: checks/70-firmware.sh"]
fn the_node_outlives_hostile_bytes_and_a_network_that_goes_and_comes_back() {
    let lab = Lab::new();
    let _machine = Machine::serve("sealed=1\nvisible=1\nslots=2048", Some(&lab.content(1, |_| {})));
    let context = context(desktop(&lab, Policy::Require));
    let inlet = find(&context);
    inlet.open_stream(LONG).expect("a connection");
    check(&inlet, 8, 500);
    let mut noise = common::Seeded(3);
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
    for turn in 0..300_usize {
        let mut bytes = vec![0; 1 + turn % 900];
        schwann_session::Entropy::fill(&mut noise, &mut bytes).expect("bytes");
        for port in [16571, 16572] {
            socket.send_to(&bytes, (NODE, port)).expect("sent");
        }
        // The node has four links; the fifth is turned away.
        if turn % 10 == 0
            && let Ok(mut link) = TcpStream::connect((NODE, 16572))
        {
            // It may be turned away meanwhile.
            let _ = link.write_all(b"LSL:secure/1 classic\r\n").and_then(|()| link.write_all(&bytes));
        }
    }
    check(&inlet, 8, 500);
    for state in ["down", "up"] {
        assert!(
            Command::new("ip").args(["link", "set", "schwann0", state]).status().expect("ip runs").success()
        );
    }
    // The route went with the link.
    let _ = Command::new("ip").args(["route", "replace", "224.0.0.0/4", "dev", "schwann0"]).status();
    let again = find(&context);
    again.open_stream(LONG).expect("a connection");
    check(&again, 8, 500);
}

/// A sealed search finds the device although it does not know the date. It refuses the first attempts of desktops.
/// Neither these nor strangers that hold its links use it up.
#[test]
#[ignore = "needs the image and a network: checks/70-firmware.sh"]
fn a_device_without_a_calendar_is_found_and_keeps_its_links() {
    let lab = Lab::new();
    let now = UnixSeconds(SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs());
    let content = lab.content(1, |one| one.not_before = UnixSeconds(now.0 - 86_400));
    let _machine = Machine::serve("calendar=0\nsealed=1\nvisible=0\nslots=2048", Some(&content));
    let context = context(desktop(&lab, Policy::Require));
    let mut held = Vec::new();
    for round in 0..8 {
        let inlet = find(&context);
        inlet.open_stream(LONG).expect("a connection");
        check(&inlet, 8, 200);
        // Strangers that never close; the others find no link and are turned away.
        held.extend((round..4).filter_map(|_| TcpStream::connect((NODE, 16572)).ok()));
        for stranger in &mut held {
            // It may have been reset.
            let _ =
                stranger.write_all(b"LSL:secure/1 hybrid\r\n").and_then(|()| stranger.write_all(&[7; 1234]));
        }
    }
}

#[test]
#[ignore = "needs the image: checks/70-firmware.sh"]
fn a_device_is_provisioned_over_its_serial_line() {
    let lab = Lab::new();
    let mut machine = Machine::start("mode=provision", None, &[]);
    let line = machine.wait_for("request ");
    let request = line.strip_prefix("request ").expect("a request");
    let bytes: Vec<u8> = (0..request.len() / 2)
        .map(|at| u8::from_str_radix(&request[2 * at..2 * at + 2], 16).expect("digits"))
        .collect();
    let (key, name) = bytes.split_first_chunk::<32>().expect("a key");
    let certificate = lab.authority.certify(Statement {
        device: PublicKey(*key),
        flags: Flags::CLASSIC,
        lab: LabId([0; 16]),
        name: DeviceName::new(core::str::from_utf8(name).expect("text")).expect("a name"),
        not_after: UnixSeconds(u64::MAX),
        not_before: UnixSeconds(0),
        roles: Roles::BOTH,
        serial: 7,
    });
    let (authority, list) = (lab.authority.lab().authority().0, lab.list());
    let content = [&authority, certificate.encode().as_slice(), &lab.discovery, list.as_bytes()].concat();
    let lines = Lines(&content).to_string();
    let mut serial = machine.child.stdin.take().expect("piped");
    for line in lines.split_inclusive('\n') {
        serial.write_all(line.as_bytes()).expect("written");
        serial.flush().expect("written");
    }
    assert_eq!(machine.wait_for("provisioned"), "provisioned=1");
    assert_eq!(machine.exit_code(), Some(0));
}

#[test]
#[ignore = "needs the image and a network: checks/70-firmware.sh"]
fn the_watchdog_bites_when_the_network_hart_stands_still() {
    let mut machine = Machine::serve("hang_s=1", None);
    machine.wait_for("watchdog");
    assert_eq!(machine.exit_code(), Some(3));
}
