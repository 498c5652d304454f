"""Follows every page of the guide, each in a network, a folder and a home of its own; then compares its words with the code.

usage: guide.py PROGRAMS SCRATCH [WORD...]      only pages whose path contains a word
"""

import os
import pathlib
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import guide_words

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "guide" / "src"
NETWORK = """ip link set lo up && ip link set lo multicast on
ip link add eth0 type veth peer name eth0-far && ip addr add 10.77.0.1/24 dev eth0
ip link set eth0 up && ip link set eth0-far up && ip route add default dev eth0
exec "$@" """


def checkout(programs: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """What a reader calls $SCHWANN: this repository, with what the checks have built as its release."""
    folder.mkdir()
    for entry in ROOT.iterdir():
        if entry.name != "target":
            (folder / entry.name).symlink_to(entry)
    (folder / "target").mkdir()
    (folder / "target" / "release").symlink_to(programs)
    return folder


def follow(page: pathlib.Path, scratch: pathlib.Path, environment: dict[str, str]) -> tuple[bool, str]:
    began = time.monotonic()
    runner = [sys.executable, str(pathlib.Path(__file__).with_name("guide_page.py")), str(page), str(scratch / page.stem)]
    done = subprocess.run(["unshare", "--net", "bash", "-c", NETWORK, "network", *runner], env=environment, cwd=scratch,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode == 0, f"{done.stdout.strip()} ({time.monotonic() - began:.0f} s)"


def pages() -> list[pathlib.Path]:
    """The chapters, in the order of the book; every file is one, and every chapter is a file."""
    named = [PAGES / path for path in re.findall(r"\]\(([^)]+\.md)\)", (PAGES / "SUMMARY.md").read_text())]
    present = set(PAGES.rglob("*.md")) - {PAGES / "SUMMARY.md"}
    if set(named) != present or len(named) != len(present):
        sys.exit(f"FAILED: SUMMARY.md and the files differ: {sorted(set(named) ^ present)}")
    return named


def main() -> None:
    programs, scratch = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    chosen = [page for page in pages() if not sys.argv[3:] or any(word in str(page.relative_to(PAGES)) for word in sys.argv[3:])]
    home = checkout(programs, scratch / "schwann")
    environment = {**os.environ, "SCHWANN": str(home), "PATH": f"{home}/target/release:{os.environ['PATH']}", "CARGO_NET_OFFLINE": "true",
                   "CARGO_HOME": os.environ.get("CARGO_HOME", os.path.expanduser("~/.cargo")),
                   "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", os.path.expanduser("~/.rustup"))}
    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(lambda page: follow(page, scratch, environment), chosen))
    print(*(said for _, said in outcomes), sep="\n", flush=True)
    problems = guide_words.problems(ROOT, PAGES, programs / "schwann")
    print(*(f"FAILED: {problem}" for problem in problems), sep="\n")
    failed = len(problems) + sum(not good for good, _ in outcomes)
    print(f"test result: {'FAILED' if failed else 'ok'}. {sum(good for good, _ in outcomes)} passed; {failed} failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
