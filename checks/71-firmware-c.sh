# The node's C library: its test under the sanitizers, and linked for a microcontroller. About 20 s without building.
# target: riscv32imc-unknown-none-elf
# after: 00-build
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$SCHWANN_ROOT/target}"
command -v gcc > /dev/null || { echo "needs gcc"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
gcc -std=c11 -Wall -Wextra -Werror -g -fsanitize=address,undefined -fno-sanitize-recover=all -Ifirmware/capi/include \
  firmware/capi/tests/node.c "$CARGO_TARGET_DIR/debug/libschwann_node.a" -lm -o "$scratch/node"
"$scratch/node"
echo '#include "schwann_node.h"' > "$scratch/header.cpp"
g++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only -Ifirmware/capi/include "$scratch/header.cpp"
# The examples against stand-ins for their frameworks: the chip's compiler where there is one, else this computer's.
compiler=(gcc)
if command -v riscv64-unknown-elf-gcc > /dev/null; then
  compiler=(riscv64-unknown-elf-gcc --specs=picolibc.specs -march=rv32imc -mabi=ilp32)
fi
compiler+=(-fsyntax-only -Os -Wall -Wextra -Werror -Ifirmware/capi/include -isystem firmware/capi/tests/stand-in)
"${compiler[@]}" -std=gnu11 firmware/capi/examples/esp-idf/main/main.c
"${compiler[@]}" -std=gnu11 firmware/capi/examples/zephyr/src/main.c
"${compiler[@]}" -std=gnu++17 -x c++ -include Arduino.h firmware/capi/examples/arduino/schwann_node_example.ino
echo "the examples compile against stand-ins with ${compiler[0]}"
# Every function of the header is in the library, and no other name of ours.
sed -n 's/.*\(schwann_node_[a-z0-9_]*\)(.*/\1/p' firmware/capi/include/schwann_node.h | grep -v panic | sort -u > "$scratch/header"
nm -g --defined-only "$CARGO_TARGET_DIR/debug/libschwann_node.a" 2> /dev/null \
  | sed -n 's/.* T \(schwann_node_[a-z0-9_]*\)$/\1/p' | sort -u > "$scratch/library"
diff "$scratch/header" "$scratch/library"

target=riscv32imc-unknown-none-elf
rustup target list --installed | grep -qx "$target" || { echo "the Rust target $target cannot be had here"; exit 77; }
CARGO_TARGET_DIR="$CARGO_TARGET_DIR/bare-metal" cargo build --locked --quiet --release -p schwann-node-capi \
  --no-default-features --target "$target"
library="$CARGO_TARGET_DIR/bare-metal/$target/release/libschwann_node.a"
# Without a C compiler for the chip, the linker alone must find everything but what the program provides.
linker=$(find "$(rustc --print sysroot)" -name rust-lld -type f | head -n 1)
[ -n "$linker" ] || { echo "this toolchain has no rust-lld: not linked for $target"; exit 77; }
undefined=$(sed 's/^/--undefined=/' "$scratch/header" | tr '\n' ' ')
# shellcheck disable=SC2086
"$linker" -flavor gnu -melf32lriscv --gc-sections --entry=0 --defsym=schwann_node_panic=0 $undefined "$library" \
  -o "$scratch/linked.elf"
echo "the C library works under the sanitizers and links for $target"
