"""Shows the present of an EEG stream, however slow this program is: latest.py [ROUNDS]"""

import sys
import time

import schwann

rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
with schwann.resolve(type="EEG", timeout=10)[0].open(policy="latest", max_lag=0.1) as stream:
    for _ in range(rounds):
        newest = stream.pull().data[-1]
        print(*(f"{value:+.1f}" for value in newest), f"{stream.lost} samples passed over")
        time.sleep(0.5)
