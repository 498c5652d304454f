# The dashboard in a real browser: traces move, a stopped stream says so, keys work, strangers are refused,
# axe-core finds nothing wrong, and a recorder beside it loses nothing.
set -euo pipefail
command -v chromium > /dev/null || { apt-get update -qq && apt-get install -y -qq chromium; } > /dev/null 2>&1 \
  || { echo "needs chromium, which cannot be installed"; exit 77; }
VENV=${SCHWANN_STATE:-target/checks}/venv-dash
# The second package is there for the script of axe-core in it; what it needs to drive a browser of its own is not wanted.
ls "$VENV"/lib/python3*/site-packages/axe_playwright_python > /dev/null 2>&1 || { rm -rf "$VENV" && python3 -m venv "$VENV" \
  && "$VENV/bin/pip" install --quiet websocket-client==1.9.0 && "$VENV/bin/pip" install --quiet --no-deps axe-playwright-python==0.1.8; }
AXE=$(find "$VENV/lib" -name 'axe.min.js' | head -n 1)
cargo build --locked --quiet -p schwann-cli --bin schwann --example send_lab
exec "$VENV/bin/python" checks/dash.py "${CARGO_TARGET_DIR:-target}/debug" "${SCHWANN_STATE:-target/checks}" "$AXE"
