"""Runs the cases of a test program one after the other. A word of the command line chooses those that have it in their name."""

import sys
import traceback
from collections.abc import Callable

CASES: dict[str, Callable[[], str | None]] = {}


def case(function: Callable[[], str | None]) -> Callable[[], str | None]:
    """Makes a function a case, named as it is. What it returns is printed beside its name."""
    CASES[function.__name__.replace("_", " ")] = function
    return function


def run_cases(words: list[str]) -> None:
    """Runs all cases, or those that a word chooses; prints how many passed, and ends the program with 1 if any failed."""
    chosen = {name: run for name, run in CASES.items() if not words or any(word in name for word in words)}
    failed = 0
    for name, run in chosen.items():
        try:
            print(f"ok: {name}{': ' + said if (said := run()) else ''}", flush=True)
        except Exception:
            failed += 1
            print(f"FAILED: {name}: {traceback.format_exc()}", flush=True)
    print(f"test result: {'FAILED' if failed or not chosen else 'ok'}. {len(chosen) - failed} passed; {failed} failed")
    sys.exit(failed > 0 or not chosen)
