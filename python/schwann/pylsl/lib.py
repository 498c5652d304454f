"""The formats of channels, by pylsl's numbers. There is no C library behind this module."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

cf_undefined = 0
cf_float32 = 1
cf_double64 = 2
cf_string = 3
cf_int32 = 4
cf_int16 = 5
cf_int8 = 6
cf_int64 = 7

string2fmt = {
    "float32": cf_float32,
    "double64": cf_double64,
    "string": cf_string,
    "int32": cf_int32,
    "int16": cf_int16,
    "int8": cf_int8,
    "int64": cf_int64,
}
fmt2string = ["undefined", *sorted(string2fmt, key=string2fmt.__getitem__)]

fmt2npdtype: list[np.dtype[Any] | None] = [
    None,
    np.dtype(np.float32),
    np.dtype(np.float64),
    None,
    np.dtype(np.int32),
    np.dtype(np.int16),
    np.dtype(np.int8),
    np.dtype(np.int64),
]
"""By a format's number; None for strings."""

fmt2type: list[Any] = [
    None,
    ctypes.c_float,
    ctypes.c_double,
    ctypes.c_char_p,
    ctypes.c_int,
    ctypes.c_short,
    ctypes.c_byte,
    ctypes.c_longlong,
]
"""The C types of values, by a format's number."""
