"""Whole libraries hold the captured conversations again: every byte they send, and everything that the C interface shows.

The captures are those of `proto/tests/vectors/`, made with liblsl 1.18. Each scenario runs in a network and with a host
name of its own, so that all ports are as captured. Where a library differs on purpose, a table here says how and why.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

from conftest import HERE, PATHS, REAL_117, ROOT
from golden.capture import SCENARIOS

VECTORS = ROOT / "proto" / "tests" / "vectors"
QUIET_NETWORK = ("hostname golden-host; ip link set lo up; ip link set lo multicast on; ip route add 224.0.0.0/4 dev lo; "
                 'exec "$@"')
# Numbers that depend on when the machine had time.
TIMES = {"after_s", "first_result_after_s", "probe_times_s", "reconnect_after_s", "returned_after_s"}
# What a step's note says of the connection's end.
ENDS = re.compile(r"eof=\w+|then EOF|kept open|no reply")
TOLERANCE = 1e-9


def isolated(*command):
    flags = "-nu" if os.getuid() == 0 else "-rnu"
    return ["unshare", flags, "sh", "-c", QUIET_NETWORK, "sh", *command]


def can_isolate():
    try:
        return subprocess.run(isolated("ip", "link"), capture_output=True).returncode == 0
    except OSError:
        return False


pytestmark = pytest.mark.skipif(not can_isolate(), reason="network namespaces are not permitted here, or `ip` is missing")


def play(path, name, folder):
    """Records the scenario with the library at `path`."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("LSLAPICFG", None)
    command = isolated(sys.executable, "-m", "golden.capture", path, str(folder), name)
    run = subprocess.run(command, cwd=HERE, env=environment, capture_output=True, text=True, timeout=90)
    assert run.returncode == 0, run.stdout + run.stderr
    return json.loads((folder / f"{name}.json").read_text())


def constant_parts(step):
    """The bytes between those that differ from run to run, and what those are."""
    data, parts, at = bytes.fromhex(step["hex"]), [], 0
    for volatile in step["volatile"]:
        start = volatile["offset"]
        if start >= at:
            parts += [data[at:start], volatile["what"].split(" (")[0]]
            at = start + volatile["length"]
    return [*parts, data[at:]]


def said(document):
    """The steps, each as direction, protocol, constant bytes and how the connection ended."""
    return [(step["dir"], step["proto"], constant_parts(step), ENDS.findall(step["note"])) for step in document["steps"]]


def same(ours, captured):
    """Whether two shown values are equal, numbers up to the last digits."""
    if isinstance(captured, dict):
        return set(ours) == set(captured) and all(same(ours[k], captured[k]) for k in captured if k not in TIMES)
    if isinstance(captured, list):
        return len(ours) == len(captured) and all(map(same, ours, captured))
    if isinstance(captured, float) or isinstance(captured, str) and re.fullmatch(r"-?\d+\.\d+", captured):
        return abs(float(ours) - float(captured)) < TOLERANCE
    return ours == captured


def step(document, number):
    return next(step for step in document["steps"] if step["n"] == number)


def replace(document, number, bytes, proto=None, note=None):
    """Expects other bytes, without any that differ from run to run."""
    expected = step(document, number)
    expected.update(hex=bytes.hex(), volatile=[], proto=proto or expected["proto"], note=note or expected["note"])


def both_versions_share_ports(document):
    # lsl-wire §3: our IPv6 sockets take IPv6 alone, so both versions have the same numbers.
    document["checks"]["ports"].update(v6data_port=16572, v6service_port=16572)


def malformed_time_requests_are_ignored(document):
    # lsl-wire §9: the original answers them with a number from its stack.
    replace(document, 8, b"", "udp", "(no reply)")


def byte_orders_and_bad_versions(document):
    # lsl-wire §25: who names no version is let go at once, as by 1.17.
    step(document, 36)["note"] = "reply, then EOF"
    # lsl-wire §11.3: bytes are turned around also for a client that claims to be faster at it.
    captured = bytes.fromhex(step(document, 32)["hex"])
    turned = captured[:-26].replace(b"Byte-Order: 1234", b"Byte-Order: 4321")
    for at in (-26, -13):
        sample = captured[at:][:13]
        turned += sample[:1] + sample[8:0:-1] + sample[:8:-1]
    step(document, 32)["hex"] = turned.hex()


def predicates_are_enclosed(document):
    # lsl-wire §5: an `or` must not reach into other sessions.
    expected = step(document, 3)
    plain = bytes.fromhex(expected["hex"])
    enclosed = plain.replace(b"name='A' or type='B'", b"(name='A' or type='B')")
    assert len(enclosed) == len(plain) + 2
    expected["hex"] = enclosed.hex()
    for volatile in expected["volatile"]:
        volatile["offset"] += 2


def no_pull_asks_for_a_description(document):
    # lsl-wire §17.4: a pull keeps its timeout, and takes the channel count from the description it has.
    document["steps"] = document["steps"][:2]
    document["checks"] = {"values_without_an_answer": 3}


def strings_have_the_compilers_size(document):
    # lsl-wire §25: Value-Size of strings is 32 in 1.17.
    expected = step(document, 1)
    expected["hex"] = expected["hex"].replace(b"Value-Size: 0".hex(), b"Value-Size: 32".hex())


def reports_are_offered(document):
    # lsl-wire §15.4: our inlets say that they report how they keep up; the original's outlets pass over the line.
    for expected in document["steps"]:
        data = bytes.fromhex(expected["hex"])
        if expected["dir"] == "lib->script" and data.startswith(b"LSL:streamfeed/110"):
            expected["hex"] = data.replace(b"\r\n\r\n", b"\r\nSends-Reports: 1\r\n\r\n").hex()


OURS_DIFFERS = {
    "inlet_pull_chunk_needs_fullinfo": no_pull_asks_for_a_description,
    "inlet_resolve_query_strings": predicates_are_enclosed,
    "outlet_feed_errors": byte_orders_and_bad_versions,
    "outlet_dualstack_ports": both_versions_share_ports,
    "outlet_udp_timedata": malformed_time_requests_are_ignored,
}
OF_117_DIFFERS = {
    "inlet_feed110_string_be": strings_have_the_compilers_size,
    "inlet_feed110_string_le": strings_have_the_compilers_size,
    "inlet_feed110_string_lengths": strings_have_the_compilers_size,
}
# 1.17 does otherwise in these, as lsl-wire §25 says.
NOT_OF_117 = {"outlet_feed110_sync", "outlet_feed_client_after_handshake", "outlet_feed_errors"}


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_conversation_goes_as_captured(name, library, tmp_path):
    if library.library_name == REAL_117 and name in NOT_OF_117:
        pytest.skip("1.17 does otherwise")
    captured = json.loads((VECTORS / f"{name}.json").read_text())
    differs = OURS_DIFFERS if library.is_ours() else OF_117_DIFFERS if library.library_name == REAL_117 else {}
    differs.get(name, lambda _: None)(captured)
    if library.is_ours():
        reports_are_offered(captured)
    played = play(PATHS[library.library_name], name, tmp_path)
    for number, (now, then) in enumerate(zip(said(played), said(captured)), 1):
        assert now == then, f"step {number}: {step(captured, number)['note']}"
    assert len(played["steps"]) == len(captured["steps"])
    for check, then in captured["checks"].items():
        assert check in TIMES or same(played["checks"][check], then), (check, played["checks"][check], then)


def test_every_capture_has_its_scenario():
    captured = {path.stem for path in VECTORS.glob("*.json")}
    assert captured == set(SCENARIOS), captured ^ set(SCENARIOS)
