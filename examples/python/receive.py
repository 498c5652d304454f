"""Receives an EEG stream: prints the labels of its channels, then samples: receive.py [SAMPLES]"""

import sys

from pylsl import StreamInlet, resolve_byprop

samples = int(sys.argv[1]) if len(sys.argv) > 1 else 10
found = resolve_byprop("type", "EEG", timeout=10.0)
if not found:
    sys.exit("no EEG stream was found in 10 seconds")
inlet = StreamInlet(found[0])
# What a search found has no metadata; the inlet fetches it.
info = inlet.info(timeout=10.0)
print(f"{info.name()} from {info.hostname()}:", *info.get_channel_labels())
for _ in range(samples):
    sample, stamp = inlet.pull_sample()
    print(f"{stamp:.6f}", *(f"{value:.2f}" for value in sample))
