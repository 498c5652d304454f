//! What an inlet says to its outlet: no line is read past its end, and what is read is written alike.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schwann_proto::wire::feed::{REPORT_LIMIT, Report};

fuzz_target!(|input: &[u8]| {
    if let Ok(Some((report, len))) = Report::take(input) {
        assert!(len <= input.len() && len <= REPORT_LIMIT);
        let mut line = Vec::new();
        report.encode(&mut line).unwrap();
        let (again, _) = Report::take(&line).unwrap().unwrap();
        assert_eq!((again.pace, again.skipped), (report.pace, report.skipped));
        assert!((again.lag - report.lag).abs() <= 0.001);
    }
});
