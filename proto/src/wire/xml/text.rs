//! Text of unknown encoding that a C program can read in place.

use alloc::borrow::Cow;
use alloc::ffi::CString;
use core::ffi::CStr;
use core::fmt;

/// Bytes without NUL, usually UTF-8, ready to be handed to C.
///
/// The bytes stay where they are until the text is replaced, however often its owner moves. An empty text owns
/// no memory.
#[derive(Clone, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Text(Cow<'static, CStr>);

/// The empty text, for what has none.
pub(crate) static EMPTY: Text = Text(Cow::Borrowed(c""));

impl Text {
    /// Copies `bytes` up to the first NUL, where a C string ends.
    pub fn new(bytes: impl AsRef<[u8]>) -> Self {
        let bytes = bytes.as_ref();
        let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        if bytes.is_empty() {
            return Self::default();
        }
        // `split` has removed every NUL, so the conversion cannot fail.
        Self(Cow::Owned(CString::new(bytes).unwrap_or_default()))
    }

    /// Returns the bytes without the final NUL.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.to_bytes()
    }

    /// Returns the text as C sees it.
    pub fn as_c_str(&self) -> &CStr {
        &self.0
    }

    /// Returns whether there is no byte.
    pub fn is_empty(&self) -> bool {
        self.as_bytes().is_empty()
    }

    /// Returns the text as UTF-8, invalid bytes replaced by U+FFFD.
    pub fn to_string_lossy(&self) -> Cow<'_, str> {
        self.0.to_string_lossy()
    }
}

impl AsRef<[u8]> for Text {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl Default for Text {
    fn default() -> Self {
        EMPTY.clone()
    }
}

impl fmt::Display for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_string_lossy().fmt(formatter)
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl PartialEq<[u8]> for Text {
    fn eq(&self, other: &[u8]) -> bool {
        self.as_bytes() == other
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_ends_at_the_first_nul() {
        assert_eq!(Text::new(b"ab\0cd"), "ab");
        assert_eq!(Text::new(b"\0cd"), "");
    }

    #[test]
    fn invalid_utf_8_survives() {
        assert_eq!(Text::new(b"a\xff").as_bytes(), b"a\xff");
    }
}
