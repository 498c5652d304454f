//! Measures the FieldTrip buffer: see `bench/src/fieldtrip/mod.rs`.

use core::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    // A promise that is not met is printed as such; it is no error of the measurement.
    schwann_bench::fieldtrip::run(std::env::args_os().skip(1)).map(drop)
}
