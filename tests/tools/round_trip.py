"""A program that knows pylsl alone: sends samples to itself, and says which library carried them."""

import pylsl

COUNT = 100
outlet = pylsl.StreamOutlet(pylsl.StreamInfo("RoundTrip", "EEG", 4, 100.0, "float32", "round-trip"))
found = pylsl.resolve_byprop("source_id", "round-trip", timeout=20)
inlet = pylsl.StreamInlet(found[0])
inlet.open_stream(timeout=20)
assert outlet.wait_for_consumers(20)
for number in range(COUNT):
    outlet.push_sample([float(number)] * 4)
for number in range(COUNT):
    sample, _ = inlet.pull_sample(timeout=20)
    assert sample == [float(number)] * 4, (number, sample)
print(f"{COUNT} samples", pylsl.library_info())
