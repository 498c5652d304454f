# Every pitfall of docs/spec/lsl-wire.md has its tests in docs/spec/lsl-pitfalls.md, and the tests named there exist.
set -euo pipefail
exec python3 checks/pitfalls.py
