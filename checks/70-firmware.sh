# The node's images for QEMU: built, within its budgets, and run: the desktop and the original library receive from it,
# plain and sealed, by multicast, over a network of its own. About 90 s on a busy machine, and 3 minutes more when the image is built for the first time.
# debian: qemu-system-misc iproute2
# target: riscv32imac-unknown-none-elf
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
target=riscv32imac-unknown-none-elf
rustup target list --installed | grep -qx "$target" || { echo "the Rust target $target cannot be had here"; exit 77; }
need qemu-system-riscv32

export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$SCHWANN_ROOT/target}"
# The images as a device gets them: their sizes and instructions are measured.
export SCHWANN_IMAGES="$CARGO_TARGET_DIR/qemu/$target/release"
build_images() {
  RUSTFLAGS="${RUSTFLAGS--D warnings}" CARGO_TARGET_DIR="$CARGO_TARGET_DIR/qemu" cargo build --locked --quiet --release --target "$target" \
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
python_packages
export SCHWANN_PYLSL="$SCHWANN_STATE/python/bin/python3"
in_the_images_network "$tests" --ignored --test-threads=1 --nocapture --skip instructions_and_stacks --skip provisioned --skip long_
