#!/usr/bin/env bash
# What takes too long for a check: 4 to 128 channels at 250 to 2,000 Hz, plain and sealed, and a sealed stream of 8 channels at
# 1 kHz for so many seconds; every value is checked at the desktop. Needs root for its tap.
# Usage: firmware/long-run.sh SECONDS FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."
export SCHWANN_SECONDS="${1:?seconds}" SCHWANN_IMAGES="${2:?the folder of the images that checks/70-firmware.sh builds}"
source firmware/qemu-tests.sh
in_the_images_network "${SCHWANN_TESTS:-$(qemu_tests)}" --ignored --test-threads=1 --nocapture long_
