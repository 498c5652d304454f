"""Keys, policy and what notebooks show."""

import subprocess
import sys

import numpy as np

import schwann
from conftest import PATIENCE, Connect


def test_without_keys_streams_are_plain() -> None:
    status = schwann.keys.status()
    assert status.policy == "off" and status.device is None and status.problem is None
    assert "in the clear" in str(status) and status.folder.name == "keys"
    assert schwann.keys.policy("EEG") == "off"


def test_a_policy_without_keys_says_what_to_do() -> None:
    code = (
        "import schwann\n"
        "schwann._schwann.set_config_content('[security]\\npolicy=require\\n')\n"
        "print(schwann.keys.status().policy, schwann.keys.status().problem)\n"
        "try:\n schwann.Outlet('Refused')\nexcept schwann.UnsealedError as error:\n print(error)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert ran.stdout.startswith("require") and "schwann keys" in ran.stdout, ran


def test_a_notebook_shows_a_table_and_a_plot(connect: Connect) -> None:
    outlet, stream = connect("EEG", ["Fp1 <b>", "Fp2"], rate=100.0, unit="µV")
    assert "<svg" not in stream._repr_html_()
    outlet.push(np.random.default_rng(1).normal(size=(1000, 2)))
    chunk = stream.pull(1000, PATIENCE)
    shown = outlet.info._repr_html_() + stream._repr_html_()
    assert "<table>" in shown and "<svg" in shown and "Fp1 &lt;b&gt;" in shown and "Fp1 <b>" not in shown
    assert chunk._repr_html_().count("<polyline") == 2 and len(chunk._repr_html_()) < 50_000
    markers, marks = connect("Markers")
    markers.push("<script>")
    assert "&lt;script&gt;" in marks.pull(1, PATIENCE)._repr_html_()
    assert "no samples" in stream.pull(timeout=0.0)._repr_html_()
    outlet.push([[np.nan, np.inf]] * 2)
    assert "nan" not in stream.pull(2, PATIENCE)._repr_html_()
