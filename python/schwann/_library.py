"""Programs of pylsl and mne-lsl, on the library that comes with this package."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import sys

from ._errors import Error

_NAMES = ("liblsl.so", "liblsl.dylib", "lsl.dll")


def library() -> str:
    """Where the package's own liblsl is. Raises Error if it was built without one."""
    folder = pathlib.Path(__file__).parent / "lib"
    for name in _NAMES:
        if (folder / name).exists():
            return str(folder / name)
    raise Error(
        "This installation of schwann has no liblsl, as wheels have: `cargo build --release -p schwann-capi` in the source "
        f"makes one, to be copied to {folder}."
    )


def use() -> str:
    """Makes pylsl and mne-lsl use the library of this package, in this process and in the processes that it starts.
    Returns its path.

    Call it before either is imported. Where pylsl is not installed, `import pylsl` then finds `schwann.pylsl`.

    Raises Error if one of them was imported before, or if the package was built without a library.
    """
    path = library()
    for name in ("pylsl", "mne_lsl"):
        module = sys.modules.get(name)
        if module is not None and not getattr(module, "__name__", "").startswith("schwann."):
            raise Error(f"{name} has its own library already: call schwann.use() before it is imported.")
    os.environ["PYLSL_LIB"] = os.environ["MNE_LSL_LIB"] = path
    if "pylsl" not in sys.modules and importlib.util.find_spec("pylsl") is None:
        from . import pylsl

        sys.modules["pylsl"] = pylsl
        for part in ("info", "inlet", "lib", "outlet", "resolve", "util"):
            sys.modules[f"pylsl.{part}"] = getattr(pylsl, part)
    return path
