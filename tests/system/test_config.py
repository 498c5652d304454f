"""Protocol versions, IP versions and the keys of the configuration file."""

import re

import pytest

import lsl
from conftest import wait_until


def ports(outlet):
    xml = outlet.info().xml()
    return {name: int(re.search(f"<{name}>(\\d+)<", xml)[1])
            for name in ("v4data_port", "v4service_port", "v6data_port", "v6service_port")}


@pytest.mark.parametrize("end", ["sender", "receiver", "both"])
@pytest.mark.parametrize("format", ["float32", "double64", "int8", "int16", "int32", "int64", "string"])
def test_protocol_100_carries_every_format(sender, receiver, end, format):
    old = {"tuning__UseProtocolVersion": 100}
    outlet = sender(**(old if end != "receiver" else {})).outlet(format=format, channels=4, rate=100.0)
    inlet = receiver(**(old if end != "sender" else {})).inlet()
    inlet.open()
    wait_until(outlet.consumers)
    values = [b"", b"a\0b", b"x" * 300, b"y" * 70_000] if format == "string" else [0, -1, 100, -128]
    outlet.push(values, 12.5)
    outlet.push_chunk(values * 2, 20.0)
    assert inlet.pull() == (values, 12.5)
    found, stamps = inlet.pull_all(2)
    assert found == [values, values] and stamps == pytest.approx([19.99, 20.0])


def test_a_library_held_to_protocol_100_says_so(library):
    agent = library(tuning__UseProtocolVersion=100)
    assert agent.protocol_version() == 100
    assert agent.outlet().info().fields()["version"] == 100


@pytest.mark.parametrize("mode, peer, used, unused", [
    ("disable", "{127.0.0.1}", "v4", "v6"), ("force", "{::1}", "v6", "v4")], ids=["ipv4-only", "ipv6-only"])
def test_one_ip_version_is_enough(sender, receiver, mode, peer, used, unused):
    only = {"ports__IPv6": mode, "lab__KnownPeers": peer}
    outlet = sender(**only).outlet(desc=[("key", "value")])
    numbers = ports(outlet)
    assert numbers[f"{used}data_port"] > 0 and numbers[f"{used}service_port"] > 0
    assert numbers[f"{unused}data_port"] == numbers[f"{unused}service_port"] == 0
    inlet = receiver(**only).inlet()
    inlet.open()
    wait_until(outlet.consumers)
    outlet.push([1.0], 1.0)
    assert inlet.pull() == ([1.0], 1.0)
    assert inlet.info().desc_tree() == [("key", "value")]
    # A busy machine measures it better the next time.
    wait_until(lambda: abs(inlet.correction()) < 1e-3, 60.0)


def test_both_ip_versions_have_ports(connect, place, sender):
    outlet, inlet = connect(config={"ports__IPv6": "allow"})
    numbers = ports(outlet)
    assert all(place.base < number < place.base + place.ports for number in numbers.values())
    # The real ones leave their sockets dual-stack, so that the versions cannot share a number.
    assert sender.is_ours() or numbers["v4data_port"] != numbers["v6data_port"]
    outlet.push([1.0], 1.0)
    assert inlet.pull() == ([1.0], 1.0)


def test_ports_come_from_the_configured_range(library, place):
    numbers = ports(library(ports__PortRange=3).outlet())
    assert place.base + 1 <= numbers["v4data_port"] <= place.base + 3
    assert place.base + 1 <= numbers["v4service_port"] <= place.base + 3


def test_a_full_range_spills_to_random_ports_only_if_allowed(library, place):
    agent = library(ports__PortRange=2)
    numbers = [ports(agent.outlet(source=f"s{n}"))["v4data_port"] for n in range(3)]
    assert len([n for n in numbers if place.base < n <= place.base + 2]) == 2 and len(set(numbers)) == 3
    strict = library(ports__PortRange=2, ports__AllowRandomPorts=0)
    with pytest.raises(lsl.LslError):
        for number in range(3):
            strict.outlet(source=f"t{number}")


def test_the_session_is_written_into_the_stream(library, place):
    assert library().outlet().info().fields()["session_id"] == place.session
    assert library(lab__SessionID="Labor 3").outlet().info().fields()["session_id"] == "Labor 3"


def test_default_time_stamps_can_be_forced(sender, receiver):
    agent = sender(tuning__ForceDefaultTimestamps=1)
    outlet, inlet = agent.outlet(), receiver().inlet()
    inlet.open()
    wait_until(outlet.consumers)
    before = agent.clock()
    outlet.push([1.0], 5.0)
    assert before <= inlet.pull()[1] <= agent.clock()


def test_content_given_in_the_program_wins_over_the_file(library, place):
    agent = library()
    agent.configure(place.config({"lab.SessionID": "from-the-program"}))
    assert agent.outlet().info().fields()["session_id"] == "from-the-program"


def test_a_configuration_is_read_once(library, place):
    agent = library()
    agent.outlet().destroy()
    agent.configure(place.config({"lab.SessionID": "too-late"}))
    assert agent.outlet().info().fields()["session_id"] == place.session


def test_a_file_that_does_not_parse_means_the_defaults(library):
    agent = library(config="[lab\nSessionID = never\n")
    # Only the fields of a description: with default ports this must not go on a network.
    assert agent.protocol_version() == 110
    assert agent.info().fields()["version"] == 110


@pytest.mark.better("library")
def test_a_file_that_does_not_parse_is_reported_with_file_and_line(library):
    agent = library(config="[lab]\nSessionID = fine\nno equals sign here\n")
    assert agent.protocol_version() == 110
    log = agent.log.read_text()
    assert "lsl_api.cfg" in log and "3" in log


@pytest.mark.better("library")
@pytest.mark.parametrize("word", ["true", "yes", "on", "1"])
def test_yes_is_understood_in_words(library, word):
    agent = library(tuning__ForceDefaultTimestamps=word)
    outlet, inlet = agent.outlet(), agent.inlet()
    inlet.open()
    before = agent.clock()
    outlet.push([1.0], 5.0)
    assert inlet.pull()[1] >= before


def test_unknown_keys_are_ignored(library, place):
    agent = library(lab__NoSuchKey="x", nosuch__Section="y")
    assert agent.outlet().info().fields()["session_id"] == place.session
