"""Runs the checks of this folder side by side, and says how many passed.

A check is a file NN-name.sh. Those whose names begin with 0 start before the others.
A check exits 0 (passed), 77 (cannot exist here; its last line says why) or anything else (failed).
The first lines of a check say what it needs:

    # after: 00-build     checks that must have passed; they run, too, if only this one is chosen
    # cores: 2            processors that it keeps busy; 1 without this line, 0 for a check that mostly waits
    # network: own        it runs in a network of its own, without the world outside
    # debian: valgrind    packages of Debian
    # target: NAME        targets of the Rust toolchain
    # nightly: miri       components of a nightly toolchain
    # fetch: NAME         functions of environment.sh that bring what is not in the registry of a language
"""

import argparse
import collections
import contextlib
import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
from typing import TextIO

ROOT = pathlib.Path(__file__).resolve().parent.parent
STATE = pathlib.Path(os.environ["SCHWANN_STATE"])
TIMES = STATE / "seconds.json"
QUICK = ("00-build", "format", "lints", "layers", "pitfalls", "citations", "self-calls", "rust")
SKIPPED = 77
# In the environment of all that the checks of this run start.
RUN = {"SCHWANN_RUN": str(os.getpid())}
# What a private network has: loopback and one interface like Ethernet, with multicast on both.
NETWORK = """ip link set lo up && ip link set lo multicast on
# An address that is usable a second later, at either end, is a change of the network, at which a browser drops what it loads.
{ echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad; } 2> /dev/null
ip link add eth0 type veth peer name eth0-far && ip addr add 10.77.0.1/24 dev eth0
ip link set eth0 up && ip link set eth0-far up && ip route add default dev eth0
exec "$@" """


class Check:
    def __init__(self, path: pathlib.Path, seconds: dict[str, float]):
        self.name, self.path, self.log = path.stem, path, STATE / f"{path.stem}.log"
        head = path.read_text().split("\nset ", 1)[0]
        self.needs = collections.defaultdict(list)
        for key, value in re.findall(r"^# (after|cores|network|debian|target|nightly|fetch): (.+)$", head, re.M):
            self.needs[key] += value.split()
        self.cores = int(self.needs.get("cores", ["1"])[0])
        self.after: list[Check] = []
        # A check that never ran may be the longest.
        self.expected = seconds.get(self.name, 1e9)
        self.process, self.code = None, None
        self.started, self.seconds, self.processor = 0.0, 0.0, 0.0

    def start(self, isolated: bool) -> None:
        command, environment = ["bash", str(self.path)], os.environ | RUN
        if isolated and "network" in self.needs:
            command = ["unshare", "--net", "bash", "-c", NETWORK, "network", *command]
            environment |= {"CARGO_NET_OFFLINE": "true", "SCHWANN_NETWORK": "own"}
        self.started = time.monotonic()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            preexec_fn=os.setpgrp)

    def after_others(self) -> bool:
        return all(check.code == 0 for check in self.after)

    def left_out(self) -> bool:
        """Whether one that it comes after did not pass: then it has ended in the same way."""
        for check in self.after:
            if check.code:
                self.code = check.code
                self.log.write_text(f"it comes after {check.name}: {check.word()}\n")
                return True
        return False

    def end(self) -> None:
        """Ends it and all of its group, and gives it time to clean up."""
        os.killpg(self.process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5)

    def ended(self) -> bool:
        # The system's own account of the check and of all that it waited for.
        pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
        if pid:
            self.code = self.process.returncode = os.waitstatus_to_exitcode(status)
            self.processor = usage.ru_utime + usage.ru_stime
        self.seconds = time.monotonic() - self.started
        return bool(pid)

    def said(self) -> list[str]:
        return self.log.read_text(errors="replace").splitlines()

    def word(self) -> str:
        return {0: "passed", SKIPPED: "SKIPPED"}.get(self.code, "FAILED")

    def print(self) -> None:
        print(f"\n=== {self.name}", *self.said(), sep="\n")
        print(f"--- {self.word()} {self.name} ({self.seconds:.0f} s, {self.processor:.0f} s of processor)", flush=True)


