//! Where electrodes sit on a head, and what they are called.

/// A place on the head seen from above: `right` and `front` reach from -1 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct HeadPosition {
    pub(super) right: f32,
    pub(super) front: f32,
}

/// Returns the labels of so many channels: the extended 10-20 system's first 64, then numbered ones.
pub(super) fn labels(channel_count: usize) -> Vec<String> {
    let named = LABELS.iter().map(|label| (*label).to_owned());
    named.chain((LABELS.len() + 1..).map(|channel| format!("E{channel}"))).take(channel_count).collect()
}

/// Returns where a channel sits. Channels without a name of their own are spread evenly over the head.
pub(super) fn place(channel: usize) -> HeadPosition {
    LABELS.get(channel).map_or_else(|| spread(channel), |label| named(label))
}

fn named(label: &str) -> HeadPosition {
    let row = label.trim_end_matches(|c: char| c.is_ascii_digit() || c == 'z');
    let front = match row {
        "Fp" => 0.95,
        "AF" => 0.75,
        "F" => 0.5,
        "FC" | "FT" => 0.25,
        "CP" | "TP" => -0.25,
        "P" => -0.5,
        "PO" => -0.75,
        "O" => -0.95,
        _ => 0.0,
    };
    // Odd numbers are on the left, even ones on the right, growing outwards; z is the middle.
    let number: f32 = label.trim_start_matches(char::is_alphabetic).parse().unwrap_or(0.0);
    let outwards = (number / 2.0).ceil() * 0.2;
    HeadPosition { right: if number % 2.0 == 1.0 { -outwards } else { outwards }, front }
}

/// A sunflower's order: each further point falls into the largest gap.
fn spread(channel: usize) -> HeadPosition {
    const GOLDEN_ANGLE: f32 = 2.399_963;
    let radius = (channel as f32 * 0.618_034).fract().sqrt();
    let angle = channel as f32 * GOLDEN_ANGLE;
    HeadPosition { right: radius * angle.cos(), front: radius * angle.sin() }
}

/// The first 32 alone are a usual cap of 32, all a usual cap of 64.
const LABELS: [&str; 64] = [
    "Fp1", "Fp2", "F7", "F3", "Fz", "F4", "F8", "FC5", "FC1", "FC2", "FC6", "T7", "C3", "Cz", "C4", "T8",
    "TP9", "CP5", "CP1", "CP2", "CP6", "TP10", "P7", "P3", "Pz", "P4", "P8", "PO9", "O1", "Oz", "O2", "PO10",
    "AF7", "AF3", "AF4", "AF8", "F5", "F1", "F2", "F6", "FT9", "FT7", "FC3", "FC4", "FT8", "FT10", "C5",
    "C1", "C2", "C6", "TP7", "CP3", "CPz", "CP4", "TP8", "P5", "P1", "P2", "P6", "PO7", "PO3", "POz", "PO4",
    "PO8",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_channel_has_a_label_and_a_place_of_its_own() {
        let labels = labels(400);
        assert_eq!(labels.iter().collect::<BTreeSet<_>>().len(), 400);
        assert_eq!((labels[12].as_str(), labels[64].as_str()), ("C3", "E65"));
        let places: BTreeSet<_> =
            (0..400).map(place).map(|at| format!("{:.4} {:.4}", at.right, at.front)).collect();
        assert_eq!(places.len(), 400);
        assert!((0..400).map(place).all(|at| at.right.abs() <= 1.0 && at.front.abs() <= 1.0));
    }

    #[test]
    fn names_say_where_an_electrode_sits() {
        assert_eq!(named("Cz"), HeadPosition { right: 0.0, front: 0.0 });
        assert_eq!(named("O1"), HeadPosition { right: -0.2, front: -0.95 });
        assert_eq!(named("TP10"), HeadPosition { right: 1.0, front: -0.25 });
        assert_eq!(named("Fp2"), HeadPosition { right: 0.2, front: 0.95 });
        assert_eq!(named("T7"), HeadPosition { right: -0.8, front: 0.0 });
    }
}
