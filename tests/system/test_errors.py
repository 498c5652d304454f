"""What is refused, with which code and which words."""

import math

import pytest

import lsl


@pytest.mark.parametrize("arguments, text", [
    ({"name": ""}, "The name of a stream must be non-empty."),
    ({"channels": -1}, "The channel_count of a stream must be nonnegative."),
    ({"rate": -1.0}, "The nominal sampling rate of a stream must be nonnegative."),
])
def test_an_impossible_stream_is_refused_in_the_known_words(library, arguments, text):
    with pytest.raises(lsl.LslError) as error:
        library().info(**arguments)
    assert error.value.text == text


def test_an_unknown_format_is_refused(library):
    with pytest.raises(lsl.LslError) as error:
        library().info(format=9)
    assert "format" in error.value.text


def test_the_last_error_belongs_to_its_thread(library):
    agent = library()
    with pytest.raises(lsl.LslError):
        agent.info(name="")
    with pytest.raises(lsl.LslError):
        agent.start("info", channels=-1).result()
    assert agent.last_error_text() == "The name of a stream must be non-empty."


def test_the_last_error_is_not_cleared_by_success(library):
    agent = library()
    with pytest.raises(lsl.LslError):
        agent.info(name="")
    agent.info()
    assert agent.last_error_text() == "The name of a stream must be non-empty."


def test_a_long_malformed_query_does_not_overflow_the_error_text(library):
    agent = library()
    for length in (500, 511, 512, 5000):
        with pytest.raises(lsl.LslError) as error:
            agent.resolve_predicate("(" * length, 1, 1.0)
        assert error.value.code == lsl.ARGUMENT
        assert len(agent.last_error_text()) <= 511


def test_contradicting_buffer_units_are_refused(library):
    agent = library()
    with pytest.raises(lsl.LslError):
        agent.outlet(flags=lsl.SAMPLES | lsl.THOUSANDTHS)
    agent.outlet()
    info = agent.resolve("source_id", "interop")[0]
    with pytest.raises(lsl.LslError):
        agent.inlet_of(info, flags=lsl.SAMPLES | lsl.THOUSANDTHS)
    with pytest.raises(lsl.LslError):
        agent.inlet_of(info, chunk=-1)


def test_a_description_too_poor_to_find_a_stream_is_refused(library):
    agent = library()
    with pytest.raises(lsl.LslError):
        agent.inlet_of(agent.info(channels=0))
    with pytest.raises(lsl.LslError):
        agent.inlet_of(agent.info(format=0))


def test_a_document_that_is_none_gives_an_invalid_stream_and_no_crash(library):
    agent = library()
    for text in ("", "garbage", "<info/>", "<info><name>x</name></info>", "<a>" * 1000):
        assert agent.info_from_xml(text).name().startswith("(invalid")


@pytest.mark.parametrize("rate", [0.0, 1 / 3, 250.5, 1e6, 2e9, 1e-5])
def test_rates_survive_as_text(library, rate):
    agent = library()
    xml = agent.info(rate=rate, source="s").xml().replace("<uid></uid>", "<uid>u</uid>")
    found = agent.info_from_xml(xml).fields()
    assert found["rate"] == rate or math.isclose(found["rate"], rate, rel_tol=1e-15)


def test_the_library_says_what_it_is(library):
    agent = library()
    assert agent.version() in (117, 118) and agent.protocol_version() == 110
    if library.is_ours():
        assert agent.version() == 118
