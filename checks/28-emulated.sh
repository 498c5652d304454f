# The crates' own tests on other systems of Linux: ARM under QEMU, with 64 and with 32 bits, and musl. Without a word the protocol's
# run, with 32 bits. SCHWANN_EMULATED=all runs all that an emulator is quick enough for, and the demo; that takes an hour.
# network: own
# debian: qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-arm-linux-gnueabihf libc6-dev-armhf-cross musl-tools
# target: aarch64-unknown-linux-gnu armv7-unknown-linux-gnueabihf x86_64-unknown-linux-musl
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
need qemu-aarch64 qemu-arm aarch64-linux-gnu-gcc arm-linux-gnueabihf-gcc musl-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu"
export CARGO_TARGET_ARMV7_UNKNOWN_LINUX_GNUEABIHF_LINKER=arm-linux-gnueabihf-gcc
export CARGO_TARGET_ARMV7_UNKNOWN_LINUX_GNUEABIHF_RUNNER="qemu-arm -L /usr/arm-linux-gnueabihf"

failed=0
tests() { # SYSTEM WORDS...
  echo "--- $*"
  cargo test --locked --quiet --no-fail-fast --target "$1" "${@:2}" || failed=1
}

# A recording made and proved by the program.
demo() { # SYSTEM RUNNER...
  cargo build --locked --quiet -p schwann-cli --target "$1"
  local program="$target/$1/debug/schwann" file="$SCHWANN_STATE/$1.xdf"
  rm -f "$file"
  "${@:2}" "$program" demo --seconds 3 --no-dash -o "$file" || failed=1
  "${@:2}" "$program" verify "$file" || failed=1
}

all() { # SYSTEM RUNNER...
  tests "$1" -p schwann-proto -p schwann-aead -p schwann-session -p schwann-mse --lib --tests
  # Thousands of damaged files, and a flood, take an emulator hours.
  tests "$1" -p schwann-xdf --lib --tests -- --skip damage --skip flipped
  # QEMU 7 sends no multicast through an interface that one chooses, and the two others need that.
  tests "$1" -p schwann -p schwann-fieldtrip --lib --tests -- --skip a_flood_of_half_handshakes \
    --skip outlets_beyond_the_service_range --skip forty_sealed_outlets
  demo "$@"
}

if [ "${SCHWANN_EMULATED:-}" = all ]; then
  # Some tests and the demo start their own program.
  [ -e /proc/sys/fs/binfmt_misc/qemu-aarch64 ] && [ -e /proc/sys/fs/binfmt_misc/qemu-arm ] ||
    { echo "needs a kernel that starts programs for ARM with QEMU: apt-get install qemu-user-binfmt"; exit 77; }
  QEMU_LD_PREFIX=/usr/aarch64-linux-gnu all aarch64-unknown-linux-gnu qemu-aarch64
  QEMU_LD_PREFIX=/usr/arm-linux-gnueabihf all armv7-unknown-linux-gnueabihf qemu-arm
  all x86_64-unknown-linux-musl
else
  # That one test takes an emulator a minute.
  tests armv7-unknown-linux-gnueabihf -p schwann-proto --lib -- --skip text_becomes_the_number_that_the_standard_library
fi
exit "$failed"
