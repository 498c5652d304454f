# Dependencies between crates point down only, exactly as ARCHITECTURE.md draws them.
set -euo pipefail
python3 checks/layers.py
