//! The secret that an agent prints and a campaign must know.

use schwann_session::{AuthorityKey, Entropy, NoEntropy};
use zeroize::Zeroizing;

/// 256 random bits; their holder is the authority of the agent's lab.
pub(crate) struct Token(Zeroizing<[u8; 32]>);

impl Token {
    /// Draws a new one.
    ///
    /// # Errors
    ///
    /// [`NoEntropy`].
    pub(crate) fn generate(entropy: &mut dyn Entropy) -> Result<Self, NoEntropy> {
        let mut bytes = Zeroizing::new([0; 32]);
        entropy.fill(&mut *bytes)?;
        Ok(Self(bytes))
    }

    /// Reads what [`Token::words`] wrote, with or without its dashes; `None` if it is not one.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut bytes = Zeroizing::new([0; 32]);
        let (mut bits, mut held, mut filled) = (0_u32, 0_u32, 0_usize);
        for letter in text.bytes().filter(|letter| *letter != b'-') {
            let value = LETTERS.iter().position(|known| *known == letter.to_ascii_lowercase())?;
            bits = (bits << 5) | u32::try_from(value).ok()?;
            held += 5;
            if held >= 8 {
                held -= 8;
                *bytes.get_mut(filled)? = (bits >> held) as u8;
                bits &= (1 << held) - 1;
                filled += 1;
            }
        }
        (filled == bytes.len() && held == 4 && bits == 0).then_some(Self(bytes))
    }

    /// The token as a person copies it: 52 letters and digits in four groups. Source: RFC 4648 §6, in lower case.
    pub(crate) fn words(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::with_capacity(64));
        for number in 0..LENGTH {
            if number > 0 && number % (LENGTH / 4) == 0 {
                text.push('-');
            }
            let first = number * 5;
            let bit = |at: usize| self.0.get(at / 8).map_or(0, |byte| (byte >> (7 - at % 8)) & 1);
            let value = (first..first + 5).fold(0, |value, at| (value << 1) | usize::from(bit(at)));
            text.push(char::from(LETTERS[value]));
        }
        text
    }

    /// The authority that it stands for.
    pub(super) fn authority(&self) -> AuthorityKey {
        AuthorityKey::from_seed(&self.0)
    }
}

const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// Letters of a token: 256 bits, five each, rounded up.
const LENGTH: usize = 52;
