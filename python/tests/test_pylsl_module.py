"""`schwann.pylsl` beside pylsl itself on the real liblsl: name by name, and with each other in both directions."""

import importlib
import inspect
import os
import re
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import schwann
import schwann.pylsl as ours
from conftest import PATIENCE

theirs: Any = pytest.importorskip("pylsl")
MODULES: dict[str, Any] = {"ours": ours, "theirs": theirs}
SUBMODULES = ["info", "inlet", "outlet", "resolve", "util"]


def public(module: ModuleType) -> dict[str, Any]:
    return {name: value for name, value in vars(module).items() if not name.startswith("_") and not inspect.ismodule(value)}


def test_every_public_name_is_there_and_equal() -> None:
    assert ours.__version__ == theirs.__version__
    for name, their in public(theirs).items():
        our = getattr(ours, name)
        if isinstance(their, (int, float, str)):
            assert our == their, name
        else:
            assert callable(our), name


@pytest.mark.parametrize("kind", ["StreamInfo", "StreamInlet", "StreamOutlet", "ContinuousResolver"])
def test_every_method_is_there_with_its_arguments(kind: str) -> None:
    their, our = getattr(theirs, kind), getattr(ours, kind)
    for name, method in inspect.getmembers(their, inspect.isfunction):
        if name.startswith("_") and name != "__init__":
            continue
        wanted = list(inspect.signature(method).parameters.values())
        given = list(inspect.signature(getattr(our, name)).parameters.values())
        assert [one.name for one in wanted] == [one.name for one in given], name
        assert [one.default for one in wanted] == [one.default for one in given], name


def test_the_elements_of_descriptions_have_every_method() -> None:
    from pylsl.info import XMLElement

    for name, method in inspect.getmembers(XMLElement, inspect.isfunction):
        if not name.startswith("_"):
            our = getattr(ours.info.XMLElement, name)
            assert list(inspect.signature(method).parameters) == list(inspect.signature(our).parameters), name


@pytest.mark.parametrize("name", SUBMODULES)
def test_the_parts_of_the_package_are_there(name: str) -> None:
    their, our = importlib.import_module(f"pylsl.{name}"), importlib.import_module(f"schwann.pylsl.{name}")
    # Of pylsl's own making, and not imported. The decorator and the way to free C memory are its own affair.
    own = {key for key, value in public(their).items() if getattr(value, "__module__", their.__name__) == their.__name__}
    own -= {"lib", "deprecated", "free_char_p_array_memory", "cf_string"}
    # The tables of C functions and types.
    own = {key for key in own if not key.startswith("fmt2")}
    missing = {key for key in own if not hasattr(our, key)}
    assert missing == set()


@pytest.mark.parametrize("name", ["resolve_streams", "resolve_byprop", "resolve_bypred", "local_clock", "library_version",
                                  "library_info", "protocol_version", "set_config_filename", "set_config_content"])
def test_functions_have_their_arguments(name: str) -> None:
    wanted, given = (inspect.signature(getattr(module, name)).parameters for module in (theirs, ours))
    assert [(one.name, one.default) for one in wanted.values()] == [(one.name, one.default) for one in given.values()]


def described(module: Any) -> Any:
    info = module.StreamInfo("Cap", "EEG", 3, 250.0, "float32", "cap-1")
    info.set_channel_labels(["A", "B", "C"])
    info.set_channel_types("eeg")
    info.set_channel_units(["microvolts", -6, "none"])
    desc = info.desc()
    desc.append_child_value("maker", "ü & <co>")
    cap = desc.append_child("cap")
    cap.append_child_value("size", "54").append_child_value("ref", "Cz")
    cap.prepend_child_value("first", "1")
    cap.child("size").first_child().set_value("56")
    cap.set_child_value("ref", "FCz")
    desc.append_copy(cap).set_name("spare")
    desc.prepend_copy(cap)
    desc.append_child("gone")
    desc.remove_child(desc.child("gone"))
    return info


