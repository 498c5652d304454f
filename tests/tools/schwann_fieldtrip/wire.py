"""The bytes of the protocol. Nothing here opens a socket. All numbers are little-endian, which every server knows."""

import struct
from dataclasses import dataclass, field

import numpy as np

PORT = 1972
NEVER = 0xFFFFFFFF
"""As a threshold of ``wait``: do not wait for this."""
NOW = -1
"""As the sample of an event that is sent: the server fills in the sample number of now."""

PUT_HDR, PUT_DAT, PUT_EVT = 0x0101, 0x0102, 0x0103
GET_HDR, GET_DAT, GET_EVT = 0x0201, 0x0202, 0x0203
FLUSH_HDR, FLUSH_DAT, FLUSH_EVT = 0x0301, 0x0302, 0x0303
WAIT_DAT = 0x0402
PUT_HDR_NORESPONSE, PUT_DAT_NORESPONSE, PUT_EVT_NORESPONSE = 0x0501, 0x0502, 0x0503

DATATYPE_CHAR, DATATYPE_UINT8, DATATYPE_UINT16, DATATYPE_UINT32, DATATYPE_UINT64 = range(5)
DATATYPE_INT8, DATATYPE_INT16, DATATYPE_INT32, DATATYPE_INT64 = range(5, 9)
DATATYPE_FLOAT32, DATATYPE_FLOAT64 = 9, 10

CHUNK_UNSPECIFIED, CHUNK_CHANNEL_NAMES, CHUNK_CHANNEL_FLAGS, CHUNK_RESOLUTIONS = range(4)
CHUNK_ASCII_KEYVAL, CHUNK_NIFTI1, CHUNK_SIEMENS_AP, CHUNK_CTF_RES4 = range(4, 8)
CHUNK_NEUROMAG_HEADER, CHUNK_NEUROMAG_ISOTRAK, CHUNK_NEUROMAG_HPIRESULT = range(8, 11)

TYPES = [np.dtype(name) for name in ("S1", "u1", "<u2", "<u4", "<u8", "i1", "<i2", "<i4", "<i8", "<f4", "<f8")]
DEFINITION = struct.Struct("<HHI")
HEADER = struct.Struct("<IIIfII")
SAMPLES = struct.Struct("<IIII")
EVENT = struct.Struct("<IIIIiiiI")
PAIR = struct.Struct("<II")
WAIT = struct.Struct("<III")


class Malformed(ConnectionError):
    """The server sent what does not follow the protocol."""


@dataclass
class Header:
    """What the samples are. ``chunks`` maps chunk types to bytes; ``labels`` are the names of the channels."""

    nChannels: int = 0
    nSamples: int = 0
    nEvents: int = 0
    fSample: float = 0.0
    dataType: int = DATATYPE_FLOAT32
    chunks: dict = field(default_factory=dict)
    labels: list = field(default_factory=list)

    def describes_the_same_as(self, other):
        """Whether another header differs in the counts alone."""
        def constant(header):
            return (header.nChannels, header.fSample, header.dataType, header.chunks)
        return other is not None and constant(self) == constant(other)


@dataclass
class Event:
    """Something that happened at a sample. Type and value are text, a number, or an array of numbers."""

    type: object = ""
    value: object = ""
    sample: int = NOW
    offset: int = 0
    duration: int = 0


def data_type(dtype):
    """The code of a numpy type, whatever its byte order."""
    dtype = np.dtype(dtype)
    for code, known in enumerate(TYPES):
        if (known.kind, known.itemsize) == (dtype.kind, dtype.itemsize) and code != DATATYPE_CHAR:
            return code
    raise TypeError(f"a buffer cannot hold values of type {dtype}")


def encode_header(channels, rate, code, labels=None, chunks=None):
    chunks = dict(chunks or {})
    if labels is not None:
        names = [str(name).replace("\0", "") for name in labels]
        if len(names) != channels:
            raise ValueError(f"{channels} channels need as many labels, not {len(names)}")
        chunks[CHUNK_CHANNEL_NAMES] = "".join(name + "\0" for name in names).encode()
    if not 0 <= code < len(TYPES):
        raise ValueError(f"there is no data type {code}")
    blob = b"".join(PAIR.pack(kind, len(content)) + bytes(content) for kind, content in chunks.items())
    # Some servers take the counts of a request for the values to start from.
    return HEADER.pack(channels, 0, 0, rate, code, len(blob)) + blob


