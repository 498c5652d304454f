"""Opening, closing, losing and finding again, and who is told."""

import pytest

import lsl
from conftest import quick, wait_until


@pytest.mark.since118("sender")
@pytest.mark.parametrize("kind", ["float32", "sync", "string"])
def test_the_first_sample_after_open_is_never_lost(sender, receiver, kind):
    agent, other = sender(), receiver()
    format, flags = ("string", 0) if kind == "string" else ("float32", lsl.SYNC if kind == "sync" else 0)
    outlet = agent.outlet(format=format, flags=flags)
    value = [b"first"] if kind == "string" else [1.0]
    info = other.resolve("source_id", "interop")[0]
    for number in range(1, 31):
        inlet = other.inlet_of(info)
        inlet.open()
        outlet.push(value, float(number))
        assert inlet.pull(5.0) == (value, float(number))
        inlet.destroy()


def test_consumers_are_counted_from_the_open(sender, receiver):
    outlet = sender().outlet()
    assert not outlet.consumers() and not outlet.wait(0.1)
    inlet = receiver().inlet()
    assert not outlet.consumers(), "an inlet that is not open asks for nothing"
    waiting = outlet.start("wait", 20.0)
    inlet.open()
    assert waiting.result() and outlet.consumers()


@pytest.mark.since118("sender")
def test_an_idle_consumer_that_leaves_is_noticed_without_a_push(connect):
    outlet, inlet = connect()
    inlet.destroy()
    wait_until(lambda: not outlet.consumers(), 2.0)


@pytest.mark.since118("sender")
def test_a_consumer_that_leaves_during_a_storm_of_pushes_is_noticed(connect):
    outlet, inlet = connect()
    storm = outlet.start("push_until", 2.0)
    inlet.pull()
    inlet.destroy()
    assert storm.result() > 0
    wait_until(lambda: not outlet.consumers(), 2.0)


@pytest.mark.since118("sender", "receiver")
def test_consumers_follow_close_and_open(connect):
    outlet, inlet = connect()
    for _ in range(3):
        inlet.close()
        wait_until(lambda: not outlet.consumers(), 2.0)
        inlet.open()
        wait_until(outlet.consumers, 2.0)


@pytest.mark.since118("sender")
def test_one_of_two_consumers_may_leave(sender, receiver):
    outlet = sender().outlet()
    first, second = receiver().inlet(), receiver().inlet()
    first.open()
    second.open()
    first.destroy()
    outlet.push([1.0], 1.0)
    assert second.pull() == ([1.0], 1.0)
    assert outlet.consumers()
    second.destroy()
    wait_until(lambda: not outlet.consumers(), 2.0)


@pytest.mark.since118("receiver")
@pytest.mark.parametrize("recover", [True, False])
@pytest.mark.parametrize("way", ["explicit", "implicit"])
def test_a_stream_can_be_closed_and_opened_again(sender, receiver, recover, way):
    outlet, inlet = sender().outlet(), receiver().inlet(recover=recover)
    inlet.close()
    inlet.close()
    for number in range(1, 4):
        if way == "explicit":
            inlet.open()
            wait_until(outlet.consumers)
        else:
            pulling = inlet.start("pull", 10.0)
            wait_until(outlet.consumers)
        outlet.push([float(number)], float(number))
        found = inlet.pull(10.0) if way == "explicit" else pulling.result()
        assert found == ([float(number)], float(number))
        outlet.push([-1.0], 99.0)
        wait_until(lambda: inlet.available() > 0)
        inlet.close()
        assert inlet.available() == 0
        if sender.is_117():
            # It sees the end of a connection only when a write fails.
            wait_until(lambda: outlet.push([0.0]) or not outlet.consumers())
        else:
            wait_until(lambda: not outlet.consumers())


