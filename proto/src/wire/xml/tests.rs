//! The tree as programs use it, and documents as peers send them.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::*;

fn parsed(text: &str) -> Document {
    let parsed = Document::parse(text.as_bytes());
    assert_eq!(parsed.error, None, "{text}");
    parsed.document
}

fn written(document: &Document) -> String {
    let text = String::from_utf8(document.to_bytes()).unwrap();
    text.strip_prefix("<?xml version=\"1.0\"?>\n").unwrap().to_string()
}

fn sample() -> (Document, NodeId) {
    let document = parsed("<r>t<a>1</a><b/><a>2</a></r>");
    let root = document.document_element().unwrap();
    (document, root)
}

#[test]
fn documents_are_written_as_existing_peers_write_them() {
    for (text, expected) in [
        ("<m>pre<b/>post</m>", "<m>pre<b />post</m>\n"),
        ("<m><b/>post</m>", "<m>\n\t<b />post</m>\n"),
        ("<m>  <b/>  </m>", "<m>\n\t<b />\n</m>\n"),
        ("<a><b><c>x</c></b><d></d></a>", "<a>\n\t<b>\n\t\t<c>x</c>\n\t</b>\n\t<d />\n</a>\n"),
        ("<a k='\"' l=\"'&lt;>\"/>", "<a k=\"&quot;\" l=\"'&lt;>\" />\n"),
        ("<a><![CDATA[x]]]]><![CDATA[>y]]></a>", "<a><![CDATA[x]]]]><![CDATA[>y]]></a>\n"),
        ("<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b '>'>]><!-- c --><a/>", "<a />\n"),
        ("<a>&lt;&amp;&gt;\"'</a>", "<a>&lt;&amp;&gt;\"'</a>\n"),
        ("<a>x\r\ny\rz</a>", "<a>x\ny\nz</a>\n"),
        ("text<a/>text", "<a />\n"),
    ] {
        assert_eq!(written(&parsed(text)), expected, "{text}");
    }
}

#[test]
fn an_element_with_empty_text_differs_from_one_without() {
    let mut document = Document::new();
    let root = document.append_child(document.root(), "r").unwrap();
    document.append_child_value(root, "a", "");
    document.append_child(root, "b");
    assert_eq!(written(&document), "<r>\n\t<a></a>\n\t<b />\n</r>\n");
}

#[test]
fn what_precedes_an_error_is_kept() {
    for (text, kept, error) in [
        ("<r><my name>x</my name></r>", "<r>\n\t<my name=\"\" />\n</r>\n", XmlError::Attribute),
        ("<r><a/><10 Hz/></r>", "<r>\n\t<a />\n</r>\n", XmlError::Tag),
        ("<r><a>x</b></r>", "<r>\n\t<a>x</a>\n</r>\n", XmlError::Mismatch),
        ("<r><a>x</a>", "<r>\n\t<a>x</a>\n</r>\n", XmlError::Truncated),
        ("<r><a>x", "<r>\n\t<a>x</a>\n</r>\n", XmlError::Truncated),
        ("<r><a k=\"x", "<r>\n\t<a k=\"\" />\n</r>\n", XmlError::Truncated),
        ("<r><!-- ", "<r />\n", XmlError::Truncated),
        ("<r><a b=\"1\"c=\"2\"/></r>", "<r>\n\t<a b=\"1\" />\n</r>\n", XmlError::Attribute),
        ("", "", XmlError::NoElement),
        ("garbage", "", XmlError::NoElement),
        ("<r><a/>\0</r>", "<r>\n\t<a />\n</r>\n", XmlError::Truncated),
    ] {
        let parsed = Document::parse(text.as_bytes());
        assert_eq!(parsed.error, Some(error), "{text}");
        assert_eq!(written(&parsed.document), kept, "{text}");
    }
}

#[test]
fn limits_hold() {
    let deep = ["<a>".repeat(MAX_DEPTH + 1), "</a>".repeat(MAX_DEPTH + 1)].concat();
    assert_eq!(Document::parse(deep.as_bytes()).error, Some(XmlError::TooDeep));
    assert_eq!(Document::parse(&deep.as_bytes()[3..deep.len() - 4]).error, None);
    let wide = ["<r>", &"<a/>".repeat(MAX_NODES), "</r>"].concat();
    assert_eq!(Document::parse(wide.as_bytes()).error, Some(XmlError::TooManyNodes));
    let attributes = ["<r ", &"a='' ".repeat(MAX_NODES), "/>"].concat();
    assert_eq!(Document::parse(attributes.as_bytes()).error, Some(XmlError::TooManyNodes));
    let long = Document::parse(&alloc::vec![b' '; MAX_DOCUMENT_BYTES + 1]);
    assert_eq!(long.error, Some(XmlError::TooLong));
}

