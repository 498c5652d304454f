"""`schwann record --control`: programs drive the recorder over HTTP and WebSocket, strangers do not."""

import contextlib
import http.client
import json
import pathlib
import signal
import stat
import subprocess
import sys
import urllib.parse

import pytest
import requests
import websocket

from test_xdf_cli import PATIENCE, SCHWANN, lab  # noqa: F401 (a fixture)


KEY = "age1hda8z0sq4ng8mm8jpya82skllzzhcz7s0774jergu7lwt77c6ans4z8wm4"


class Recorder:
    """`schwann record --control` in a lab, and what it says."""

    def __init__(self, lab, *arguments):
        line = ["record", "--control", "127.0.0.1:0", "--control-file", "control", "--folder", "data", "--json"]
        self.lab, self.process = lab, lab.schwann(*line, *arguments)
        self.url = json.loads(self.process.stdout.readline())["control"]["record"]
        self.origin, _, self.token = self.url.partition("/?token=")
        self.host = self.origin.removeprefix("http://")

    def post(self, **order):
        """Asks as programs in most languages do."""
        answer = requests.post(f"{self.origin}/api/record", params={"token": self.token, **order}, timeout=PATIENCE)
        return answer.status_code, answer.json()

    def join(self, **options):
        address = f"ws://{self.host}/live?token={self.token}"
        return websocket.create_connection(address, timeout=PATIENCE, **options)

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=PATIENCE)
        return self.process.returncode


@pytest.fixture
def senders(lab):  # noqa: F811
    process = lab.schwann("fake", "counter@250", "sine:2@100")
    yield process
    process.kill()
    process.wait()


@contextlib.contextmanager
def recorder_in(lab, *arguments):  # noqa: F811
    recorder = Recorder(lab, *arguments)
    try:
        yield recorder
    finally:
        recorder.process.kill()
        recorder.process.wait()


def hear(socket, condition):
    """The first message for which the condition holds."""
    while True:
        message = json.loads(socket.recv())
        if condition(message):
            return message


def samples(message, name):
    streams = ((message.get("recorder") or {}).get("recording") or {}).get("streams", [])
    return next((stream["samples"] for stream in streams if stream["name"] == name), 0)


def tell(socket, number, **order):
    """Gives an order over a WebSocket, and returns the answer to it."""
    socket.send(json.dumps({"type": "record", "request": number, **order}))
    return hear(socket, lambda message: message.get("request") == number)


def names(lab):  # noqa: F811
    folder = lab.folder / "data"
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.xdf"))


def test_a_program_starts_names_annotates_goes_on_and_stops_and_hears_what_happens(lab, senders):  # noqa: F811
    with recorder_in(lab) as recorder:
        socket = recorder.join()
        assert hear(socket, lambda message: message["type"] == "hello")["role"] == "record"
        found = hear(socket, lambda message: len(message.get("found", [])) == 2)["found"]
        assert {(stream["channels"], stream["nominal_rate"]) for stream in found} == {(1, 250.0), (2, 100.0)}
        counter = next(stream["name"] for stream in found if stream["channels"] == 1)
        plan = {"template": "%p/run%n", "participant": "P3", "wanted": [counter]}
        assert tell(socket, 1, order="prepare", **plan)["type"] == "recorder"
        assert tell(socket, 2, order="note", text="too early")["type"] == "refused"
        assert tell(socket, 3, order="start")["type"] == "recorder"
        refused = tell(socket, 4, order="start")
        assert refused["type"] == "refused" and "already" in refused["reason"]
        state = hear(socket, lambda message: samples(message, counter) > 100)
        assert [stream["name"] for stream in state["recorder"]["recording"]["streams"]] == [counter]
        assert tell(socket, 5, order="note", text="the door was open: ä")["type"] == "recorder"
        assert recorder.post(order="next")[0] == 200
        hear(socket, lambda message: "run002" in str(message.get("recorder")) and samples(message, counter) > 200)
        status, answer = recorder.post(order="stop")
        assert status == 200 and answer["recorder"]["recording"] is None
        hear(socket, lambda message: message["type"] == "state" and message["recorder"]["ended"])
        assert recorder.post(order="stop")[0] == 409
        socket.close()
        assert recorder.end() == 0
    assert names(lab) == ["P3/run001.xdf", "P3/run002.xdf"]
    streams = lab.load("data/P3/run001.xdf")
    assert counter in streams and len(streams) == 3
    assert ["the door was open: ä"] in streams["Annotations"]["time_series"]
    first, second = (lab.load(f"data/P3/run00{n}.xdf")[counter]["time_series"] for n in (1, 2))
    values = [*first[:, 0], *second[:, 0]]
    assert values == [values[0] + n for n in range(len(values))], "no sample is missing or twice there"


