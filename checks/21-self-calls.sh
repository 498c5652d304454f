# No error arm calls its own function: what fails again and again would use up the stack.
set -euo pipefail
python3 checks/self_calls.py