#[test]
fn relatives_are_found() {
    let (document, root) = sample();
    let children: Vec<NodeId> = document.children(root).collect();
    let [text, first, empty, second] = *children else { panic!("{children:?}") };
    assert_eq!(document.first_child(root), Some(text));
    assert_eq!(document.last_child(root), Some(second));
    assert_eq!(document.next_sibling(text), Some(first));
    assert_eq!(document.previous_sibling(second), Some(empty));
    assert_eq!(document.child(root, "a"), Some(first));
    assert_eq!(document.child(root, ""), None);
    assert_eq!(document.next_sibling_named(first, "a"), Some(second));
    assert_eq!(document.previous_sibling_named(second, "a"), Some(first));
    assert_eq!(document.parent(first), Some(root));
    assert_eq!(document.parent(root), Some(document.root()));
    assert_eq!(document.parent(document.root()), None);
    assert!(document.is_text(text) && document.is_text(document.root()) && !document.is_text(first));
}

#[test]
fn values_are_those_of_text_children() {
    let (document, root) = sample();
    assert_eq!(*document.child_value(root), "t");
    assert_eq!(*document.child_value_named(root, "a"), "1");
    assert_eq!(*document.child_value_named(root, "b"), "");
    assert_eq!(*document.value(root), "");
    let text = document.first_child(root).unwrap();
    assert_eq!((document.value(text).as_bytes(), document.name(text).as_bytes()), (&b"t"[..], &b""[..]));
    let cdata = parsed("<r><![CDATA[<x>]]></r>");
    assert_eq!(*cdata.child_value(cdata.document_element().unwrap()), "<x>");
}

#[test]
fn changes_that_do_not_fit_a_node_are_refused() {
    let (mut document, root) = sample();
    let text = document.first_child(root).unwrap();
    assert_eq!(document.append_child(text, "x"), None);
    assert!(!document.set_name(text, "x"));
    assert!(!document.set_value(root, "x"));
    assert!(!document.set_child_value(root, "b", "x"), "an empty element has no text to replace");
    assert!(!document.set_child_value(root, "missing", "x"));
    let outer = document.copy_of(document.root());
    assert_eq!(document.append_copy(root, &outer), None);
    assert_eq!(written(&document), written(&sample().0));
}

#[test]
fn changes_are_seen() {
    let (mut document, root) = sample();
    let text = document.first_child(root).unwrap();
    assert!(document.set_value(text, "new"));
    assert!(document.set_child_value(root, "a", "one"));
    assert!(document.remove_child_named(root, "b"));
    let last = document.last_child(root).unwrap();
    assert!(document.set_name(last, "z"));
    document.prepend_child_value(root, "first", "0");
    assert_eq!(written(&document), "<r>\n\t<first>0</first>new<a>one</a>\n\t<z>2</z>\n</r>\n");
}

#[test]
fn a_tree_can_be_copied_into_itself_and_elsewhere() {
    let (mut document, root) = sample();
    let copy = document.copy_of(root);
    let first = document.child(root, "a").unwrap();
    document.append_copy(first, &copy).unwrap();
    let mut other = Document::new();
    other.append_copy(other.root(), &document.copy_of(first)).unwrap();
    assert_eq!(written(&other), "<a>1<r>t<a>1</a>\n\t\t<b />\n\t\t<a>2</a>\n\t</r>\n</a>\n");
    document.remove_child(root, first);
    assert_eq!(document.node_count(), parsed("<r>t<b/><a>2</a></r>").node_count());
}

#[test]
fn a_handle_of_a_removed_node_is_empty_for_ever() {
    let (mut document, root) = sample();
    let gone = document.child(root, "a").unwrap();
    let below = document.first_child(gone).unwrap();
    assert!(document.remove_child(root, gone));
    assert!(!document.remove_child(root, gone));
    // The places are used again, by other nodes.
    let new = document.append_child_value(root, "new", "value").unwrap();
    for node in [gone, below] {
        assert!(!document.contains(node) && document.is_text(node));
        assert_eq!(document.parent(node), None);
        assert_eq!(document.append_child(node, "x"), None);
        assert!(!document.set_value(node, "x") && !document.set_name(node, "x"));
        assert_eq!(*document.value(node), "");
    }
    assert_eq!(*document.child_value(new), "value");
}

#[test]
fn handles_survive_changes_elsewhere_and_copies_of_the_document() {
    let (mut document, root) = sample();
    let last = document.last_child(root).unwrap();
    for _ in 0..1000 {
        document.prepend_child(root, "x");
    }
    assert_eq!(*document.child_value(last), "2");
    let copy = document.clone();
    document.remove_child(root, last);
    assert_eq!(*copy.child_value(last), "2");
}

#[test]
fn invalid_utf_8_survives_parsing_and_writing() {
    let document = Document::parse(b"<a>\xff\xc3</a>").document;
    assert_eq!(document.child_value(document.document_element().unwrap()).as_bytes(), b"\xff\xc3");
    assert!(document.to_bytes().ends_with(b"<a>\xff\xc3</a>\n"));
}

#[test]
fn writing_and_parsing_agree() {
    let (mut document, root) = sample();
    document.append_child_value(root, "odd", "  <&>\u{1}\t\n é  ");
    let again = Document::parse(&document.to_bytes());
    assert_eq!(again.error, None);
    assert_eq!(again.document.to_bytes(), document.to_bytes());
}
