"""Sends eight channels at 100 Hz, with their labels and units: send.py [SECONDS]"""

import math
import sys
import time

from pylsl import StreamInfo, StreamOutlet, cf_float32, local_clock

CHANNELS = 8

seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
# The source id stays the same when this program restarts: inlets find the stream again by it.
info = StreamInfo("Waves", "EEG", CHANNELS, 100.0, cf_float32, "example-waves")
channels = info.desc().append_child("channels")
for k in range(CHANNELS):
    channel = channels.append_child("channel")
    channel.append_child_value("label", f"E{k + 1}").append_child_value("unit", "microvolts")
outlet = StreamOutlet(info)
print("sending", flush=True)
start, n = local_clock(), 0
while local_clock() < start + seconds:
    outlet.push_sample([50.0 * math.sin(0.0628 * (k + 1) * n) for k in range(CHANNELS)])
    n += 1
    time.sleep(0.01)
