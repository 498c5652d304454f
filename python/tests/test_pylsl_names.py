"""The names of pylsl that need more than a look: constants, options and errors, ours and pylsl's own with each other."""

import ast
import contextlib
import ctypes
import gc
import importlib
import inspect
import os
import pathlib
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import schwann.pylsl as ours
from conftest import PATIENCE

theirs: Any = pytest.importorskip("pylsl")
BOTH = [pytest.param(ours, id="ours"), pytest.param(theirs, id="theirs")]
DIRECTIONS = [pytest.param(ours, theirs, id="to pylsl"), pytest.param(theirs, ours, id="from pylsl"), pytest.param(ours, ours, id="ours")]
# pylsl's decorator, and its C library.
NOT_ITS_API = {"deprecated", "lib"}

CONSTANTS = [
    *["FOREVER", "IRREGULAR_RATE", "DEDUCED_TIMESTAMP", "MIN_LIBLSL_VERSION"],
    *["proc_none", "proc_clocksync", "proc_dejitter", "proc_monotonize", "proc_threadsafe", "proc_ALL"],
    *["transp_default", "transp_bufsize_samples", "transp_bufsize_thousandths", "transp_sync_blocking"],
]
FORMATS = ["cf_float32", "cf_double64", "cf_string", "cf_int32", "cf_int16", "cf_int8", "cf_int64", "cf_undefined"]


def test_every_public_name_of_pylsl_is_in_a_test() -> None:
    used = {"self"}
    for file in pathlib.Path(__file__).parent.glob("test_pylsl_*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            used |= {value for name in ("attr", "arg", "value", "id") if isinstance(value := getattr(node, name, None), str)}
    parts = (theirs, theirs.util, theirs.resolve)
    wanted = {name for part in parts for name, value in vars(part).items() if not inspect.ismodule(value)}
    for kind in (theirs.StreamInfo, theirs.StreamInlet, theirs.StreamOutlet, theirs.ContinuousResolver, theirs.info.XMLElement):
        wanted |= set(vars(kind)) | set(inspect.signature(kind.__init__).parameters)
    assert {name for name in wanted if not name.startswith("_")} - NOT_ITS_API - used == set()


def test_constants_are_equal() -> None:
    for name in CONSTANTS:
        assert getattr(ours.util, name) == getattr(theirs.util, name), name
    for name in FORMATS:
        assert getattr(ours, name) == getattr(theirs, name), name
        assert getattr(ours.lib, name) == getattr(theirs.lib, name), name
    assert ours.lib.string2fmt == theirs.lib.string2fmt and ours.lib.fmt2type[1:] == theirs.lib.fmt2type[1:]
    assert [ours.lib.fmt2string[number] for number in ours.lib.string2fmt.values()] == list(ours.lib.string2fmt)
    assert [ours.lib.fmt2npdtype[number] for number in range(8)] == [theirs.lib.fmt2npdtype[number] for number in range(8)]


def test_versions_and_the_clock_are_equal() -> None:
    assert (ours.library_version(), ours.protocol_version()) == (theirs.library_version(), theirs.protocol_version())
    assert "liblsl-1.18" in ours.library_info() and theirs.library_info() != ""
    before = ours.local_clock()
    assert before <= theirs.local_clock() <= ours.local_clock()


def outcome(call: Callable[[], Any]) -> Any:
    """What the call returns, or the kind of its error."""
    try:
        return call()
    except Exception as error:
        return type(error).__name__


ARGUMENTS: list[dict[str, Any]] = [
    {},
    {"channel_count": 0},
    {"channel_count": -1},
    {"nominal_srate": -1.0},
    {"nominal_srate": "fast"},
    {"channel_format": "cf_int8"},
    {"name": ""},
    {"name": None},
    {"name": "ä <&> ö"},
    {"type": "ä"},
    *[{"channel_format": getattr(theirs, name)} for name in FORMATS if name != "cf_undefined"],
]


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=str)
def test_descriptions_come_of_the_same_arguments(arguments: dict[str, Any]) -> None:
    made = [outcome(lambda module=module: module.StreamInfo(**{"source_id": "x"} | arguments).as_xml()) for module in (ours, theirs)]
    assert made[0] == made[1]


