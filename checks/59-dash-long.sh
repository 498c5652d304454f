# A page of the dashboard that stays open: neither it nor its program grows. SCHWANN_DASH_MINUTES says how long, half a minute without it.
# network: own
# debian: chromium iproute2
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
need chromium
python_packages
PYTHONPATH=tests/tools exec python3 tests/system/dash_long.py "$built" "$SCHWANN_STATE"