def decode_header(payload):
    if len(payload) < HEADER.size:
        raise Malformed("a header is shorter than it can be")
    channels, samples, events, rate, code, length = HEADER.unpack_from(payload)
    header = Header(channels, samples, events, rate, code)
    blob = payload[HEADER.size:HEADER.size + length]
    while len(blob) >= PAIR.size:
        kind, length = PAIR.unpack_from(blob)
        content, blob = blob[PAIR.size:PAIR.size + length], blob[PAIR.size + length:]
        if len(content) < length:
            break
        header.chunks.setdefault(kind, bytes(content))
    names = header.chunks.get(CHUNK_CHANNEL_NAMES)
    if names is not None:
        header.labels = names.decode("utf-8", "replace").split("\0")[:channels]
    return header


def encode_samples(values):
    values = np.asarray(values)
    if values.ndim == 1:
        values = values[:, np.newaxis]
    if values.ndim != 2:
        raise ValueError("samples are a matrix: samples × channels")
    code = data_type(values.dtype)
    values = np.ascontiguousarray(values, TYPES[code])
    definition = SAMPLES.pack(values.shape[1], values.shape[0], code, values.nbytes)
    return definition, values.reshape(-1).view(np.uint8).data if values.size else b""


def decode_samples(payload):
    if len(payload) < SAMPLES.size:
        raise Malformed("samples without their definition")
    channels, samples, code, length = SAMPLES.unpack_from(payload)
    if code >= len(TYPES) or len(payload) < SAMPLES.size + length or length < channels * samples * TYPES[code].itemsize:
        raise Malformed("samples contradict their definition")
    values = np.frombuffer(payload, TYPES[code], channels * samples, SAMPLES.size)
    # Text has no use as a matrix of bytes objects.
    values = values.view(np.uint8) if code == DATATYPE_CHAR else values
    return values.reshape(samples, channels)


def encode_event(event):
    kind_code, kind_count, kind = encode_elements(event.type)
    value_code, value_count, value = encode_elements(event.value)
    definition = EVENT.pack(kind_code, kind_count, value_code, value_count, event.sample, event.offset,
                            event.duration, len(kind) + len(value))
    return definition + kind + value


def decode_events(payload):
    events = []
    while payload:
        if len(payload) < EVENT.size:
            raise Malformed("an event is cut off")
        kind_code, kind_count, value_code, value_count, sample, offset, duration, length = EVENT.unpack_from(payload)
        body, payload = payload[EVENT.size:EVENT.size + length], payload[EVENT.size + length:]
        kind, used = decode_elements(body, kind_code, kind_count)
        value, _ = decode_elements(body[used:], value_code, value_count)
        events.append(Event(kind, value, sample, offset, duration))
    return events


def encode_elements(value):
    """Text, one number or many: the data type's code, how many, and the bytes."""
    if isinstance(value, (str, bytes, bytearray)):
        text = value.encode() if isinstance(value, str) else bytes(value)
        return DATATYPE_CHAR, len(text), text
    # As drivers write triggers: Python's integers as int32 where they fit.
    if isinstance(value, int) and not isinstance(value, bool) and -2**31 <= value < 2**31:
        value = np.int32(value)
    values = np.atleast_1d(np.asarray(value))
    if values.dtype == bool:
        values = values.astype(np.uint8)
    code = data_type(values.dtype)
    return code, values.size, values.astype(TYPES[code]).tobytes()


def decode_elements(body, code, count):
    if code >= len(TYPES) or len(body) < count * TYPES[code].itemsize:
        raise Malformed("an event contradicts its definition")
    used = count * TYPES[code].itemsize
    if code == DATATYPE_CHAR:
        return bytes(body[:used]).decode("utf-8", "replace"), used
    values = np.frombuffer(body, TYPES[code], count).copy()
    return (values[0].item() if count == 1 else values), used
