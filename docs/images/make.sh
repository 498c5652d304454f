#!/usr/bin/env bash
# Makes the pictures of the dashboard in the README and in the guide, from the program as it is. Needs chromium.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../checks/environment.sh"
need chromium
python_packages
cargo build --locked --quiet -p schwann-cli --bin schwann
PYTHONPATH=tests/tools exec python3 tests/system/dash_pictures.py "$built" "$SCHWANN_STATE"
