"""Refuses interpreters other than a process's first, before numpy does so in many lines, or works only by chance."""

import importlib
from typing import Any


def _interpreters() -> Any:
    # CPython's module has had two names, and neither is public.
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None


_module = _interpreters()
if _module is not None and _module.get_current() != _module.get_main():
    raise ImportError(
        "schwann works in the main interpreter of a process alone, as numpy does: import it there, or start another process."
    )
