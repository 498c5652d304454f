# The FieldTrip buffer against clients and servers of others, killed, starved of descriptors, and fed with nonsense.
#
# eegsynth (a client and a partial server) and mne-realtime come from PyPI. SCHWANN_FT_MUTATIONS and
# SCHWANN_FT_SOAK_SECONDS make the two long tests longer.
set -euo pipefail
cd "${SCHWANN_ROOT:=$(cd "$(dirname "$0")/.." && pwd)}"
venv="${SCHWANN_STATE:-target/checks}/fieldtrip-venv"
if ! "$venv/bin/python" -c 'import mne_realtime, lib.FieldTrip, pytest, pytest_timeout' 2> /dev/null; then
  rm -rf "$venv"
  python3 -m venv "$venv" || { apt-get update -qq && apt-get install -y -qq python3-venv && python3 -m venv "$venv"; }
  "$venv/bin/pip" install --quiet --disable-pip-version-check 'pytest>=8' 'pytest-timeout>=2' mne-realtime==0.3.0 numpy
  # Its dependencies are for its other modules.
  "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps eegsynth==0.8.1
fi
cargo build --locked --release --quiet -p schwann-fieldtrip --example buffer
cargo build --locked --quiet -p schwann-cli --bin schwann
built="${CARGO_TARGET_DIR:-$PWD/target}"
export SCHWANN_FT_SERVER="$built/release/examples/buffer" SCHWANN_CLI="$built/debug/schwann"
SCHWANN_FT_MUTATIONS="${SCHWANN_FT_MUTATIONS:-50000}" "$venv/bin/python" -m pytest -q -rs --noconftest \
  --timeout 300 interop/test_fieldtrip_client.py interop/test_fieldtrip_server.py

# The header for C programs, as C and as C++, and a program that embeds the buffer.
cargo build --locked --release --quiet -p schwann-fieldtrip-capi
libraries="$built/release"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
strict=(-Wall -Wextra -Werror -pedantic -I capi/fieldtrip/include)
gcc -std=c99 -D_GNU_SOURCE "${strict[@]}" capi/fieldtrip/tests/embed.c -o "$scratch/embed" \
  -L "$libraries" -lfieldtripbuffer -lpthread
g++ "${strict[@]}" -x c++ -fsyntax-only - <<< '#include "schwann_fieldtrip.h"'
LD_LIBRARY_PATH="$libraries" "$scratch/embed"
# The example of its README, as it is printed there.
sed -n '/^```c$/,/^```$/{/^```/d;p}' capi/fieldtrip/README.md > "$scratch/example.c"
gcc -std=c99 "${strict[@]}" "$scratch/example.c" -o "$scratch/example" -L "$libraries" -lfieldtripbuffer -lm
LD_LIBRARY_PATH="$libraries" "$scratch/example"

# Each way of the benchmark once: it checks its own results.
cargo run --locked --quiet -p schwann-bench -- fieldtrip --quick --trial --out "$scratch/bench" \
  --only "32 x 16" --only history --only wake 2> /dev/null
