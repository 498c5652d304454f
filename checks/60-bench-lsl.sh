# Every scenario runs once against the real liblsl and checks its own result; the statistics equal scipy's.
set -euo pipefail
cd "${SCHWANN_ROOT:=$(cd "$(dirname "$0")/.." && pwd)}"
source interop/environment.sh
python3 bench/tests/statistics_reference.py --check
cargo build --locked --release --quiet -p schwann-bench
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
"${CARGO_TARGET_DIR:-target}/release/schwann-bench" lsl --quick --trial --no-null --no-sealed --out "$results" --ours "$SCHWANN_LIBLSL" --vs "$REAL_LIBLSL_118"
