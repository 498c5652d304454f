# Sealed streams between unchanged programs, with a listener on the wire, strangers, and the real library.
set -euo pipefail
cd "${SCHWANN_ROOT:=$(cd "$(dirname "$0")/.." && pwd)}"
source interop/environment.sh
cargo build --locked --quiet -p schwann-cli
export SCHWANN_PROGRAM="${CARGO_TARGET_DIR:-$PWD/target}/debug/schwann"
python3 -m pytest interop/test_sealed.py -q
