//! How an outlet decides about a request. lsl-wire §10.3, §11.2, §11.3.

use super::{DataProtocol, FeedRequest};
use crate::{
    stream::ChannelFormat,
    wire::{
        NoRoom, Sink, number,
        sample::{ByteOrder, Layout, Subnormals},
        sink::put_all,
    },
};

/// What an outlet has to offer.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    /// Protocol version that the outlet speaks, times 100.
    pub version: i32,
    /// The stream's identity, in lower case.
    pub uid: &'a str,
    /// Type of the values.
    pub format: ChannelFormat,
    /// How fast this machine turns bytes around, in values per 10 ms; infinite to always help a client out.
    pub swap_performance: f64,
    /// Whether pushes write to the sockets themselves, which only works with [`DataProtocol::Plain`].
    pub synchronous: bool,
}

/// What outlet and client agreed on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Agreement {
    /// What is sent before the test pattern.
    pub preamble: Preamble,
    /// How samples travel.
    pub data_protocol: DataProtocol,
    /// Order of the bytes in plain samples.
    pub byte_order: ByteOrder,
    /// How the client should treat subnormal numbers.
    pub subnormals: Subnormals,
    /// Samples to hold for this client; 0 or less: close after the test pattern.
    pub max_buffer_length: i32,
    /// Samples per transmission; 0 or less leaves it to the outlet.
    pub max_chunk_length: i32,
    /// Whether the client sends [`Report`](super::Report)s to an outlet that takes them.
    pub has_reports: bool,
}

/// What an outlet sends first.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Preamble {
    /// Nothing: the client used the older request, which knows no response.
    None,
    /// A status line and headers.
    Response,
}

/// Why an outlet turns a client away.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Refusal {
    /// Another stream is meant.
    NotFound,
    /// The client cannot read what a synchronous outlet writes, and understands no status line: just close.
    Silent,
    /// The client cannot read what a synchronous outlet writes.
    Synchronous,
    /// The client speaks a newer major version.
    Version,
}

impl Offer<'_> {
    /// Decides about a request.
    ///
    /// - Errors: [`Refusal`]: send its status line and close.
    /// - Source: lsl-wire §10.3, §11.3.
    pub fn negotiate(&self, request: &FeedRequest<'_>) -> Result<Agreement, Refusal> {
        if request.version / 100 > self.version / 100 {
            return Err(Refusal::Version);
        }
        if !request.uid.is_empty() && request.uid != self.uid {
            return Err(Refusal::NotFound);
        }
        let preamble = match DataProtocol::from_version(request.version) {
            DataProtocol::Archive => Preamble::None,
            DataProtocol::Plain => Preamble::Response,
        };
        let data_protocol = self.data_protocol(request);
        if self.synchronous && data_protocol == DataProtocol::Archive {
            return Err(match preamble {
                Preamble::None => Refusal::Silent,
                Preamble::Response => Refusal::Synchronous,
            });
        }
        let plain = data_protocol == DataProtocol::Plain;
        let suppress = plain && self.format.is_float() && !request.supports_subnormals;
        Ok(Agreement {
            preamble,
            data_protocol,
            byte_order: if plain { self.byte_order(request) } else { ByteOrder::NATIVE },
            subnormals: if suppress { Subnormals::Suppress } else { Subnormals::Keep },
            max_buffer_length: request.max_buffer_length,
            max_chunk_length: request.max_chunk_length,
            has_reports: request.sends_reports && preamble == Preamble::Response,
        })
    }

    fn data_protocol(&self, request: &FeedRequest<'_>) -> DataProtocol {
        let wanted = request.data_version.unwrap_or(request.version).min(self.version);
        let own_size = self.format.value_size().and_then(|size| i32::try_from(size).ok());
        // Strings have no size worth comparing: each compiler announces another (lsl-wire §11.1).
        let sizes_differ =
            own_size.is_some() && request.value_size.is_some() && own_size != request.value_size;
        if sizes_differ || !request.has_ieee754_floats {
            return DataProtocol::Archive;
        }
        DataProtocol::from_version(wanted)
    }

    /// The client's order if it differs from ours and we are better at turning bytes around.
    fn byte_order(&self, request: &FeedRequest<'_>) -> ByteOrder {
        // A client that says nothing about its value size is taken to have ours. For strings, ours is 0
        // (lsl-wire §11.1).
        let own_size = self.format.value_size().and_then(|size| i32::try_from(size).ok()).unwrap_or(0);
        let multi_byte = request.value_size.unwrap_or(own_size) > 1;
        match request.byte_order {
            Some(order) if multi_byte && self.swap_performance > request.swap_performance => order,
            _ => ByteOrder::NATIVE,
        }
    }
}

impl Agreement {
    /// Returns the layout of plain samples.
    pub const fn layout(&self, format: ChannelFormat, channel_count: usize) -> Layout {
        let mut layout = Layout::new(format, channel_count, self.byte_order);
        layout.subnormals = self.subnormals;
        layout
    }

    /// Appends the response; nothing for the older request.
    pub fn encode_response(&self, offer: &Offer<'_>, out: &mut impl Sink) -> Result<(), NoRoom> {
        self.encode_with(offer, "", out)
    }

    /// The same of an outlet that takes [`Report`](super::Report)s from a client that sends them.
    pub fn encode_response_with_reports(&self, offer: &Offer<'_>, out: &mut impl Sink) -> Result<(), NoRoom> {
        self.encode_with(offer, if self.has_reports { "\r\nTakes-Reports: 1" } else { "" }, out)
    }

    fn encode_with(&self, offer: &Offer<'_>, more: &str, out: &mut impl Sink) -> Result<(), NoRoom> {
        if self.preamble == Preamble::None {
            return Ok(());
        }
        let order = number::integer(self.byte_order.code().into());
        let data_version = number::integer(self.data_protocol.version().into());
        let suppress = if self.subnormals == Subnormals::Suppress { "1" } else { "0" };
        put_all(
            out,
            &[
                "LSL/",
                &number::integer(offer.version.into()),
                " 200 OK\r\nUID: ",
                offer.uid,
                "\r\nByte-Order: ",
                &order,
                "\r\nSuppress-Subnormals: ",
                suppress,
                "\r\nData-Protocol-Version: ",
                &data_version,
                more,
                "\r\n\r\n",
            ],
        )
    }
}

impl Refusal {
    /// Appends the status line, which has no line end: closing the connection ends it.
    pub fn encode(self, offer: &Offer<'_>, out: &mut impl Sink) -> Result<(), NoRoom> {
        let status = match self {
            Self::NotFound => "404 Not found",
            Self::Silent => return Ok(()),
            Self::Synchronous => "505 Synchronous outlet requires data protocol 1.10",
            Self::Version => "505 Version not supported",
        };
        put_all(out, &["LSL/", &number::integer(offer.version.into()), " ", status])
    }
}
