//! From bytes to a tree: tolerant, bounded, without recursion.

use core::fmt;

use super::document::{Attribute, Document, NodeId, NodeKind};
use super::edit::SiblingEnd;
use super::encoding;
use super::escape::{self, decode};
use super::fragment::Piece;
use super::text::Text;

/// What could be made of a document.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// Everything before the error; all of it if there is none.
    pub document: Document,
    /// Where parsing stopped, if it did.
    pub error: Option<XmlError>,
}

/// Why a document was not parsed to its end.
///
/// A peer has sent it, or the application has; only its author can mend it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum XmlError {
    /// An attribute has no quoted value.
    Attribute,
    /// A tag has no proper name, or an item in it is not an attribute or its end.
    Tag,
    /// An end tag does not fit the element that is open.
    Mismatch,
    /// There is no element.
    NoElement,
    /// Elements are nested deeper than [`MAX_DEPTH`].
    TooDeep,
    /// The document is longer than [`MAX_DOCUMENT_BYTES`].
    TooLong,
    /// There are more nodes than [`MAX_NODES`].
    TooManyNodes,
    /// The document ends inside an element or a tag: the rest is missing.
    Truncated,
}

impl Document {
    /// Parses as much of a document as makes sense.
    ///
    /// Comments, processing instructions, the declaration, the document type and white space between tags are left
    /// out. UTF-16, UTF-32 and declared Latin-1 become UTF-8. Existing peers write what this parser rejects: an
    /// application may have named an element `alpha power`. So what comes before an error is kept, and the error is
    /// reported beside it.
    pub fn parse(bytes: &[u8]) -> Parsed {
        let mut parser = Parser::new(&[]);
        if bytes.len() > MAX_DOCUMENT_BYTES {
            return Parsed { document: parser.document, error: Some(XmlError::TooLong) };
        }
        let utf8 = encoding::to_utf8(bytes);
        // A document was a C string once; nothing after its end can have been meant.
        parser = Parser::new(utf8.split(|byte| *byte == 0).next().unwrap_or_default());
        let error = parser.run().err();
        Parsed { document: parser.document, error }
    }
}

impl XmlError {
    /// Returns whether the document was refused for its size or depth, not for its form.
    pub fn is_limit(self) -> bool {
        matches!(self, Self::TooDeep | Self::TooLong | Self::TooManyNodes)
    }
}

impl core::error::Error for XmlError {}

impl fmt::Display for XmlError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Attribute => "an attribute has no quoted value",
            Self::Mismatch => "an end tag does not fit the open element",
            Self::NoElement => "the document has no element",
            Self::Tag => "a tag is malformed",
            Self::TooDeep => "elements are nested too deeply",
            Self::TooLong => "the document is too long",
            Self::TooManyNodes => "the document has too many nodes",
            Self::Truncated => "the document ends early",
        })
    }
}

