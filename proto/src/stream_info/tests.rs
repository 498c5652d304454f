//! Descriptions that are made, read and changed.

use alloc::string::{String, ToString};

use super::*;

fn golden() -> StreamInfo {
    let mut info = StreamInfo::new("Golden", "EEG", 3, 100.0, ChannelFormat::Float32, "src-golden").unwrap();
    info.set_created_at(1047.872947623);
    info.reset_uid([0xa8; 16]);
    info
}

#[test]
fn a_description_survives_its_own_messages() {
    let mut info = golden();
    info.set_ports(IpVersion::V4, 16572, 16573);
    for message in [info.shortinfo(), info.fullinfo()] {
        let read = StreamInfo::parse(&message).unwrap();
        assert_eq!(read.fields, info.fields);
        assert_eq!(read.document_error(), None);
    }
}

#[test]
fn an_address_stays_out_of_the_document() {
    let mut info = golden();
    info.set_address(IpVersion::V4, "192.168.0.7");
    assert_eq!(info.endpoint(IpVersion::V4).address, "192.168.0.7");
    assert!(!String::from_utf8(info.fullinfo()).unwrap().contains("192"));
    assert!(!String::from_utf8(info.shortinfo()).unwrap().contains("192"));
}

#[test]
fn a_uid_is_a_lower_case_uuid_of_version_4() {
    let (a, b) = (uuid_version_4([0xff; 16]), uuid_version_4([0; 16]));
    assert_eq!(a, "ffffffff-ffff-4fff-bfff-ffffffffffff");
    assert_eq!(b, "00000000-0000-4000-8000-000000000000");
    let counted = core::array::from_fn(|index| u8::try_from(index).unwrap());
    assert_eq!(uuid_version_4(counted), "00010203-0405-4607-8809-0a0b0c0d0e0f");
}

#[test]
fn impossible_streams_are_refused_with_the_texts_programs_compare() {
    let refused = |name, count, rate| {
        StreamInfo::new(name, "", count, rate, ChannelFormat::Int8, "").unwrap_err().to_string()
    };
    assert_eq!(refused("", 1, 1.0), "The name of a stream must be non-empty.");
    assert_eq!(refused("a", -1, 1.0), "The channel_count of a stream must be nonnegative.");
    for rate in [-1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(refused("a", 1, rate), "The nominal sampling rate of a stream must be nonnegative.");
    }
    assert_eq!(
        InvalidStream::ChannelFormat { code: 9 }.to_string(),
        "The stream info was created with an unknown channel format 9"
    );
}

#[test]
fn setters_change_fields_and_document_alike() {
    // A parsed document has no text node where a value was empty.
    let mut info = StreamInfo::parse(&golden().fullinfo()).unwrap();
    info.set_created_at(12.5);
    info.set_version(100);
    info.set_ports(IpVersion::V6, 17000, 17001);
    let read = StreamInfo::parse(&info.fullinfo()).unwrap();
    assert_eq!(read.fields, info.fields);
    assert_eq!(read.created_at(), 12.5);
    assert_eq!(read.version(), 100);
    assert_eq!(read.endpoint(IpVersion::V6).service_port, 17001);
}

#[test]
fn an_outlet_has_a_uid_of_its_own_and_no_address_of_another() {
    let mut found = golden();
    found.set_ports(IpVersion::V4, 1, 2);
    found.set_address(IpVersion::V4, "10.0.0.1");
    let identity = OutletIdentity { session_id: b"lab", random: [1; 16], created_at: 5.0, hostname: b"here" };
    let outlet = found.for_outlet(&identity);
    assert_ne!(outlet.uid(), found.uid());
    assert_eq!(outlet.endpoint(IpVersion::V4), &Endpoint::default());
    assert_eq!((outlet.session_id(), outlet.hostname()), (&Text::new("lab"), &Text::new("here")));
    assert_eq!(outlet.created_at(), 5.0);
    assert_eq!(found.session_id(), &"", "the description it was made from is unchanged");
}

#[test]
fn metadata_of_a_copy_is_its_own() {
    let mut info = golden();
    let copy = info.clone();
    let desc = info.desc().unwrap();
    info.document_mut().append_child_value(desc, "manufacturer", "ACME");
    assert!(String::from_utf8(info.fullinfo()).unwrap().contains("<manufacturer>ACME</manufacturer>"));
    assert!(!String::from_utf8(info.shortinfo()).unwrap().contains("ACME"));
    assert!(!String::from_utf8(copy.fullinfo()).unwrap().contains("ACME"));
}

#[test]
fn the_parents_of_desc_are_info_the_document_and_nothing() {
    let info = golden();
    let tree = info.document();
    let parent = tree.parent(info.desc().unwrap()).unwrap();
    assert_eq!(tree.name(parent), &"info");
    assert_eq!(tree.parent(parent), Some(tree.root()));
    assert_eq!((tree.name(tree.root()), tree.parent(tree.root())), (&Text::default(), None));
}

#[test]
fn a_description_without_desc_keeps_working() {
    let mut info = golden();
    let tree = info.document_mut();
    let root = tree.root();
    assert!(tree.remove_child_named(root, "info"));
    assert_eq!(info.desc(), None);
    info.set_created_at(12.5);
    assert_eq!(info.created_at(), 12.5);
    assert!(String::from_utf8(info.shortinfo()).unwrap().contains("<created_at>12.5"));
}

#[test]
fn the_described_channels_are_those_elements_alone() {
    let mut info = golden();
    let desc = info.desc().unwrap();
    let tree = info.document_mut();
    tree.remove_child_named(desc, "channels");
    let channels = tree.append_child(desc, "channels").unwrap();
    for (name, label) in
        [("reference", "M1"), ("channel", "Fp1"), ("setup", ""), ("channel", "Cz"), ("cap", "")]
    {
        let child = tree.append_child(channels, name).unwrap();
        tree.append_child_value(child, "label", label);
    }
    let label = |node| info.document().child_value_named(node, "label").to_string();
    assert_eq!(info.described_channels().map(label).collect::<alloc::vec::Vec<_>>(), ["Fp1", "Cz"]);
    info.document_mut().remove_child_named(desc, "channels");
    assert_eq!(info.described_channels().count(), 0);
}

#[test]
fn queries_of_the_c_librarys_own_tests_match_as_there() {
    let mut info =
        StreamInfo::new("streamname", "streamtype", 8, 500.0, ChannelFormat::String, "id").unwrap();
    let desc = info.desc().unwrap();
    let tree = info.document_mut();
    let channels = tree.append_child(desc, "channels").unwrap();
    for index in 0..4 {
        let channel = tree.append_child(channels, "channel").unwrap();
        tree.append_child_value(channel, "type", "EEG");
        tree.append_child_value(channel, "label", alloc::format!("E{index}"));
    }
    let matches = |query: &str| Query::parse(query).is_ok_and(|query| info.matches(&query));
    for query in [
        "name='streamname'",
        "name='streamname' and type='streamtype'",
        "channel_count > 5",
        "nominal_srate >= 499",
        "count(desc/channels/channel[type='EEG'])>3",
    ] {
        assert!(matches(query), "{query}");
    }
    for query in ["in'va'lid", "name='othername'", "name=", "channel_count > 8", "nominal_srate >= 501"] {
        assert!(!matches(query), "{query}");
    }
    let long = "'".repeat(511);
    let error = Query::parse(&long).unwrap_err();
    assert!(error.describe(&long).starts_with("Invalid query ''"));
}
