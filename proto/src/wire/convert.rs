//! How values change type: C casts as x86-64 performs them, on every processor.
//!
//! A float that does not fit an integer is undefined in C. Programs see what their processor does, so we fix
//! the behaviour of x86-64, where the original library mostly runs. lsl-wire §21.
#![expect(clippy::as_conversions, reason = "this module is where number types change, and says how")]

/// Truncates toward zero; what does not fit becomes the smallest value, as `cvttss2si` and `cvttsd2si` do.
pub(crate) fn i32_from_f64(value: f64) -> i32 {
    // `as` saturates below, and turns NaN into 0; only the upper side and NaN differ.
    if value < 2_147_483_648.0 { value as i32 } else { i32::MIN }
}

/// Truncates toward zero; what does not fit becomes the smallest value.
pub(crate) fn i64_from_f64(value: f64) -> i64 {
    if value < 9_223_372_036_854_775_808.0 { value as i64 } else { i64::MIN }
}

/// Narrow integers go through 32 bits and keep the low ones.
pub(crate) fn i16_from_f64(value: f64) -> i16 {
    i32_from_f64(value) as i16
}

/// Narrow integers go through 32 bits and keep the low ones.
pub(crate) fn i8_from_f64(value: f64) -> i8 {
    i32_from_f64(value) as i8
}

/// Rounds to the nearest single-precision number; beyond its range, to infinity.
pub(crate) fn f32_from_f64(value: f64) -> f32 {
    value as f32
}

/// Rounds to the nearest single-precision number.
pub(crate) fn f32_from_i32(value: i32) -> f32 {
    value as f32
}

/// Rounds to the nearest single-precision number.
pub(crate) fn f32_from_i64(value: i64) -> f32 {
    value as f32
}

/// Rounds to the nearest double-precision number.
pub(crate) fn f64_from_i64(value: i64) -> f64 {
    value as f64
}

/// Keeps the low 32 bits.
pub(crate) fn i32_from_i64(value: i64) -> i32 {
    value as i32
}

/// Keeps the low 16 bits.
pub(crate) fn i16_from_i64(value: i64) -> i16 {
    value as i16
}

/// Keeps the low 8 bits.
pub(crate) fn i8_from_i64(value: i64) -> i8 {
    value as i8
}

/// Truncates toward zero and saturates; NaN becomes 0. For quantities, not for samples.
pub(crate) fn saturating_i64(value: f64) -> i64 {
    value as i64
}

/// A count as a double; exact below 2^53.
pub(crate) fn count(value: usize) -> f64 {
    value as f64
}

/// A count as a double; exact below 2^53.
pub(crate) fn count_u64(value: u64) -> f64 {
    value as f64
}

/// Truncates toward zero and saturates; NaN and negative numbers become 0. For quantities, not for samples.
pub(crate) fn saturating_u64(value: f64) -> u64 {
    value as u64
}

#[cfg(test)]
mod tests {
    use super::{i8_from_f64, i16_from_f64, i32_from_f64, i64_from_f64};

    #[test]
    fn floats_become_integers_as_on_x86_64() {
        assert_eq!(i8_from_f64(300.7), 44);
        assert_eq!(i16_from_f64(-300.7), -300);
        assert_eq!(i16_from_f64(40_000.0), -25_536);
        assert_eq!(i32_from_f64(1e20), i32::MIN);
        assert_eq!(i32_from_f64(-1e20), i32::MIN);
        assert_eq!(i32_from_f64(f64::NAN), i32::MIN);
        assert_eq!(i32_from_f64(2_147_483_647.9), i32::MAX);
        assert_eq!(i32_from_f64(-2_147_483_648.9), i32::MIN);
        assert_eq!(i64_from_f64(f64::NAN), i64::MIN);
        assert_eq!(i64_from_f64(9.3e18), i64::MIN);
        assert_eq!(i64_from_f64(f64::INFINITY), i64::MIN);
        assert_eq!(i8_from_f64(1e20), 0);
    }
}
