"""Refuses code that asks which system it runs on outside the module `sys` of its crate.

Tests may ask, and build scripts must. What may ask besides, and why, stands in `ELSEWHERE`.
"""

import pathlib
import re
import sys

SYSTEM = re.compile(r"\b(windows|unix|target_os|target_family|target_vendor)\b")
ASKS = re.compile(r"cfg!?\(|cfg_attr\(")
# These are for one system alone, or are no part of what people install.
LEFT_OUT = {"bench", "examples", "firmware", "fuzz", "target", "tests"}
ELSEWHERE = {"engine/src/net.rs": "the local transport, which Linux alone has"}


def questions(path: pathlib.Path) -> list[int]:
    """Numbers of the lines that ask, apart from those of tests."""
    found = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if re.match(r"#\[cfg\((all\()?test\b", line):
            # A module of tests is the last thing in a file.
            break
        if ASKS.search(line) and SYSTEM.search(line):
            found.append(number)
    return found


def main() -> None:
    # Other checks make and remove files in those folders at the same time.
    folders = [folder for folder in pathlib.Path().iterdir() if folder.is_dir() and folder.name not in LEFT_OUT]
    sources = [path for folder in folders for path in folder.rglob("*.rs")
               if "src" in path.parts and "sys" not in path.with_suffix("").parts and path.name != "tests.rs"]
    if len(sources) < 300:
        sys.exit(f"only {len(sources)} files: is this the project's folder?")
    found = [f"{path}:{number}: which system it is, is asked in the module `sys` alone" for path in sorted(sources)
             if str(path) not in ELSEWHERE for number in questions(path)]
    print("\n".join(found) or f"{len(sources)} files ask for no system")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
