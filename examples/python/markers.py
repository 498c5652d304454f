"""Sends each line of its input as a marker, stamped with the time at which it came: markers.py"""

import sys

from pylsl import FOREVER, IRREGULAR_RATE, StreamInfo, StreamOutlet, cf_string, local_clock

# Markers have no rate: they come when something happens.
outlet = StreamOutlet(StreamInfo("Events", "Markers", 1, IRREGULAR_RATE, cf_string, "example-events"))
print("waiting for a receiver, such as `schwann watch Events`", flush=True)
outlet.wait_for_consumers(FOREVER)
for line in sys.stdin:
    outlet.push_sample([line.rstrip("\n")], local_clock())
