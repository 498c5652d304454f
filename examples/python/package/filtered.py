"""Filters an EEG stream while it comes: filtered.py [CHUNKS]"""

import sys

import schwann

chunks = int(sys.argv[1]) if len(sys.argv) > 1 else 50
with schwann.resolve(type="EEG", timeout=10)[0].open() as stream:
    channels, rate = stream.info.channel_count, stream.info.rate
    highpass = schwann.Filter.highpass(1.0, rate, channels)
    notch = schwann.Filter.notch(50.0, rate, channels)
    for number, chunk in enumerate(stream.chunks(seconds=0.1), 1):
        clean = notch(highpass(chunk.data))
        if number == chunks:
            print(f"from ±{abs(chunk.data).max():.1f} to ±{abs(clean).max():.1f} in the last of {number} chunks")
            break