def walked(element: Any, depth: int = 0) -> Iterator[tuple[int, str, str, bool]]:
    while not element.empty():
        yield depth, element.name(), element.value(), element.is_text()
        yield from walked(element.first_child(), depth + 1)
        element = element.next_sibling()


def test_descriptions_are_the_same() -> None:
    our, their = described(ours), described(theirs)
    assert our.as_xml() == their.as_xml()
    assert list(walked(our.desc())) == list(walked(their.desc()))
    for name in ["name", "type", "channel_count", "nominal_srate", "channel_format", "source_id", "version", "created_at",
                 "uid", "session_id", "hostname", "get_channel_labels", "get_channel_types", "get_channel_units", "__str__"]:
        assert getattr(our, name)() == getattr(their, name)(), name
    for info in (our, their):
        desc = info.desc()
        assert desc.child("cap").last_child().previous_sibling().name() == "size"
        assert desc.child("cap").next_sibling("maker").child_value() == "ü & <co>"
        assert desc.child("spare").previous_sibling("cap").child_value("ref") == "FCz"
        assert desc.parent().name() == "info" and desc.child("none").empty() and desc.child("none").child_value() == ""
        assert len(info.reset_uid()) == 36 and info.uid() != ""


def test_a_source_id_that_is_made_is_pylsls() -> None:
    for arguments in [("Same", "EEG", 2, 100, "int16"), ("Same", "EEG", 2, 100.5), ()]:
        assert ours.StreamInfo(*arguments).source_id() == theirs.StreamInfo(*arguments).source_id()


def test_a_child_is_removed_by_its_name() -> None:
    # In pylsl 1.18.6 this raises ctypes.ArgumentError for a str, which its documentation promises to take.
    desc = ours.StreamInfo("A", "B", 1, 0, "int8", "x").desc()
    desc.append_child("gone")
    desc.remove_child("gone")
    assert desc.first_child().empty()


@pytest.mark.parametrize("module", MODULES.values(), ids=MODULES.keys())
def test_bad_arguments_raise_the_same(module: Any) -> None:
    with pytest.raises(KeyError):
        module.StreamInfo("A", "B", 1, 0, "float31", "x")
    with pytest.raises(RuntimeError):
        module.StreamInfo("", "B", 1, 0, "float32", "x")
    with pytest.raises(TypeError):
        module.StreamInlet([])
    with pytest.raises(ValueError):
        module.StreamInfo("A", "B", 2, 0, "float32", "x").set_channel_labels(["A"])
    with pytest.raises(ValueError):
        module.ContinuousResolver("name", "x", "y")
    with pytest.raises(ValueError):
        module.ContinuousResolver("name")
    outlet = module.StreamOutlet(module.StreamInfo("A", "B", 2, 0, "int8", str(uuid.uuid4())))
    for sample, kind in [([1], ValueError), ([1, 2, 3], ValueError), (["a", "b"], TypeError), ([1.5, 2.5], TypeError)]:
        with pytest.raises(kind):
            outlet.push_sample(sample)
    with pytest.raises(ValueError):
        outlet.push_chunk([[1, 2, 3]])
    with pytest.raises(ValueError):
        outlet.push_chunk([1, 2, 3])
    with pytest.raises(TypeError):
        outlet.push_chunk([[1, 2]], None)


def pair(sender: Any, receiver: Any, format: str = "float32", channels: int = 2, **options: Any) -> tuple[Any, Any]:
    name = f"Pair {uuid.uuid4()}"
    outlet = sender.StreamOutlet(sender.StreamInfo(name, "EEG", channels, 100.0, format, name))
    found = receiver.resolve_byprop("name", name, timeout=PATIENCE)
    assert len(found) == 1 and found[0].name() == name
    inlet = receiver.StreamInlet(found[0], **options)
    inlet.open_stream(PATIENCE)
    assert outlet.wait_for_consumers(PATIENCE) and outlet.have_consumers()
    return outlet, inlet


