# MSE against real BitTorrent clients, on this machine alone; and no document praises what it cannot do.
#
# libtorrent comes from PyPI and is always there; aria2, Transmission and rtorrent come from Debian where
# apt-get can bring them. The settings of the LSL tests beside them (conftest.py) are not theirs. A network namespace keeps every packet on the loopback interface.
# cores: 0
# network: own
# debian: aria2 transmission-daemon rtorrent iproute2
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
python3 checks/mse_words.py

python_packages

# The programs mostly wait for their own clocks, so four of their tests run at once; libtorrent's measure delays.
pytest="python3 -m pytest -q -rs -p no:cacheprovider --noconftest"
tests="$pytest tests/system/test_mse_libtorrent.py && $pytest -n 4 tests/system/test_mse_clients.py"
if [ "${SCHWANN_NETWORK:-}" = own ]; then ip addr add 10.77.0.2/32 dev lo; export MSE_ADDRESS=10.77.0.2; fi
bash -c "$tests"

# Every measurement runs once, over real sockets between two processes, and verifies its bytes.
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
"$built/schwann-bench" mse --quick --trial --out "$results"
