"""A client for FieldTrip buffers, for current Python and numpy."""

from .client import Block, Client, Refused, follow
from .wire import (
    CHUNK_ASCII_KEYVAL,
    CHUNK_CHANNEL_FLAGS,
    CHUNK_CHANNEL_NAMES,
    CHUNK_CTF_RES4,
    CHUNK_NEUROMAG_HEADER,
    CHUNK_NEUROMAG_HPIRESULT,
    CHUNK_NEUROMAG_ISOTRAK,
    CHUNK_NIFTI1,
    CHUNK_RESOLUTIONS,
    CHUNK_SIEMENS_AP,
    CHUNK_UNSPECIFIED,
    DATATYPE_CHAR,
    DATATYPE_FLOAT32,
    DATATYPE_FLOAT64,
    DATATYPE_INT8,
    DATATYPE_INT16,
    DATATYPE_INT32,
    DATATYPE_INT64,
    DATATYPE_UINT8,
    DATATYPE_UINT16,
    DATATYPE_UINT32,
    DATATYPE_UINT64,
    NEVER,
    NOW,
    Event,
    Header,
    Malformed,
)

__all__ = [
    "Block", "Client", "Event", "Header", "Malformed", "NEVER", "NOW", "Refused", "follow",
    *(name for name in dir() if name.startswith(("CHUNK_", "DATATYPE_"))),
]
