"""What a stream says about itself arrives as it was written, and the description tree behaves as documented."""

import re

import pytest

CAP = [("manufacturer", "Acme & Söhne <GmbH>"),
       ("channels", [("channel", [("label", f"C{n}"), ("unit", "µV"), ("type", "EEG")]) for n in range(64)]),
       ("note", "two\nlines\tand a tab"), ("empty", [])]


def test_every_field_arrives(connect):
    outlet, inlet = connect(name="A name", type="Märker", channels=5, rate=250.5, format="int16", source="id-7")
    sent, found = outlet.info().fields(), inlet.info().fields()
    assert found == sent
    assert (found["name"], found["type"], found["channels"], found["rate"], found["format"], found["source_id"]) == (
        "A name", "Märker", 5, 250.5, "int16", "id-7")
    assert found["version"] == 110 and found["created_at"] > 0 and found["hostname"]


def test_the_uid_is_a_lower_case_uuid_and_new_for_each_outlet(library):
    agent = library()
    uids = {agent.outlet(source=f"s{number}").info().fields()["uid"] for number in range(3)}
    assert len(uids) == 3
    for uid in uids:
        assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-[1345][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", uid)


def test_the_whole_description_arrives(connect):
    outlet, inlet = connect(channels=64, desc=CAP)
    assert inlet.info().desc_tree() == outlet.info().desc_tree()
    tree = dict(inlet.info().desc_tree())
    assert tree["manufacturer"] == "Acme & Söhne <GmbH>"
    assert tree["note"] == "two\nlines\tand a tab"
    assert len(tree["channels"]) == 64 and dict(tree["channels"][63][1])["unit"] == "µV"


def test_a_found_stream_has_no_description_until_it_is_asked_for(sender, receiver):
    outlet = sender().outlet(desc=CAP)
    found = receiver().resolve("source_id", "interop")
    assert [info.desc_tree() for info in found] == [[]]
    assert outlet.info().desc_tree() != []


def test_a_document_with_special_characters_survives_a_round_trip(library):
    agent = library()
    info = agent.info(name="a<b>&c", source="\"quoted\"")
    info.fill(CAP)
    again = agent.info_from_xml(info.xml().replace("<uid></uid>", "<uid>some-uid</uid>"))
    assert again.fields()["name"] == "a<b>&c" and again.desc_tree() == info.desc_tree()


def test_the_document_has_its_elements_in_the_fixed_order(library):
    xml = library().outlet(rate=100.0, channels=3).info().xml()
    assert xml.startswith('<?xml version="1.0"?>\n<info>\n\t<name>Interop</name>\n')
    assert re.findall(r"^\t<(\w+)", xml, re.M) == [
        "name", "type", "channel_count", "channel_format", "source_id", "nominal_srate", "version", "created_at", "uid",
        "session_id", "hostname", "v4address", "v4data_port", "v4service_port", "v6address", "v6data_port",
        "v6service_port", "desc"]
    assert "<nominal_srate>100.0000000000000</nominal_srate>" in xml and "<version>1.100000000000000</version>" in xml


def test_sizes_follow_the_format(library):
    agent = library()
    for format, size in {"float32": 4, "double64": 8, "int8": 1, "int16": 2, "int32": 4, "int64": 8}.items():
        assert tuple(agent.info(channels=3, format=format).sizes()) == (size, 3 * size)


def test_copies_are_deep(library):
    agent = library()
    info = agent.info()
    copy = info.copy()
    copy.fill([("only", "in the copy")])
    assert info.desc_tree() == [] and copy.desc_tree() == [("only", "in the copy")]


def test_a_tree_changed_after_the_outlet_was_made_does_not_change_the_outlet(sender, receiver):
    agent = sender()
    info = agent.info()
    info.fill([("first", "1")])
    agent.outlet_of(info)
    info.fill([("second", "2")])
    assert receiver().inlet().info().desc_tree() == [("first", "1")]


@pytest.mark.since118("library")
def test_a_uid_can_be_reset(library):
    info = library().info()
    first = info.reset_uid()
    assert len(first) == 36 and info.fields()["uid"] == first != info.reset_uid()


class TestTree:
    @pytest.fixture
    def desc(self, library):
        return library().info().desc()

    def test_siblings_and_parents_are_found(self, desc):
        desc.fill([("a", "1"), ("b", "2"), ("a", "3")])
        first = desc.call("first_child")
        assert first.name() == "a" and desc.call("last_child").call("child_value") == "3"
        assert first.call("next_sibling").name() == "b"
        assert first.call("next_sibling_n", "a").call("child_value") == "3"
        assert desc.call("last_child").call("previous_sibling_n", "a").call("child_value") == "1"
        assert first.call("previous_sibling") is None
        assert first.call("parent").name() == "desc" and desc.call("parent").name() == "info"

    def test_append_and_prepend_return_what_they_document(self, desc):
        assert desc.call("append_child_value", "b", "2").name() == "desc"
        assert desc.call("prepend_child_value", "a", "1").name() == "desc"
        assert desc.call("append_child", "c").name() == "c"
        assert desc.call("prepend_child", "zero").name() == "zero"
        assert [name for name, _ in desc.tree()] == ["zero", "a", "b", "c"]

    def test_values_are_set_only_where_text_is(self, desc):
        desc.fill([("text", "old"), ("bare", [])])
        assert desc.call("set_child_value", "text", "new") == 1
        assert desc.call("set_child_value", "bare", "new") == 0
        assert desc.call("set_child_value", "missing", "new") == 0
        assert desc.call("child", "text").call("set_value", "x") == 0
        assert desc.call("child", "text").call("first_child").call("set_value", "direct") == 1
        assert desc.call("child", "text").call("set_name", "renamed") == 1
        assert desc.tree() == [("renamed", "direct"), ("bare", "")]

    def test_text_nodes_are_nodes(self, desc):
        desc.fill([("e", "value")])
        text = desc.call("child", "e").call("first_child")
        assert (text.call("is_text"), text.call("value"), text.name()) == (1, "value", "")
        element = desc.call("child", "e")
        assert (element.call("is_text"), element.call("value"), element.call("empty")) == (0, "", 0)
        assert text.call("append_child", "x") is None

    def test_subtrees_are_copied_and_removed(self, desc):
        desc.fill([("one", [("deep", "x")]), ("two", "y")])
        copy = desc.call("append_copy", desc.call("child", "one"))
        assert copy.call("child_value_n", "deep") == "x"
        desc.call("prepend_copy", desc.call("child", "two"))
        desc.call("remove_child", desc.call("child", "one"))
        assert [name for name, _ in desc.tree()] == ["two", "two", "one"]
        desc.call("remove_child_n", "two")
        assert [name for name, _ in desc.tree()] == ["two", "one"]

    def test_the_empty_node_is_harmless(self, library):
        assert library().nulls_are_harmless()


@pytest.mark.parametrize("query, matches", [
    ("name='Cap'", 1), ("name='cap'", 0), ("type='EEG' and channel_count > 2", 1), ("channel_count > 99", 0),
    ("nominal_srate >= 499", 1), ("starts-with(name,'C')", 1), ("contains(name,'x')", 0), ("not(name='Other')", 1),
    ("name='Other' or type='EEG'", 1), ("count(desc/channels/channel[type='EEG'])>3", 1),
    ("count(desc/channels/channel)=64", 1), ("desc/manufacturer", 1), ("desc/missing", 0), ("/info/name='Cap'", 1),
    ("../info/name='Cap'", 1), ("info/name='Cap'", 0), ("string-length(name)=3", 1), ("channel_count='64'", 1),
    ("desc/channels/channel[3]/label='C2'", 1), ("desc/channels/channel[last()]/label='C63'", 1),
    ("//label='C5'", 1), ("sum(channel_count | nominal_srate) = 564", 1), ("floor(nominal_srate div 3) = 166", 1),
    ("normalize-space(desc/note)='two lines and a tab'", 1), ("name=", 0), ("((", 0), ("", 1), ("$x", 0)])
def test_queries(library, query, matches):
    info = library().info(name="Cap", channels=64, rate=500.0)
    info.fill(CAP)
    assert info.matches(query) == matches
