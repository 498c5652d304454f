//! What the original C programs themselves reached, as the reference documents it.
//!
//! Measured on a virtual machine with 2 cores (Intel Xeon 2.5 GHz), Linux 6.18, in November 2026, not in this run: a
//! ratio to these figures says less than one to [`super::original`], which runs here and now.

use super::cell::{Direction, Path, Plan};

/// Values per second of the original when it puts blocks of this shape, over the path that corresponds.
pub(crate) fn values_per_second(plan: Plan) -> Option<f64> {
    let column = match plan.path {
        Path::TcpStateless | Path::OldClientStateless => 0,
        Path::Tcp | Path::OldClientTcp => 1,
        Path::Unix => 2,
        Path::Memory => 3,
        _ => return None,
    };
    let matches = |row: &&Row| (row.0, row.1) == (plan.shape.channels, plan.shape.samples);
    let row = PUT.iter().find(matches).filter(|_| plan.direction == Direction::Put)?;
    row.2.get(column).copied()
}

/// Channels, samples; values per second over TCP stateless, TCP stateful, UNIX stateful, in process.
type Row = (u32, u32, [f64; 4]);

const PUT: [Row; 13] = [
    (1, 1, [7.53e2, 4.50e4, 6.71e4, 2.32e6]),
    (1, 32, [2.60e4, 1.38e6, 1.53e6, 3.94e7]),
    (1, 256, [2.18e5, 7.22e6, 1.25e7, 6.69e7]),
    (1, 1024, [8.57e5, 2.32e4, 2.80e7, 6.23e7]),
    (32, 1, [2.73e4, 1.26e6, 1.65e6, 6.98e7]),
    (32, 16, [3.87e5, 1.15e4, 1.68e7, 6.00e8]),
    (32, 32, [8.51e5, 2.31e4, 3.92e7, 5.97e8]),
    (32, 64, [1.46e6, 4.63e4, 6.51e7, 8.09e8]),
    (32, 128, [3.23e6, 9.31e4, 1.10e8, 8.65e8]),
    (32, 256, [6.29e6, 1.85e5, 1.15e8, 9.34e8]),
    (64, 256, [1.39e7, 3.68e5, 2.39e8, 1.19e9]),
    (128, 256, [1.99e7, 7.40e5, 2.78e8, 1.20e9]),
    (256, 256, [3.58e6, 1.46e6, 3.64e8, 1.15e9]),
];
