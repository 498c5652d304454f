use core::time::Duration;
use std::io::Write;
use std::net::{TcpListener, TcpStream};

use schwann_proto::stream::ChannelFormat;
use schwann_proto::wire::sample::{ByteOrder, Layout, Stamp};

use super::*;
use crate::codec::QueueCodec;
use crate::security::link::Opener;

const LAYOUT: Layout = Layout::new(ChannelFormat::Int32, 1, ByteOrder::NATIVE);

/// An open connection: what the pulls share, and the socket that samples are written to.
fn open(shared: &InletShared, capacity: usize) -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let sender = TcpStream::connect(listener.local_addr().expect("bound")).expect("a connection");
    let (socket, address) = listener.accept().expect("the connection");
    let link = Arc::new(Link::tcp(socket, address));
    let mut state = shared.lock();
    state.epoch += 1;
    let receiver = Receiver::new(Arc::clone(&link), state.epoch, Opener::default(), None);
    state.link = Some(link);
    state.open(SampleQueue::new(QueueCodec::new(LAYOUT, 0.0), capacity, usize::MAX), receiver);
    sender
}

fn send(sender: &mut TcpStream, values: core::ops::Range<i32>) {
    let values: Vec<i32> = values.collect();
    let mut bytes = Vec::new();
    LAYOUT.encode_chunk(Stamp::Sent(1.0), &values, &mut bytes).expect("a vector has room");
    sender.write_all(&bytes).expect("a connection");
}

/// Takes all samples that are there, waiting up to `wait` for the first.
fn pull(shared: &InletShared, wait: Wait) -> Result<Vec<i32>, Error> {
    let mut state = shared.wait_for_samples(wait)?;
    let mut all = Vec::new();
    while let Some(queue) = state.unread() {
        let (mut values, mut stamps) = ([0; 64], [0.0; 64]);
        let count = queue.pop_chunk(&mut values, &mut stamps);
        assert!(count > 0, "samples are counted that are not there");
        all.extend_from_slice(&values[..count]);
    }
    Ok(all)
}

fn soon() -> Wait {
    Wait::Until(Instant::now() + Duration::from_secs(20))
}

#[test]
fn pulls_and_drains_of_several_threads_share_the_samples_out() {
    let shared = InletShared::new();
    let mut sender = open(&shared, usize::MAX);
    let count = 200_000;
    let mut pulled: Vec<i32> = std::thread::scope(|scope| {
        let pullers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut all = Vec::new();
                    while let Ok(some) = pull(&shared, soon()) {
                        // In the order they were sent, in every pulling thread.
                        assert!(some.is_sorted());
                        all.extend(some);
                    }
                    all
                })
            })
            .collect();
        let drainer = scope.spawn(|| {
            while shared.lock().phase == Phase::Open {
                drop(shared.drain(shared.lock()));
                let state = shared.lock();
                assert!(state.sample_count() == 0 || state.byte_len() > 0);
            }
        });
        for first in (0..count).step_by(10) {
            send(&mut sender, first..first + 10);
        }
        drop(sender);
        let mut state = shared.lock();
        while !state.broken {
            state = shared.wait_control(state, Wait::Forever);
        }
        state.phase = Phase::Lost;
        drop(state);
        shared.notify_all();
        drainer.join().expect("no panic");
        pullers.into_iter().flat_map(|puller| puller.join().expect("no panic")).collect()
    });
    pulled.sort_unstable();
    assert!(pulled.into_iter().eq(0..count));
}

#[test]
fn closing_ends_a_pull_and_what_arrives_late_belongs_to_nobody() {
    let shared = InletShared::new();
    let mut sender = open(&shared, usize::MAX);
    std::thread::scope(|scope| {
        let puller = scope.spawn(|| pull(&shared, Wait::Forever));
        let mut state = shared.lock();
        while state.receiver.is_some() {
            drop(state);
            std::thread::yield_now();
            state = shared.lock();
        }
        state.closings += 1;
        state.epoch += 1;
        state.phase = Phase::Closed;
        state.discard();
        drop(state);
        // Arrives before the connection is shut down, and after the closing.
        send(&mut sender, 0..3);
        shared.notify_all();
        assert_eq!(puller.join().expect("no panic"), Err(Error::Timeout));
    });
    let state = shared.lock();
    assert_eq!((state.sample_count(), state.broken), (0, false));
}

#[test]
fn what_arrived_before_a_loss_outlives_the_next_connection() {
    let shared = InletShared::new();
    let mut before = open(&shared, 100);
    send(&mut before, 0..60);
    drop(before);
    drop(shared.drain(shared.lock()));
    assert!(shared.lock().broken);
    let mut after = open(&shared, 100);
    assert_eq!(shared.lock().sample_count(), 60);
    send(&mut after, 60..130);
    drop(shared.drain(shared.lock()));
    {
        let state = shared.lock();
        assert_eq!((state.sample_count(), state.dropped()), (100, 30));
    }
    let all = pull(&shared, Wait::No).expect("samples");
    assert!(all.into_iter().eq(30..130));
    let state = shared.lock();
    assert_eq!((state.dropped(), state.byte_len()), (30, 0));
}

#[test]
fn a_loss_is_reported_behind_the_last_sample() {
    let shared = InletShared::new();
    let mut sender = open(&shared, usize::MAX);
    send(&mut sender, 0..5);
    drop(sender);
    drop(shared.drain(shared.lock()));
    shared.lock().phase = Phase::Lost;
    assert_eq!(pull(&shared, Wait::Forever).map(|all| all.len()), Ok(5));
    assert_eq!(pull(&shared, Wait::Forever), Err(Error::Lost));
}
