# Every fuzz target builds, and takes every input of its committed corpus. Works without a nightly compiler;
# searching for new inputs needs one: see fuzz/Cargo.toml.
# cores: 2
set -euo pipefail
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/fuzz"
# As `cargo fuzz` builds them: some targets need the sessions without a handshake that only such builds have.
export RUSTFLAGS="${RUSTFLAGS--D warnings} --cfg fuzzing"
cargo build --quiet --manifest-path fuzz/Cargo.toml --bins
count=0
for source in fuzz/fuzz_targets/*.rs; do
  target=$(basename "$source" .rs)
  inputs=(fuzz/corpus/"$target"/*)
  [ -e "${inputs[0]}" ] || { echo "$target has no corpus"; exit 1; }
  "$CARGO_TARGET_DIR/debug/$target" "${inputs[@]}" >/dev/null 2>"$CARGO_TARGET_DIR/$target.log" \
    || { tail -n 30 "$CARGO_TARGET_DIR/$target.log"; echo "$target fails"; exit 1; }
  echo "$target takes its ${#inputs[@]} inputs"
  count=$((count + 1))
done
[ "$count" -gt 0 ]