DIRECTIONS = [pytest.param(ours, theirs, id="to pylsl"), pytest.param(theirs, ours, id="from pylsl"), pytest.param(ours, ours, id="ours")]


@pytest.mark.parametrize("format", ["float32", "double64", "int8", "int16", "int32", "int64"])
@pytest.mark.parametrize(("sender", "receiver"), DIRECTIONS)
def test_numbers_arrive(sender: Any, receiver: Any, format: str) -> None:
    outlet, inlet = pair(sender, receiver, format)
    assert inlet.pull_sample(0.0) == (None, None) and inlet.pull_chunk() == ([], [])
    outlet.push_sample([1, 2], 5.0)
    assert inlet.pull_sample(PATIENCE) == ([1, 2], 5.0)
    outlet.push_chunk([[3, 4], [5, 6]], [6.0, 7.0])
    outlet.push_chunk([7, 8, 9, 10], 9.0)
    outlet.push_chunk(np.array([[11, 12]], np.float64), 10.0)
    samples, stamps = inlet.pull_chunk(PATIENCE, 5)
    assert samples == [[3, 4], [5, 6], [7, 8], [9, 10], [11, 12]]
    assert stamps == pytest.approx([6.0, 7.0, 8.99, 9.0, 10.0])
    outlet.push_sample(np.array([13, 14]), 11.0, False)
    outlet.push_sample([15, 16], 12.0, True)
    values, times = inlet.pull_chunk(PATIENCE, 2, as_numpy=True)
    assert values.tolist() == [[13, 14], [15, 16]] and times.tolist() == [11.0, 12.0]
    assert values.dtype == {"double64": np.float64}.get(format, np.dtype(format.replace("double64", "float64")))


@pytest.mark.parametrize(("sender", "receiver"), DIRECTIONS)
def test_strings_arrive(sender: Any, receiver: Any) -> None:
    outlet, inlet = pair(sender, receiver, "string")
    outlet.push_sample(["ä", b"\x00b"], 5.0)
    assert inlet.pull_sample(PATIENCE) == (["ä", "\x00b"], 5.0)
    outlet.push_chunk([["a", "b"], ["c", "d"]], [6.0, 7.0])
    outlet.push_chunk(["e", "f"], 8.0)
    assert inlet.pull_chunk(PATIENCE, 3) == ([["a", "b"], ["c", "d"], ["e", "f"]], [6.0, 7.0, 8.0])
    outlet.push_sample([b"\xff", "g"], 9.0)
    values, _ = inlet.pull_chunk(PATIENCE, 1, as_numpy=True)
    assert values.tolist() == [[b"\xff", b"g"]] and values.dtype == object


@pytest.mark.parametrize(("sender", "receiver"), DIRECTIONS)
def test_pulls_keep_to_their_arguments(sender: Any, receiver: Any) -> None:
    outlet, inlet = pair(sender, receiver, as_numpy=True)
    outlet.push_chunk([[1, 2], [3, 4], [5, 6]], 5.0)
    sample, stamp = inlet.pull_sample(PATIENCE)
    assert sample.tolist() == [1, 2] and isinstance(stamp, float)
    samples, stamps = inlet.pull_chunk(PATIENCE, 10, min_samples=2)
    assert samples.tolist() == [[3, 4], [5, 6]] and len(stamps) == 2
    room = np.zeros((4, 2), np.float32)
    outlet.push_chunk([[7, 8], [9, 10]], 6.0)
    view, stamps = inlet.pull_chunk(PATIENCE, 4, room, 2)
    assert np.shares_memory(view, room) and view.tolist() == [[7, 8], [9, 10]] and room[2:].tolist() == [[0, 0], [0, 0]]
    outlet.push_sample([11, 12])
    nothing, stamps = inlet.pull_chunk(PATIENCE, 1, room, as_numpy=False)
    assert nothing is None and room[0].tolist() == [11, 12] and isinstance(stamps, list)
    for wrong, kind in [({"min_samples": 0}, ValueError), ({"min_samples": 5}, ValueError), ({"min_samples": 1.5}, TypeError)]:
        with pytest.raises(kind):
            inlet.pull_chunk(0.0, 4, **wrong)
    target: list[float] = [0.0, 0.0]
    inlet.as_numpy = False
    outlet.push_sample([13, 14])
    deadline = time.monotonic() + PATIENCE
    while inlet.pull_sample(target)[0] is None and time.monotonic() < deadline:
        pass
    assert target == [13, 14]


