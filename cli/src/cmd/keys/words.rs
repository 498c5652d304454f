//! The words of a pairing: what one person reads on the lab's machine, and types on the new one.
//!
//! The list is that of BIP-0039, from the crate `bip39`: 2,048 short English words, no two of which begin with the same
//! four letters.

use core::cmp::Ordering;

use bip39::Language;
use schwann_session::pairing::{Screen, Words};
use zeroize::Zeroizing;

use super::failed;
use crate::exit::Problem;

/// What a person typed, or scanned.
pub(super) struct Typed {
    pub(super) words: Words,
    /// Where the lab's machine is, if that was typed as well.
    pub(super) place: Option<String>,
}

/// Draws words.
pub(super) fn draw(count: usize) -> Result<Zeroizing<String>, Problem> {
    let mut random = Zeroizing::new(vec![0; 2 * count]);
    getrandom::fill(&mut random).map_err(failed)?;
    let numbers = random.as_chunks().0.iter().map(|two| u16::from_le_bytes(*two) % 2048);
    Ok(Zeroizing::new(joined(numbers)))
}

/// Six words for both screens.
pub(super) fn of_screen(screen: Screen) -> String {
    joined(screen.0.into_iter())
}

fn joined(numbers: impl Iterator<Item = u16>) -> String {
    let list = Language::English.word_list();
    numbers.filter_map(|number| list.get(usize::from(number)).copied()).collect::<Vec<_>>().join(" ")
}

/// Reads `six words`, or `six words at PLACE`; the first four letters of a word suffice.
pub(super) fn read(line: &str) -> Result<Typed, Problem> {
    let line = Zeroizing::new(line.trim().to_lowercase());
    let (words, place) = match line.split_once(" at ") {
        Some((words, place)) => (words, Some(place.trim().to_owned())),
        None => (line.as_str(), None),
    };
    match complete(words, PAIRING)? {
        Some(whole) => Ok(Typed { words: Words::new(&whole), place }),
        None => Err(Problem::Failed(String::from(
            "these are fewer than six words; type all six that the lab's computer shows",
        ))),
    }
}

/// Reads `count` words, shortened or not; nothing yet if there are fewer.
pub(super) fn complete(typed: &str, count: usize) -> Result<Option<Zeroizing<String>>, Problem> {
    let mut whole = Zeroizing::new(String::with_capacity(16 * count));
    let mut there = 0;
    for word in typed.split(|letter: char| !letter.is_alphabetic()).filter(|word| !word.is_empty()) {
        if there > 0 {
            whole.push(' ');
        }
        whole.push_str(meant(&word.to_lowercase())?);
        there += 1;
    }
    match there.cmp(&count) {
        Ordering::Less => Ok(None),
        Ordering::Equal => Ok(Some(whole)),
        Ordering::Greater => Err(Problem::Failed(format!("these are {there} words; {count} are needed"))),
    }
}

fn meant(typed: &str) -> Result<&'static str, Problem> {
    let mut begins = Language::English.words_by_prefix_iter(typed);
    let whole = begins.clone().find(|word| *word == typed);
    // Where there is a second one, the letters are too few.
    let only = begins.next().filter(|_| typed.len() >= SHORTEST && begins.next().is_none());
    whole.or(only).ok_or_else(|| {
        Problem::Failed(format!(
            "{typed:?} is not a word of the list; compare it with the other screen, and type all words again"
        ))
    })
}

/// Letters that tell a word from every other.
const SHORTEST: usize = 4;
/// Words of an invitation: 66 bits.
pub(super) const PAIRING: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_drawn_can_be_typed_in_full_shortened_or_scanned() {
        let drawn = draw(PAIRING).expect("words");
        assert_eq!(drawn.split(' ').count(), 6);
        assert!(read(&drawn).is_ok_and(|typed| typed.place.is_none()));
        let short: Vec<_> = drawn.split(' ').map(|word| &word[..word.len().min(4)]).collect();
        assert!(read(&short.join("-").to_uppercase()).is_ok());
        let scanned = read(&format!("{} at 10.0.0.1:16573", &*drawn)).expect("words");
        assert_eq!(scanned.place.as_deref(), Some("10.0.0.1:16573"));
    }

    #[test]
    fn what_is_no_word_is_named_before_it_costs_a_try() {
        let complaint = |text| match read(text) {
            Err(Problem::Failed(complaint)) => complaint,
            _ => panic!("{text} was taken"),
        };
        assert!(complaint("abandon ability able about above absentt").contains("\"absentt\""));
        assert!(complaint("abandon ability").contains("fewer than six"));
        assert!(complaint("").contains("fewer than six"));
    }
}
