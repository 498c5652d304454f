"""What the original does at the edges of its interface, where programs end up by accident."""

import pytest

import lsl
from conftest import wait_until


@pytest.mark.parametrize("format", ["float32", "int64", "string"])
def test_a_stream_without_channels_delivers_its_stamps(connect, format):
    outlet, inlet = connect(channels=0, format=format)
    for stamp in (5.0, 6.0):
        outlet.push([], stamp)
    assert [inlet.pull(), inlet.pull()] == [([], 5.0), ([], 6.0)]
    if format != "string":
        outlet.push_raw(b"", 7.0)
        assert inlet.pull() == ([], 7.0)


@pytest.mark.since118("receiver")
def test_an_open_stream_stays_open_while_its_outlet_is_looked_for(sender, receiver):
    agent = sender()
    agent.outlet()
    inlet = receiver().inlet()
    inlet.open()
    agent.kill()
    # A pull that waits notices the end of the connection.
    assert inlet.pull(0.5) == (None, 0.0)
    seconds, outcome = inlet.timed("open", 10.0)
    assert outcome is None and seconds < 5.0
    inlet.close()
    _, outcome = inlet.timed("open", 0.5)
    assert outcome.code == lsl.TIMEOUT


def test_without_a_condition_every_stream_of_the_session_is_found(library):
    agent = library()
    outlets = [agent.outlet(name=name, source=name) for name in ("One", "Two")]
    for property, value in ((None, None), (None, "One"), ("name", None)):
        assert sorted(info.name() for info in agent.resolve(property, value, 2)) == ["One", "Two"], (property, value)
    assert agent.names(None, 2, 15.0) == ["One", "Two"]
    assert [info.name() for info in agent.resolve("name='Two'", None, 1)] == ["Two"]
    resolver = agent.resolver(property="name")
    wait_until(lambda: resolver.names() == ["One", "Two"])
    for outlet in outlets:
        outlet.destroy()


@pytest.mark.since118("sender", "receiver")
@pytest.mark.parametrize("format, text", [
    ("float32", "The size of the provided buffer does not match the number of bytes in the sample."),
    ("string", "The provided buffer has fewer elements than the stream's number of channels."),
])
def test_a_buffer_of_a_wrong_size_is_refused_in_the_known_words(connect, format, text):
    outlet, inlet = connect(channels=2, format=format)
    for stamp in (5.0, 6.0):
        outlet.push(["1", "2"] if format == "string" else [1, 2], stamp)
    with pytest.raises(lsl.LslError) as error:
        if format == "string":
            inlet.pull(elements=1)
        else:
            inlet.pull_raw(7)
    assert error.value.code == lsl.ARGUMENT
    assert error.value.text == text
    # The original loses the sample that did not fit.
    assert inlet.pull()[1] in (5.0, 6.0)


@pytest.mark.better("library")
def test_a_condition_nested_too_deeply_is_refused_and_the_outlet_goes_on(library):
    agent = library()
    agent.outlet()
    with pytest.raises(lsl.LslError) as error:
        agent.resolve_predicate("not(" * 500 + "name='Interop'" + ")" * 500, 1, 1.0)
    assert error.value.code == lsl.ARGUMENT
    assert agent.names("not(" * 64 + "name='Interop'" + ")" * 64, 1, 15.0) == ["Interop"]