@pytest.mark.parametrize(("sender", "receiver"), DIRECTIONS)
def test_the_rest_of_an_inlet(sender: Any, receiver: Any) -> None:
    outlet, inlet = pair(sender, receiver, processing_flags=theirs.proc_clocksync | theirs.proc_dejitter)
    assert abs(inlet.time_correction(PATIENCE)) < 0.1 and inlet.was_clock_reset() is False
    for _ in range(5):
        outlet.push_sample([1, 2])
    deadline = time.monotonic() + PATIENCE
    while inlet.samples_available() < 1 and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(0.2)
    assert inlet.flush() >= 1 and inlet.samples_available() == 0
    assert inlet.info(PATIENCE).as_xml().replace("\r\n", "\n") != ""
    assert inlet.info(PATIENCE).uid() == outlet.get_info().uid()
    inlet.close_stream()
    inlet.open_stream(PATIENCE)
    assert outlet.wait_for_consumers(PATIENCE)
    outlet.push_sample([3, 4])
    assert inlet.pull_sample(PATIENCE)[0] == [3, 4]


@pytest.mark.parametrize(("sender", "receiver"), DIRECTIONS)
def test_streams_are_found_in_each_way(sender: Any, receiver: Any) -> None:
    name = f"Found {uuid.uuid4()}"
    outlet = sender.StreamOutlet(sender.StreamInfo(name, "Kind", 1, 0, "int8", name))
    resolver = receiver.ContinuousResolver("name", name)
    searches: list[Callable[[], list[Any]]] = [
        lambda: receiver.resolve_bypred(f"name='{name}'", 1, PATIENCE),
        lambda: receiver.resolve_byprop("source_id", name, timeout=PATIENCE),
        lambda: [one for one in receiver.resolve_streams(1.0) if one.name() == name],
    ]
    for search in searches:
        assert [one.uid() for one in search()] == [outlet.get_info().uid()]
    assert receiver.resolve_byprop("name", "nobody", timeout=0.2) == []
    deadline = time.monotonic() + PATIENCE
    while not resolver.results() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert [one.name() for one in resolver.results()] == [name]


@pytest.mark.parametrize("receiver", [pytest.param(module, id=name) for name, module in MODULES.items()])
def test_a_lost_stream_raises(receiver: Any) -> None:
    name = f"Lost {uuid.uuid4()}"
    outlet = ours.StreamOutlet(ours.StreamInfo(name, "EEG", 1, 100.0, "float32", ""))
    inlet = receiver.StreamInlet(receiver.resolve_byprop("name", name, timeout=PATIENCE)[0], recover=False)
    inlet.open_stream(PATIENCE)
    del outlet
    util = importlib.import_module(f"{receiver.__name__}.util")
    with pytest.raises(util.LostError):
        for _ in range(100):
            inlet.pull_sample(1.0)
    assert issubclass(util.LostError, RuntimeError) and issubclass(util.TimeoutError, RuntimeError)
    for code, kind in [(-1, util.TimeoutError), (-2, util.LostError), (-3, util.InvalidArgumentError), (-4, util.InternalError)]:
        with pytest.raises(kind):
            util.handle_error(code)
    util.handle_error(0)


EXAMPLE = "import runpy, sys, schwann.pylsl; sys.modules['pylsl'] = schwann.pylsl; del sys.argv[0]; runpy.run_path(sys.argv[0], run_name='__main__')"
"""Runs a program of pylsl's with our module in its place."""