def chosen(words: list[str], seconds: dict[str, float]) -> list[Check]:
    paths = sorted((ROOT / "checks").glob("[0-9]*.sh"))
    words = [word for word in words if word != "quick"] + list(QUICK if "quick" in words else ())
    checks = {path.stem: Check(path, seconds) for path in paths}
    names = [name for name in checks if not words or any(word in name for word in words)]
    for name in names:
        checks[name].after = [checks[before] for before in checks[name].needs["after"]]
        names += [before for before in checks[name].needs["after"] if before not in names]
    return [check for name, check in checks.items() if name in names]


def missing(checks: list[Check]) -> list[list[str]]:
    """The commands that install what the checks need and this machine lacks."""
    wanted = lambda key: sorted({name for check in checks for name in check.needs.get(key, [])})
    output = lambda *command: subprocess.run(command, capture_output=True, text=True).stdout
    commands = []
    if shutil.which("apt-get"):
        here = set(output("dpkg-query", "-W", "-f", "${Package}\n").split())
        if packages := [name for name in wanted("debian") if name not in here]:
            commands += [["apt-get", "update", "-qq"], ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages]]
    if shutil.which("rustup"):
        here = set(output("rustup", "target", "list", "--installed").split())
        if targets := [name for name in wanted("target") if name not in here]:
            commands.append(["rustup", "target", "add", *targets])
        components = wanted("nightly")
        here = output("rustup", "+nightly", "component", "list", "--installed")
        if any(name not in here for name in components):
            names = ",".join(components)
            commands.append(["rustup", "toolchain", "install", "nightly", "--profile", "minimal", "--component", names])
    return commands


def install(checks: list[Check], permitted: bool) -> None:
    commands = missing(checks)
    if not commands:
        return
    print("These commands install what is missing, outside of this folder:", *(f"  {' '.join(one)}" for one in commands), sep="\n")
    if not permitted:
        print("They are left out (--no-install): a check that cannot do without them says so.", flush=True)
        return
    for command in commands:
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=900)
        if done.returncode:
            print(f"`{' '.join(command)}` failed: {done.stderr.strip()[-300:]}", flush=True)


def prepare(checks: list[Check]) -> None:
    """Brings what a check cannot fetch from a network of its own."""
    if any("network" in check.needs for check in checks):
        names = dict.fromkeys(["python_packages"] + [name for check in checks for name in check.needs.get("fetch", [])])
        subprocess.run(["bash", "-c", " && ".join(["source checks/environment.sh", "cargo fetch --locked --quiet", *names])], cwd=ROOT)


def can_isolate() -> bool:
    command = ["unshare", "--net", "bash", "-c", NETWORK, "network", "true"]
    return bool(shutil.which("ip")) and subprocess.run(command, capture_output=True).returncode == 0


def run(checks: list[Check]) -> None:
    """Starts the longest first, those that wait beside those that fill every processor, and never more processors' worth than there are."""
    slots = os.cpu_count() or 2
    isolated = can_isolate()
    if not isolated:
        print("This machine permits no network of one's own: the checks run one by one.")
    waiting = sorted(checks, key=lambda check: (not check.name.startswith("0"), -check.expected, check.cores == 1))
    running = []
    try:
        while waiting or running:
            for check in [one for one in waiting if one.after_others()]:
                # Checks that wait have as many places of their own as there are processors.
                busy = sum(one.cores for one in running) if check.cores else sum(not one.cores for one in running)
                if not running or (isolated and busy + max(check.cores, 1) <= slots):
                    waiting.remove(check)
                    running.append(check)
                    check.start(isolated)
            for check in [one for one in running if one.ended()]:
                running.remove(check)
                check.print()
            waiting = [check for check in waiting if not check.left_out()]
            time.sleep(0.05)
    finally:
        for check in running:
            check.end()
        end_the_rest()


