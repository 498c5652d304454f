"""Two sites whose clocks are 5,000 s apart: stamps of both lie on one time line, live and in the files.

Usage: relay_clocks.py PROGRAM LIBRARY [WORD...]
"""

import json
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))

from relay_sites import PATIENCE, PROGRAM, SCRATCH, Hub, lab, run  # noqa: E402

# They find the program where the line above has put it.
import pyxdf  # noqa: E402

AHEAD = ["unshare", "--time", "--fork", "--kill-child", "--monotonic=5000"]
# Each sample holds the time of day at which it was taken: both sites have the same, whatever the clock of their stamps says.
SEND = r"""
import sys, time, pylsl
name = sys.argv[1]
outlet = pylsl.StreamOutlet(pylsl.StreamInfo(name, "EEG", 1, 100, "double64", name))
print("ready", flush=True)
while True:
    outlet.push_sample([time.time()], pylsl.local_clock())
    time.sleep(0.01)
"""
RECEIVE = r"""
import json, pylsl
inlet = pylsl.StreamInlet(pylsl.resolve_byprop("name", "Far", 1, 30)[0])
offset = inlet.time_correction(20)
stamps = [inlet.pull_sample(30)[1] for _ in range(50)]
info = inlet.info(30)
bound = float(info.desc().child("relay").child_value("clock_bound"))
print(json.dumps({"offset": offset, "lag": pylsl.local_clock() - (stamps[-1] + offset), "bound": bound}))
"""


def clocks_agree() -> None:
    """The sending site's clock is 5,000 s ahead: time_correction and the files' offsets lead to the receiver's."""
    with lab() as (authority, a, b, _):
        hub = Hub(authority)
        through_hub, at_home = SCRATCH / "hub.xdf", SCRATCH / "home.xdf"
        a.runs(*AHEAD, sys.executable, "-c", SEND, "Far").until("ready")
        b.runs(sys.executable, "-c", SEND, "Here").until("ready")
        a.runs(*AHEAD, PROGRAM, "relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed")
        b.schwann("relay", "out", "--hub", hub.url, "name='Here'").until("is relayed")
        inward = b.schwann("relay", "in", "--hub", hub.url)
        recorder = b.schwann("record", "--hub", hub.url, "-o", str(through_hub), "EEG").until("the hub is reached")
        receiver = b.runs(sys.executable, "-c", RECEIVE)
        assert receiver.process.wait(PATIENCE) == 0, (receiver.text(), inward.text())
        got = json.loads(receiver.text().splitlines()[-1])
        assert abs(got["offset"] + 5000) <= got["bound"] + 0.01 and 0 < got["bound"] < 1, got
        assert -0.1 < got["lag"] < 5, got
        local = b.schwann("record", "-o", str(at_home), "--seconds", "12", "Far", "Here")
        assert local.process.wait(PATIENCE) in (0, 1), local.text()
        assert recorder.end() in (0, 1), recorder.text()
        for target in (through_hub, at_home):
            aligned(target, got["bound"])
    print(f"ok: clocks 5,000 s apart: time_correction {got['offset']:.4f} s, bound {got['bound'] * 1e3:.1f} ms, both files align")


def aligned(target: pathlib.Path, bound: float) -> None:
    """pyxdf alone, with its defaults, puts samples of one moment at one place."""
    streams, _ = pyxdf.load_xdf(str(target), dejitter_timestamps=False)
    ahead = {}
    for stream in streams:
        offsets = [float(value) for value in stream["clock_values"]]
        far = stream["info"]["name"] == ["Far"]
        assert offsets and all(abs(offset + (5000 if far else 0)) < bound + 1 for offset in offsets), (target, offsets)
        taken = zip(stream["time_stamps"], stream["time_series"][:, 0], strict=True)
        ahead[stream["info"]["name"][0]] = statistics.median(stamp - moment for stamp, moment in taken)
    assert set(ahead) == {"Far", "Here"}, ahead
    apart = abs(ahead["Far"] - ahead["Here"])
    assert apart <= bound + 0.005, (target, ahead, bound)
    print(f"{target.name}: the two sites are {apart * 1e3:.2f} ms apart, bound {bound * 1e3:.1f} ms")


if __name__ == "__main__":
    run({"clock": clocks_agree})