def test_the_file_of_the_address_is_the_users_own_and_goes_with_the_recorder(lab, senders):  # noqa: F811
    path = lab.folder / "control"
    victim = lab.folder / "victim"
    victim.write_text("mine")
    path.symlink_to(victim)
    with recorder_in(lab) as recorder:
        assert path.read_text() == f"{recorder.url}\n" and not path.is_symlink()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600 and victim.read_text() == "mine"
        answer = requests.get(f"{recorder.origin}/api/recorder", timeout=PATIENCE,
                              headers={"Authorization": f"Bearer {recorder.token}"})
        assert answer.status_code == 200 and answer.json()["recorder"]["recording"] is None
        recorder.end()
    assert not path.exists()


def test_strangers_neither_drive_nor_see_the_recorder(lab, senders):  # noqa: F811
    with recorder_in(lab) as recorder:
        wrong = [None, "", "0" * 32, recorder.token[:-1], recorder.token + "0", recorder.token.upper() + "x"]
        for token in wrong:
            query = {} if token is None else {"token": token}
            for method, path in [("get", "recorder"), ("post", "record")]:
                url = f"{recorder.origin}/api/{path}"
                for options in [{"params": {**query, "order": "start"}},
                                {"params": {"order": "start"}, "headers": {"Authorization": f"Bearer {token}"}}]:
                    answer = requests.request(method, url, timeout=PATIENCE, **options)
                    assert answer.status_code == 403, (token, path, options)
            for origin in [None, "http://evil.example", "null", f"http://{recorder.host}"]:
                with pytest.raises(websocket.WebSocketBadStatusException) as refused:
                    address = f"ws://{recorder.host}/live?{urllib.parse.urlencode(query)}"
                    options = {"suppress_origin": True} if origin is None else {"origin": origin}
                    websocket.create_connection(address, timeout=PATIENCE, **options)
                assert refused.value.status_code == 403
        # A name that an attacker makes point here (DNS rebinding) is refused even with the token.
        connection = http.client.HTTPConnection(recorder.host, timeout=PATIENCE)
        connection.request("POST", f"/api/record?token={recorder.token}&order=start", headers={"Host": "evil.example"})
        assert connection.getresponse().status == 403
        # A cookie is never set, so no page of another origin acts in the user's name.
        page = requests.get(recorder.url, timeout=PATIENCE)
        assert page.status_code == 200 and "Set-Cookie" not in page.headers and recorder.token not in page.text
        assert requests.get(f"{recorder.origin}/api/record?token={recorder.token}&order=start",
                            timeout=PATIENCE).status_code == 405, "a link that is followed changes nothing"
        assert recorder.post(order="stop")[0] == 409, "nothing was ever started"
        recorder.end()
    assert names(lab) == []


HOSTILE = [
    {"template": "../escape"}, {"template": "a/../../escape"}, {"template": "CON"},
    {"template": "C:\\escape"}, {"template": "a\0b"}, {"template": "%p", "participant": "../escape"},
    {"folder": ".."}, {"folder": "/"}, {"folder": "a/../.."}, {"folder": "link"}, {"folder": "C:\\"},
    {"template": "x" * 5000}, {"template": "%p", "participant": "a/b"}, {"template": ".hidden"},
    {"naming": "bids", "participant": "../01", "task": "rest"}, {"naming": "bids", "task": "rest"},
    {"naming": "template"},
]


