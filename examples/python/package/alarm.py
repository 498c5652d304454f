"""Says when it is too slow for a stream, or nothing comes: alarm.py"""

import threading

import schwann

called = threading.Event()


def tell(alarm: schwann.Alarm) -> None:
    # A thread of the stream calls this; it must return soon.
    print(f"{alarm.event}: {alarm.lag:.2f} s, {alarm.skipped} samples skipped")
    called.set()


with schwann.resolve(type="EEG", timeout=10)[0].open() as stream:
    stream.on_alarm(tell, max_lag=0.5)
    # This program pulls nothing, so what waits gets old.
    called.wait(10)
    stream.on_alarm(None)
    print(f"{stream.waiting > 0}: samples wait")
