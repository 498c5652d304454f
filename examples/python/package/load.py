"""Loads a recording and says what is in it: load.py FILE.xdf"""

import sys

import schwann

recording = schwann.read_xdf(sys.argv[1])
for stream in recording:
    span = stream.times[-1] - stream.times[0] if len(stream) else 0.0
    print(f"{stream.name}: {len(stream)} samples × {stream.data.shape[1]} channels in {span:.1f} s, {len(stream.gaps)} gaps")
print(*recording.damage, sep="\n", end="")
