"""Lists the streams on the network, and how far the clocks of their computers are away: resolve.py"""

from pylsl import StreamInlet, resolve_streams

for stream in resolve_streams(1.0):
    print(
        f"{stream.name()} ({stream.type()}): {stream.channel_count()} channels at {stream.nominal_srate():g} Hz "
        f"on {stream.hostname()}, clock {StreamInlet(stream).time_correction(5.0):+.6f} s"
    )
