# What sealing costs, in the quick form: every part runs and checks its own result. Whether it is fast enough is no check's
# affair (exit code 3); what a session holds in memory is.
set -euo pipefail
cd "${SCHWANN_ROOT:=$(cd "$(dirname "$0")/.." && pwd)}"
source interop/environment.sh
cargo build --locked --release --quiet -p schwann-bench
bench="${CARGO_TARGET_DIR:-target}/release/schwann-bench"
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
"$bench" sealed state
for part in "handshake" "paired --seconds 0.5 --ours $SCHWANN_LIBLSL --out $results/paired" "latency --only latency-8ch --seconds 0.7 --ours $SCHWANN_LIBLSL --vs $REAL_LIBLSL_118 --out $results/runs"; do
  # shellcheck disable=SC2086
  "$bench" sealed $part --quick || [ $? -eq 3 ]
done
