# A real recording played as live streams, mirrored into a FieldTrip buffer, and read back by a client of others
# (eegsynth, from PyPI) and by our Python client, there and through a tunnel: every sample, every kept event at its
# sample. Then the buffer as a live stream again. `schwann mse check` must report a port without a listener.
# Then a sender whose clock never answers: `schwann --json` names it.
# cores: 0
# debian: iptables
# network: own
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
recording=../shared/data/clock_resets.xdf
[ -f "$recording" ] || { echo "needs the recording clock_resets.xdf of xdf-modules/example-files"; exit 77; }
python_packages
PYTHONPATH=tests/tools exec python3 tests/system/cli_net.py "$built/schwann" "$recording"