@pytest.mark.parametrize("module", BOTH)
def test_a_description_can_be_made_of_a_handle(module: Any) -> None:
    own = module.StreamInfo("Handle", "EEG", 1, module.IRREGULAR_RATE, module.cf_int8, "x")
    outlet = module.StreamOutlet(own)
    again = outlet.get_info()
    assert module.StreamInfo(handle=getattr(again.obj, "value", again.obj)).name() == "Handle" and repr(own).startswith("<StreamInfo name='Handle'")
    if module is theirs:
        # Both would free it.
        again.obj = None


def test_children_can_be_put_first() -> None:
    made = []
    for module in (ours, theirs):
        info = module.StreamInfo("A", "B", 1, 0, "int8", "x")
        info.desc().append_child("second")
        info.desc().prepend_child("first").append_child_value("inner", "1")
        made.append(info.as_xml())
    assert made[0] == made[1] and made[0].index("<first>") < made[0].index("<second")


def pair(sender: Any, receiver: Any, outlet: dict[str, Any] | None = None, channels: int = 1, format: str = "double64",
         **options: Any) -> tuple[Any, Any]:
    name = f"Names {uuid.uuid4()}"
    sending = sender.StreamOutlet(sender.StreamInfo(name, "EEG", channels, 100.0, format, name), **outlet or {})
    receiving = receiver.StreamInlet(receiver.resolve_byprop("name", name, timeout=PATIENCE)[0], **options)
    receiving.open_stream(PATIENCE)
    assert sending.wait_for_consumers(PATIENCE)
    return sending, receiving


@pytest.mark.parametrize("flags", CONSTANTS[10:])
@pytest.mark.parametrize(("sender", "receiver"), DIRECTIONS)
def test_each_transport_delivers(sender: Any, receiver: Any, flags: str) -> None:
    outlet, inlet = pair(sender, receiver, {"max_buffered": 1000, "transport_flags": getattr(sender, flags)})
    assert outlet.value_type == inlet.value_type == ctypes.c_double and inlet.sample_type == ctypes.c_double * 1
    for number in range(5):
        outlet.push_sample([number], 10.0 + number)
    assert [inlet.pull_sample(PATIENCE) for _ in range(5)] == [([number], 10.0 + number) for number in range(5)]


@pytest.mark.parametrize(("sender", "receiver"), DIRECTIONS)
def test_texts_are_any_bytes(sender: Any, receiver: Any) -> None:
    outlet, inlet = pair(sender, receiver, channels=2, format="string")
    rows: list[list[Any]] = [[bytearray(b"\x00ab"), memoryview(b"cd\x00")], ["x" * 5000, ""], ["日本語", b"\xff"]]
    outlet.push_sample(rows[0], 5.0)
    outlet.push_chunk(rows[1:], [6.0, 7.0])
    values, stamps = inlet.pull_chunk(PATIENCE, 3, as_numpy=True)
    assert values.tolist() == [[value.encode() if isinstance(value, str) else bytes(value) for value in row] for row in rows]
    assert stamps.tolist() == [5.0, 6.0, 7.0]
    outlet.push_sample([b"\xff", "ok"])
    with pytest.raises(UnicodeDecodeError):
        inlet.pull_sample(PATIENCE)


@pytest.mark.parametrize(("sender", "receiver"), DIRECTIONS)
def test_chunks_of_any_layout_arrive(sender: Any, receiver: Any) -> None:
    outlet, inlet = pair(sender, receiver, channels=2, format="float32")
    numbers = np.array([[1.0, 2.0], [3.0, 4.0]])
    layouts = [numbers, np.asfortranarray(numbers, np.float32), numbers.repeat(2, 1)[:, ::2], numbers.astype(">i4"), numbers.ravel().tolist()]
    for layout in layouts:
        outlet.push_chunk(layout)
        assert inlet.pull_chunk(PATIENCE, 2)[0] == [[1.0, 2.0], [3.0, 4.0]]
    outlet.push_chunk([])
    assert inlet.pull_chunk(0.1) == ([], [])


