#!/usr/bin/env bash
# Runs every check of the project side by side, and says how many passed.
#
#   ./test.sh                everything; first it lists what it installs outside of this folder
#   ./test.sh quick          format, lints, layers and the Rust tests, with fewer simulated faults
#   ./test.sh aead lsl       only the checks whose file name contains one of these words
#   ./test.sh --no-install   installs nothing outside of this folder; what needs it says so and is skipped
set -uo pipefail
cd "$(dirname "$0")" || exit 1
command -v python3 > /dev/null || { echo "needs Python 3: install it, then run ./test.sh again"; exit 1; }
export SCHWANN_ROOT="$PWD" SCHWANN_STATE="$PWD/target/checks"
# Each thing is built once, so nothing is kept for a second build of it.
export CARGO_INCREMENTAL=0
exec python3 checks/run.py "$@"
