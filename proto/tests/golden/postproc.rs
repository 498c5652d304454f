//! Stamps come out of post-processing as from the real library, to the last bit.

use core::convert::Infallible;

use schwann_proto::postproc::{Clocks, DEJITTER, MONOTONIZE, PostProcessor, SMOOTHING_HALFTIME};

use crate::vectors::Exchange;

struct NoClocks;

impl Clocks for NoClocks {
    type Error = Infallible;

    fn now(&mut self) -> f64 {
        0.0
    }

    fn time_correction(&mut self) -> Result<f64, Infallible> {
        Ok(0.0)
    }

    fn was_reset(&mut self) -> bool {
        false
    }
}

#[test]
fn stamps_are_processed_as_captured() {
    let cases = [
        ("dejitter", DEJITTER, SMOOTHING_HALFTIME),
        ("dejitter_halftime1", DEJITTER, 1.0),
        ("dejitter_below_one", DEJITTER, SMOOTHING_HALFTIME),
        ("monotonize", MONOTONIZE, SMOOTHING_HALFTIME),
    ];
    for (name, flags, halftime) in cases {
        let exchange = Exchange::load(&format!("inlet_postproc_{name}"));
        let list = |key: &str| -> Vec<f64> {
            let entries = exchange.checks[key].as_array().unwrap();
            entries.iter().map(|entry| entry.as_str().unwrap().parse().unwrap()).collect()
        };
        let mut processor = PostProcessor::new(100.0, halftime);
        processor.set_flags(flags);
        let (input, output) = (list("input"), list("output"));
        assert!(input.len() >= 4 && input.len() == output.len());
        for (sample, (stamp, expected)) in input.into_iter().zip(output).enumerate() {
            let Ok(processed) = processor.process(stamp, &mut NoClocks);
            assert_eq!(
                processed.to_bits(),
                expected.to_bits(),
                "{name}, sample {sample}: {processed} {expected}"
            );
        }
    }
}
