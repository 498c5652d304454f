# The program's commands against the real library, pylsl and pyxdf, in separate processes; and what they show in a terminal.
#
#   CLI_KILLS=100 checks/58-cli.sh    kills 100 recorders instead of 5
set -euo pipefail
cd "${SCHWANN_ROOT:=$(cd "$(dirname "$0")/.." && pwd)}"
export SCHWANN_ROOT
source interop/environment.sh
python3 -c 'import pyxdf' 2>/dev/null || pip install --quiet --disable-pip-version-check 'pyxdf==1.17.*'
cargo build --locked --release --quiet -p schwann-cli
export SCHWANN="$(realpath "${CARGO_TARGET_DIR:-target}")/release/schwann"
python3 -m pytest -q -rs -s -p no:cacheprovider interop/test_xdf_cli.py interop/test_cli_screen.py interop/test_loaders.py