@pytest.mark.parametrize(
    ("sends", "receives", "prints"),
    [
        ("SendData", "ReceiveData", r"[\d.]+ \["),
        ("SendDataAdvanced", "ReceiveDataInChunks", r"\[[\d.]+"),
        ("SendData", "GetTimeCorrection", r"Offset: -?[\d.e-]+$"),
        ("SendStringMarkers", "ReceiveStringMarkers", r"got \S+ at time [\d.]+"),
        (None, "HandleMetadata", "The manufacturer is: SCCN"),
    ],
)
def test_the_examples_of_pylsl_run(sends: str | None, receives: str, prints: str, tmp_path: Any) -> None:
    folder = os.path.dirname(importlib.import_module("pylsl.examples").__file__ or "")
    # They resolve by type, so they have a session of their own.
    session = tmp_path / "lsl_api.cfg"
    session.write_text(f"[log]\nlevel=-2\n[multicast]\nResolveScope=machine\n[lab]\nSessionID=examples-{uuid.uuid4()}\n")

    def start(name: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-u", "-c", EXAMPLE, os.path.join(folder, f"{name}.py")]
        environment = os.environ | {"LSLAPICFG": str(session)}
        return subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    programs = [start(name) for name in (sends, receives) if name]
    try:
        said = ""
        for line in programs[-1].stdout or ():
            said += line
            if re.match(prints, line):
                return
        pytest.fail(f"{receives} ended with {programs[-1].wait()}: {said}")
    finally:
        for one in programs:
            one.kill()
            one.communicate()


def program(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=os.environ | environment)


HAS_LIBRARY = pytest.mark.skipif(
    not any(os.path.exists(os.path.join(os.path.dirname(schwann.__file__), "lib", name)) for name in schwann._library._NAMES),
    reason="the package was built without a library",
)


@HAS_LIBRARY
@pytest.mark.parametrize("package", ["pylsl", "mne_lsl.lsl"])
def test_programs_of_others_run_on_our_library(package: str, tmp_path: Any) -> None:
    pytest.importorskip(package)
    script = tmp_path / "script.py"
    info = "pylsl.library_info()" if package == "pylsl" else "lib.lsl_library_info().decode()"
    imports = "import pylsl" if package == "pylsl" else "from mne_lsl.lsl.load_liblsl import lib"
    script.write_text(f"import sys\n{imports}\nprint({info}, sys.argv[1], __name__)\n")
    ran = program("-m", "schwann", str(script), "an argument")
    assert ran.returncode == 0, ran.stderr
    assert "Schwann" in ran.stdout and "an argument __main__" in ran.stdout
    if package != "pylsl":
        # It takes seconds to import.
        return
    ran = program("-c", f"import schwann; schwann.use()\n{imports}\nprint({info})")
    assert "Schwann" in ran.stdout, ran.stderr


@HAS_LIBRARY
def test_a_library_that_was_loaded_before_is_not_replaced() -> None:
    ran = program("-c", "import pylsl, schwann\nschwann.use()")
    assert ran.returncode == 1 and "before it is imported" in ran.stderr


@HAS_LIBRARY
def test_without_pylsl_its_name_is_ours() -> None:
    code = (
        "import importlib.util as util\n"
        "find = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'pylsl' else find(name, *rest)\n"
        "import schwann; schwann.use()\n"
        "import pylsl; from pylsl.util import LostError; print(pylsl.__name__)"
    )
    assert program("-c", code).stdout == "schwann.pylsl\n"


def test_the_program_that_runs_programs_says_what_is_wrong() -> None:
    assert program("-m", "schwann").returncode == 2
    assert "usage" in program("-m", "schwann", "--help").stdout
    missing = program("-m", "schwann", "nothing.py")
    assert missing.returncode == 1 and missing.stderr.startswith("schwann: ")
