"""Receives an EEG stream only if it is sealed, and says who sends it: sealed.py

Sealing itself needs no code: `schwann keys init` founds a lab, and from then on its streams are sealed. This program asks
the library who is at the other end, as `schwann.h` describes.
"""

import ctypes
import sys

from pylsl import StreamInlet, resolve_byprop
from pylsl.lib import lib

SEALED = 1


class Peer(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int32) for name in ("security", "roles", "hybrid", "reserved")]
    _fields_ += [(name, ctypes.c_uint64) for name in ("serial", "not_after", "revocation_list")]
    _fields_ += [(name, ctypes.c_char * 64) for name in ("name", "fingerprint")]


found = resolve_byprop("type", "EEG", timeout=10.0)
if not found:
    sys.exit("no EEG stream was found in 10 seconds")
inlet, peer = StreamInlet(found[0]), Peer()
inlet.open_stream(10.0)
if lib.schwann_inlet_peer(ctypes.c_void_p(inlet.obj.value), ctypes.byref(peer)) != SEALED:
    sys.exit("everybody on the network can read this stream; `schwann keys init` founds a lab")
print(f"sealed, sent by {peer.name.decode()}, whose key is {peer.fingerprint.decode()}")
