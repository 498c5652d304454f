//! From the moment data are put until a waiting reader goes on.

use core::error::Error;
use core::time::Duration;
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use schwann_fieldtrip::wire::{DataType, Header, NEVER, Totals};
use schwann_fieldtrip::{Address, Buffer, Client, Options, Policy, Server};

pub(crate) fn run(time: Duration) -> Result<Vec<(String, f64)>, Box<dyn Error>> {
    let mut lines = Vec::new();
    let memory = |buffer: Buffer| {
        move |threshold: Totals| buffer.wait(threshold, Duration::from_secs(5)).map(drop).map_err(|_| ())
    };
    let buffer = fresh()?;
    lines.extend(measure("wake memory", &buffer, memory(buffer.clone()), time)?);
    for (name, address) in [
        ("wake tcp", Address::Tcp { host: "127.0.0.1".into(), port: 0 }),
        ("wake unix", Address::Unix(super::ours::socket_path())),
    ] {
        let buffer = fresh()?;
        let server = Server::start(&address, buffer.clone(), Policy::default())?;
        let mut client = Client::connect(server.address().clone(), Options::default())?;
        let wait =
            move |threshold: Totals| client.wait(threshold, Duration::from_secs(5)).map(drop).map_err(|_| ());
        lines.extend(measure(name, &buffer, wait, time)?);
    }
    Ok(lines)
}

fn fresh() -> Result<Buffer, Box<dyn Error>> {
    let buffer = Buffer::default();
    buffer.put_header(Header::new(32, 1000.0, DataType::Float32))?;
    Ok(buffer)
}

/// Puts a sample once the reader has had time to fall asleep, and takes the time until it is back.
fn measure(
    name: &str,
    buffer: &Buffer,
    mut wait: impl FnMut(Totals) -> Result<(), ()> + Send,
    time: Duration,
) -> Result<Vec<(String, f64)>, Box<dyn Error>> {
    let (woken, times) = mpsc::channel::<Instant>();
    let rounds = (time.as_micros() / PAUSE.as_micros()).clamp(20, 5000) as u32;
    let mut delays = thread::scope(|scope| {
        scope.spawn(move || {
            for round in 0..rounds {
                if wait(Totals { samples: round, events: NEVER }).is_err()
                    || woken.send(Instant::now()).is_err()
                {
                    return;
                }
            }
        });
        let mut delays = Vec::new();
        for _ in 0..rounds {
            thread::sleep(PAUSE);
            let put = Instant::now();
            buffer.put_samples(32, &[1.0_f32; 32])?;
            delays.push(times.recv_timeout(Duration::from_secs(5))?.saturating_duration_since(put));
        }
        Ok::<_, Box<dyn Error>>(delays)
    })?;
    delays.sort_unstable();
    let at =
        |part: usize| delays.get((delays.len() - 1) * part / 100).map_or(0.0, Duration::as_secs_f64) * 1e6;
    Ok(vec![(format!("{name} p50 us"), at(50)), (format!("{name} p99 us"), at(99))])
}

const PAUSE: Duration = Duration::from_millis(1);
