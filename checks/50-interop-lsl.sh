# Our library against the real ones, in both directions, in separate processes; pylsl and mne-lsl on our library.
# cores: 0
# network: own
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
libraries
cd tests/system
# Mostly waits, so more of them fit beside each other.
python3 -m pytest -q -n 8 test_golden.py
python3 -m pytest -q -n 4 test_{clock,config,connection,discovery,edges,errors,metadata,pull,sync,transfer,wrappers}.py