struct Parser<'a> {
    rest: &'a [u8],
    document: Document,
    open: NodeId,
    depth: usize,
    nodes: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a [u8]) -> Self {
        let document = Document::new();
        let open = document.root();
        Self { rest: text, document, open, depth: 0, nodes: 0 }
    }

    fn run(&mut self) -> Result<(), XmlError> {
        while !self.rest.is_empty() {
            if self.skip(b"<") {
                self.markup()?;
            } else {
                self.text()?;
            }
        }
        match self.document.document_element() {
            _ if self.depth > 0 => Err(XmlError::Truncated),
            None => Err(XmlError::NoElement),
            Some(_) => Ok(()),
        }
    }

    fn text(&mut self) -> Result<(), XmlError> {
        let raw = self.take_while(|byte| byte != b'<');
        // Text outside of the outermost element has no place in the tree.
        if self.depth == 0 || raw.iter().copied().all(is_space) {
            return Ok(());
        }
        self.add(Piece::text(NodeKind::Text, &decode(raw, escape::EscapeRules::Text)))?;
        Ok(())
    }

    fn markup(&mut self) -> Result<(), XmlError> {
        match self.rest {
            [] => Err(XmlError::Truncated),
            [b'/', ..] => self.end_tag(),
            [b'?', first, ..] if is_name_start(*first) => self.take_until(b"?>").map(drop),
            [b'?'] => Err(XmlError::Truncated),
            [b'!', b'-', b'-', ..] => {
                self.skip(b"!--");
                self.take_until(b"-->").map(drop)
            }
            [b'!', b'[', ..] => self.cdata(),
            [b'!', ..] => self.document_type(),
            [first, ..] if is_name_start(*first) => self.start_tag(),
            [..] => Err(XmlError::Tag),
        }
    }

    fn cdata(&mut self) -> Result<(), XmlError> {
        if !self.skip(b"![CDATA[") {
            return Err(XmlError::Tag);
        }
        let rest = self.rest;
        let raw = self.take_until(b"]]>");
        if self.depth > 0 {
            // The received part of an unfinished section is kept, like unfinished text.
            self.add(Piece::text(NodeKind::Cdata, &decode(raw.unwrap_or(rest), escape::EscapeRules::Cdata)))?;
        }
        raw.map(drop)
    }

    /// Skips a document type, its internal subset included; only allowed before the outermost element.
    fn document_type(&mut self) -> Result<(), XmlError> {
        if self.depth > 0 || !self.skip(b"!DOCTYPE") {
            return Err(XmlError::Tag);
        }
        let mut open = 1_usize;
        while open > 0 {
            match self.rest {
                [] => return Err(XmlError::Truncated),
                [b'<', b'!', b'-', b'-', ..] => {
                    self.skip(b"<!--");
                    self.take_until(b"-->")?;
                    continue;
                }
                [b'<', b'?', ..] => {
                    self.take_until(b"?>")?;
                    continue;
                }
                [quote @ (b'"' | b'\''), ..] => {
                    let quote = [*quote];
                    self.skip(&quote);
                    self.take_until(&quote)?;
                    continue;
                }
                [b'<', ..] => open = open.saturating_add(1),
                [b'>', ..] => open = open.saturating_sub(1),
                [..] => {}
            }
            self.advance(1);
        }
        Ok(())
    }

    fn start_tag(&mut self) -> Result<(), XmlError> {
        if self.depth >= MAX_DEPTH {
            return Err(XmlError::TooDeep);
        }
        let name = self.take_while(is_name);
        self.open = self.add(Piece::element(name))?;
        self.depth = self.depth.saturating_add(1);
        loop {
            self.skip_space();
            match self.rest {
                [] => return Err(XmlError::Truncated),
                [b'>', ..] => {
                    self.advance(1);
                    return Ok(());
                }
                [b'/', ..] => {
                    self.advance(1);
                    self.close();
                    return self.expect(b'>', XmlError::Tag);
                }
                [first, ..] if is_name_start(*first) => self.attribute()?,
                [..] => return Err(XmlError::Tag),
            }
        }
    }

    fn attribute(&mut self) -> Result<(), XmlError> {
        self.count()?;
        let name = Text::new(self.take_while(is_name));
        let value = self.attribute_value();
        let attribute = Attribute { name, value: value.clone().unwrap_or_default() };
        self.document.push_attribute(self.open, attribute);
        value?;
        // Two attributes need white space between them.
        if self.rest.first().is_some_and(|byte| is_name_start(*byte)) {
            Err(XmlError::Attribute)
        } else {
            Ok(())
        }
    }

    fn attribute_value(&mut self) -> Result<Text, XmlError> {
        self.skip_space();
        self.expect(b'=', XmlError::Attribute)?;
        self.skip_space();
        let quote = match self.rest {
            [] => return Err(XmlError::Truncated),
            [quote @ (b'"' | b'\''), ..] => [*quote],
            [..] => return Err(XmlError::Attribute),
        };
        self.advance(1);
        let raw = self.take_until(&quote)?;
        Ok(Text::new(decode(raw, escape::EscapeRules::Attribute)))
    }

    fn end_tag(&mut self) -> Result<(), XmlError> {
        self.advance(1);
        let name = self.take_while(is_name);
        if self.depth == 0 || name != self.document.name(self.open).as_bytes() {
            return Err(if self.rest.is_empty() { XmlError::Truncated } else { XmlError::Mismatch });
        }
        self.close();
        self.skip_space();
        self.expect(b'>', XmlError::Tag)
    }

    fn close(&mut self) {
        self.open = self.document.parent(self.open).unwrap_or(self.open);
        self.depth = self.depth.saturating_sub(1);
    }

    fn add(&mut self, piece: Piece) -> Result<NodeId, XmlError> {
        self.count()?;
        self.document.insert(self.open, SiblingEnd::Last, piece).ok_or(XmlError::TooManyNodes)
    }

    fn count(&mut self) -> Result<(), XmlError> {
        self.nodes = self.nodes.saturating_add(1);
        if self.nodes > MAX_NODES { Err(XmlError::TooManyNodes) } else { Ok(()) }
    }

    fn expect(&mut self, byte: u8, error: XmlError) -> Result<(), XmlError> {
        match self.rest.split_first() {
            None => Err(XmlError::Truncated),
            Some((first, rest)) if *first == byte => {
                self.rest = rest;
                Ok(())
            }
            Some(_) => Err(error),
        }
    }

    fn take_until(&mut self, end: &[u8]) -> Result<&'a [u8], XmlError> {
        let at = self.rest.windows(end.len()).position(|window| window == end).ok_or(XmlError::Truncated)?;
        let (taken, rest) = self.rest.split_at_checked(at).ok_or(XmlError::Truncated)?;
        self.rest = rest.strip_prefix(end).unwrap_or(rest);
        Ok(taken)
    }

    fn take_while(&mut self, wanted: impl Fn(u8) -> bool) -> &'a [u8] {
        let at = self.rest.iter().position(|byte| !wanted(*byte)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at_checked(at).unwrap_or_default();
        self.rest = rest;
        taken
    }

    fn skip_space(&mut self) {
        self.take_while(is_space);
    }

    fn skip(&mut self, prefix: &[u8]) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn advance(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte == b':' || !byte.is_ascii()
}

fn is_name(byte: u8) -> bool {
    is_name_start(byte) || byte.is_ascii_digit() || byte == b'-' || byte == b'.'
}

/// Longest document that is parsed, in bytes; 65,536 channels with ten fields each fit.
pub const MAX_DOCUMENT_BYTES: usize = 32 << 20;
/// Deepest nesting of elements that is parsed.
pub const MAX_DEPTH: usize = 256;
/// Most nodes and attributes that are parsed from one document.
pub const MAX_NODES: usize = 1 << 20;
