# Recordings of ours in pyxdf and MNE-Python, theirs in ours, and recordings that end badly.
#
#   XDF_KILLS=100 checks/57-xdf.sh    kills 100 recordings instead of 10
set -euo pipefail
venv="${SCHWANN_STATE:-target/checks}/xdf-venv"
if ! "$venv/bin/python" -c 'import mne, pytest, pyxdf' 2>/dev/null; then
  python3 -m venv "$venv" || { apt-get install -y python3-venv && python3 -m venv "$venv"; }
  "$venv/bin/pip" install --quiet --disable-pip-version-check 'pyxdf==1.17.*' 'mne==1.*' 'pytest==8.*'
fi
cargo build --locked --quiet --package schwann-xdf --examples
target="${CARGO_TARGET_DIR:-target}"
XDF_EXAMPLES="$(realpath "$target")/debug/examples" "$venv/bin/python" -m pytest -q -rs -s --noconftest -p no:cacheprovider interop/test_xdf.py interop/test_xdf_crash.py
