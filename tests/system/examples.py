"""Runs the examples for users, each against one in another language.

Usage: examples.py <CMake's folder> <Cargo's folder> <installed tree> <scratch folder>
"""

import os
import pathlib
import subprocess
import sys

BUILD, CARGO, TREE, SCRATCH = (pathlib.Path(argument).resolve() for argument in sys.argv[1:5])
ROOT = pathlib.Path(__file__).resolve().parents[2]
LANGUAGES = ["c", "cpp", "python", "rust"]
# Long enough for a busy machine; an example that works never waits for it.
PATIENCE = 60.0
CONFIGURATION = "[log]\nlevel=-2\n[multicast]\nResolveScope=machine\n[ports]\nIPv6=disable\n[lab]\nSessionID=examples\n"
LABELS = "E1 E2 E3 E4 E5 E6 E7 E8"


def command(name: str, language: str) -> list[str]:
    if language == "python":
        return [sys.executable, str(ROOT / "examples" / "python" / f"{name}.py")]
    return [str(CARGO / "examples" / name if language == "rust" else BUILD / f"{name}_{language}")]


def environment(keys: str) -> dict[str, str]:
    (SCRATCH / "lsl_api.cfg").write_text(CONFIGURATION)
    return os.environ | {"LD_LIBRARY_PATH": str(TREE / "lib"), "PYLSL_LIB": str(TREE / "lib" / "liblsl.so"),
                         "LSLAPICFG": str(SCRATCH / "lsl_api.cfg"), "SCHWANN_KEYS": str(SCRATCH / keys), "HOME": str(SCRATCH)}


PLAIN, SEALED = environment("no-keys"), environment("keys")


def run(words: list[str], variables: dict[str, str] = PLAIN, **options) -> subprocess.CompletedProcess:
    return subprocess.run(words, env=variables, timeout=PATIENCE, capture_output=True, text=True, **options)


class Sending:
    """A program that sends as long as the block lasts."""

    def __init__(self, words: list[str], variables: dict[str, str] = PLAIN):
        self.process = subprocess.Popen(words, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> subprocess.Popen:
        if not self.process.stdout.readline():
            raise AssertionError(f"{self.process.args} sends nothing")
        return self.process

    def __exit__(self, *_) -> None:
        self.process.kill()
        self.process.communicate()


def expect(fulfilled: bool, done: subprocess.CompletedProcess) -> None:
    if not fulfilled:
        raise AssertionError(f"{done.args} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")


def streams(sender: str, receiver: str) -> None:
    with Sending(command("send", sender)):
        done = run([*command("receive", receiver), "3"])
        expect(done.returncode == 0 and LABELS in done.stdout and len(done.stdout.splitlines()) == 4, done)
        done = run(command("resolve", receiver))
        expect(done.returncode == 0 and "Waves (EEG): 8 channels at 100 Hz" in done.stdout and "clock +" in done.stdout.replace("clock -", "clock +"), done)
        done = run(command("sealed", receiver))
        expect(done.returncode != 0 and "schwann keys init" in done.stdout + done.stderr, done)


def markers(sender: str) -> None:
    with Sending(command("markers", sender)) as sending:
        watch = subprocess.Popen([str(TREE / "bin" / "schwann"), "watch", "Events", "--count", "2"], env=PLAIN,
                                 stdout=subprocess.PIPE, text=True)
        said, _ = sending.communicate("start\nstop\n", timeout=PATIENCE)
        shown, _ = watch.communicate(timeout=PATIENCE)
        assert "start" in shown and "stop" in shown, f"markers in {sender}: {shown}"


def sealed(sender: str, receiver: str) -> None:
    with Sending(command("send", sender), SEALED):
        done = run(command("sealed", receiver), SEALED)
        expect(done.returncode == 0 and "sealed, sent by first computer" in done.stdout, done)


def recording() -> None:
    file = SCRATCH / "recording.xdf"
    with Sending(command("send", "c")):
        done = run([*command("record_stream", "rust"), str(file)])
        expect(done.returncode == 0, done)
    done = run([str(TREE / "bin" / "schwann"), "verify", str(file)])
    expect(done.returncode == 0, done)


def main() -> None:
    pairs = list(zip(LANGUAGES, LANGUAGES[1:] + LANGUAGES[:1]))
    done = run([str(TREE / "bin" / "schwann"), "keys", "init", "--unprotected"], SEALED)
    expect(done.returncode == 0, done)
    for sender, receiver in pairs:
        streams(sender, receiver)
        markers(sender)
        sealed(sender, receiver)
    recording()
    print(f"test result: ok. {5 * len(pairs) + 1} passed; 0 failed")


if __name__ == "__main__":
    main()
