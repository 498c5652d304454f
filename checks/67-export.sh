# What `schwann export` writes is read by the libraries that people use, and its values, times and events are those that
# pyxdf reads from the recording. SCHWANN_EXPORT_BYTES=10000000000 also measures memory and speed at that size.
# cores: 1
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
python_packages
export SCHWANN="$built/schwann" MNE_DONTWRITE_HOME=true
python3 -m pytest -q -p no:cacheprovider -s tests/system/export.py tests/system/export_resampled.py tests/system/export_ends.py
