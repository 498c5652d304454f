# MSE against real BitTorrent clients, on this machine alone; and no document praises what it cannot do.
#
# libtorrent comes from PyPI and is always there; aria2, Transmission and rtorrent come from Debian where
# apt-get can bring them. The settings of the LSL tests beside them (conftest.py) are not theirs. A network namespace keeps every packet on the loopback interface.
set -euo pipefail
python3 checks/mse_words.py
# The features that the workspace's own test run leaves off.
cargo clippy --locked --quiet --no-deps -p schwann-mse --all-features --all-targets -- -D warnings
cargo test --locked --quiet -p schwann-mse --all-features --test asynchronous

venv="${SCHWANN_STATE:-target/checks}/mse-venv"
if ! "$venv/bin/python" -c 'import libtorrent, pytest, pytest_timeout, xdist' 2>/dev/null; then
  python3 -m venv "$venv" || { apt-get install -y -qq python3-venv && python3 -m venv "$venv"; }
  "$venv/bin/pip" install --quiet --disable-pip-version-check 'libtorrent==2.*' 'pytest>=8' pytest-timeout pytest-xdist
fi
# One by one: `command -v` with several names is content with any of them.
packages=()
command -v aria2c >/dev/null || packages+=(aria2)
command -v transmission-daemon >/dev/null || packages+=(transmission-daemon)
command -v rtorrent >/dev/null || packages+=(rtorrent)
command -v unshare >/dev/null || packages+=(util-linux)
command -v ip >/dev/null || packages+=(iproute2)
if [ ${#packages[@]} -gt 0 ]; then
  # A slow mirror costs two minutes at most; only the download may be cut short, never the unpacking.
  export DEBIAN_FRONTEND=noninteractive
  install="apt-get install -y -qq --no-install-recommends"
  { timeout 60 apt-get update -qq && timeout 60 $install --download-only "${packages[@]}" &&
    $install --no-download "${packages[@]}"; } </dev/null >/dev/null 2>&1 ||
    echo "${packages[*]} cannot be installed here: their tests are skipped"
fi
cargo build --locked --quiet -p schwann-mse --example mse_peer
cargo build --locked --quiet -p schwann-cli --bin schwann

# The programs mostly wait for their own clocks, so four of their tests run at once; libtorrent's measure delays.
pytest="$venv/bin/python -m pytest -q -rs -p no:cacheprovider --noconftest"
tests="$pytest interop/test_mse_libtorrent.py && $pytest -n 4 interop/test_mse_clients.py"
if unshare -n true 2>/dev/null && command -v ip >/dev/null; then
  unshare -n bash -c "ip link set lo up && ip addr add 10.77.0.1/32 dev lo && export MSE_ADDRESS=10.77.0.1 && $tests"
else
  echo "no network namespaces here: everything stays on 127.0.0.1"
  bash -c "$tests"
fi

# Every measurement runs once, over real sockets between two processes, and verifies its bytes.
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
cargo run --locked --release --quiet -p schwann-bench -- mse --quick --trial --out "$results"
