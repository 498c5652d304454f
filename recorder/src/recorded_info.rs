//! A recorded stream as a live one describes itself.

use schwann::{ChannelFormat, Document, StreamInfo};
use schwann_proto::stream_info::InvalidStream;
use schwann_xdf::StreamHeader;

/// The stream that a header describes, with all of its description, under this name and with this rate.
///
/// - Units: `rate` in Hz, 0 for an irregular stream.
/// - Errors: [`InvalidStream`] if there can be no such stream.
pub fn recorded_info(header: &StreamHeader, name: &str, rate: f64) -> Result<StreamInfo, InvalidStream> {
    let format = ChannelFormat::from_name(header.format.name()).unwrap_or_default();
    let channels = i32::try_from(header.channel_count).unwrap_or(i32::MAX);
    let (content, source) = (&header.content_type, &header.source_id);
    let mut info = StreamInfo::new(name, content, channels, rate, format, source)?;
    let recorded = Document::parse(header.xml.as_bytes()).document;
    let from = recorded.document_element().and_then(|root| recorded.child(root, "desc"));
    if let (Some(from), Some(to)) = (from, info.desc()) {
        for child in recorded.children(from) {
            let fragment = recorded.copy_of(child);
            info.document_mut().append_copy(to, &fragment);
        }
    }
    Ok(info)
}
