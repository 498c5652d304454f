# Recordings of ours in pyxdf and MNE-Python, theirs in ours, and recordings that end badly.
#
#   XDF_KILLS=100 ./test.sh xdf    kills 100 recordings instead of 10
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
python_packages
XDF_EXAMPLES="$built/examples" python3 -m pytest -q -rs -s --noconftest -p no:cacheprovider tests/system/test_xdf.py tests/system/test_xdf_crash.py
