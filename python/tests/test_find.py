"""Searches and descriptions."""

import uuid

import pytest

import schwann
from conftest import PATIENCE


def test_every_property_finds_its_stream() -> None:
    with schwann.Outlet(f"Find {uuid.uuid4()}", "EEG", ["C3", "C4"], rate=500, source_id=str(uuid.uuid4())) as outlet:
        own = outlet.info
        found = [
            *schwann.resolve(name=own.name, timeout=PATIENCE),
            *schwann.resolve(source_id=own.source_id, hostname=own.hostname, timeout=PATIENCE),
            *schwann.resolve(f"name='{own.name}' and nominal_srate > 499", timeout=PATIENCE),
            *schwann.resolve("channel_count=2", type="EEG", name=own.name, timeout=PATIENCE),
        ]
        assert found == [own] * 4
        assert (found[0].type, found[0].rate, found[0].format, found[0].channel_count) == ("EEG", 500.0, "float32", 2)


@pytest.mark.parametrize("quotes", ["'", '"', "'\""])
def test_a_name_may_have_quotes(quotes: str) -> None:
    with schwann.Outlet(f"{quotes}{uuid.uuid4()}") as outlet:
        assert schwann.resolve(name=outlet.info.name, timeout=PATIENCE) == [outlet.info]


def test_an_empty_search_says_what_it_looked_for() -> None:
    with pytest.raises(schwann.TimedOutError, match="name='nobody'.*schwann doctor"):
        schwann.resolve(name="nobody", timeout=0.1)
    assert schwann.resolve(name="nobody", count=0, timeout=0.1) == []


def test_a_malformed_search_is_refused() -> None:
    for query in ["name=", "a) or (b"]:
        with pytest.raises(schwann.ArgumentError):
            schwann.resolve(query, timeout=PATIENCE)
    with pytest.raises(schwann.ArgumentError):
        schwann.resolve(timeout=float("nan"))
    with pytest.raises(schwann.ArgumentError):
        schwann.resolve(count=0, timeout=None)


def test_metadata_arrive_as_they_were_given() -> None:
    given = {"cap": {"name": "<easy> & \u00fc", "size": 54}, "note": ["one", "two"]}
    with schwann.Outlet(f"Meta {uuid.uuid4()}", "EEG", ["C3", schwann.Channel("C4", "mV")], unit="µV", metadata=given) as outlet:
        found = schwann.resolve(name=outlet.info.name, timeout=PATIENCE)[0]
        assert list(found.channels) == [schwann.Channel("C3", "µV", "EEG"), schwann.Channel("C4", "mV", "EEG")]
        assert found.channels.index_of("C4") == 1
        assert found.metadata["cap"] == {"name": "<easy> & \u00fc", "size": "54"}
        assert found.metadata["note"] == ["one", "two"]
        shown = found._repr_html_()
        assert "<td>C3</td><td>µV</td>" in shown and str(outlet.info.name) in shown
        assert repr(found.channels).splitlines()[1].split() == ["0", "C3", "µV", "EEG"]
    with pytest.raises(schwann.ArgumentError, match="C5.*C3, C4"):
        found.channels.index_of("C5")


@pytest.mark.parametrize("metadata", [{"1": "x"}, {"a b": "x"}, {"": "x"}, {"x": object()}, {"x": {"<": "y"}}])
def test_metadata_that_no_description_can_have_are_refused(metadata: dict[str, object]) -> None:
    with pytest.raises(schwann.ArgumentError):
        schwann.Outlet("Meta", metadata=metadata)  # type: ignore[arg-type]
