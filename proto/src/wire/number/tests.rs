use std::vec::Vec;

use super::{
    TrailingZeros, description_number, extract_f32, extract_f64, extract_i8, extract_i32, extract_i64,
    general,
};

#[test]
fn numbers_print_as_in_stream_descriptions() {
    let cases = [
        (0.0, "0.000000000000000"),
        (1.0, "1.000000000000000"),
        (250.5, "250.5000000000000"),
        (1.0 / 3.0, "0.3333333333333333"),
        (1e6, "1000000.000000000"),
        (1e15, "1000000000000000."),
        (1e16, "1.000000000000000e+16"),
        (1e-5, "1.000000000000000e-05"),
        (-0.0001, "-0.0001000000000000000"),
        (1047.872947623, "1047.872947623000"),
        (f64::MAX, "1.797693134862316e+308"),
        (-5e-324, "-4.940656458412465e-324"),
        // Exact ties round to even, as printf does.
        (4_503_599_627_370_497.5, "4503599627370498."),
        (4_503_599_627_370_496.5, "4503599627370496."),
        (f64::NAN, "nan"),
        (f64::NEG_INFINITY, "-inf"),
    ];
    for (value, text) in cases {
        assert_eq!(description_number(value).as_str(), text);
    }
}

#[test]
fn trailing_zeros_are_dropped_on_request() {
    let cases = [
        (0.0, 16, "0"),
        (-0.0, 16, "-0"),
        (12_345_678.123_456_79, 16, "12345678.12345679"),
        (1_000.123_456_789, 16, "1000.123456789"),
        (100.0, 16, "100"),
        (1e16, 16, "1e+16"),
        (1.5e-7, 16, "1.5e-07"),
        (9.999_999_999_999_999_5, 16, "10"),
        (0.000_099_999_999, 6, "0.0001"),
        (1_787_140.0, 6, "1.78714e+06"),
        (999_999.5, 6, "1e+06"),
        (123.0, 1, "1e+02"),
    ];
    for (value, digits, text) in cases {
        assert_eq!(general(value, digits, TrailingZeros::Drop).as_str(), text);
    }
    assert_eq!(general(0.1f32.into(), 8, TrailingZeros::Keep).as_str(), "0.10000000");
    assert_eq!(general(1e10, 8, TrailingZeros::Keep).as_str(), "1.0000000e+10");
}

#[test]
fn leading_numbers_are_read_as_cpp_streams_read_them() {
    let cases: [(&str, Option<f64>); 22] = [
        ("3.5xyz", Some(3.5)),
        (" \t-2e3 ", Some(-2000.0)),
        ("+.5", Some(0.5)),
        ("5.", Some(5.0)),
        ("1.2.3", Some(1.2)),
        ("0x10", Some(0.0)),
        ("1e", None),
        ("1e+", None),
        ("1ex", None),
        (".", None),
        ("-", None),
        (".e5", None),
        ("e5", None),
        ("", None),
        ("   ", None),
        ("inf", None),
        ("nan", None),
        ("--1", None),
        ("1e400", Some(f64::MAX)),
        ("-1e400", Some(f64::MIN)),
        ("1-2", Some(1.0)),
        ("00012", Some(12.0)),
    ];
    for (text, value) in cases {
        assert_eq!(extract_f64(text.as_bytes()), value, "{text:?}");
    }
    assert_eq!(extract_f32(b"1e39"), Some(f32::MAX));
    assert_eq!(extract_i32(b"17000xyz"), Some(17_000));
    assert_eq!(extract_i32(b"99999999999"), Some(i32::MAX));
    assert_eq!(extract_i64(b"-9223372036854775808"), Some(i64::MIN));
    assert_eq!(extract_i64(b"-9999999999999999999999"), Some(i64::MIN));
    assert_eq!(extract_i32(b"abc"), None);
    assert_eq!(extract_i32(b"- 1"), None);
    assert_eq!(extract_i8(b" 65"), Some(54));
    assert_eq!(extract_i8(b""), None);
}

#[test]
fn numbers_print_as_the_c_library_prints_them() {
    let table = include_str!("../../../tests/vectors/printf.tsv");
    let (keep, drop) = (TrailingZeros::Keep, TrailingZeros::Drop);
    for line in table.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let value = f64::from_bits(u64::from_str_radix(fields[0], 16).unwrap());
        for (text, digits, zeros) in
            [(fields[1], 16, keep), (fields[2], 16, drop), (fields[3], 8, keep), (fields[4], 6, drop)]
        {
            assert_eq!(general(value, digits, zeros).as_str(), text, "{digits} digits of {}", fields[0]);
        }
    }
    assert!(table.lines().count() > 400);
}
