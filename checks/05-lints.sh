# Warnings are errors, in the code, its tests and its docs.
# cores: 2
set -euo pipefail
cargo clippy --locked --workspace --all-targets -- -D warnings
# An example asks of other crates what tests ask of them. Without one 29 crates would be checked again, and ring's C compiled.
# The three left out have `doc = false`.
RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --quiet --workspace --exclude schwann-capi --exclude schwann-python \
  --exclude schwann-node-capi --lib --bin schwann-bench --example attacker
