//! What a recording says of a stream, as a live one describes itself.

use schwann::{ChannelFormat, Document, StreamInfo};
use schwann_xdf::StreamHeader;

/// The stream as it was; one without a name is called by its number. None if there can be no such stream.
pub(super) fn info_of(header: &StreamHeader) -> Option<StreamInfo> {
    let format = ChannelFormat::from_name(header.format.name()).unwrap_or_default();
    let name = if header.name.is_empty() { &format!("stream {}", header.id) } else { &header.name };
    let channels = i32::try_from(header.channel_count).unwrap_or(i32::MAX);
    let (content, source) = (&header.content_type, &header.source_id);
    let mut info = StreamInfo::new(name, content, channels, header.nominal_rate, format, source).ok()?;
    let recorded = Document::parse(header.xml.as_bytes()).document;
    let from = recorded.document_element().and_then(|root| recorded.child(root, "desc"));
    if let (Some(from), Some(to)) = (from, info.desc()) {
        for child in recorded.children(from) {
            let fragment = recorded.copy_of(child);
            info.document_mut().append_copy(to, &fragment);
        }
    }
    Some(info)
}
