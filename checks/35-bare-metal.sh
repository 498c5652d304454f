# The crates below the sans-IO line build for microcontrollers: without the standard library, and proto
# and the node without a heap, too.
# cores: 2
# target: riscv32imc-unknown-none-elf riscv32imac-unknown-none-elf thumbv7em-none-eabihf
set -uo pipefail
targets=(riscv32imc-unknown-none-elf riscv32imac-unknown-none-elf thumbv7em-none-eabihf)
for target in "${targets[@]}"; do
  rustup target list --installed 2>/dev/null | grep -qx "$target" ||
    { echo "the Rust target $target is not installed and cannot be had here"; exit 77; }
done

set -e
export RUSTFLAGS="${RUSTFLAGS--D warnings}"
echo "on ${targets[*]}:"
# One crate a call: what another one asks for would be on here, too.
for package in schwann-proto schwann-aead schwann-session schwann-mse schwann-node; do
  cargo check --locked --quiet --package "$package" --no-default-features "${targets[@]/#/--target=}"
  echo "$package is without the standard library"
done
cargo check --locked --quiet --package schwann-proto --no-default-features --features alloc "${targets[@]/#/--target=}"
echo "schwann-proto with alloc is, too"
# The node uses all of them; its machine code is made for each chip.
cargo build --locked --quiet --package schwann-node --features hybrid "${targets[@]/#/--target=}"
echo "schwann-node with the hybrid suite builds"
