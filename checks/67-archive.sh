# Sealed recordings open with Debian's age, and what age seals opens in ours; pyxdf reads what we compress.
# debian: age
# cores: 0
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
python_packages
command -v age >/dev/null || { echo "age is not installed: apt-get install age"; exit 77; }
export SCHWANN="$built/schwann"
python3 -m pytest -q -p no:cacheprovider -s tests/system/archive.py
