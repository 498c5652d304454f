//! From a tree to bytes, byte for byte as existing peers write it.

use alloc::vec::Vec;

use super::document::{Document, NodeId, NodeKind};
use super::escape::{EscapeRules, encode};

impl Document {
    /// Returns the document as text: declaration, one TAB per level, LF line ends, UTF-8.
    ///
    /// - Source: lsl-wire §4.2.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer =
            Writer { document: self, out: Vec::with_capacity(1024), depth: 0, line: Line::Inline };
        writer.out.extend_from_slice(b"<?xml version=\"1.0\"?>\n");
        writer.run();
        writer.out
    }
}

/// Whether the next tag goes on a line of its own.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Line {
    Inline,
    Own,
}

struct Writer<'a> {
    document: &'a Document,
    out: Vec<u8>,
    depth: usize,
    line: Line,
}

impl Writer<'_> {
    fn run(&mut self) {
        let root = self.document.root();
        let mut next = self.document.first_child(root);
        while let Some(node) = next {
            self.open(node);
            if let Some(child) = self.document.first_child(node) {
                self.depth = self.depth.saturating_add(1);
                next = Some(child);
                continue;
            }
            next = self.close_until_sibling(root, node);
        }
        if self.line == Line::Own {
            self.out.push(b'\n');
        }
    }

    /// Ends every element whose last node is `node`; returns the node that follows.
    fn close_until_sibling(&mut self, root: NodeId, node: NodeId) -> Option<NodeId> {
        let mut node = node;
        loop {
            if let Some(next) = self.document.next_sibling(node) {
                return Some(next);
            }
            node = self.document.parent(node).filter(|parent| *parent != root)?;
            self.depth = self.depth.saturating_sub(1);
            self.start_line();
            self.out.extend_from_slice(b"</");
            self.name(node);
            self.out.push(b'>');
            self.line = Line::Own;
        }
    }

    fn open(&mut self, node: NodeId) {
        match self.document.kind(node) {
            Some(NodeKind::Cdata) => self.cdata(self.document.value(node).as_bytes()),
            Some(NodeKind::Element) => self.start_tag(node),
            Some(NodeKind::Text) => {
                encode(self.document.value(node).as_bytes(), EscapeRules::Text, &mut self.out);
                self.line = Line::Inline;
            }
            Some(NodeKind::Document) | None => {}
        }
    }

    fn start_tag(&mut self, node: NodeId) {
        self.start_line();
        self.out.push(b'<');
        self.name(node);
        for attribute in self.document.attributes(node) {
            self.out.push(b' ');
            self.out.extend_from_slice(attribute.name.as_bytes());
            self.out.extend_from_slice(b"=\"");
            encode(attribute.value.as_bytes(), EscapeRules::Attribute, &mut self.out);
            self.out.push(b'"');
        }
        let end: &[u8] = if self.document.first_child(node).is_some() { b">" } else { b" />" };
        self.out.extend_from_slice(end);
        self.line = Line::Own;
    }

    /// Writes CDATA; a `]]>` inside is spread over two sections.
    fn cdata(&mut self, value: &[u8]) {
        let mut rest = value;
        self.out.extend_from_slice(b"<![CDATA[");
        while let Some(at) = rest.windows(3).position(|window| window == b"]]>") {
            let (section, tail) = rest.split_at_checked(at.saturating_add(2)).unwrap_or((rest, &[]));
            self.out.extend_from_slice(section);
            self.out.extend_from_slice(b"]]><![CDATA[");
            rest = tail;
        }
        self.out.extend_from_slice(rest);
        self.out.extend_from_slice(b"]]>");
        self.line = Line::Inline;
    }

    fn name(&mut self, node: NodeId) {
        let name = self.document.name(node);
        // A name can be taken away, but a tag needs one; existing peers write this.
        self.out.extend_from_slice(if name.is_empty() { b":anonymous" } else { name.as_bytes() });
    }

    fn start_line(&mut self) {
        if self.line == Line::Own {
            self.out.push(b'\n');
            self.out.extend(core::iter::repeat_n(b'\t', self.depth));
        }
    }
}
