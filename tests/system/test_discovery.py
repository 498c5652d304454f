"""Streams are found: by property, by predicate, many on one host, and only when they match."""

import pytest

import lsl
from conftest import wait_until


def test_several_outlets_of_one_process_are_all_found(sender, receiver):
    agent = sender()
    outlets = [agent.outlet(name=f"S{number}", source=f"s{number}", type="Several") for number in range(3)]
    found = receiver().resolve("type", "Several", 3, 10.0)
    assert sorted(info.name() for info in found) == ["S0", "S1", "S2"]
    assert len(outlets) == 3


def test_several_processes_on_one_host_are_all_found(sender, receiver):
    agents = [sender() for _ in range(3)]
    for number, agent in enumerate(agents):
        agent.outlet(name=f"S{number}", source=f"s{number}", type="Several")
    found = receiver().resolve("type", "Several", 3, 10.0)
    assert sorted(info.name() for info in found) == ["S0", "S1", "S2"]


@pytest.mark.ports(60)
def test_forty_outlets_on_one_host_are_all_found(sender, receiver):
    agent = sender()
    for number in range(40):
        agent.outlet(name=f"S{number:02}", source=f"s{number}", type="Forty")
    found = receiver().resolve("type", "Forty", 40, 20.0)
    assert sorted(info.name() for info in found) == [f"S{number:02}" for number in range(40)]


@pytest.mark.better("receiver")
def test_several_outlets_are_found_without_known_peers(sender, receiver):
    agents = [sender() for _ in range(4)]
    for number, agent in enumerate(agents):
        agent.outlet(name=f"S{number}", source=f"s{number}", type="Several")
    found = receiver(lab__KnownPeers="{}").resolve("type", "Several", 4, 10.0)
    assert sorted(info.name() for info in found) == ["S0", "S1", "S2", "S3"]


@pytest.mark.since118("receiver")
def test_the_own_machine_is_searched_without_known_peers(sender, receiver):
    agent = sender()
    for number in range(3):
        agent.outlet(name=f"S{number}", source=f"s{number}", type="Several")
    found = receiver(lab__KnownPeers="{}").resolve("type", "Several", 3, 10.0)
    assert sorted(info.name() for info in found) == ["S0", "S1", "S2"]


def test_predicates_decide_on_the_outlets_side(sender, receiver):
    agent, other = sender(), receiver()
    agent.outlet(name="Cap", type="EEG", channels=64, rate=500.0, source="a",
                 desc=[("channels", [("channel", [("type", "EEG")]) for _ in range(4)])])
    agent.outlet(name="Marks", type="Markers", format="string", source="b")
    assert other.names("channel_count > 10") == ["Cap"]
    assert other.names("count(desc/channels/channel[type='EEG'])>3") == ["Cap"]
    assert other.names("starts-with(name,'M') and channel_format='string'") == ["Marks"]
    assert other.names("name='Nobody'") == []


def test_a_search_returns_as_soon_as_enough_were_found(sender, receiver):
    sender().outlet()
    other = receiver()
    start = other.clock()
    assert len(other.resolve("source_id", "interop", 1, 20.0)) == 1
    assert other.clock() - start < 5.0


def test_a_search_for_nothing_takes_its_timeout_and_not_more(receiver, sender):
    other = receiver()
    for timeout in (0.3, 1.0):
        start = other.clock()
        assert other.resolve("name", "Nobody", 1, timeout) == []
        # Real ones now and then wait for their own sockets, 5 s.
        assert timeout - 0.05 <= other.clock() - start < timeout + (0.5 if receiver.is_ours() else 6.0)


def test_everything_in_the_session_is_listed(sender, receiver):
    agent = sender()
    agent.outlet(name="A", source="a")
    agent.outlet(name="B", source="b")
    assert sorted(info.name() for info in receiver().resolve_everything(1.5)) == ["A", "B"]


def test_another_session_is_not_seen(sender, receiver):
    sender(lab__SessionID="other").outlet(name="Theirs")
    assert receiver().resolve("name", "Theirs", 1, 1.0) == []


def test_a_malformed_query_is_refused_before_anything_is_sent(library):
    agent = library()
    for predicate in ("name='unclosed", "((", "name=='a'"):
        start = agent.clock()
        with pytest.raises(lsl.LslError) as error:
            agent.resolve_predicate(predicate, 1, 5.0)
        assert error.value.code == lsl.ARGUMENT and agent.clock() - start < 1.0
    with pytest.raises(lsl.LslError):
        agent.resolver(predicate="((")


def test_a_continuous_resolver_sees_streams_come_and_go(sender, receiver):
    agent = sender()
    resolver = receiver().resolver(property="type", value="Coming", forget_after=1.0)
    assert resolver.names() == []
    first = agent.outlet(name="A", type="Coming", source="a")
    agent.outlet(name="B", type="Coming", source="b")
    wait_until(lambda: resolver.names() == ["A", "B"])
    first.destroy()
    wait_until(lambda: resolver.names() == ["B"])
    resolver.destroy()


def test_a_known_peer_may_be_given_by_name(sender, receiver):
    sender().outlet()
    other = receiver(lab__KnownPeers="{localhost}")
    assert len(other.resolve("source_id", "interop", 1, 10.0)) == 1


def test_an_unknown_peer_name_does_no_harm(sender, receiver):
    sender().outlet()
    other = receiver(lab__KnownPeers="{no-such-host.invalid, 127.0.0.1}")
    assert len(other.resolve("source_id", "interop", 1, 20.0)) == 1


@pytest.mark.since118("receiver")
def test_an_unusable_interface_is_skipped(sender, receiver):
    sender().outlet()
    other = receiver(multicast__Interfaces="{127.0.0.1, 203.0.113.1}")
    assert len(other.resolve("source_id", "interop", 1, 10.0)) == 1


@pytest.mark.since118("receiver")
def test_streams_are_found_over_tcp_alone(sender, receiver):
    sender(ports__PortRange=4).outlet()
    other = receiver(ports__PortRange=4, multicast__MachineAddresses="{}", lab__KnownPeers="{}", lab__ResolveOverTCP=1)
    assert len(other.resolve("source_id", "interop", 1, 10.0)) == 1


def test_an_inlet_can_be_made_from_a_description_alone(sender, receiver):
    agent, other = sender(), receiver()
    outlet = agent.outlet(name="Described", channels=2)
    inlet = other.inlet_of(other.info(name="Described", channels=2))
    inlet.open(20.0)
    wait_until(outlet.consumers)
    outlet.push([1, 2], 3.0)
    assert inlet.pull() == ([1.0, 2.0], 3.0)


@pytest.mark.better("receiver")
def test_an_inlet_can_be_made_from_the_outlets_own_info(library):
    agent = library()
    outlet = agent.outlet()
    inlet = agent.inlet_of(outlet.info())
    inlet.open(10.0)
    assert outlet.wait()
    outlet.push([4.0], 1.0)
    assert inlet.pull() == ([4.0], 1.0)


def test_a_destroyed_outlet_is_found_no_more(sender, receiver):
    outlet, other = sender().outlet(), receiver()
    assert other.resolve("source_id", "interop", 1, 10.0)
    outlet.destroy()
    assert other.resolve("source_id", "interop", 1, 1.0) == []
