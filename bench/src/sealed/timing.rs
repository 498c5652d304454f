//! Whether the time that a refusal takes tells where the bytes differ.
//!
//! Two classes of input, in random order: a difference in the first byte and one in the last. Welch's t over many
//! short batches. Beyond 4.5 the two are told apart (Reparaz, Balasch and Verbauwhede, "Dude, is my code constant
//! time?", 2017). A comparison that stops at the first difference is measured beside it: it must be found out.

use core::hint::black_box;
use std::time::Instant;

use schwann_aead::{Key, Nonce, Tag, ct, open_in_place, seal_in_place};

use crate::Reason;
use crate::record::Reading;
use crate::statistics::{Resampler, mean, quantile_of_sorted, variance};

/// |t| of three comparisons. One is wrong on purpose.
pub(crate) fn measure(step: &str) -> Result<Vec<Reading>, Reason> {
    let reference = [0x5A_u8; 256];
    let differing = |class: bool| {
        let mut bytes = reference;
        bytes[if class { 0 } else { 255 }] ^= 1;
        bytes
    };
    let early = t_of(differing, |bytes| one_by_one(&reference, bytes));
    let constant = t_of(differing, |bytes| ct::eq(&reference, bytes));
    let (key, nonce) = (Key::new(&[7; 32]), Nonce([0; 12]));
    let mut sealed = [0x33; 64];
    let right = seal_in_place(&key, &nonce, &[], &mut sealed)?;
    let wrong = |class: bool| {
        let mut tag = right.0;
        tag[if class { 0 } else { 15 }] ^= 1;
        tag
    };
    let opened = t_of(wrong, |tag| open_in_place(&key, &nonce, &[], &mut { sealed }, &Tag(*tag)).is_ok());
    let figure = |subject: &str, t: f64, relation: &str| {
        let name = "|t| between a difference in the first byte and one in the last";
        Reading::one(step, subject, name, "", t).limited(format!("{relation} {TOLD_APART}"))
    };
    Ok(vec![
        figure("a comparison that stops early, 256 B", early, ">"),
        figure("schwann_aead::ct::eq, 256 B", constant, "<"),
        figure("opening a record with a wrong tag", opened, "<"),
    ])
}

#[inline(never)]
fn one_by_one(a: &[u8], b: &[u8]) -> bool {
    a.iter().zip(b).all(|(a, b)| black_box(a == b))
}

/// |t| between the two classes, without the slowest tenth, which is the machine's.
///
/// Both classes' inputs lie in the same place; otherwise the time could tell where they
/// lie.
fn t_of<I>(input: impl Fn(bool) -> I, mut call: impl FnMut(&I) -> bool) -> f64 {
    let mut classes = [Vec::new(), Vec::new()];
    let mut order: Vec<bool> = (0..BATCHES).map(|index| index % 2 == 0).collect();
    Resampler::new(1).shuffle(&mut order);
    let mut place = input(false);
    for class in order {
        place = black_box(input(class));
        let begun = Instant::now();
        for _ in 0..CALLS {
            black_box(call(black_box(&place)));
        }
        classes[usize::from(class)].push(begun.elapsed().as_nanos() as f64);
    }
    black_box(place);
    let mut all: Vec<f64> = classes.concat();
    all.sort_by(f64::total_cmp);
    let limit = quantile_of_sorted(&all, 0.9);
    let [a, b] = classes.map(|mut times| {
        times.retain(|time| *time <= limit);
        times
    });
    let error = (variance(&a) / a.len() as f64 + variance(&b) / b.len() as f64).sqrt();
    ((mean(&a) - mean(&b)) / error).abs()
}

const BATCHES: usize = 20_000;
const CALLS: usize = 64;
/// Dude, is my code constant time? §3.3.
const TOLD_APART: f64 = 4.5;
