# MSE against real BitTorrent clients, on this machine alone; and no document praises what it cannot do.
#
# libtorrent comes from PyPI and is always there; aria2, Transmission and rtorrent come from Debian where
# apt-get can bring them. The settings of the LSL tests beside them (conftest.py) are not theirs. A network namespace keeps every packet on the loopback interface.
set -euo pipefail
python3 checks/mse_words.py
# The features that the workspace's own test run leaves off.
cargo clippy --locked --quiet --no-deps -p schwann-mse --all-features --all-targets -- -D warnings
cargo test --locked --quiet -p schwann-mse --all-features --test asynchronous --test layer

venv="${SCHWANN_STATE:-target/checks}/mse-venv"
if ! "$venv/bin/python" -c 'import libtorrent, pytest, pytest_timeout' 2>/dev/null; then
  python3 -m venv "$venv" || { apt-get install -y -qq python3-venv && python3 -m venv "$venv"; }
  "$venv/bin/pip" install --quiet --disable-pip-version-check 'libtorrent==2.*' 'pytest>=8' pytest-timeout
fi
if ! command -v aria2c transmission-daemon rtorrent unshare ip >/dev/null; then
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    aria2 transmission-daemon rtorrent util-linux iproute2; } >/dev/null 2>&1 ||
    echo "aria2, Transmission or rtorrent cannot be installed here: their tests are skipped"
fi
cargo build --locked --release --quiet -p schwann-mse --examples

tests="$venv/bin/python -m pytest -q -rs -p no:cacheprovider --noconftest interop/test_mse_libtorrent.py interop/test_mse_clients.py"
if unshare -n true 2>/dev/null && command -v ip >/dev/null; then
  unshare -n bash -c "ip link set lo up && ip addr add 10.77.0.1/32 dev lo && MSE_ADDRESS=10.77.0.1 $tests"
else
  echo "no network namespaces here: everything stays on 127.0.0.1"
  $tests
fi

# Every measurement runs once, over real sockets between two processes, and verifies its bytes.
cargo run --locked --release --quiet -p schwann-bench --bin mse-bench -- --quick
