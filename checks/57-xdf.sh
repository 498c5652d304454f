# Recordings of ours in pyxdf and MNE-Python, theirs in ours, and recordings that end badly.
#
#   XDF_KILLS=100 checks/57-xdf.sh    kills 100 recordings instead of 10
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
python_packages
build --package schwann-xdf --examples
XDF_EXAMPLES="$built/examples" python3 -m pytest -q -rs -s --noconftest -p no:cacheprovider tests/system/test_xdf.py tests/system/test_xdf_crash.py
