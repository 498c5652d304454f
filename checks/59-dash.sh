# The dashboard in a real browser: traces move, a stopped stream says so, keys work, strangers are refused,
# axe-core finds nothing wrong, and a recorder beside it loses nothing.
# network: own
# debian: chromium iproute2 openssl
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
need chromium
python_packages
PYTHONPATH=tests/tools exec python3 tests/system/dash.py "$built" "$SCHWANN_STATE" "$(find "$packages" -name axe.min.js | head -n 1)"
