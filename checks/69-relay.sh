# Streams through a real hub: kill -9 of everything in turn, a hub that is rolled back, emptied and run by an attacker; every sample
# arrives, or is reported.
# cores: 0
# network: own
# debian: chromium
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
libraries
build -p schwann-cli --bin schwann
need chromium
python3 tests/system/relay.py "$built/schwann" "$SCHWANN_LIBLSL"
python3 tests/system/relay_seen.py "$built/schwann" "$SCHWANN_LIBLSL"
