# Streams through a real hub: kill -9 of everything in turn, a hub that is rolled back, emptied and run by an attacker, disks that
# fill, clocks that step, a bad line; every sample arrives, or is reported. The dashboard shows streams of other sites. The vectors
# are read by the specification alone.
# cores: 0
# network: own
# debian: chromium iproute2
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
need cc
libraries
python3 tests/system/relay_vectors.py
tests=(relay relay_attack relay_clocks relay_faults relay_hubs relay_records)
left_out=()
if [ -e /dev/net/tun ]; then tests+=(relay_line); else left_out+=("bad lines need tunnel devices"); fi
if command -v chromium > /dev/null; then tests+=(relay_seen); else left_out+=("the dashboard needs chromium"); fi
# Each has ports and sessions of its own; a disk that fills is mounted where no other program sees it.
declare -A running
for test in "${tests[@]}"; do
  unshare --mount python3 "tests/system/$test.py" "$built/schwann" "$SCHWANN_LIBLSL" > "$SCHWANN_STATE/$test.log" 2>&1 &
  running[$test]=$!
done
failed=()
for test in "${tests[@]}"; do
  if wait "${running[$test]}"; then cat "$SCHWANN_STATE/$test.log"; else failed+=("$test"); fi
done
# What failed comes last, where it is seen.
for test in "${failed[@]}"; do
  echo "FAILED $test"
  tail -n 15 "$SCHWANN_STATE/$test.log"
done
[ "${#failed[@]}" = 0 ] || exit 1
if [ "${#left_out[@]}" -gt 0 ]; then
  echo "the rest has passed, and ${left_out[*]}"
  exit 77
fi
