# The dashboard in Firefox: it draws, judges channels, writes markers, records, and says when it has no contact.
# network: own
# debian: firefox-esr iproute2
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
command -v firefox-esr firefox > /dev/null || { echo "needs Firefox, which is not here and cannot be installed"; exit 77; }
python_packages
PYTHONPATH=tests/tools exec python3 tests/system/dash_firefox.py "$built" "$SCHWANN_STATE"