def test_no_name_leads_out_of_the_folder(lab, senders):  # noqa: F811
    outside = lab.folder / "outside"
    outside.mkdir()
    (lab.folder / "data").mkdir()
    (lab.folder / "data" / "link").symlink_to(outside)
    before = sorted(lab.folder.rglob("*"))
    with recorder_in(lab) as recorder:
        for plan in HOSTILE:
            status, answer = recorder.post(order="start", **plan)
            assert status == 409 and answer["reason"], plan
        control = lab.folder / "control"
        assert sorted(path for path in lab.folder.rglob("*") if path != control) == before
        elsewhere = pathlib.Path(f"/{lab.folder.name}-escape.xdf")
        assert recorder.post(order="start", template=str(elsewhere), folder=".")[0] == 200
        assert recorder.post(order="stop")[0] == 200 and not elsewhere.exists()
        assert names(lab) == [elsewhere.name]
        bad = [{}, {"order": "x"}, {"order": "note"}, {"order": "start", "run": "one"}, {"order": "start", "naming": "x"},
               {"order": "start", "particpant": "P3"}]
        for order in bad:
            status, answer = recorder.post(**order)
            assert status == 400 and answer["reason"], order
        assert recorder.post(order="start", wanted="name='")[0] == 409, "a query that is none"
        assert recorder.post(order="start", required="nowhere")[0] == 409, "a stream that is not there"
        assert recorder.post(order="start")[0] == 200, "what was refused is not in force"
        assert recorder.post(order="stop")[0] == 200
        socket = recorder.join()
        for text in ["", "{", "[]", "{\"type\":\"record\"}", "{\"type\":\"record\",\"order\":\"start\",\"wanted\":3}"]:
            socket.send(text)
            assert hear(socket, lambda message: message["type"] == "refused")["reason"], text
        socket.send("x" * (200 << 10))
        with pytest.raises((websocket.WebSocketException, OSError)):
            hear(socket, lambda message: False)
        status, answer = recorder.post(order="start", required="", naming="dated")
        assert status == 200, answer
        recorder.end()
    assert len(names(lab)) == 3


def test_beyond_loopback_there_is_tls_and_a_link_for_each_role(lab):  # noqa: F811
    process = subprocess.Popen([SCHWANN, "record", "--control", "0.0.0.0:0", "--folder", "data", "--json"], text=True,
                               cwd=lab.folder, env={**lab.env, "SCHWANN_KEYS": str(lab.folder / "keys")},
                               stdout=subprocess.PIPE)
    try:
        told = json.loads(process.stdout.readline())
        links = told["control"]
        assert set(links) == {"look", "mark", "record"} and len(told["fingerprint"]) > 60
        port = urllib.parse.urlsplit(links["look"]).port
        certificate = str(lab.folder / "keys" / "dash.pem")

        def ask(role, method, path, **query):
            token = links[role].partition("token=")[2]
            return requests.request(method, f"https://localhost:{port}/api/{path}", params={"token": token, **query},
                                    verify=certificate, timeout=PATIENCE)

        assert ask("look", "get", "recorder").status_code == 200
        assert ask("look", "post", "record", order="start").status_code == 403
        assert ask("mark", "post", "record", order="start").status_code == 403
        assert ask("record", "post", "record", order="start").status_code == 200
        assert ask("record", "post", "record", order="stop").status_code == 200
        assert requests.get(f"http://localhost:{port}/api/recorder", timeout=PATIENCE).status_code == 400
    finally:
        process.kill()
        process.wait()


def test_the_dashboards_recorder_takes_the_same_orders(lab, senders):  # noqa: F811
    process = lab.schwann("dash", "--no-browser", "--port", "0", "--folder", "data")
    try:
        url = process.stdout.readline().partition("dashboard: ")[2].strip()
        origin, _, token = url.partition("/?token=")

        def post(**order):
            answer = requests.post(f"{origin}/api/record", params={"token": token, **order}, timeout=PATIENCE)
            return answer.status_code, answer.json()

        assert post(order="prepare", wanted="EEG")[0] == 409, "it opens a recorder for each recording"
        status, answer = post(order="start", template="run%n", required="sine:2@100")
        assert status == 409 and "sine:2@100" in answer["reason"]
        status, answer = post(order="start", template="run%n", required=["Fake counter:1@250", "Fake sine:2@100 #2"])
        assert status == 200 and answer["recorder"]["recording"]["path"].endswith("run001.xdf"), answer
        assert post(order="note", text="a + b")[0] == 200 and post(order="stop")[0] == 200
        state = requests.get(f"{origin}/api/recorder", params={"token": token}, timeout=PATIENCE).json()
        assert state["recorder"]["ended"]["streams"] == 2
        assert requests.post(f"{origin}/api/record?order=start", timeout=PATIENCE).status_code == 403
    finally:
        process.kill()
        process.wait()
    assert ["a + b"] in lab.load("data/run001.xdf")["Annotations"]["time_series"]


