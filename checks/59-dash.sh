# The dashboard in a real browser: traces move, a stopped stream says so, keys work, strangers are refused.
set -euo pipefail
command -v chromium > /dev/null || { apt-get update -qq && apt-get install -y -qq chromium; } > /dev/null 2>&1 \
  || { echo "needs chromium, which cannot be installed"; exit 77; }
VENV=${SCHWANN_STATE:-target/checks}/venv-dash
[ -x "$VENV/bin/python" ] || { python3 -m venv "$VENV" && "$VENV/bin/pip" install --quiet websocket-client==1.9.0; }
cargo build --locked --quiet -p schwann-cli --bin schwann --example send_lab
exec "$VENV/bin/python" checks/dash.py "${CARGO_TARGET_DIR:-target}/debug" "${SCHWANN_STATE:-target/checks}"
