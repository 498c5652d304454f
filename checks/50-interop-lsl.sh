# Our library against the real ones, in both directions, in separate processes; pylsl and mne-lsl on our library.
set -euo pipefail
cd "${SCHWANN_ROOT:=$(cd "$(dirname "$0")/.." && pwd)}"
source interop/environment.sh
cd interop
python3 -m pytest -q -n 4 test_{clock,config,connection,discovery,errors,metadata,pull,sync,transfer,wrappers}.py