def test_a_compressed_recording_is_read_by_pyxdf_also_after_a_kill(lab, senders):  # noqa: F811
    for is_killed in [False, True]:
        name = f"{'killed' if is_killed else 'whole'}.xdfz"
        process = lab.schwann("record", "-o", name, "--json")
        for line in process.stdout:
            streams = json.loads(line).get("streams", [])
            if len(streams) == 2 and all(stream["sample_count"] > 100 for stream in streams):
                break
        process.send_signal(signal.SIGKILL if is_killed else signal.SIGINT)
        process.communicate(timeout=PATIENCE)
        assert (lab.folder / name).read_bytes()[:2] == b"\x1f\x8b"
        info = subprocess.run([SCHWANN, "verify", "--json", name], cwd=lab.folder, env=lab.env, text=True,
                              capture_output=True, timeout=PATIENCE)
        found = json.loads(info.stdout)
        assert all(stream["sample_count"] > 50 for stream in found["streams"] if stream["nominal_rate"]), found
        assert found["sound"] != is_killed
        if not is_killed:
            values = lab.load(name)["Fake counter:1@250"]["time_series"][:, 0]
            assert list(values) == [values[0] + n for n in range(len(values))]
    line = [SCHWANN, "record", "--seal", "--to", KEY, "-o", "both.xdfz"]
    both = subprocess.run(line, cwd=lab.folder, env=lab.env, capture_output=True, text=True, timeout=PATIENCE)
    assert both.returncode == 3 and ".xdfz" in both.stderr, both


def test_an_address_that_is_taken_is_said(lab):  # noqa: F811
    with recorder_in(lab) as recorder:
        line = [SCHWANN, "record", "--control", recorder.host, "--folder", "other"]
        second = subprocess.run(line, cwd=lab.folder, env=lab.env, capture_output=True, text=True, timeout=PATIENCE)
        assert second.returncode == 3 and recorder.host.partition(":")[2] in second.stderr
    assert not (lab.folder / "other").exists()


def test_a_file_of_something_else_is_not_taken_for_the_address(lab):  # noqa: F811
    notes = lab.folder / "notes.txt"
    notes.write_text("mine")
    line = [SCHWANN, "record", "--control", "127.0.0.1:0", "--control-file", notes, "--folder", "data"]
    refused = subprocess.run(line, cwd=lab.folder, env=lab.env, capture_output=True, text=True, timeout=PATIENCE)
    assert refused.returncode == 3 and "name another" in refused.stderr, refused
    assert notes.read_text() == "mine"


LABRECORDER = """
import json, signal, socket, subprocess, sys
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
fake = subprocess.Popen([sys.argv[1], "fake", "counter@250"], stdout=subprocess.PIPE, text=True)
fake.stdout.readline()
recorder = subprocess.Popen([sys.argv[1], "record", "--remote", "--folder", "data", "--json"], stdout=subprocess.PIPE, text=True)
told = (json.loads(line) for line in recorder.stdout)
print(next(line["remote"] for line in told if line.get("remote")))
print([line.split()[1] for line in open("/proc/net/tcp") if line.split()[3] == "0A" and line.split()[1].endswith(":5749")])
with socket.create_connection(("localhost", 22345), timeout=30) as script:
    for order in ["select all", "filename {template:run%n.xdf}", "start"]:
        script.sendall(f"{order}\\n".encode())
        print(script.recv(100))
    next(line for line in told if any(stream["sample_count"] > 100 for stream in line["streams"]))
    script.sendall(b"stop\\n")
    print(script.recv(100))
recorder.send_signal(signal.SIGINT)
recorder.communicate(timeout=30)
fake.kill()
fake.wait()
"""


def test_remote_control_is_at_labrecorders_port_of_this_computer_unless_said_otherwise(lab):  # noqa: F811
    line = ["unshare", "--net", sys.executable, "-c", LABRECORDER, SCHWANN]
    if subprocess.run(["unshare", "--net", "true"], capture_output=True).returncode:
        pytest.skip("SKIPPED LOUDLY: this machine permits no networks of one's own")
    done = subprocess.run(line, cwd=lab.folder, env=lab.env, capture_output=True, text=True, timeout=2 * PATIENCE)
    assert done.returncode == 0, done.stderr
    # 22345 is 5749 in hexadecimal digits; nothing but loopback listens there.
    assert done.stdout.splitlines() == ["127.0.0.1:22345", "['0100007F:5749']"] + ["b'OK'"] * 4
    assert names(lab) == ["run001.xdf"]
    assert len(lab.load("data/run001.xdf")["Fake counter:1@250"]["time_stamps"]) > 50
