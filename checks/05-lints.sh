# Warnings are errors, in the code, its tests and its docs.
# cores: 2
set -euo pipefail
cargo clippy --locked --workspace --all-targets -- -D warnings
RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --quiet
