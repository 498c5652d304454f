# Dependencies between crates point down only, exactly as ARCHITECTURE.md draws them; and which system it is, one module of each asks.
set -euo pipefail
python3 checks/layers.py
python3 checks/systems.py