@pytest.mark.parametrize("module", BOTH)
def test_a_buffer_has_one_unit(module: Any) -> None:
    info = module.StreamInfo("Units", "EEG", 1, 100.0, module.cf_int8, "units")
    with pytest.raises(RuntimeError):
        module.StreamOutlet(info, transport_flags=module.transp_bufsize_samples | module.transp_bufsize_thousandths)


@pytest.mark.parametrize("options", [{"max_buflen": -1}, {"max_buflen": 0}, {"max_chunklen": -1}], ids=str)
def test_inlets_take_the_same_lengths(options: dict[str, Any]) -> None:
    made = []
    for module in (ours, theirs):
        info = module.StreamInfo("Lengths", "EEG", 1, 100.0, module.cf_int8, str(uuid.uuid4()))
        outlet = module.StreamOutlet(info)
        made.append(outcome(lambda: type(module.StreamInlet(outlet.get_info(), **options)).__name__))
    assert made[0] == made[1]


@pytest.mark.parametrize("who", ["the outlet", "the inlet"])
@pytest.mark.parametrize(("sender", "receiver"), DIRECTIONS)
def test_chunks_have_the_length_that_one_end_chose(sender: Any, receiver: Any, who: str) -> None:
    options: dict[str, Any] = {"outlet": {"chunk_size": 5}} if who == "the outlet" else {"max_chunklen": 5}
    outlet, inlet = pair(sender, receiver, max_buflen=10, **options)
    for number in range(4):
        outlet.push_sample([number], 10.0 + number, pushthrough=False)
    assert inlet.pull_chunk(0.2) == ([], [])
    # The original does not keep to its own `chunk_size`: it keeps a sample until one is pushed through.
    outlet.push_sample([4], 14.0, pushthrough=sender is theirs)
    assert inlet.pull_chunk(PATIENCE, 5) == ([[0], [1], [2], [3], [4]], [10.0, 11.0, 12.0, 13.0, 14.0])


@pytest.mark.parametrize("flags", CONSTANTS[4:10])
@pytest.mark.parametrize("sender", BOTH)
def test_stamps_are_processed_alike(sender: Any, flags: str) -> None:
    name = f"Flags {uuid.uuid4()}"
    outlet = sender.StreamOutlet(sender.StreamInfo(name, "EEG", 1, 10.0, sender.cf_int8, name))
    inlets = []
    for receiver in (ours, theirs):
        found = receiver.resolve_byprop("name", name, timeout=PATIENCE)[0]
        inlets.append(receiver.StreamInlet(found, processing_flags=getattr(receiver, flags)))
        inlets[-1].open_stream(PATIENCE)
    # One stamp is early, and one goes back.
    sent = [100.0, 100.1, 100.15, 100.3, 100.2, 100.5]
    for stamp in sent:
        outlet.push_sample([1], stamp)
    got = [[inlet.pull_sample(PATIENCE)[1] for _ in sent] for inlet in inlets]
    # Both ends have one clock, which is measured over the network.
    assert got[0] == pytest.approx(got[1], rel=0, abs=5e-3 if getattr(ours, flags) & ours.proc_clocksync else 1e-9)
    if getattr(ours, flags) in (ours.proc_none, ours.proc_threadsafe):
        assert got[0] == sent


@pytest.mark.parametrize("module", BOTH)
def test_what_takes_too_long_raises(module: Any) -> None:
    name = f"Away {uuid.uuid4()}"
    outlet = module.StreamOutlet(module.StreamInfo(name, "EEG", 1, 100.0, module.cf_int8, name))
    found = module.resolve_byprop("name", name, timeout=PATIENCE)[0]
    del outlet
    gc.collect()
    inlet = module.StreamInlet(found, recover=True)
    for call in (inlet.open_stream, inlet.info, inlet.time_correction):
        with pytest.raises(module.util.TimeoutError):
            call(timeout=0.3)
    assert inlet.pull_sample(timeout=0.1) == (None, None) and inlet.samples_available() == 0


