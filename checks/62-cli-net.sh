# A real recording played as live streams, mirrored into a FieldTrip buffer, and read back by a client of others
# (eegsynth, from PyPI) and by our Python client, there and through a tunnel: every sample, every kept event at its
# sample. Then the buffer as a live stream again. And `schwann mse check` against nobody, which must say so.
set -euo pipefail
cd "${SCHWANN_ROOT:=$(cd "$(dirname "$0")/.." && pwd)}"
recording=../shared/data/clock_resets.xdf
[ -f "$recording" ] || { echo "needs the recording clock_resets.xdf of xdf-modules/example-files"; exit 77; }
venv="${SCHWANN_STATE:-target/checks}/cli-net-venv"
if ! "$venv/bin/python" -c 'import pyxdf, lib.FieldTrip' 2> /dev/null; then
  rm -rf "$venv"
  python3 -m venv "$venv" || { apt-get update -qq && apt-get install -y -qq python3-venv && python3 -m venv "$venv"; }
  "$venv/bin/pip" install --quiet --disable-pip-version-check 'pyxdf>=1.16' numpy
  # Its dependencies are for its other modules.
  "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps eegsynth==0.8.1
fi
cargo build --locked --quiet -p schwann-cli --bin schwann
exec "$venv/bin/python" checks/cli_net.py "${CARGO_TARGET_DIR:-target}/debug/schwann" "$recording"
