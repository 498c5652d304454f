//! Which names come nearest to a word that was mistyped.

/// The names that differ from `word` by little, the nearest first; three at most.
///
/// Small and capital letters count as alike, and so does a word that is the beginning of a name, or the reverse.
pub(crate) fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted: Vec<char> = lower(word);
    let limit = (wanted.len() / 3).max(1);
    let mut near: Vec<_> = names
        .into_iter()
        .filter(|name| !name.is_empty())
        .filter_map(|name| {
            let name_chars = lower(name);
            let is_part =
                wanted.len() > 1 && (name_chars.starts_with(&wanted) || wanted.starts_with(&name_chars));
            let distance = if is_part { limit } else { distance(&wanted, &name_chars) };
            (distance <= limit).then_some((distance, name))
        })
        .collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter().map(|(_, name)| name).take(MOST).collect()
}

fn lower(text: &str) -> Vec<char> {
    text.chars().take(LONGEST).flat_map(char::to_lowercase).collect()
}

/// How many characters must be put in, left out, replaced or swapped with their neighbour.
fn distance(one: &[char], other: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (row, a) in one.iter().enumerate() {
        let mut next = vec![row + 1];
        for (column, b) in other.iter().enumerate() {
            let replaced = last[column] + usize::from(a != b);
            let mut least = replaced.min(last[column + 1] + 1).min(next[column] + 1);
            if row > 0 && column > 0 && *a == other[column - 1] && one[row - 1] == *b {
                least = least.min(before[column - 1] + 1);
            }
            next.push(least);
        }
        before = core::mem::replace(&mut last, next);
    }
    last.last().copied().unwrap_or_default()
}

const MOST: usize = 3;
/// Characters that are compared; names come from the network and may be of any length.
const LONGEST: usize = 64;

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_mistyped_word_finds_what_was_meant() {
        let names = ["Markers", "EEG", "Makers", "BrainAmp EEG", "", "Marker"];
        assert_eq!(nearest("Markres", names), ["Markers", "Makers", "Marker"]);
        assert_eq!(nearest("eeg", names), ["EEG"]);
        assert_eq!(nearest("EGE", names), ["EEG"]);
        assert_eq!(nearest("brainamp", names), ["BrainAmp EEG"]);
        assert_eq!(nearest("Gaze", names), [""; 0]);
    }
}