def end_the_rest() -> None:
    """Ends what checks have started in sessions of their own, which a signal to their group does not reach: hubs, browsers, Wine."""
    mark = f"SCHWANN_RUN={RUN['SCHWANN_RUN']}".encode()
    ended = set()
    for environment in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in environment.read_bytes().split(b"\0"):
                ended.add((environment.parent / "comm").read_text().strip())
                os.kill(int(environment.parent.name), signal.SIGKILL)
        except OSError:
            # It has ended by itself, or belongs to somebody else.
            continue
    if ended:
        print(f"These were still running, and are ended: {', '.join(sorted(ended))}", flush=True)


def counted(checks: list[Check]) -> tuple[int, int]:
    """Tests inside the checks, as their own runners counted them."""
    passed = failed = 0
    for line in (line for check in checks for line in check.said()):
        if re.match(r"test result:|=* ?\d+ (passed|failed).* in [\d.]+s|\s+Summary \[", line):
            for number, word in re.findall(r"(\d+) (passed|failed)", line):
                passed, failed = (passed + int(number), failed) if word == "passed" else (passed, failed + int(number))
    return passed, failed


def main() -> int:
    parser = argparse.ArgumentParser(prog="./test.sh", description="Runs every check, or those whose name contains a word; `quick` is the short list.")
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--no-install", action="store_true", help="install nothing outside of this folder")
    arguments = parser.parse_args()
    # A shell starts background programs with Ctrl-C ignored, and theirs inherit that. A handler here gives them the default.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("Ended from outside; so are its checks."))
    if "quick" in arguments.words:
        # A tenth of what a full run simulates. Each planted fault is found within 221 runs.
        os.environ.setdefault("SCHWANN_SIMULATIONS", "2000")
    began = time.monotonic()
    STATE.mkdir(parents=True, exist_ok=True)
    lock = alone()
    seconds = json.loads(TIMES.read_text()) if TIMES.exists() else {}
    checks = chosen(arguments.words, seconds)
    free_mib = shutil.disk_usage(ROOT).free >> 20
    if free_mib < 6500:
        print(f"Only {free_mib} MiB are free here, and the checks may need 6500: `cargo clean` or a larger disk helps.")
    install(checks, not arguments.no_install)
    prepare(checks)
    run(checks)
    seconds |= {check.name: round(check.seconds, 1) for check in checks if check.code == 0}
    TIMES.write_text(json.dumps(seconds, indent=1, sort_keys=True))
    lock.close()
    return report(checks, time.monotonic() - began)


def alone() -> TextIO:
    """The right to run in this folder, until it is closed. Two runs would use each other's files."""
    lock = (STATE / "running").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit("Another ./test.sh runs in this folder: wait for its end, or run this one in another clone.")
    return lock


def report(checks: list[Check], seconds: float) -> int:
    failures = [check for check in checks if check.code not in (0, SKIPPED)]
    skips = [check for check in checks if check.code == SKIPPED]
    for check in failures:
        print(f"\n=== the last lines of {check.name}", *check.said()[-40:], sep="\n")
    print(f"\nchecks in {seconds:.0f} s")
    for check in skips:
        print(f"SKIPPED {check.name}: {(check.said() or ['it does not say why'])[-1]}")
    for check in failures:
        print(f"FAILED {check.name} (exit {check.code}, {check.seconds:.0f} s)")
    passed, failed = counted(checks)
    print(f"tests inside them: {passed} passed, {failed} failed")
    print(f"{len(checks) - len(failures) - len(skips)} passed, {len(failures)} failed, {len(skips)} skipped")
    return 1 if failures or len(skips) == len(checks) else 0


if __name__ == "__main__":
    sys.exit(main())