@pytest.mark.parametrize("module", BOTH)
def test_numbers_of_errors_stand_for_kinds(module: Any) -> None:
    util = module.util
    for code, kind in [(-1, util.TimeoutError), (-2, util.LostError), (-3, util.InvalidArgumentError), (-4, util.InternalError)]:
        with pytest.raises(kind):
            util.handle_error(ctypes.c_int(code))
    with pytest.raises(RuntimeError):
        util.handle_error(-5)
    assert util.handle_error(ctypes.c_int(0)) is None and util.handle_error(1) is None


@pytest.mark.parametrize(("sender", "receiver"), DIRECTIONS)
def test_the_old_search_has_each_of_its_forms(sender: Any, receiver: Any) -> None:
    name = f"Old-{uuid.uuid4()}"
    outlet = sender.StreamOutlet(sender.StreamInfo(name, "Kind", 1, 0, "int8", name))
    for arguments in [("name", name), ("name", name, 1), (f"name='{name}'",), (f"name='{name}'", 1), (1.0,), ()]:
        with pytest.warns(DeprecationWarning, match="resolve_stream"):
            found = importlib.import_module(f"{receiver.__name__}.resolve").resolve_stream(*arguments)
        assert outlet.get_info().uid() in [one.uid() for one in found], arguments


@pytest.mark.parametrize("options", ["prop", "pred", "all"])
@pytest.mark.parametrize(("sender", "receiver"), DIRECTIONS)
def test_a_search_that_goes_on_forgets(sender: Any, receiver: Any, options: str) -> None:
    name = f"Comes-{uuid.uuid4()}"
    outlet = sender.StreamOutlet(sender.StreamInfo(name, "Kind", 1, 0, "int8", name))
    ways: dict[str, dict[str, str]] = {"prop": {"prop": "name", "value": name}, "pred": {"pred": f"name='{name}'"}, "all": {}}
    search = receiver.ContinuousResolver(**ways[options], forget_after=1.0)
    await_found(search, name, True)
    del outlet
    gc.collect()
    await_found(search, name, False)


def await_found(search: Any, name: str, is_there: bool) -> None:
    deadline = time.monotonic() + PATIENCE
    while (name in [one.name() for one in search.results()]) != is_there:
        assert time.monotonic() < deadline
        time.sleep(0.01)


SESSION = """
import importlib, sys
module = importlib.import_module(sys.argv[1])
getattr(module, sys.argv[2])(sys.argv[3])
print(module.StreamOutlet(module.StreamInfo("T", "EEG", 1, 100, "float32", "configured")).get_info().session_id())
"""


@pytest.mark.parametrize("module", BOTH)
def test_a_configuration_is_taken_before_everything_else(module: Any, tmp_path: pathlib.Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "LSLAPICFG"}
    content = "[log]\nlevel=-2\n[multicast]\nResolveScope=machine\n[lab]\nSessionID=of-the-{}\n"
    (tmp_path / "own.cfg").write_text(content.format("file"))
    for function, argument, session in [
        ("set_config_content", content.format("text"), "of-the-text"),
        ("set_config_filename", str(tmp_path / "own.cfg"), "of-the-file"),
    ]:
        command = [sys.executable, "-c", SESSION, module.__name__, function, argument]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE)
        assert ran.stdout.split("\n")[-2:] == [session, ""], ran
    # In this process it is too late, which is no error.
    with contextlib.redirect_stdout(None):
        module.set_config_content("[lab]\nSessionID = too late\n")
        module.set_config_filename("/nowhere/lsl_api.cfg")
    for setting, wrong in [(module.set_config_content, b"bytes"), (module.set_config_filename, 12345)]:
        with pytest.raises(AttributeError):
            setting(wrong)
