//! The secret that an agent prints and a campaign must know.

use data_encoding::BASE32_NOPAD;
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
        let letters = Zeroizing::new(text.replace('-', "").to_ascii_uppercase());
        let bytes = Zeroizing::new(BASE32_NOPAD.decode(letters.as_bytes()).ok()?);
        Some(Self(Zeroizing::new(bytes.as_slice().try_into().ok()?)))
    }

    /// The token as a person copies it: 52 letters and digits in four groups. Source: RFC 4648 §6, in lower case.
    pub(crate) fn words(&self) -> Zeroizing<String> {
        let letters = Zeroizing::new(BASE32_NOPAD.encode(&*self.0).to_ascii_lowercase());
        let mut text = Zeroizing::new(String::with_capacity(64));
        for (number, letter) in letters.chars().enumerate() {
            if number > 0 && number % 13 == 0 {
                text.push('-');
            }
            text.push(letter);
        }
        text
    }

    /// The authority that it stands for.
    pub(super) fn authority(&self) -> AuthorityKey {
        AuthorityKey::from_seed(&self.0)
    }
}
