//! Measures the FieldTrip buffer: see `bench/src/fieldtrip/mod.rs`.

use core::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    schwann_bench::fieldtrip::run()
}