@pytest.mark.since118("receiver")
def test_closing_ends_an_open_that_waits_in_another_thread(sender, receiver):
    outlet, other = sender().outlet(), receiver()
    info = other.resolve("source_id", "interop")[0]
    outlet.destroy()
    inlet = other.inlet_of(info)
    opening = inlet.start("open", lsl.FOREVER)
    wait_until(lambda: not opening.done.wait(0.2), 2.0)
    inlet.close()
    with pytest.raises(lsl.LslError) as error:
        opening.result(5.0)
    assert error.value.code == lsl.TIMEOUT


@pytest.mark.since118("receiver")
def test_twenty_aborted_opens_do_not_prevent_a_normal_one(sender, receiver):
    outlet, inlet = sender().outlet(), receiver().inlet()
    times = []
    for _ in range(20):
        took, result = inlet.timed("open", 0.0)
        assert result is None or result.code == lsl.TIMEOUT
        times.append(took)
        inlet.close()
    # A busy machine holds up some of them, but not half.
    assert sorted(times)[10] < 1.0
    inlet.open()
    # Real 1.17 still counts a consumer that has gone, so "there is one" would not mean this one.
    storm = outlet.start("push_until", 1.0)
    assert inlet.pull(10.0)[0] == [0.0]
    storm.result()


def test_a_sender_that_crashes_and_comes_back_is_found_again(sender, receiver):
    first = sender()
    outlet = first.outlet(channels=2, rate=100.0)
    inlet = receiver().inlet()
    inlet.open()
    wait_until(outlet.consumers)
    outlet.push([1, 1], 1.0)
    assert inlet.pull() == ([1.0, 1.0], 1.0)
    first.kill()
    pulling = inlet.start("pull", 40.0)
    again = sender().outlet(channels=2, rate=100.0)
    wait_until(again.consumers, 30.0)
    again.push([2, 2], 2.0)
    assert pulling.result(45.0) == ([2.0, 2.0], 2.0)


@pytest.mark.better("receiver")
def test_a_source_that_comes_back_in_another_shape_is_told(sender, receiver):
    other = receiver(log__level=-1)
    first = sender()
    outlet, inlet = first.outlet(channels=2), other.inlet()
    inlet.open()
    wait_until(outlet.consumers)
    first.kill()
    sender().outlet(channels=3)
    wait_until(lambda: "has a stream of 3 channels of float32, not 2 of float32" in other.log.read_text(), 50.0)


def test_a_receiver_that_crashes_leaves_the_sender_and_the_others_alone(sender, receiver):
    outlet = sender().outlet()
    doomed, survivor = receiver(), receiver()
    first, second = doomed.inlet(), survivor.inlet()
    first.open()
    second.open()
    # Real 1.17 registers a consumer after the consumer believes that it is connected, and does not tell of which.
    for inlet in (first, second):
        wait_until(lambda inlet=inlet: outlet.push([0.0], 1.0) or inlet.available() > 0)
    outlet.push([1.0], 1.0)
    for inlet in (first, second):
        assert next(value for value, _ in iter(inlet.pull, None) if value != [0.0]) == [1.0]
    doomed.kill()
    for number in range(2, 200):
        outlet.push([float(number)], float(number))
    assert second.pull_all(198)[1] == [float(number) for number in range(2, 200)]
    replacement = receiver().inlet()
    replacement.open()
    wait_until(outlet.consumers)
    storm = outlet.start("push_until", 0.5)
    assert replacement.pull()[0] == [0.0]
    storm.result()


@pytest.mark.parametrize("reason", ["recovery off", "no source id"])
def test_a_stream_that_cannot_be_recovered_is_lost(sender, receiver, reason):
    agent = sender()
    agent.outlet(name="Doomed", source="" if reason == "no source id" else "interop")
    inlet = receiver().inlet(property="name", value="Doomed", recover=reason == "no source id")
    inlet.open()
    pulling = inlet.start("pull", 30.0)
    agent.kill()
    with pytest.raises(lsl.LslError) as error:
        pulling.result(35.0)
    assert error.value.code == lsl.LOST
    for method in ("pull", "open", "correction"):
        took, result = quick(inlet, 1.0, method, 5.0)
        assert result.code == lsl.LOST and took < 1.0


