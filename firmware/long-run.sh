#!/usr/bin/env bash
# What takes too long for a check: 4 to 128 channels at 250 to 2,000 Hz, plain and sealed, and a sealed stream of 8 channels at
# 1 kHz for so many seconds; every value is checked at the desktop. Needs root for its tap.
# Usage: firmware/long-run.sh SECONDS IMAGE
set -euo pipefail
cd "$(dirname "$0")/.."
export SCHWANN_SECONDS="${1:?seconds}" SCHWANN_IMAGE="${2:?the image that checks/70-firmware.sh builds}"
tests="${SCHWANN_TESTS:-$(cargo test --locked --quiet -p schwann-node --test qemu --no-run --message-format=json \
  | python3 -c 'import json,sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("executable") and message["target"]["name"] == "qemu": print(message["executable"])')}"
export tests
unshare --net bash -euc '
  ip link set lo up
  ip tuntap add schwann0 mode tap
  ip addr add 10.77.0.1/24 dev schwann0
  ip link set schwann0 up
  ip route add 224.0.0.0/4 dev schwann0
  "$tests" --ignored --test-threads=1 --nocapture long_'
