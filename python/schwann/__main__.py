"""`python -m schwann PROGRAM`: runs a program of pylsl or mne-lsl on the library of this package."""

from __future__ import annotations

import os
import runpy
import sys

from ._errors import Error
from ._library import use

USAGE = """\
usage: python -m schwann PROGRAM [ARGUMENT ...]
       python -m schwann -m MODULE [ARGUMENT ...]

Runs a Python program that uses pylsl or mne-lsl on Schwann's library instead of theirs.
"""


def main(arguments: list[str]) -> int:
    """Runs the program; returns the exit code if there is no program to run."""
    is_module = arguments[:1] == ["-m"]
    rest = arguments[1:] if is_module else arguments
    if not rest or rest[0].startswith("-"):
        is_asked = rest[:1] in (["-h"], ["--help"])
        print(USAGE, end="", file=sys.stdout if is_asked else sys.stderr)
        return 0 if is_asked else 2
    try:
        use()
    except Error as error:
        print(f"schwann: {error}", file=sys.stderr)
        return 1
    sys.argv = rest
    if is_module:
        sys.path[0] = os.getcwd()
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif not os.path.exists(rest[0]):
        print(f"schwann: there is no program {rest[0]}", file=sys.stderr)
        return 1
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(rest[0]))
        runpy.run_path(rest[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
