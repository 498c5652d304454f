# What sealing costs, in the quick form: every part runs and checks its own result. Whether it is fast enough is no check's
# affair; what a session holds in memory is.
# cores: 0
# network: own
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
libraries
bench="$built/schwann-bench"
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
"$bench" sealed --quick --trial --only paired --only handshake --only prepared --only state --ours "$SCHWANN_LIBLSL" --out "$results/sealed"
grep -q $'^state\t' "$results/sealed/record.tsv" || { echo "the memory of a session was not measured"; exit 1; }
! grep $'^state\t.*\tmissed' "$results/sealed/record.tsv" || { echo "a session holds more memory than it may"; exit 1; }
# The same samples by a campaign, sealed and plain and by the original.
"$bench" lsl latency --quick --trial --no-null --only latency-8ch --ours "$SCHWANN_LIBLSL" --vs "$REAL_LIBLSL_118" --out "$results/runs"
