//! What a reader finds in a file: its parts in their order, and where they are damaged.

use std::io;

use crate::header::{StreamFooter, StreamHeader};
use crate::values::Values;

/// What a recording holds, in the file's order.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A boundary chunk.
    Boundary,
    /// A measurement of a stream's clock.
    ClockOffset {
        /// The stream's id.
        stream: u32,
        /// When it was measured, in seconds on the recorder's clock.
        collected: f64,
        /// What to add to the stream's stamps, in seconds.
        offset: f64,
    },
    /// Something is wrong here; what could be read of it has been handed out.
    Damage(Damage),
    /// The file's header.
    FileHeader {
        /// As stored.
        xml: &'a str,
    },
    /// Samples of one stream; a long chunk comes in pieces.
    Samples {
        /// The stream's id.
        stream: u32,
        /// In seconds on the stream's clock, one per sample; deduced where the file says so. After damage that may be a guess:
        /// see [`Reader::guessed_stamp_count`](crate::Reader::guessed_stamp_count).
        stamps: &'a [f64],
        /// Samples × channels, one row per sample.
        values: &'a Values,
    },
    /// A stream's footer.
    StreamFooter {
        /// The stream's id.
        stream: u32,
        /// What it says.
        footer: &'a StreamFooter,
    },
    /// A stream's header, before anything else of the stream.
    StreamHeader(&'a StreamHeader),
}

/// A place where a file is not as it should be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Damage {
    /// Where, in bytes from the file's beginning.
    pub at: u64,
    /// How many bytes were skipped.
    pub bytes: u64,
    /// What is wrong.
    pub kind: DamageKind,
}

/// What is wrong with a place of a file.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum DamageKind {
    /// Another recording begins: files were joined, and streams of both may have the same ids. It is not read.
    Another,
    /// A chunk's content does not fit: what was whole of it was read.
    Content,
    /// No chunk can be told apart here, by its length at least.
    Framing,
    /// The file's beginning, where its mark should be.
    Magic,
    /// The compressed file around it does not unpack from here on, or not to what was packed.
    Packed,
    /// The compressed file around it was cut off.
    PackedTorn,
    /// A part of the sealed file around it does not open: it was changed or damaged.
    Seal,
    /// The sealed file around it was cut off, or its last part is damaged.
    SealTorn,
    /// The file ends within a chunk.
    Torn,
}

impl core::fmt::Display for DamageKind {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        out.write_str(match self {
            Self::Another => {
                "another recording begins here, and is left out: cut the file at this byte to read it"
            }
            Self::Content => "a chunk's content is damaged",
            Self::Framing => "a chunk's beginning is damaged",
            Self::Magic => "the file's beginning is damaged",
            Self::Packed => {
                "the compressed file is damaged: what was read may be changed, and the rest is lost"
            }
            Self::PackedTorn => "the compressed file was cut off",
            Self::Seal => "a part of the sealed file does not open: it was changed or damaged",
            Self::SealTorn => "the sealed file was cut off, or its last part is damaged",
            Self::Torn => "the file ends within a chunk",
        })
    }
}

/// Why a file cannot be read at all.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The source cannot be read.
    Io(io::Error),
    /// The source is compressed as a whole, as `.xdfz` files are: open it by its [`Location`](crate::Location).
    Compressed,
    /// It is not an XDF file.
    NotXdf,
    /// The header of the sealed file is damaged, or of a kind that is not known here.
    Seal,
    /// The first part of the sealed file is not whole or does not open, and there is no other part.
    SealCut,
    /// It is sealed, and there is no key to open it with.
    Sealed,
    /// What is compressed in it cannot be unpacked, because there is no room for it.
    Unpack(io::Error),
    /// It is sealed, and not to a key that was given.
    WrongKey,
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl core::fmt::Display for ReadError {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Io(error) => error.fmt(out),
            Self::Compressed => out.write_str(
                "a compressed recording (.xdfz); decompress it first: gunzip -c FILE.xdfz > FILE.xdf",
            ),
            Self::NotXdf => out.write_str("not an XDF file"),
            Self::Seal => out
                .write_str("the header of the sealed file is damaged, or made by a program that is too new"),
            Self::SealCut => out.write_str(
                "the sealed file was cut off within its first 64 KiB, or they are damaged; they open only as a whole",
            ),
            Self::Sealed => {
                out.write_str("the recording is sealed; name the file with the secret key: --identity FILE")
            }
            Self::Unpack(error) => write!(out, "the compressed recording needs room to be unpacked: {error}"),
            Self::WrongKey => out.write_str("the recording is sealed to another key than was given"),
        }
    }
}

impl core::error::Error for ReadError {}
