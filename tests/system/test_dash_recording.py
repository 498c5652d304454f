"""`schwann dash FILE.xdf`: a recording on the page of the dashboard, as pyxdf reads it."""

import contextlib
import json
import struct
import subprocess

import numpy
import pytest
import pyxdf
import websocket

from test_xdf_cli import PATIENCE, SCHWANN, lab  # noqa: F401 (a fixture)

COLUMNS = 1000


class Page:
    """What a browser does with a recording."""

    def __init__(self, lab, path):
        self.process = lab.schwann("dash", "--no-browser", "--port", "0", path)
        url = self.process.stdout.readline().partition("dashboard: ")[2].strip()
        self.origin, _, token = url.partition("/?token=")
        self.socket = websocket.create_connection(f"{self.origin.replace('http', 'ws')}/live?token={token}",
                                                  timeout=PATIENCE, origin=self.origin)
        # The last that came, whatever was waited for; they are said once.
        self.verdicts = None
        hello = self.hear("hello")
        self.span, self.role = hello["recording"], hello["role"]
        self.rows = self.hear("streams")["streams"]
        self.generation = 0

    def hear(self, *types, condition=lambda message: True):
        while True:
            message = self.socket.recv()
            if isinstance(message, bytes):
                if "frame" in types:
                    return message
                continue
            message = json.loads(message)
            if message["type"] == "verdicts":
                self.verdicts = message["verdicts"]
            if message["type"] in types and condition(message):
                return message

    def judged(self):
        """The verdicts on the whole file, once they are there."""
        while self.verdicts is None:
            self.hear("verdicts")
        return self.verdicts

    def send(self, **message):
        self.socket.send(json.dumps(message))

    def row(self, name):
        return next(row for row in self.rows if row["name"] == name)

    def show(self, row, window, until, columns=COLUMNS, **more):
        """What is seen of a stream: the description, the times of the columns' left edges, and least and greatest of each."""
        self.generation += 1
        self.send(type="show", view=0, generation=self.generation, stream=row["id"], columns=columns, window=window,
                  until=until, **more)
        view = self.hear("view", "refused")
        frame = self.hear("frame")
        generation, rows, count, _ = struct.unpack_from("<4I", frame)
        assert generation == self.generation and rows == len(view["channels"])
        index = numpy.frombuffer(frame, "<f8", count, 24)
        extremes = numpy.frombuffer(frame, "<f4", 2 * rows * count, 24 + 8 * count).reshape(count, rows, 2)
        return view, index * view["column_seconds"], extremes


@contextlib.contextmanager
def page_of(lab, path):  # noqa: F811
    page = Page(lab, path)
    try:
        yield page
    finally:
        page.process.kill()
        page.process.wait()


@pytest.fixture
def recording(lab):  # noqa: F811
    line = [SCHWANN, "fake", "eeg:8@250", "counter:2@100", "--seconds", "120", "--fault", "gaps=0.2", "-o", "r.xdf"]
    subprocess.run(line, cwd=lab.folder, env=lab.env, check=True, timeout=PATIENCE, capture_output=True)
    streams, _ = pyxdf.load_xdf(str(lab.folder / "r.xdf"), dejitter_timestamps=False)
    return {stream["info"]["name"][0]: stream for stream in streams}


def bounds(stream, edges, seconds, channel):
    """Least and greatest of each column, as numpy finds them."""
    stamps, values = numpy.asarray(stream["time_stamps"]), stream["time_series"][:, channel]
    columns = numpy.floor(stamps / seconds)
    place = [numpy.flatnonzero(columns == round(edge / seconds)) for edge in edges]
    return [(values[rows].min(), values[rows].max()) if len(rows) else (numpy.nan, numpy.nan) for rows in place]


@pytest.mark.parametrize("is_indexed", [True, False])
def test_a_page_sees_what_pyxdf_reads_at_every_zoom(lab, recording, is_indexed):  # noqa: F811
    path = lab.folder / "r.xdf"
    if not is_indexed:
        path.write_bytes(path.read_bytes()[:-200])
    counter = recording["Fake counter:2@100"]
    stamps = counter["time_stamps"]
    with page_of(lab, path) as page:
        first, last = min(s["time_stamps"][0] for s in recording.values()), max(s["time_stamps"][-1] for s in recording.values())
        assert page.span["from"] == pytest.approx(first, abs=1e-6) and page.span["until"] == pytest.approx(last, abs=1e-6)
        assert page.role == "look" and {row["name"] for row in page.rows} == set(recording)
        row = page.row("Fake counter:2@100")
        assert row["total"] == len(stamps) and row["channels"] == 2 and row["kind"] == "signal"
        for window in [1.0, 10.0, 60.0, 120.0, 600.0]:
            for until in [stamps[0] + 1.005, stamps[0] + 60.005, stamps[-1] + 0.5]:
                view, edges, extremes = page.show(row, window, until)
                expected = numpy.array(bounds(counter, edges, view["column_seconds"], 1))
                inside = (stamps >= until - window) & (stamps < until)
                # The first column and the last are cut by the edges of the window.
                assert numpy.array_equal(extremes[1:-1, 1], expected[1:-1], equal_nan=True), (window, until)
                whole = numpy.unique(numpy.floor(stamps[inside] / view["column_seconds"]))
                drawn = edges[~numpy.isnan(extremes[:, 1, 0])] / view["column_seconds"]
                assert numpy.array_equal(numpy.round(drawn), whole)
                assert numpy.nanmin(extremes[:, 1]) == counter["time_series"][inside, 1].min()
                assert numpy.nanmax(extremes[:, 1]) == counter["time_series"][inside, 1].max()


