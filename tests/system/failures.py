"""Runs every command of `schwann` where something is wrong: failures.py PROGRAM [WORD].

There is no key though one is required, no network, a clock that is 15 years ahead, a folder that is read-only, or a full disk. Each command
ends by itself or at Ctrl-C, without a panic. One that did not do its work says so by its exit code and names what to do next. No file that
was there is lost. `schwann keys` has a test of its own, keys.py.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))

from disk import Disk  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1])
ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRATCH = pathlib.Path(tempfile.mkdtemp())
# What a person can do next: a command, an option, or a thing to change.
NEXT = re.compile(r"`[^`]+`|schwann [a-z]+|--\w+|make room|name a file|run this again|check how it is written|all it said is in|says above why")
NOBODY = "127.0.0.1:1"
HASH = "0123456789abcdef0123456789abcdef01234567"
COMMANDS = f"""--once
--json
completions bash
man
config show
config path
config set tuning.TimeProbeCount 8
config edit
peers
peers add 192.0.2.1
peers remove 192.0.2.9
fake counter:2@100 --seconds 1
fake counter:2@100 --seconds 1 -o fake.xdf
demo --seconds 1 --no-dash
demo --seconds 1 --no-dash -o demo.xdf
record --seconds 2
record --seconds 2 -o one.xdf type='Test'
record --seconds 2 -o none.xdf nothing
watch nothing
dash --no-browser --port 0
dash --no-browser --port 0 good.xdf
play good.xdf
info good.xdf
verify good.xdf
verify good.xdf --html page.html
export --to csv good.xdf
export --bids study --subject 01 --task rest good.xdf
repair cut.xdf
sign --name me --meaning reviewed good.xdf
doctor
doctor 127.0.0.1
run -- true
gateway
swap app --library ours.so
swap --list
swap --undo
mse check {NOBODY} {HASH}
mse proxy --outward 127.0.0.1:0
mse proxy --inward 127.0.0.1:0 --client {NOBODY} --torrents-file none.txt
hub up
relay out --hub wss://{NOBODY}
relay in --hub wss://{NOBODY}
relay status --hub wss://{NOBODY}
record --hub wss://{NOBODY} -o far.xdf --seconds 2
ft serve localhost:1973
ft get {NOBODY}
ft put {NOBODY}
ft wait --samples 1 {NOBODY}
ft events {NOBODY}
ft publish {NOBODY}
ft dump {NOBODY}
ft record buffer {NOBODY}
ft playback none {NOBODY}
ft generate {NOBODY}
ft mirror nothing localhost:1974
ft tunnel share --listen 127.0.0.1:0
ft tunnel join {NOBODY} localhost:1975
keys status""".splitlines()
# By what is wrong: the beginnings of commands that cannot do their work then, or find something wrong.
WRITE = ("config set", "config edit", "swap app", "swap --undo", "peers add", "fake counter:2@100 --seconds 1 -o", "demo", "record",
         "verify good.xdf --html", "export --to", "repair", "relay in", "relay status")
SEAL = ("ft tunnel", "--once", "fake counter:2@100 --seconds 1|", "play", "doctor", "gateway", "hub", "relay", "record")
# A demo without a key needs none.
FAIL = {"full": WRITE, "read-only": WRITE, "keyless": SEAL, "wrong clock": (*SEAL, "demo", "keys status"),
        "alone": ("--once", "--json", "demo", "record", "watch", "doctor", "relay", "hub", "ft mirror")}
# In every condition: no program answers.
NOWHERE = ("mse check", "mse proxy --inward", "ft tunnel join", "ft get", "ft put", "ft wait", "ft events", "ft publish", "ft dump",
           "ft record", "ft playback", "ft generate")


def environment(folder: pathlib.Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SCHWANN", "LSL", "XDG"))}
    return {**kept, "HOME": str(folder), "LSLAPICFG": str(folder / "lsl_api.cfg"), "XDG_RUNTIME_DIR": str(folder / "run"),
            "EDITOR": "sed -i 1s/^/;edited/", **more}


def configured(folder: pathlib.Path, more: str = "") -> pathlib.Path:
    folder.mkdir(exist_ok=True)
    (folder / "lsl_api.cfg").write_text(f"[ports]\nIPv6=disable\n[multicast]\nResolveScope=machine\n[lab]\nSessionID={SCRATCH.name}\n{more}")
    return folder


def libraries(home: pathlib.Path) -> None:
    """A program with a library of its own, and one that passes for ours."""
    (home / "app").mkdir()
    for place, functions in (("app/liblsl.so", ["lsl_create_outlet"]), ("ours.so", ["lsl_create_outlet", "schwann_inlet_lag"])):
        source = "".join(f"void {function}(void) {{}}" for function in functions)
        subprocess.run(["cc", "-shared", "-s", "-x", "c", "-", "-o", home / place], input=source, text=True, check=True)


def healthy() -> pathlib.Path:
    """A home with keys, a recording, one that was cut off, and a program."""
    home = configured(SCRATCH / "healthy")
    libraries(home)
    for words in ("fake counter:2@100 --seconds 3 -o good.xdf", "keys init --unprotected"):
        subprocess.run([PROGRAM, *words.split()], cwd=home, env=environment(home), check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    whole = (home / "good.xdf").read_bytes()
    (home / "cut.xdf").write_bytes(whole[:len(whole) * 2 // 3])
    return home


def files(folder: pathlib.Path) -> dict[pathlib.Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name not in ("filler", "lsl_api.cfg")}


def runs(words: str, folder: pathlib.Path, before: list[str], more: dict[str, str]) -> None:
    """Runs a command to its end, or until Ctrl-C after 8 s, and judges it."""
    program = subprocess.Popen([*before, PROGRAM, *words.split()], cwd=folder, env=environment(folder, **more), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    try:
        said, _ = program.communicate(timeout=8)
    except subprocess.TimeoutExpired:
        os.killpg(program.pid, signal.SIGINT)
        said, _ = program.communicate(timeout=60)
    code = program.returncode
    assert code in (0, 1, 3), (words, code, said)
    assert "panicked" not in said and "os error" not in said, (words, said)
    # What a script reads, and what a command did although something was wrong, name no next step.
    if code and "--json" not in words and "salvaged" not in said:
        assert NEXT.search(said), (words, code, said)
    print(f"  {code}  {words}", flush=True)
    if any((words + "|").startswith(beginning) for beginning in (*FAIL[sys.argv[3]], *NOWHERE)):
        assert code, (words, said)


def everything(folder: pathlib.Path, before: list[str], **more: str) -> None:
    was, wrong = files(folder), []
    for words in COMMANDS:
        try:
            runs(words, folder, before, more)
        except (AssertionError, subprocess.TimeoutExpired) as reason:
            wrong.append(f"FAILED: {reason}")
    assert not wrong, "\n".join(wrong)
    now = files(folder)
    changed = [path for path, content in was.items() if now.get(path) != content]
    assert not changed, changed


def on_a_disk(spoil) -> None:
    home = healthy()
    with Disk(SCRATCH / "disk", 1024) as disk:
        shutil.copytree(home, disk.folder, dirs_exist_ok=True)
        spoil(disk)
        everything(disk.folder, [])


def with_a_wrong_clock() -> None:
    library = SCRATCH / "clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, ROOT / "tests" / "tools" / "wrong_clock.c"], check=True)
    everything(healthy(), [], LD_PRELOAD=str(library), CLOCK_AHEAD=str(15 * 365 * 86_400))


def keyless() -> None:
    home = configured(SCRATCH / "keyless", "[security]\npolicy=require\n")
    whole = healthy()
    for name in ("good.xdf", "cut.xdf"):
        shutil.copy(whole / name, home)
    libraries(home)
    everything(home, [])


CONDITIONS = {
    "full": lambda: on_a_disk(Disk.fill),
    "read-only": lambda: on_a_disk(Disk.make_read_only),
    "wrong clock": with_a_wrong_clock,
    "keyless": keyless,
    # Not even loopback is up.
    "alone": lambda: everything(healthy(), ["unshare", "--net"]),
}


def main() -> None:
    """Each condition in a network of its own, all at once."""
    script = 'ip link set lo up; ip link set lo multicast on; exec python3 "$0" "$1" --condition "$2"'
    begun = {name: subprocess.Popen(["unshare", "--net", "--mount", "bash", "-c", script, __file__, PROGRAM, name], text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
             for name in CONDITIONS if " ".join(sys.argv[2:]) in name}
    failed = []
    for name, process in begun.items():
        said, _ = process.communicate()
        print(f"{name}\n{said}", end="", flush=True)
        failed += [name] * (process.returncode != 0)
    print(f"test result: {'FAILED' if failed else 'ok'}. {len(begun) - len(failed)} passed; {len(failed)} failed")
    sys.exit(len(failed) > 0)


if __name__ == "__main__":
    if sys.argv[2:3] == ["--condition"]:
        try:
            CONDITIONS[sys.argv[3]]()
        finally:
            shutil.rmtree(SCRATCH, ignore_errors=True)
    else:
        main()