def test_the_info_of_a_stream_that_is_gone_fails_and_does_not_hang(sender, receiver):
    outlet = sender().outlet(name="Gone", source="")
    inlet = receiver().inlet(property="name", value="Gone")
    outlet.destroy()
    took, result = inlet.timed("info", lsl.FOREVER)
    assert isinstance(result, lsl.LslError) and result.code == lsl.LOST and took < 10.0


def test_the_info_of_a_stream_that_is_away_times_out(sender, receiver):
    agent = sender()
    agent.outlet()
    inlet = receiver().inlet()
    agent.kill()
    took, result = quick(inlet, 2.0, "info", 0.5)
    assert isinstance(result, lsl.LslError) and result.code == lsl.TIMEOUT and 0.4 < took < 2.0


@pytest.mark.since118("receiver")
def test_closing_interrupts_a_recovery_and_a_later_open_finds_the_stream(sender, receiver):
    first = sender()
    first.outlet()
    inlet = receiver().inlet()
    inlet.open()
    first.kill()
    assert inlet.timed("pull", 0.5)[1] == (None, 0.0)
    took, _ = inlet.timed("close")
    assert took < 2.0
    again = sender().outlet()
    inlet.open(30.0)
    wait_until(again.consumers)
    again.push([3.0], 3.0)
    assert inlet.pull() == ([3.0], 3.0)
    assert inlet.info(20.0).fields()["uid"] == again.info().fields()["uid"]


def test_two_streams_of_equal_identity_are_not_confused_by_recovery(sender, receiver):
    keep, doomed, other = sender(), sender(), receiver()
    keep.outlet(name="Twin", source="twin")
    doomed.outlet(name="Twin", source="twin")
    infos = other.resolve("name", "Twin", 2, 10.0)
    assert len({info.fields()["uid"] for info in infos}) == 2


@pytest.mark.parametrize("order", ["outlet first", "inlet first"])
def test_handles_may_be_destroyed_in_any_order(library, order):
    agent = library()
    outlet = agent.outlet()
    info = agent.resolve("source_id", "interop")[0]
    inlet = agent.inlet_of(info)
    resolver = agent.resolver()
    info.destroy()
    inlet.open()
    outlet.push([1.0], 1.0)
    handles = [outlet, inlet, resolver] if order == "outlet first" else [resolver, inlet, outlet]
    for handle in handles:
        handle.destroy()
    assert agent.clock() > 0


@pytest.mark.better("library")
def test_an_inlet_may_be_destroyed_while_another_thread_waits_in_it(library):
    agent = library()
    outlet, inlet = agent.outlet(), agent.inlet()
    inlet.open()
    pulling = inlet.start("pull", lsl.FOREVER)
    assert not pulling.done.wait(0.3)
    inlet.start("destroy").result(10.0)
    # Lost, or nothing: either way it comes back.
    try:
        assert pulling.result(10.0) == (None, 0.0)
    except lsl.LslError as error:
        assert error.code == lsl.LOST
    outlet.destroy()


@pytest.mark.ports(60)
def test_many_outlets_and_inlets_come_and_go(library):
    agent = library()
    for number in range(25):
        outlet = agent.outlet(source=f"s{number}")
        inlet = agent.inlet(value=f"s{number}")
        inlet.open()
        inlet.destroy()
        outlet.destroy()
    assert agent.resolve("type", "EEG", 1, 0.5) == []


# As a sender, 1.17 may send one (spec: lsl-wire, pitfall 67).
@pytest.mark.since118("sender", "receiver")
def test_a_destroyed_outlet_sends_no_last_sample_that_nobody_pushed(sender, receiver):
    outlet, inlet = sender().outlet(source=""), receiver().inlet(property="name", value="Interop")
    inlet.open()
    wait_until(outlet.consumers)
    outlet.push([1.0], 1.0)
    assert inlet.pull() == ([1.0], 1.0)
    outlet.destroy()
    with pytest.raises(lsl.LslError) as error:
        inlet.pull(10.0)
    assert error.value.code == lsl.LOST