def test_a_sealed_recording_is_shown_with_the_key_and_never_without(lab, recording):  # noqa: F811
    lab.env["SCHWANN_KEYS"] = str(lab.folder / "keys")
    for line in [["keys", "archive", "--unprotected"], ["repair", "r.xdf", "-o", "r.xdf.age"]]:
        subprocess.run([SCHWANN, *line], cwd=lab.folder, env=lab.env, check=True, timeout=PATIENCE, capture_output=True)
    (lab.folder / "r.xdf").unlink()
    counter = recording["Fake counter:2@100"]
    stamps = counter["time_stamps"]
    with page_of(lab, lab.folder / "r.xdf.age") as page:
        row = page.row("Fake counter:2@100")
        assert {row["name"] for row in page.rows} == set(recording) and row["total"] == len(stamps)
        for window in [1.0, 60.0]:
            view, edges, extremes = page.show(row, window, stamps[0] + 60.005)
            expected = numpy.array(bounds(counter, edges, view["column_seconds"], 1))
            assert numpy.array_equal(extremes[1:-1, 1], expected[1:-1], equal_nan=True), window
        found = page.judged()
        assert any("gap" in verdict["text"] for verdict in found)
    lab.env["SCHWANN_KEYS"] = str(lab.folder / "elsewhere")
    line = [SCHWANN, "dash", "--no-browser", "--port", "0", "r.xdf.age"]
    done = subprocess.run(line, cwd=lab.folder, env=lab.env, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 3 and "sealed" in done.stderr and "--identity" in done.stderr, done


def test_filters_analyses_events_and_verdicts_are_those_of_live_streams(lab, recording):  # noqa: F811
    eeg, name = recording["Fake eeg:8@250"], "Fake eeg:8@250"
    markers = next(stream for stream in recording.values() if stream["info"]["channel_format"][0] == "string")
    with page_of(lab, lab.folder / "r.xdf") as page:
        row, until = page.row(name), eeg["time_stamps"][0] + 60
        plain, where, before = page.show(row, 10, until, channels=[0])
        view, edges, after = page.show(row, 10, until, channels=[0], filters={"high_pass": 0.5, "low_pass": 0, "notch": 50})
        assert plain["unit"] and plain["names"] and view["filters"]["high_pass"] == 0.5
        # What filters need to settle comes along before the window.
        assert numpy.array_equal(edges[-len(where):], where)
        assert not numpy.allclose(before, after[-len(where):], equal_nan=True)
        page.send(type="analyse", view=0, rows=[0], spectrogram=0)
        analysis = page.hear("analysis")
        assert analysis["spectra"]["seconds"] > 0.5 and analysis["spectrogram"]["slices"]
        page.show(row, 30, until)
        texts = page.hear("markers")
        inside = (markers["time_stamps"] >= until - 30) & (markers["time_stamps"] < until)
        expected = [text[0] for text, is_inside in zip(markers["time_series"], inside) if is_inside]
        assert [marker["text"] for marker in texts["markers"]] == expected and len(expected) > 3 and texts["is_all"]
        found = page.judged()
        gaps = [verdict for verdict in found if verdict["stream"] == row["id"] and "gap" in verdict["text"]]
        jumps = numpy.flatnonzero(numpy.diff(eeg["time_stamps"]) > 0.05)
        page.show(page.row("Fake counter:2@100"), 10, until)
        shown = page.hear("streams", condition=lambda message: message["shown"])["shown"]
        assert shown[0]["stream"] == page.row("Fake counter:2@100")["id"] and len(shown[0]["gaps"]) > 100
        assert gaps and gaps[0]["time"] == pytest.approx(eeg["time_stamps"][jumps[0]], abs=1e-6)
        page.send(type="mark", text="x", request=9)
        assert page.hear("refused")["request"] == 9
        for wish in [{"stream": 99}, {"stream": 0, "window": 1e300}, {"stream": 0, "until": -1e300}, {"stream": 0, "columns": 0}]:
            page.send(**{"type": "show", "view": 1, "generation": 1, "columns": 10, "window": 10, "until": 0, **wish})
        page.send(type="clock", sent=5)
        assert page.hear("clock")["sent"] == 5, "the page goes on whatever was asked"


def test_what_is_no_recording_is_said(lab):  # noqa: F811
    (lab.folder / "no.xdf").write_text("no")
    for name in ["no.xdf", "none.xdf"]:
        line = [SCHWANN, "dash", "--no-browser", "--port", "0", name]
        done = subprocess.run(line, cwd=lab.folder, env=lab.env, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 3 and name in done.stderr, done
