# The program's commands against the real library, pylsl and pyxdf, in separate processes; what they show in a terminal; and our
# library in the place of the real one.
#
#   CLI_KILLS=100 ./test.sh cli    kills 100 recorders instead of 5
# cores: 0
# network: own
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
libraries
export SCHWANN="$built/schwann"
python3 -m pytest -q -rs -s -p no:cacheprovider tests/system/test_xdf_cli.py tests/system/test_cli_screen.py tests/system/test_loaders.py \
  tests/system/test_swap.py tests/system/test_places.py tests/system/test_record_control.py tests/system/test_dash_recording.py \
  tests/system/test_bad_recordings.py
