"""A program of pylsl, with one line changed: the first import."""

import schwann.pylsl as pylsl

info = pylsl.StreamInfo("Counts", "Counts", 2, 100, "int32", "counts-example")
info.set_channel_labels(["first", "second"])
outlet = pylsl.StreamOutlet(info)
inlet = pylsl.StreamInlet(pylsl.resolve_byprop("name", "Counts", timeout=10)[0], processing_flags=pylsl.proc_clocksync)
inlet.open_stream(timeout=10)
outlet.push_chunk([[1, 2], [3, 4]])
samples, stamps = inlet.pull_chunk(timeout=10, max_samples=2)
print(inlet.info().get_channel_labels(), samples, f"{abs(stamps[-1] - pylsl.local_clock()) < 10} that it is of now")
