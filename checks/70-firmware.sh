# The node's images for QEMU: built, within its budgets, and run: the desktop and the original library receive from it,
# plain and sealed, by multicast, over a network of its own. About 90 s on a busy machine, and 3 minutes more when the image is built for the first time.
set -euo pipefail
cd "${SCHWANN_ROOT:=$(cd "$(dirname "$0")/.." && pwd)}"
: "${SCHWANN_STATE:=$SCHWANN_ROOT/target/checks}"
target=riscv32imac-unknown-none-elf
if ! rustup target list --installed 2>/dev/null | grep -qx "$target"; then
  timeout 300 rustup target add "$target" || { echo "the Rust target $target cannot be had here"; exit 77; }
fi
if ! command -v qemu-system-riscv32 > /dev/null; then
  [ "$(id -u)" = 0 ] || { echo "needs qemu-system-riscv32 (package qemu-system-misc)"; exit 77; }
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends qemu-system-misc iproute2; } > /dev/null 2>&1 \
    || { echo "qemu-system-misc cannot be installed here"; exit 77; }
fi

export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$SCHWANN_ROOT/target}"
# The images as a device gets them: their sizes and instructions are measured.
unset CARGO_PROFILE_RELEASE_LTO CARGO_PROFILE_RELEASE_CODEGEN_UNITS CARGO_PROFILE_RELEASE_DEBUG
export SCHWANN_IMAGES="$CARGO_TARGET_DIR/qemu/$target/release"
build_images() {
  CARGO_TARGET_DIR="$CARGO_TARGET_DIR/qemu" cargo build --locked --quiet --release --target "$target" \
    --manifest-path firmware/qemu-riscv32/Cargo.toml "$@"
}
build_images --bin schwann-qemu-node --features bare
python3 firmware/qemu-riscv32/sizes.py outlet "$SCHWANN_IMAGES/schwann-qemu-node"
build_images
python3 firmware/qemu-riscv32/sizes.py device "$SCHWANN_IMAGES/schwann-qemu-node"

source firmware/qemu-tests.sh
tests=$(qemu_tests)
"$tests" --ignored --test-threads=1 --nocapture instructions_and_stacks provisioned

unshare --net true 2> /dev/null && [ -c /dev/net/tun ] \
  || { echo "network namespaces or tap devices are not permitted here: nothing was received"; exit 77; }
venv="$SCHWANN_STATE/interop-venv"
if [ ! -x "$venv/bin/python3" ] || ! "$venv/bin/python3" -c 'import pylsl' 2> /dev/null; then
  (source interop/environment.sh)
fi
export SCHWANN_PYLSL="$venv/bin/python3"
in_the_images_network "$tests" --ignored --test-threads=1 --nocapture --skip instructions_and_stacks --skip provisioned --skip long_
