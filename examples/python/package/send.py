"""Sends eight sines at 250 Hz with their labels and units: send.py [SECONDS]"""

import sys
import time

import numpy as np

import schwann

RATE = 250.0
LABELS = ["Fp1", "Fp2", "C3", "C4", "P3", "P4", "O1", "O2"]

seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
with schwann.Outlet("Sines", "EEG", LABELS, rate=RATE, unit="µV", metadata={"cap": {"name": "example"}}) as outlet:
    hertz = np.arange(1, len(LABELS) + 1)
    for first in range(0, round(seconds * RATE), 25):
        moments = np.arange(first, first + 25) / RATE
        outlet.push(50 * np.sin(2 * np.pi * np.outer(moments, hertz)))
        time.sleep(25 / RATE)
    print(f"{outlet.consumers} receivers, {outlet.lost} samples lost")
