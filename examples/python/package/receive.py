"""Receives an EEG stream and prints the mean of each tenth of a second: receive.py [CHUNKS]"""

import sys

import schwann

chunks = int(sys.argv[1]) if len(sys.argv) > 1 else 10
eeg = schwann.resolve(type="EEG", timeout=10)[0]
print(eeg.channels)
with eeg.open() as stream:
    for number, chunk in enumerate(stream.chunks(seconds=0.1), 1):
        print(f"{chunk.times[-1]:.3f} s", *(f"{mean:+.1f}" for mean in chunk.data.mean(axis=0)), f"lag {stream.lag or 0:.3f} s")
        if number == chunks:
            break
    print(f"{stream.lost} samples lost, clock offset {stream.clock_offset().seconds:+.6f} s")
