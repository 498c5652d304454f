"""Receives an EEG stream and a marker stream as one, in the order of time: ordered.py"""

import schwann

eeg = schwann.resolve(type="EEG", timeout=10)[0].open()
with schwann.Outlet("Trials", "Markers") as outlet:
    marks = schwann.resolve(name="Trials", timeout=10)[0].open()
    outlet.push("begin", times=schwann.local_clock() + 0.5)
    samples = 0
    for stream, chunk in schwann.merge(eeg, marks):
        if stream is marks:
            print(f"{chunk.data[0, 0]} after {samples} samples")
            break
        samples += len(chunk)
    for stream in (eeg, marks):
        stream.close()
