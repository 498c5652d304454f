"""Records all EEG streams for some seconds, with a marker: record.py FILE.xdf [SECONDS]"""

import sys
import time

import schwann

seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 10.0
with schwann.record(sys.argv[1], "type='EEG'", timeout=10) as recorder:
    recorder.annotate("begin")
    time.sleep(seconds)
    for stream in recorder.close():
        print(f"{stream.name}: {stream.samples} samples, {stream.lost} lost")
