# Every scenario runs once against the real liblsl and checks its own result; the statistics equal scipy's.
# cores: 0
# network: own
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
libraries
python3 bench/tests/statistics_reference.py --check
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
"$built/schwann-bench" lsl --quick --trial --no-null --no-sealed --out "$results" --ours "$SCHWANN_LIBLSL" --vs "$REAL_LIBLSL_118"
